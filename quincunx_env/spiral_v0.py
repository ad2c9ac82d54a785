"""The spiral game for two players as a PettingZoo environment: ``from quincunx_env import spiral_v0``.

## Description
In turn two players lay a card of the hand, face up, on the next cell of a spiral through a 5x5 square of hidden cards.
The row and the column of the cell score by their cards that lie face up. Two, three and four of the card's rank score
2, 6 and 12. A run of three or more ranks with the card scores its length, times the number of ways to form it. Three or
more touching cards of its suit score 1 each. After two deals most points win.

RULES.md has the complete rules (Part 2). The game is by David Parlett. `quincunx_env.envs.aec.CardGameAEC` documents
agents, observations, masks, rewards and infos, which both games share.

## Action Space
``Discrete(52)``: the card. It is laid on the next cell of the spiral. With ``actions="hand"`` ``Discrete(13)``: its
place in the hand, sorted by rank.

## Version History
v0: first release.
"""

from typing import Any

from quincunx_env.core.rules import RulesLike
from quincunx_env.envs.aec import OPTIONS, CardGameAEC, Ordered, Parallel, make_aec
from quincunx_env.envs.options import options_of, with_options
from quincunx_env.spiral.rules import Rules

__all__ = ["env", "parallel_env", "raw_env"]

_RULES = options_of(Rules)


@with_options(*_RULES, *OPTIONS)
def raw_env(*, rules: RulesLike | None = None, **options: Any) -> CardGameAEC:
    """Make the environment without wrappers.

    Args:
        rules: the options of the rules together, instead of one by one: a `Rules` or a mapping of its fields.
        options: options of `Rules` and `CardGameAEC`, as the signature lists them.
    """
    return make_aec("spiral", rules, options)


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
