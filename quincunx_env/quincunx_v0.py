"""Quincunx for two to four players as a PettingZoo environment: ``from quincunx_env import quincunx_v0``.

`quincunx_env.envs.aec.CardGameAEC` documents agents, observations, masks, rewards and infos, which both games share.

## Description
Players take turns to lay a card on a common 5x5 grid, score points for what it makes with its neighbours and draw the
cards it earns; cards left in hand cost points at the end of the round. RULES.md has the complete rules (Part 1); the
game is by Chris DeLeo, the Decktet by P.D. Magnus.

## Action Space
``Discrete``: action = ``card * cells + cell``. There are 36 cards, 41 with the Excuse or the Pawns, and 25 cells, 81
with the open start, counted from the top left, row by row: 900 or 2,916 actions, with 41 cards 1,025 or 3,321. With
Simpleton a turn consists of two decisions of the same player: the play, then the announcement of its points, -64 to
319, as ``cards * cells + announcement + 64``. With a list as ``rules=`` there are 3,705 in every variant. With
``actions="hand"`` a place in the hand, sorted by rank, stands for the card: ``place * cells + cell``, with two places
more than cards are dealt.

## Version History
v0: first release.

Args:
    num_players: 2 to 4. The solitaire is ``Quincunx/Solitaire-v0``.
    mini: Not of the sources: twelve cards on a 3x3 grid for two players, small enough to be solved (ruling R16).
"""

from collections.abc import Sequence
from typing import Any

from quincunx_env.core.rules import RulesLike
from quincunx_env.envs.aec import OPTIONS, CardGameAEC, Ordered, make_aec
from quincunx_env.envs.options import options_of, with_options
from quincunx_env.quincunx.rules import Rules

__all__ = ["env", "raw_env"]

_OPTIONS = (*options_of(Rules, without=["edge_contact"], num_players=2), *OPTIONS)


@with_options(*_OPTIONS)
def raw_env(*, rules: RulesLike | Sequence[RulesLike] | None = None, **options: Any) -> CardGameAEC:
    """Make the environment without wrappers.

    Args:
        rules: the options of the rules together, instead of one by one: a `Rules`, a mapping of its fields, or a list
            of one of these, whose observations and actions have the same shape under all rules.
        options: options of `Rules` and `CardGameAEC`, as the signature lists them.
    """
    return make_aec("quincunx", rules, options)


@with_options(*_OPTIONS)
def env(*, rules: RulesLike | Sequence[RulesLike] | None = None, **options: Any) -> Ordered:
    """Make the environment with PettingZoo's check of the order of calls.

    It has no wrapper for illegal actions, which the environment handles itself, as ``illegal`` selects.

    Args:
        rules: as in `raw_env`.
        options: as in `raw_env`.
    """
    return Ordered(raw_env(rules=rules, **options))
