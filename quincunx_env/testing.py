"""Tests for user-defined environments: observations must not depend on hidden information.

>>> from quincunx_env import quincunx_v0
>>> from quincunx_env.registry import make_rules
>>> def observe(deals, actions, seat):
...     env = quincunx_v0.raw_env(num_players=3)
...     env.reset(options={"deal": list(deals)})
...     for action in actions:
...         env.step(action)
...     return env.observe(f"player_{seat}")
>>> assert_no_leak(observe, make_rules("quincunx", num_players=3)) > 0
True
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from quincunx_env.core.deal import BaseDeal
from quincunx_env.core.game import BaseGame
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of

Deals = tuple[BaseDeal, ...]
Observe = Callable[[Deals, list[int], int], Any]
"""(deals, actions, seat) -> observation: takes the actions from the deals of a game, one for each round, and returns
the observation of the seat: arrays, or dictionaries and sequences of them. Actions are those of the engines,
`quincunx_env.core.game.BaseGame.step`."""


def assert_no_leak(observe: Observe, rules: BaseRules, *, games: int = 1, seed: int = 0, permutations: int = 2) -> int:
    """Check that permuting the cards that a seat cannot see changes no byte of its observation.

    At every third decision of random games, every seat observes the game and others that differ from it only in hidden
    cards: those of other hands and of the pile are permuted, and later rounds are shuffled.

    Args:
        observe: plays the environment and returns an observation.
        rules: of the game.
        games: number of random games.
        seed: of the games and permutations.
        permutations: number of permuted games for each position and seat.

    Returns:
        Number of observations compared with that of the true game.

    Raises:
        AssertionError: if an observation differs, with the seat, the actions so far and the place of the difference.
    """
    compared = 0
    for number in range(games):
        rng = np.random.default_rng([seed, number])
        game: BaseGame[Any, Any] = spec_of(rules).Game.from_seed(rules, seed, number)
        mask, actions = make_observer(rules).mask, list[int]()
        while not game.over:
            for seat in range(rules.num_players) if len(actions) % 3 == number % 3 else ():
                truth = observe(game.deals, actions, seat)
                for _ in range(permutations):
                    other = observe(permute_hidden(game, seat, rng), actions, seat)
                    for where in _differences(truth, other):
                        raise AssertionError(f"seat {seat} sees what it cannot know in {where} after {actions}")
                    compared += 1
            actions.append(int(rng.choice(np.flatnonzero(mask(game)))))
            game.step(actions[-1])
    return compared


def permute_hidden(game: BaseGame[Any, Any], seat: int, rng: np.random.Generator) -> Deals:
    """Deals of another game in the same information set of a seat.

    The cards that the seat cannot see are permuted, and later rounds are shuffled. The actions so far are legal in the
    other game too.
    """
    rules, observer = game.rules, make_observer(game.rules)
    hidden = sorted({*rules.deck} - {*observer.hidden(observer.observe(game, seat)).seen})
    changed = dict(zip(hidden, rng.permutation(hidden).tolist(), strict=True))
    now = [changed.get(card, card) for card in game.deals[game.round].cards]
    later = [rng.permutation(rules.deck).tolist() for _ in game.deals[game.round + 1 :]]
    deals = tuple(spec_of(game.rules).Deal.of_cards(rules, cards) for cards in (now, *later))
    return (*game.deals[: game.round], *deals)


def _differences(one: Any, other: Any, where: str = "the observation") -> Iterator[str]:
    """Yield the places where two observations differ in a byte."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _differences(one[name], other[name], f"{where}[{name!r}]")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for index, (mine, its) in enumerate(zip(one, other, strict=True)):
            yield from _differences(mine, its, f"{where}[{index}]")
    else:
        mine, its = np.asarray(one), np.asarray(other)
        if mine.dtype != its.dtype or mine.shape != its.shape or mine.tobytes() != its.tobytes():
            yield where
