"""The spiral game for two players, for PettingZoo: ``from quincunx_env import spiral_v0``.

`CardGameAEC` tells of agents, mask, observation, rewards and end, which both games have in common.

## Description
Two players in turn lay a card on the next cell of a spiral through a 5x5 square. Its row and its column score kinds,
runs and flushes, as you go or at the end. RULES.md tells the rules (Part 2); the game is by David Parlett.

## Actions
``Discrete(52)``: the card.

## Version History
v0: first release.
"""

from typing import Any, Literal

from quincunx_env.envs.aec import CardGameAEC, Ordered
from quincunx_env.spiral.rules import Rules

__all__ = ["env", "raw_env"]


def raw_env(
    *,
    scoring: Literal["play", "end"] = "play",
    fifteens: bool = False,
    deals: Literal[1, 2, 4] = 2,
    **options: Any,
) -> CardGameAEC:
    """The bare environment.

    Args:
        scoring: ``"play"``: every play scores at once; ``"end"``: the full square does, columns for the dealer, rows
            for the non-dealer.
        fifteens: sets of cards that add up to 15 score too.
        deals: two or four make a game, dealing in turn; 1 is for training.
        options: those of `CardGameAEC` from ``reward`` on.
    """
    return CardGameAEC("spiral_v0", Rules(scoring, fifteens, deals), **options)


def env(**options: Any) -> Ordered:
    """`raw_env` with PettingZoo's check of the order of calls; illegal actions are its own errors."""
    return Ordered(raw_env(**options))
