"""Variants of Quincunx, for agents."""

import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from itertools import compress, product
from typing import Any

from quincunx_env.quincunx.rules import Rules

BASE_VARIANTS = {
    "solitaire": Rules(),
    "contact": Rules(edge_contact=True),
    **{
        f"{players}-{start}": Rules(num_players=players, start=start)
        for start in ("corners", "open")
        for players in (2, 3, 4)
    },
}
"""The variants without further options, by name."""

_FIRST = ("excuse", "pawns", "flush", "edge_contact")
"""The options that the shipped networks know, in the order of their inputs."""

_LEFT_OUT = ("num_players", "start", "simpleton", "match", "mini")
"""Options that other features show, or that a network need not know."""

OPTIONS = (
    *(option for name in _FIRST for option in Rules.options if option.name == name),
    *(option for option in Rules.options if option.name not in (*_FIRST, *_LEFT_OUT)),
)
"""The options among the features. A newer one comes last."""


def _with_options() -> Iterator[tuple[str, Rules]]:
    """Yield the base variants with every combination of `OPTIONS`. Contact has a base variant."""
    names = [option.name for option in OPTIONS if option.is_switch and option.name != "edge_contact"]
    for chosen in product((False, True), repeat=len(names)):
        options: dict[str, Any] = dict(zip(names, chosen, strict=True))
        for name, rules in BASE_VARIANTS.items():
            with suppress(ValueError):  # options that do not go together
                yield "-".join((name, *compress(names, chosen))), dataclasses.replace(rules, **options)


VARIANTS = dict(_with_options()) | {"mini": Rules(mini=True), "mini-2": Rules(num_players=2, mini=True)}
"""The variants that a network can learn, by name."""


def base_variant(rules: Rules) -> str:
    """Return the name in `VARIANTS` of these rules without further options.

    Contact, Simpleton and matches are such options, too. Contact shows in the mask, the true points are announced, and
    a match is played round by round.
    """
    alone = rules.num_players == 1
    if rules.mini:
        return "mini" if alone else "mini-2"
    return "solitaire" if alone else f"{rules.num_players}-{rules.start}"


def search_settings(rules: Rules) -> dict[str, Any]:
    """Return settings of the agent ``search`` that differ from the defaults."""
    return {"shortlist": 12, "samples": 6, "rounds": 4, "depth": 4} if rules.num_players == 1 else {}
