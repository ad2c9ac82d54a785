"""Quincunx for two to four players as a PettingZoo environment: ``from quincunx_env import quincunx_v0``.

## Description
In turn each player lays a card of the hand into an empty cell of the 5x5 grid. Each card beside it counts by the sum of
both values: 2 to 9 costs the sum, or scores it if one is an Ace and they share a suit; 11 and 20 draw a card; 12 to 19
score the sum less 10. Three of a rank in a line score 30, three in order 20, a pair 5. An Ace beside the Crown of its
suit scores the suit's other cards in play. When the grid is full, each card in hand costs its value, an Ace 15. Most
points win.

RULES.md has the complete rules (Part 1). The game is by Chris DeLeo, the Decktet by P.D. Magnus.
`quincunx_env.envs.aec.CardGameAEC` documents agents, observations, masks, rewards and infos, which both games share.

## Action Space
``Discrete``: action = ``card * cells + cell``. There are 36 cards, 41 with the Excuse or the Pawns, and 25 cells, 81
with the open start, counted from the top left, row by row: 900 or 2,916 actions, with 41 cards 1,025 or 3,321. With
Simpleton a turn consists of two decisions of the same player: the play, then the announcement of its points, -64 to
319, as ``cards * cells + announcement + 64``. With ``padded=True`` there are 3,705 in every variant. With
``actions="hand"`` a place in the hand, sorted by rank, stands for the card: ``place * cells + cell``, with two places
more than cards are dealt.

## Version History
v0: first release.

Args:
    num_players: 2 to 4. The solitaire is ``Quincunx/Solitaire-v0``.
    mini: Not of the sources: twelve cards on a 3x3 grid for two players, small enough to be solved (ruling R16).
"""

from typing import Any

from quincunx_env.core.rules import RulesLike
from quincunx_env.envs.aec import OPTIONS, CardGameAEC, Ordered, Parallel, make_aec
from quincunx_env.envs.options import options_of, with_options
from quincunx_env.quincunx.rules import Rules

__all__ = ["env", "parallel_env", "raw_env"]

_RULES = options_of(Rules, without=["edge_contact"], num_players=2)


@with_options(*_RULES, *OPTIONS)
def raw_env(*, rules: RulesLike | None = None, **options: Any) -> CardGameAEC:
    """Make the environment without wrappers.

    Args:
        rules: the options of the rules together, instead of one by one: a `Rules` or a mapping of its fields.
        options: options of `Rules` and `CardGameAEC`, as the signature lists them.
    """
    return make_aec("quincunx", rules, options)


@with_options(*_RULES, *OPTIONS)
def env(*, rules: RulesLike | None = None, **options: Any) -> Ordered:
    """Make the environment with PettingZoo's check of the order of calls.

    It has no wrapper for illegal actions, which the environment handles itself, as ``illegal`` selects.

    Args:
        rules: as in `raw_env`.
        options: as in `raw_env`.
    """
    return Ordered(raw_env(rules=rules, **options))


@with_options(*_RULES, *OPTIONS)
def parallel_env(*, rules: RulesLike | None = None, **options: Any) -> Parallel:
    """Make the environment for libraries whose agents all act at every step.

    Give ``mask_in="info", illegal="next"`` to a library that knows no mask, such as SuperSuit: an illegal action then
    plays the next legal one.

    Args:
        rules: as in `raw_env`.
        options: as in `raw_env`.
    """
    return Parallel(env(rules=rules, **options))
