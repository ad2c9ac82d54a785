"""Quincunx for two to four players, for PettingZoo: ``from quincunx_env import quincunx_v0``.

`CardGameAEC` tells of agents, mask, observation, rewards and end, which both games have in common.

## Description
Players in turn lay a card on a common 5x5 grid, score what it makes with its neighbours and draw what it earns; cards
left in hand cost points at the end of the round. RULES.md tells the rules (Part 1); the game is by Chris DeLeo, the
Decktet by P.D. Magnus.

## Actions
``Discrete``: ``card * cells + cell``. With Simpleton a turn has two decisions of the same player: the play, then
``cards * cells + announcement + 64``.

## Version History
v0: first release.
"""

from typing import Any

from quincunx_env.envs.aec import CardGameAEC, Ordered
from quincunx_env.quincunx.rules import Start, multiplayer_rules

__all__ = ["env", "raw_env"]


def raw_env(
    *,
    num_players: int = 2,
    start: Start = "corners",
    excuse: bool = False,
    pawns: bool = False,
    flush: bool = False,
    simpleton: bool = False,
    match: bool = False,
    **options: Any,
) -> CardGameAEC:
    """The bare environment.

    Args:
        num_players: 2 to 4.
        start: ``"corners"`` or ``"open"``.
        excuse: add the Excuse to the deck.
        pawns: add the four Pawns to the deck.
        flush: play with the flush bonus.
        simpleton: play with announcements.
        match: as many rounds as players; one round otherwise.
        options: those of `CardGameAEC` from ``reward`` on.
    """
    rules = multiplayer_rules(
        num_players, start=start, excuse=excuse, pawns=pawns, flush=flush, simpleton=simpleton, match=match
    )
    return CardGameAEC("quincunx_v0", rules, **options)


def env(**options: Any) -> Ordered:
    """`raw_env` with PettingZoo's check of the order of calls; illegal actions are its own errors."""
    return Ordered(raw_env(**options))
