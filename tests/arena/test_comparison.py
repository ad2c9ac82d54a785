"""Comparisons of policies in games for several players: seatings, paired deals, margins, wins."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform
from quincunx_env.arena import Comparison, Deals, Estimate, Policy, Run, compare, evaluate, tournament
from quincunx_env.arena.matches import MatchConfig, seatings
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import policy_generator
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules


def first_legal(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    actions: npt.NDArray[np.int64] = mask.argmax(axis=1)
    return actions


class Last:
    """Plays the last legal action, and records the number of positions of each call."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Choose the last legal action in each position."""
        self.sizes.append(len(mask))
        actions: npt.NDArray[np.int64] = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
        return actions


@pytest.mark.parametrize("lineup", [[0, 1], [0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 2, 1], [0, 1, 0]])
def test_seatings_are_complete_and_distinct(lineup: list[int]) -> None:
    rows = [tuple(row) for row in seatings(lineup).tolist()]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(permutations(lineup))


def test_seatings_of_equal_policies_are_in_ascending_order() -> None:
    """Files of games have them in this order."""
    assert seatings([0, 0, 1, 1]).tolist() == sorted(seatings([0, 0, 1, 1]).tolist())
    assert seatings([0, 1, 1, 1]).argmin(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_different_policies_rotate(players: int) -> None:
    table = seatings(range(players))
    assert len(table) == players
    assert all(sorted(line) == list(range(players)) for line in [*table.tolist(), *table.T.tolist()])


@pytest.mark.parametrize(
    "rules",
    [
        Rules(num_players=2),
        Rules(num_players=3, start="open"),
        Rules(num_players=4, match=True),
        Rules(num_players=2, simpleton=True),
    ],
    ids=str,
)
def test_a_comparison_is_what_the_plain_game_plays(rules: Rules) -> None:
    """Every deal and seating is played again in `Game`."""
    pytest.importorskip("scipy")
    players, first = rules.num_players, 7
    result = compare([first_legal, Last()], Deals(5, first=first), rules=rules, run=Run(chunk=3))
    assert result.names == ("first_legal", "Last")
    assert (result.deals, result.games, len(result.seatings)) == (5, 5 * players, players)
    expected = np.zeros((5, players, players), np.int64)
    for deal in range(5):
        for seating, who in enumerate(result.seatings):
            game = Game.from_seed(rules, first + deal, domain="benchmark")
            while not game.over:
                if game.pending:
                    game.step(rules.num_actions - 1 if who[game.mover] else rules.num_plays_encoded)
                else:
                    at = -1 if who[game.mover] else 0
                    game.play(game.legal_cards()[at], game.legal_cells()[at])
            expected[deal, seating] = game.totals
    assert (result.totals == expected).all()
    # Margin and wins of the first policy, by hand.
    for deal in range(5):
        margins, wins = [], []
        for seating, who in enumerate(result.seatings):
            totals, seat = expected[deal, seating].tolist(), who.tolist().index(0)
            others = totals[:seat] + totals[seat + 1 :]
            margins.append(totals[seat] - sum(others) / len(others))
            wins.append((totals[seat] == max(totals)) / totals.count(max(totals)))
        assert result.margins[deal, 0] == pytest.approx(np.mean(margins))
        assert result.wins[deal, 0] == pytest.approx(np.mean(wins))
    assert result.margin() == pytest.approx(Estimate.of_mean(result.margins[:, 0]))
    # Each policy gets one seat in turn, or the others.
    assert result.even == pytest.approx([1 / players, 1 - 1 / players])


def test_shared_wins_and_several_seats() -> None:
    pytest.importorskip("scipy")
    config = MatchConfig(Rules(num_players=4), Deals(2))
    totals = np.array([[[9, 9, 5, 9], [1, 2, 3, 4]], [[7, 7, 7, 7], [0, 0, 8, 0]]])
    result = Comparison(("a", "b"), np.array([[0, 0, 1, 1], [1, 0, 0, 1]]), totals, config)
    assert result.points.tolist() == [[(9 + 9 + 2 + 3) / 4, (5 + 9 + 1 + 4) / 4], [(7 + 7 + 0 + 8) / 4, 14 / 4]]
    assert result.margins[:, 0].tolist() == [1.0, 2.0]
    assert (result.margins[:, 1] == -result.margins[:, 0]).all()
    assert result.wins == pytest.approx(
        np.array([[(2 / 3 + 0) / 2, (1 / 3 + 1) / 2], [(1 / 2 + 1) / 2, (1 / 2 + 0) / 2]])
    )
    assert result.even.tolist() == [0.5, 0.5]
    assert result.table().splitlines()[2].startswith("| a | 5.6 | +1.5 | ")
    # First deal: 9 and 9 of a against 5 and 9 of b, then 2 and 3 of a against 1 and 4 of b.
    assert result.beats[0, 0, 1] == (1 + 0.5 + 1 + 0.5 + 1 + 0 + 1 + 0) / 8
    assert (result.beats + result.beats.transpose(0, 2, 1) == 1).all()


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_policy_against_itself_is_even_on_every_deal(players: int) -> None:
    result = compare([greedy, greedy], 20, rules=Rules(num_players=players))
    assert not result.margins.any()
    assert result.margin() == (0, 0, 0)
    assert result.points.std() > 0
    assert result.wins[:, 0] == pytest.approx(1 / players)


def test_a_policy_is_called_once_for_all_positions_of_its_seat() -> None:
    last, plays = Last(), Rules(num_players=3).num_plays
    compare([last, first_legal, last], 6, rules=Rules(num_players=3))
    # Three seatings, in each of which it has two seats.
    assert last.sizes == [6] * (plays * 2)


def test_policies_have_separate_generators() -> None:
    """The random numbers of the first policy do not depend on the second."""
    drawn: list[list[float]] = []

    def gambler(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        drawn[-1].append(rng.random())
        return first_legal(observation, mask, rng)

    for other in (uniform, first_legal):
        drawn.append([])
        compare([gambler, other], 4, run=Run(seed=3))
    assert drawn[0] == drawn[1]
    drawn.append([])
    compare([uniform, gambler], 4, run=Run(seed=3))
    assert [drawn[number][0] for number in (0, 2)] == [policy_generator(3, 0, i).random() for i in (0, 1)]
    once, again, differently = (compare([uniform, greedy], 30, run=Run(seed=seed)) for seed in (1, 1, 2))
    assert (once.totals == again.totals).all()
    assert (once.totals != differently.totals).any()


def test_each_chunk_has_generators_of_its_own() -> None:
    generators: list[np.random.Generator] = []
    drawn: list[float] = []

    def gambler(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        if not any(rng is each for each in generators):
            generators.append(rng)
            drawn.append(rng.random())
        return first_legal(observation, mask, rng)

    compare([first_legal, gambler], 5, run=Run(seed=3, chunk=2))
    assert drawn == [policy_generator(3, chunk, 1).random() for chunk in range(3)]


def test_three_different_policies() -> None:
    pytest.importorskip("scipy")
    result = compare(["greedy", first_legal, uniform], 40, rules=Rules(num_players=3))
    assert result.names == ("greedy", "first_legal", "uniform")
    assert result.seatings.tolist() == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert result.wins.sum(axis=1) == pytest.approx(1)
    assert result.margins.sum(axis=1) == pytest.approx(0)
    assert result.margin(0).low > 0 > result.margin(2).high
    lines = result.table().splitlines()
    assert len(lines) == 5
    assert "| 33.3% | 40 | 120 |" in lines[2]
    figures = result.to_json()
    assert (figures["deals"], figures["games"], figures["rules"]["num_players"]) == (40, 120, 3)
    assert figures["policies"][1]["margin"]["value"] == result.margins[:, 1].mean()


@pytest.mark.slow
@pytest.mark.parametrize(("players", "deals"), [(2, 50), (3, 50), (2, 10)])
@pytest.mark.parametrize("agent", ["uniform", "greedy with random ties"])
def test_intervals_of_comparisons_cover_the_truth(agent: str, players: int, deals: int) -> None:
    """1,000 small comparisons of two copies of an agent: 95 %, give or take 3, of the intervals of margin and wins
    contain the true values, which are known for copies. (Chance alone moves the share by 0.7.)
    """

    def random_ties(
        observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        points = observation["preview"][..., 0].reshape(len(mask), -1)
        actions: npt.NDArray[np.int64] = np.where(mask, points + rng.random(mask.shape), -np.inf).argmax(axis=1)
        return actions

    policy = uniform if agent == "uniform" else random_ties

    def copy() -> Policy:
        return lambda observation, mask, rng: policy(observation, mask, rng)

    number = 1000
    result = compare([copy(), copy()], number * deals, rules=Rules(num_players=players), run=Run(chunk=1000))
    covered = {}
    for name, values, truth in (("margin", result.margins, 0.0), ("wins", result.wins, 1 / players)):
        estimates = map(Estimate.of_mean, np.split(values[:, 0], number))
        covered[name] = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    print(f"{agent}, {players} players, {deals} deals: {covered}")
    assert all(abs(share - 0.95) <= 0.03 for share in covered.values())


def test_a_mapping_gives_the_names() -> None:
    """As for `evaluate_all` and `tournament`."""
    named = compare({"a": "greedy", "b": uniform}, 4)
    assert named.names == ("a", "b")
    assert (named.totals == compare(["greedy", uniform], 4).totals).all()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"num_players": 2}, "rules must be Rules of 'quincunx' or 'spiral', got {'num_players': 2}"),
        ([Rules(2), Rules(3)], r"rules must be Rules of 'quincunx' or 'spiral', got \["),
    ],
)
@pytest.mark.parametrize("measure", [evaluate, compare, tournament])
def test_what_is_not_one_set_of_rules_is_refused(measure: Any, rules: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure("greedy" if measure is evaluate else ["greedy", "uniform"], 4, rules=rules)


def test_comparisons_that_cannot_be_seated_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 policies or one for each of the 4 seats, got 3"):
        compare([greedy, uniform, first_legal], 5, rules=Rules(num_players=4))
    with pytest.raises(ValueError, match="3 times the same policy"):
        compare([greedy] * 3, 5, rules=Rules(num_players=3))
    with pytest.raises(ValueError, match="2 policies and 1 names"):
        compare([greedy, uniform], 5, names=["greedy"])
    with pytest.raises(ValueError, match="needs different names, got greedy, greedy: set one as"):
        compare(["greedy", "greedy"], 2, run=Run(records=tmp_path / "games"))
