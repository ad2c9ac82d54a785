"""The spiral game for two players as a PettingZoo environment: ``from quincunx_env import spiral_v0``.

`quincunx_env.envs.aec.CardGameAEC` documents agents, observations, masks, rewards and infos, which both games share.

## Description
Two players take turns to lay a card on the next cell of a spiral through a 5x5 square. The row and the column of the
cell score kinds, runs and flushes, after each play or at the end. RULES.md has the complete rules (Part 2); the game is
by David Parlett.

## Action Space
``Discrete(52)``: the card. It is laid on the next cell of the spiral. With ``actions="hand"`` ``Discrete(13)``: its
place in the hand, sorted by rank.

## Version History
v0: first release.
"""

from typing import Any

from quincunx_env.core.rules import RulesLike
from quincunx_env.envs.aec import OPTIONS, CardGameAEC, Ordered, make_aec
from quincunx_env.envs.options import options_of, with_options
from quincunx_env.spiral.rules import Rules

__all__ = ["env", "raw_env"]

_OPTIONS = (*options_of(Rules), *OPTIONS)


@with_options(*_OPTIONS)
def raw_env(*, rules: RulesLike | None = None, **options: Any) -> CardGameAEC:
    """Make the environment without wrappers.

    Args:
        rules: the options of the rules together, instead of one by one: a `Rules` or a mapping of its fields.
        options: options of `Rules` and `CardGameAEC`, as the signature lists them.
    """
    return make_aec("spiral", rules, options)


@with_options(*_OPTIONS)
def env(*, rules: RulesLike | None = None, **options: Any) -> Ordered:
    """Make the environment with PettingZoo's check of the order of calls.

    It has no wrapper for illegal actions, which the environment handles itself, as ``illegal`` selects.

    Args:
        rules: as in `raw_env`.
        options: as in `raw_env`.
    """
    return Ordered(raw_env(rules=rules, **options))
