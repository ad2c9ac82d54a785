"""Batched turn-based play: rewards, ends, automatic reset and forks, against plain games."""

from itertools import cycle
from typing import Any

import numpy as np
import pytest

from quincunx_agents.uniform import uniform
from quincunx_env.envs.batched import BatchedGames, Position
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from tests.variants import same

MULTIPLAYER: list[dict[str, Any]] = [
    {"num_players": 2},
    {"num_players": 3, "start": "open", "excuse": True},
    {"num_players": 4, "pawns": True, "flush": True, "match": True},
    {"num_players": 2, "start": "open", "simpleton": True, "match": True},
    {"num_players": 3, "simpleton": True, "preview": True},
]
every_game = pytest.mark.parametrize("options", MULTIPLAYER, ids=lambda options: "-".join(map(str, options.values())))


def choose(position: Position, rng: np.random.Generator) -> Any:
    mask = position.mask.copy()
    mask[~mask.any(axis=1), 0] = True  # games that are over take any action
    return uniform({}, mask, rng)


def expected_rewards(reward: str, gains: list[int], game: Game) -> list[float]:
    """The definitions, written out for one game."""
    players = len(gains)
    if reward == "points":
        return [float(gain) for gain in gains]
    if reward == "margin":
        others = [[gain for seat, gain in enumerate(gains) if seat != own] for own in range(players)]
        return [gain - sum(rest) / len(rest) for gain, rest in zip(gains, others, strict=True)]
    if not game.over:
        return [0.0] * players
    shares = [1 / len(game.winners) if seat in game.winners else 0 for seat in range(players)]
    return [(players * share - 1) / (players - 1) for share in shares]


@pytest.mark.parametrize(("options", "reward"), [*zip(MULTIPLAYER, cycle(["points", "margin", "outcome"]))], ids=str)
def test_rewards_ends_and_positions_are_those_of_plain_games(options: dict[str, Any], reward: Any) -> None:
    games = BatchedGames(6, reward=reward, observation="pieces", **options)
    observer = Observer(games.rules, options.get("preview", False))
    position = games.reset(seed=40)
    plain = [Game.from_seed(games.rules, 40 + row) for row in range(6)]
    numbers, rng, ended_games = [0] * 6, np.random.default_rng(0), 0
    while ended_games < 8:
        actions = choose(position, rng)
        rewards, ended, totals, position = games.step(actions)
        for row, game in enumerate(plain):
            gains = game.step(int(actions[row]))
            assert rewards[row] == pytest.approx(expected_rewards(reward, gains, game))
            assert totals[row].tolist() == game.totals
            assert ended[row] == game.over
            if game.over:
                ended_games += 1
                numbers[row] += 1
                plain[row] = game = Game.from_seed(games.rules, 40 + row, numbers[row])
            assert position.mover[row] == game.mover
            assert isinstance(position.observation, dict)
            same({name: piece[row] for name, piece in position.observation.items()}, observer.observe(game, game.mover))
            legal = np.flatnonzero(position.mask[row])
            if game.pending:
                assert legal.min() == games.rules.num_plays_encoded
                assert len(legal) == 384
            else:
                product = [
                    card * games.rules.num_cells + cell for card in game.legal_cards() for cell in game.legal_cells()
                ]
                assert legal.tolist() == product
        if reward != "points":
            assert rewards.sum(axis=1) == pytest.approx(np.zeros(6))


def test_without_automatic_reset_games_wait() -> None:
    games = BatchedGames(4, autoreset=False)
    position, rng = games.reset(seed=0), np.random.default_rng(0)
    for _ in range(20):
        step = games.step(choose(position, rng))
        position = step.position
    assert step.ended.all()
    assert not position.mask.any()
    again = games.step(choose(position, rng))
    assert not again.ended.any()
    assert not again.rewards.any()
    assert (again.totals == step.totals).all()
    assert games.reset(rows=[2]).mask.any(axis=1).tolist() == [False, False, True, False]


@every_game
def test_forks_are_copies_of_rows(options: dict[str, Any]) -> None:
    """The copies of a row lie side by side; steps of the original do not reach them."""
    games, rng = BatchedGames(5, **options), np.random.default_rng(1)
    position = games.reset(seed=9)
    for _ in range(7):
        position = games.step(choose(position, rng)).position
    before = games.position().observation
    fork = games.fork([3, 0], k=2)
    same(fork.position().observation, before[[3, 3, 0, 0]])  # type: ignore[index]
    actions = choose(position, rng)
    step = games.step(actions)
    same(fork.position().observation, before[[3, 3, 0, 0]])  # type: ignore[index]
    again = fork.step(actions[[3, 3, 0, 0]])
    same(again.rewards, step.rewards[[3, 3, 0, 0]])
    same(again.totals, step.totals[[3, 3, 0, 0]])


def test_forks_take_a_mask() -> None:
    """With ``k`` copies of each game that it selects."""
    games, rng = BatchedGames(4, autoreset=False), np.random.default_rng(1)
    position = games.reset(seed=9)
    for _ in range(3):
        position = games.step(choose(position, rng)).position
    for mask in ([False, True, False, True], np.array([False, True, False, True])):
        for k in (1, 2, 3):
            same(games.fork(mask, k).get_state(), games.fork([1, 3], k).get_state())
            assert games.fork(mask, k).position().observation.tolist() == [  # type: ignore[union-attr]
                position.observation[row].tolist()  # type: ignore[index]
                for row in (1, 3)
                for _ in range(k)
            ]


@pytest.mark.parametrize("use", ["reset", "seeded reset", "fork"])
def test_what_are_no_rows_is_refused(use: str) -> None:
    games = BatchedGames(4)
    games.reset(seed=9)
    before = games.get_state()
    with pytest.raises(ValueError, match="row"):
        games.fork([4], 2) if use == "fork" else games.reset(100 if use == "seeded reset" else None, rows=[4])
    same(games.get_state(), before)
