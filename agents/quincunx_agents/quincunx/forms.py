"""Set-ups, single-round rules and past plays of Quincunx."""

import dataclasses
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from quincunx_agents.afterstates import Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.rules import Rules

FORMS = {
    "solitaire": Rules(),
    "contact": Rules(edge_contact=True),
    **{
        f"{players}-{start}": Rules(num_players=players, start=start)
        for start in ("corners", "open")
        for players in (2, 3, 4)
    },
}
"""The set-ups without further options, by name."""

OPTIONS: list[dict[str, Any]] = [
    dict(zip(("excuse", "pawns", "flush"), each, strict=True)) for each in product((False, True), repeat=3)
]
"""Options with which each set-up is played. A network sees the other options in the legal actions, or not at all."""

VARIANTS = {
    "-".join((form, *(option for option, on in options.items() if on))): dataclasses.replace(rules, **options)
    for options in OPTIONS
    for form, rules in FORMS.items()
} | {"mini": Rules(mini=True), "mini-2": Rules(num_players=2, mini=True)}
"""The variants that a network can learn, by name."""

SINGLE_ROUND = {"simpleton": False, "match": False}
"""Options of a single round of the same cards, without announcements."""


def form_of(rules: Rules) -> str:
    """Return the name in `VARIANTS` of the set-up of these rules.

    A network must have learned this set-up. Contact, Simpleton and matches make no difference to a network. Contact
    shows in the mask, the true points are announced, and a match is played round by round.
    """
    alone = rules.num_players == 1
    if rules.mini:
        return "mini" if alone else "mini-2"
    return "solitaire" if alone else f"{rules.num_players}-{rules.start}"


def plays_so_far(position: Pieces, counts: Mapping[str, Any], rules: Rules) -> tuple[Ints, Ints, Ints]:
    """Read the round so far from an observation of one game.

    Args:
        position: the observation.
        counts: its named counts.
        rules: of the game.

    Returns:
        face_up: the cards that lay on the grid before the first play, int64.
        cards: the cards played, int64 [T].
        actions: the actions, int64 [T].
    """
    board, order = position["board"].astype(np.int64), position["order"]
    cells = np.argsort(order, kind="stable")[(order <= 0).sum() :]
    return board[order == 0], board[cells], board[cells] * rules.num_cells + cells
