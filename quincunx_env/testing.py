"""Checks that observations have no hidden information, and that determinizations are consistent with them.

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
>>> assert_resample_consistent(make_rules("quincunx", num_players=3)) > 0
True
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import Deals
from quincunx_env.core.game import SomeGame
from quincunx_env.core.observation import Observer
from quincunx_env.core.policy import policy_generator
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of

Observe = Callable[[Deals, list[int], int], Any]
"""A function (deals, actions, seat) that returns the observation of the seat: arrays, or dictionaries and sequences of
them. It plays the actions in a game from these deals, one for each round. Actions are the engines', see
`quincunx_env.core.game.BaseGame.step`."""

Resample = Callable[[Observer, Mapping[str, npt.NDArray[Any]], np.random.Generator, int], Any]
"""A function (observer, observation, rng, n) like `quincunx_env.core.resample.resample`. It returns a batch of n games
that are consistent with an observation."""

PUBLIC = ("mover", "round", "first", "ply", "scores", "totals", "over")
"""Attributes of every game that all seats know."""


def assert_no_leak(observe: Observe, rules: BaseRules, *, games: int = 1, seed: int = 0, permutations: int = 2) -> int:
    """Assert that permuting hidden cards changes no byte of an observation.

    Random games are stopped at every third decision. The observation of each seat is then compared with its
    observations of games that differ only in cards hidden from it (see `permute_hidden`).

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
    for game, actions, rng in _random_positions(rules, games, seed):
        for seat in range(rules.num_players):
            truth = observe(game.deals, actions, seat)
            for _ in range(permutations):
                other = observe(permute_hidden(game, seat, rng), actions, seat)
                for where in _differences(truth, other):
                    raise AssertionError(f"seat {seat} observes hidden information in {where} after {actions}")
                compared += 1
    return compared


def assert_resample_consistent(
    rules: BaseRules, resample: Resample = resample, *, games: int = 1, seed: int = 0, n: int = 3
) -> int:
    """Assert that determinizations belong to their observation's information set.

    Random games are stopped at every third decision; games sampled from the observation of each seat are then checked
    by `assert_same_information_set`.

    Args:
        rules: options of the game.
        resample: the tested function.
        games: number of random games.
        seed: of the games and of ``rng``.
        n: number of games sampled from each observation.

    Returns:
        Number of sampled games.

    Raises:
        AssertionError: if a sampled game is inconsistent, naming the seat, the actions so far and the difference.
    """
    observer, checked = make_observer(rules), 0
    for game, actions, rng in _random_positions(rules, games, seed):
        for seat in range(rules.num_players):
            batch = resample(observer, observer.observe(game, seat), rng, n)
            _require(batch.num_games == n, f"{n} games are needed, got {batch.num_games}")
            try:
                assert_same_information_set(game, seat, batch)
            except AssertionError as error:
                raise AssertionError(f"seat {seat} after {actions}: {error}") from None
            checked += n
    return checked


def assert_same_information_set(game: SomeGame, seat: int, batch: Any) -> None:
    """Assert that games are complete and look the same to a seat.

    In each of them the seat observes the same, byte by byte, and everything that all seats know is the same. The hands
    have the same sizes. No card is in two places or foreign to the deck.

    Args:
        game: a game in progress.
        seat: the observing seat.
        batch: the games.

    Raises:
        AssertionError: naming the first difference.
    """
    rules, observer = game.rules, make_observer(game.rules, preview=True)
    seats, truth = range(rules.num_players), observer.observe(game, seat)
    rows = observer.observe_batch(batch, np.full(batch.num_games, seat))
    for row in range(batch.num_games):
        other = batch.to_game(row)
        for seen in ({name: piece[row] for name, piece in rows.items()}, observer.observe(other, seat)):
            for where in _differences(truth, seen):
                raise AssertionError(f"sampled game {row} differs in {where}")
        for name in PUBLIC:
            one, two = getattr(game, name), getattr(other, name)
            _require(one == two, f"sampled game {row} has {name} {two}, not {one}")
        sizes, hands = [len(game.hand(each)) for each in seats], [other.hand(each) for each in seats]
        _require(
            [*map(len, hands)] == sizes, f"sampled game {row} has hands of {[*map(len, hands)]} cards, not {sizes}"
        )
        _require(hands[seat] == game.hand(seat), f"sampled game {row} changes the hand of the seat")
        laid = [card for card in other.board if card != EMPTY]
        cards = [*laid, *(card for hand in hands for card in hand)]
        now = {*other.deals[other.round].cards}
        _require(len({*cards}) == len(cards), f"a card is in two places of sampled game {row}")
        _require(now.issuperset(cards), f"sampled game {row} holds cards that were not dealt")
        for deal in other.deals:
            dealt = len({*deal.cards} & {*rules.deck})
            _require(dealt == len(deal.cards) == rules.num_dealt, f"the deck of sampled game {row} is not complete")


def _require(condition: bool, message: str) -> None:
    """Raise an AssertionError if the condition does not hold. It is raised under ``python -O``, too."""
    if not condition:
        raise AssertionError(message)


def _random_positions(
    rules: BaseRules, games: int, seed: int
) -> Iterator[tuple[SomeGame, list[int], np.random.Generator]]:
    """Yield every third decision of random games: the game, the actions so far, the game's generator."""
    for number in range(games):
        rng = policy_generator(seed, number)
        game: SomeGame = spec_of(rules).Game.from_seed(rules, seed, number)
        mask, actions = make_observer(rules).mask, list[int]()
        while not game.over:
            if len(actions) % 3 == number % 3:
                yield game, actions, rng
            actions.append(int(rng.choice(np.flatnonzero(mask(game)))))
            game.step(actions[-1])


def permute_hidden(game: SomeGame, seat: int, rng: np.random.Generator) -> Deals:
    """Return deals of another game in a seat's information set.

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
    """Name the parts in which two observations differ by a byte."""
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
