"""Yardsticks: every one is witnessed, the search is exact where it can look at everything, and regret adds up."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from quincunx_agents.greedy import greedy

from quincunx_env import oracle
from quincunx_env.arena import evaluate
from quincunx_env.oracle import (
    DEALS,
    LOST,
    WEIGHTS,
    Line,
    OracleEntry,
    beam_search,
    benchmark_game,
    oracle_scores,
    read,
    regret,
    write,
)
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules

OPTIONS = [
    Rules(),
    Rules(edge_contact=True),
    Rules(pawns=True),
    Rules(excuse=True),
    Rules(pawns=True, excuse=True, edge_contact=True),
]


def deal(number: int, rules: Rules | None = None) -> Game:
    """A deal of the validation domain."""
    rules = rules or Rules()
    return Game(rules, Deal.from_seed(rules, number, domain="validation"))


def replay(game: Game, line: Line | OracleEntry) -> int:
    """What a line of play scores; it must end the round and not lose it."""
    game = game.copy()
    for card, cell in line.plays:
        assert not game.over
        game.play(card, cell)
    assert game.over
    assert not game.lost
    return game.scores[0]


def best(game: Game) -> int | None:
    """The best score that can be reached, by trying everything; None if every way loses."""
    if game.over:
        return None if game.lost else game.scores[0]
    scores = []
    for card in game.legal_cards():
        for cell in game.legal_cells():
            after = game.copy()
            after.play(card, cell)
            scores.append(best(after))
    return max((score for score in scores if score is not None), default=None)


def random_position(rules: Rules, number: int, left: int) -> Game | None:
    """A deal played at random until so many plays are left; None if that lost it."""
    rng, game = np.random.default_rng(number), deal(number, rules)
    while not game.over and rules.num_plays - game.ply > left:
        game.play(int(rng.choice(game.legal_cards())), int(rng.choice(game.legal_cells())))
    return None if game.over else game


# --- The search ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", OPTIONS, ids=str)
def test_what_is_found_is_witnessed(rules: Rules) -> None:
    for number in range(8):
        game = deal(number, rules)
        line = beam_search(game, 300)
        assert line is not None
        assert len(line.plays) == rules.num_plays
        assert replay(game, line) == line.score
        assert game.ply == 0, "the game is left as it is"


@pytest.mark.parametrize("rules", OPTIONS, ids=str)
def test_a_beam_that_holds_every_state_finds_the_best_plays(rules: Rules) -> None:
    """Judged by trying everything with plain games, in positions with up to four plays left."""
    seen = {"lost": 0, "finished": 0, "drew": 0}
    for number in range(60):
        game = random_position(rules, number, left=1 + number % 4)
        if game is None or len(game.hand(0)) > 6:
            continue
        line, score = beam_search(game, 10**6), best(game)
        if line is None:
            assert score is None
            seen["lost"] += 1
        else:
            assert line.score == score == replay(game, line)
            seen["finished"] += 1
            seen["drew"] += len(line.plays) > len(game.hand(0))
    assert seen["finished"] >= 10
    assert seen["drew"] >= 1, seen


def promise(game: Game) -> float:
    """How promising a state is, read off `WEIGHTS`."""
    if game.lost:
        return -math.inf
    hand, column = game.hand(0), min(game.rules.num_plays - game.ply, 10) - 1
    parts = [f"hand {CARDS[card].rank}" for card in hand] + [f"size {min(len(hand), 10)}"]
    return WEIGHTS["points"][column] * game.scores[0] + sum(WEIGHTS[part][column] for part in parts)


def test_a_beam_of_one_takes_the_most_promising_play_each_time() -> None:
    finished = 0
    for number in range(40):
        game = deal(number)
        places = [*game.hand(0), *game.pile]
        while not game.over:
            children = []
            for card in sorted(game.legal_cards(), key=places.index):
                for cell in game.legal_cells():
                    child = game.copy()
                    child.play(card, cell)
                    children.append(child)
            game = max(
                children, key=lambda child: float(child.scores[0]) if child.over and not child.lost else promise(child)
            )
        line = beam_search(deal(number), 1)
        assert (line is None) == game.lost
        if line is not None:
            assert line.score == game.scores[0]
            finished += 1
    assert finished >= 10


def test_a_wider_beam_finds_more() -> None:
    means = []
    for width in (30, 300, 3000):
        lines = [beam_search(deal(number), width) for number in range(30)]
        means.append(np.mean([line.score if line else 0 for line in lines]))
    assert means[0] + 5 < means[1]
    assert means[1] + 2 < means[2]


def test_a_search_repeats() -> None:
    assert beam_search(deal(3), 200) == beam_search(deal(3), 200)


def test_a_game_of_a_batch_can_be_searched() -> None:
    batch = Batch(Rules(), 5, "validation")
    batch.reset(seed=0)
    assert beam_search(batch.to_game(3), 50) == beam_search(deal(3), 50)


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(ValueError, match="solitaire without the flush bonus"):
        beam_search(Game.from_seed(Rules(num_players=2), 0))
    with pytest.raises(ValueError, match="solitaire without the flush bonus"):
        beam_search(Game.from_seed(Rules(flush=True), 0))
    with pytest.raises(ValueError, match="width must be at least 1"):
        beam_search(deal(0), 0)
    game = deal(0)
    line = beam_search(game, 10)
    assert line is not None
    for play in line.plays:
        game.play(*play)
    with pytest.raises(ValueError, match="over"):
        beam_search(game)


# --- The oracle_scores --------------------------------------------------------------------------------------------------


def test_every_yardstick_is_witnessed() -> None:
    found = read()
    assert sorted(found) == list(range(DEALS))
    finished = [one for one in found.values() if one.plays]
    assert {*range(DEALS)} - {one.deal for one in finished} == {161, 236, 606}
    for one in finished:
        assert replay(benchmark_game(one.deal), one) == one.score
    assert all(one.score == LOST for one in found.values() if not one.plays)
    assert oracle_scores().tolist() == [found[number].score for number in range(DEALS)]
    assert oracle_scores(5, 3).tolist() == [found[number].score for number in (5, 6, 7)]


def test_yardsticks_are_of_the_deals_that_evaluate_plays() -> None:
    batch = Batch(Rules(), DEALS, "benchmark")
    batch.reset(seed=0)
    for number in (0, 1, 17, DEALS - 1):
        assert benchmark_game(number).deals == batch.deals(number)


def test_yardsticks_are_high() -> None:
    """The mean that the documentation gives, and the class that few policies reach."""
    assert round(float(oracle_scores().mean()), 1) == 192.7
    assert (oracle_scores() >= 150).mean() == 0.887


def test_deals_without_a_yardstick_name_the_way_out() -> None:
    with pytest.raises(ValueError, match=f"number {DEALS}; .*\n.*quincunx_env.oracle --deals {DEALS + 2}"):
        oracle_scores(DEALS - 1, 3)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "oracle.csv"
    some = [read()[number] for number in (7, 2)]
    assert read(path) == {}
    write(path, some)
    assert read(path) == {one.deal: one for one in some}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    path.write_text(path.read_text()[:-5] + "@99\n")
    with pytest.raises(ValueError, match="damaged"):
        read(path)


# --- Regret ----------------------------------------------------------------------------------------------------------


def test_regret_is_the_mean_distance_from_the_yardsticks() -> None:
    known = oracle_scores(10, 4)
    behind = [3.0, 0.0, 11.0, 50.0]
    result = regret(known - np.array(behind), first=10)
    assert result.mean == pytest.approx(16.0)
    variance = sum((each - 16.0) ** 2 for each in behind) / 3
    half = 1.96 * math.sqrt(variance / 4)
    assert result.ci95 == pytest.approx((16.0 - half, 16.0 + half))


def test_regret_stands_beside_an_evaluation() -> None:
    evaluation = evaluate(greedy, 200)
    result = regret(evaluation.values)
    assert result.mean == pytest.approx(oracle_scores(0, 200).mean() - evaluation.mean)
    assert result.ci95[0] < result.mean < result.ci95[1]


def test_regret_refuses_what_it_cannot_judge() -> None:
    with pytest.raises(ValueError, match="at least 2 deals"):
        regret([150.0])
    with pytest.raises(ValueError, match="no yardstick"):
        regret(np.zeros(DEALS + 1))


# --- The command -----------------------------------------------------------------------------------------------------


def command(path: Path, *options: str) -> str:
    pytest.importorskip("tyro")
    program = [sys.executable, "-m", "quincunx_env.oracle", "--path", str(path), *options]
    run = subprocess.run(program, capture_output=True, text=True, check=True, cwd=Path(oracle.__file__).parents[1])
    return run.stdout


def test_the_command_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "oracle.csv"
    line = beam_search(benchmark_game(1), 2000)
    assert line is not None
    write(path, [OracleEntry(1, line.score, 2000, line.plays)])
    assert "4 deals, beams of at least 100" in command(path, "--deals", "4", "--width", "100", "--processes", "2")
    first = read(path)
    assert sorted(first) == [0, 1, 2, 3]
    assert first[1].score == line.score, "a wider beam has searched this deal"
    assert [one.width for one in first.values()] == [100, 2000, 100, 100]
    command(path, "--deals", "4", "--width", "100")
    assert read(path) == first
    command(path, "--deals", "4", "--width", "10")
    assert read(path) == first
    command(path, "--deals", "4", "--width", "1000")
    wider = read(path)
    assert [one.width for one in wider.values()] == [1000, 2000, 1000, 1000]
    assert all(one.score >= first[number].score for number, one in wider.items())


def test_a_worse_line_never_takes_the_place_of_a_better(tmp_path: Path) -> None:
    known = OracleEntry(0, 10_000, 5, ((1, 2),))
    assert oracle.improve(0, 50, known) == known._replace(width=50)


def test_a_deal_that_nobody_can_finish_counts_as_lost() -> None:
    """Benchmark deal 161: only 8 beside 3 and 7 beside 4 make 11 until the pile has given a third card, and no two
    cards make 20. So there are at most two draws, ten plays.
    """
    game = benchmark_game(161)
    up, hand, pile = game.deals[0].face_up, game.hand(0), game.pile[:2]
    values = [CARDS[card].value for card in (*up, *hand, *pile)]
    pairs = sorted({(a, b) for a in values for b in values if a <= b and a + b in (11, 20)})
    assert pairs == [(3, 8), (4, 7)]
    assert [values.count(value) for value in (8, 7, 4)] == [1, 1, 1]
    assert beam_search(game, 1000) is None
    assert oracle.improve(161, 10, None) == OracleEntry(161, LOST, 10, ())
    assert oracle_scores(161, 1).tolist() == [LOST]
