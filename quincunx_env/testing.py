"""Check that the observations of an environment contain no hidden information.

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

from quincunx_env.core.deal import Deals
from quincunx_env.core.game import Game
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of

Observe = Callable[[Deals, list[int], int], Any]
"""A function (deals, actions, seat) that plays the actions in a game from these deals, one for each round, and returns
the observation of the seat: arrays, or dictionaries and sequences of them. Actions are those of the engines, see
`quincunx_env.core.game.BaseGame.step`."""


def assert_no_leak(observe: Observe, rules: BaseRules, *, games: int = 1, seed: int = 0, permutations: int = 2) -> int:
    """Assert that permuting hidden cards changes no byte of an observation.

    Random games are stopped at every third decision. The observation of each seat is then compared with those of games
    that differ only in cards hidden from it (see `permute_hidden`).

    Args:
        observe: plays a game in the tested environment and returns an observation.
        rules: options of the game.
        games: number of random games.
        seed: of the games and the permutations.
        permutations: number of permutations that each observation is compared with.

    Returns:
        Number of comparisons.

    Raises:
        AssertionError: if an observation differs, naming the seat, the actions so far and the part that differs.
    """
    compared = 0
    for number in range(games):
        rng = np.random.default_rng([seed, number])
        game: Game = spec_of(rules).Game.from_seed(rules, seed, number)
        mask, actions = make_observer(rules).mask, list[int]()
        while not game.over:
            for seat in range(rules.num_players) if len(actions) % 3 == number % 3 else ():
                truth = observe(game.deals, actions, seat)
                for _ in range(permutations):
                    other = observe(permute_hidden(game, seat, rng), actions, seat)
                    for where in _differences(truth, other):
                        raise AssertionError(f"seat {seat} observes hidden information in {where} after {actions}")
                    compared += 1
            actions.append(int(rng.choice(np.flatnonzero(mask(game)))))
            game.step(actions[-1])
    return compared


def permute_hidden(game: Game, seat: int, rng: np.random.Generator) -> Deals:
    """Deals of another game in the same information set of a seat.

    Cards hidden from the seat are permuted, and later rounds are shuffled. The actions so far are legal in the other
    game, too.
    """
    rules, observer = game.rules, make_observer(game.rules)
    hidden = sorted({*rules.deck} - {*observer.hidden(observer.observe(game, seat)).seen})
    changed = dict(zip(hidden, rng.permutation(hidden).tolist(), strict=True))
    now = [changed.get(card, card) for card in game.deals[game.round].cards]
    later = [rng.permutation(rules.deck).tolist() for _ in game.deals[game.round + 1 :]]
    deals = tuple(spec_of(game.rules).Deal.of_cards(rules, cards) for cards in (now, *later))
    return (*game.deals[: game.round], *deals)


def _differences(one: Any, other: Any, where: str = "the observation") -> Iterator[str]:
    """Names of the parts in which two observations differ by a byte."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _differences(one[name], other[name], f"{where}[{name!r}]")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for index, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from _differences(first, second, f"{where}[{index}]")
    else:
        first, second = np.asarray(one), np.asarray(other)
        if first.dtype != second.dtype or first.shape != second.shape or first.tobytes() != second.tobytes():
            yield where
