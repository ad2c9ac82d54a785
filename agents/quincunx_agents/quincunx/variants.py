"""Variants of Quincunx, for agents."""

import dataclasses
from itertools import product
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

OPTIONS: list[dict[str, Any]] = [
    dict(zip(("excuse", "pawns", "flush"), each, strict=True)) for each in product((False, True), repeat=3)
]
"""Options of each variant. A network sees the other options in the legal actions, or not at all."""

VARIANTS = {
    "-".join((name, *(option for option, on in options.items() if on))): dataclasses.replace(rules, **options)
    for options in OPTIONS
    for name, rules in BASE_VARIANTS.items()
} | {"mini": Rules(mini=True), "mini-2": Rules(num_players=2, mini=True)}
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
