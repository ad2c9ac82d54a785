"""The mini variant for two players, solved by OpenSpiel from its written tree."""

import csv
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest

from quincunx_agents.afterstates import observer_for
from quincunx_agents.greedy import greedy
from quincunx_agents.networks.value import ValueWeights, save_weights
from quincunx_agents.quincunx import features
from quincunx_agents.torch import ValueNetwork
from quincunx_env import Game
from train.exact import equilibrium
from train.exact.equilibrium import MINI, Arguments, main, solve, tabular, value
from train.exact.tree import all_deals, write_efg

EVERY = all_deals(MINI, "5ML AM CM CL AL")
DEALS = EVERY[::120]

Positions = list[tuple[int, Game]]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Positions]:
    """The game of OpenSpiel for some of the deals, and its information sets."""
    path: Path = tmp_path_factory.mktemp("efg") / "mini.efg"
    positions: Positions = []
    write_efg(path, MINI, DEALS, lambda number, game: positions.append((number, game.copy())))
    return pyspiel.load_game("efg_game", {"filename": str(path)}), positions


def test_cfr_plus_solves_the_game(tree: tuple[Any, Positions]) -> None:
    game, _ = tree
    rows = solve(game, 200, progress=False)
    assert [done for done, _, _ in rows] == [1, 2, 5, 10, 20, 50, 100, 200]
    _, found, exploitability = rows[-1]
    assert exploitability < 1e-3 * (game.max_utility() - game.min_utility())
    assert exploitability < rows[0][2] / 100
    assert game.min_utility() < found < game.max_utility()


@pytest.mark.parametrize("number", range(0, len(EVERY), 500))
def test_the_value_of_one_deal_is_that_of_minimax_on_the_engine(number: int, tmp_path: Path) -> None:
    """Nothing is hidden if there is one deal."""

    def minimax(game: Game) -> int:
        if game.over:
            return game.totals[0] - game.totals[1]
        values = []
        for card, cell in product(game.legal_cards(), game.legal_cells()):
            after = game.copy()
            after.play(card, cell)
            values.append(minimax(after))
        return min(values) if game.mover else max(values)

    write_efg(tmp_path / "mini.efg", MINI, EVERY[number : number + 1])
    game = pyspiel.load_game("efg_game", {"filename": str(tmp_path / "mini.efg")})
    _, found, exploitability = solve(game, 500, progress=False)[-1]
    assert found == pytest.approx(minimax(Game(MINI, EVERY[number])), abs=0.01)
    assert exploitability < 0.01


def test_the_uniform_policy_is_openspiels(tree: tuple[Any, Positions]) -> None:
    game, positions = tree
    policy, own = tabular("uniform", positions, 0), pyspiel.UniformRandomPolicy(game)
    assert pyspiel.nash_conv(game, policy) == pytest.approx(pyspiel.nash_conv(game, own))
    assert value(game, policy) == pytest.approx(value(game, own))


def test_the_value_of_a_policy_is_its_mean_margin_on_the_engine(tree: tuple[Any, Positions]) -> None:
    game, positions = tree
    margins, observer = [], observer_for(MINI)
    for deal in DEALS:
        played = Game(MINI, deal)
        while not played.over:
            observation = {name: piece[None] for name, piece in observer.observe(played, played.mover).items()}
            mask = observer.mask(played)[None].astype(np.bool_)
            played.step(int(greedy(observation, mask, np.random.default_rng(0))[0]))
        margins.append(played.totals[0] - played.totals[1])
    policy = tabular("greedy", positions, 0)
    assert value(game, policy) == pytest.approx(np.mean(margins))
    assert pyspiel.nash_conv(game, policy) > 10


def test_policies_and_weights_while_learning_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equilibrium, "all_deals", lambda rules, face_up: DEALS)
    for iteration in (0, 5, 10):
        network = ValueNetwork(features.LAYOUT, 8, 16).weights()
        save_weights(tmp_path / f"{iteration}.safetensors", ValueWeights((network,), ("mini-2",), 0))
    policies = ("uniform", "mine=heuristic", "monte-carlo", f"net={tmp_path / '5.safetensors'}")
    main(Arguments(policies, iterations=5, learning=tmp_path, out=tmp_path / "out", progress=False))

    def rows(name: str) -> list[dict[str, str]]:
        with (tmp_path / "out" / name).open(encoding="utf-8", newline="") as file:
            return [*csv.DictReader(file)]

    assert [row["iterations"] for row in rows("cfr.csv")] == ["1", "2", "5"]
    found = {row["policy"]: float(row["exploitability"]) for row in rows("two_players.csv")}
    assert [*found] == ["uniform", "mine", "monte-carlo", "net"]
    assert 0 < found["monte-carlo"] < found["mine"] < found["uniform"]
    curve = {row["steps"]: float(row["estimate"]) for row in rows("learning.csv")}
    assert [*curve] == ["0", "5", "10"]
    assert curve["5"] == pytest.approx(found["net"], abs=1e-4)
    assert (tmp_path / "out" / "learning.png").stat().st_size > 1000
