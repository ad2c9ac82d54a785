"""Oracle scores: each has a line of play that reaches it, exhaustive beams are exact, and regret adds up."""

import math
from pathlib import Path

import numpy as np
import pytest

from quincunx_env.arena import regret
from quincunx_env.oracle import (
    NUM_BENCHMARK_DEALS,
    LineOfPlay,
    OracleEntry,
    beam_search,
    benchmark_game,
    oracle_scores,
    read,
    write,
)
from quincunx_env.oracle.beam import STATE_VALUE_WEIGHTS
from quincunx_env.oracle.store import LOST_SCORE, improve
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules

stats = pytest.importorskip("scipy.stats")

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


def replay(game: Game, line: LineOfPlay | OracleEntry) -> int:
    """Final score of a line of play, which must finish the round."""
    game = game.copy()
    for card, cell in line.plays:
        assert not game.over
        game.play(card, cell)
    assert game.over
    assert not game.lost
    return game.scores[0]


def best(game: Game) -> int | None:
    """Optimal score with a known pile, by exhaustive search; None if every line loses."""
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
    """A deal played at random until ``left`` plays remain; None if that lost it."""
    rng, game = np.random.default_rng(number), deal(number, rules)
    while not game.over and rules.num_plays - game.ply > left:
        game.play(int(rng.choice(game.legal_cards())), int(rng.choice(game.legal_cells())))
    return None if game.over else game


# --- The search ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", OPTIONS, ids=str)
def test_lines_reach_their_scores(rules: Rules) -> None:
    for number in range(8):
        game = deal(number, rules)
        line = beam_search(game, 300)
        assert line is not None
        assert len(line.plays) == rules.num_plays
        assert replay(game, line) == line.score
        assert game.ply == 0, "the game is left as it is"


@pytest.mark.parametrize("rules", OPTIONS, ids=str)
def test_a_beam_that_holds_every_state_is_optimal(rules: Rules) -> None:
    """Compared with exhaustive search by plain games, in positions with up to four plays left."""
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


def heuristic_value(game: Game) -> float:
    """Heuristic value of a state by `STATE_VALUE_WEIGHTS`."""
    if game.lost:
        return -math.inf
    hand, column = game.hand(0), min(game.rules.num_plays - game.ply, 10) - 1
    parts = [f"hand {CARDS[card].rank}" for card in hand] + [f"size {min(len(hand), 10)}"]
    weights = {name: by_left[column] for name, by_left in STATE_VALUE_WEIGHTS.items()}
    return weights["points"] * game.scores[0] + sum(weights[part] for part in parts)


def test_a_beam_of_one_is_greedy_on_the_heuristic_value() -> None:
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
                children,
                key=lambda child: float(child.scores[0]) if child.over and not child.lost else heuristic_value(child),
            )
        line = beam_search(deal(number), 1)
        assert (line is None) == game.lost
        if line is not None:
            assert line.score == game.scores[0]
            finished += 1
    assert finished >= 10


def test_a_game_of_a_batch_can_be_searched() -> None:
    batch = Batch(Rules(), 5, "validation")
    batch.reset(seed=0)
    assert beam_search(batch.to_game(3), 50) == beam_search(deal(3), 50)


def test_games_that_cannot_be_searched_are_refused() -> None:
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


# --- Oracle scores ---------------------------------------------------------------------------------------------------


def test_every_oracle_score_is_reached_by_its_line() -> None:
    found = read()
    assert sorted(found) == list(range(NUM_BENCHMARK_DEALS))
    finished = [one for one in found.values() if one.plays]
    assert {*range(NUM_BENCHMARK_DEALS)} - {one.deal for one in finished} == {161, 236, 606}
    for one in finished:
        assert replay(benchmark_game(one.deal), one) == one.score
    assert all(one.score == LOST_SCORE for one in found.values() if not one.plays)
    assert oracle_scores().tolist() == [found[number].score for number in range(NUM_BENCHMARK_DEALS)]
    assert oracle_scores(5, 3).tolist() == [found[number].score for number in (5, 6, 7)]


def test_oracle_scores_belong_to_the_deals_that_evaluate_plays() -> None:
    batch = Batch(Rules(), NUM_BENCHMARK_DEALS, "benchmark")
    batch.reset(seed=0)
    for number in (0, 1, 17, NUM_BENCHMARK_DEALS - 1):
        assert benchmark_game(number).deals == batch.deals(number)


def test_mean_and_share_of_high_oracle_scores() -> None:
    """The figures in the documentation: mean, and share of the highest class."""
    assert round(float(oracle_scores().mean()), 1) == 192.7
    assert (oracle_scores() >= 150).mean() == 0.887


def test_deals_without_an_oracle_score_are_refused_with_the_command() -> None:
    with pytest.raises(
        ValueError, match=f"deal {NUM_BENCHMARK_DEALS} has no .*\n.*quincunx oracle --deals {NUM_BENCHMARK_DEALS + 2}"
    ):
        oracle_scores(NUM_BENCHMARK_DEALS - 1, 3)


def test_scores_and_regret_are_those_of_a_file(tmp_path: Path) -> None:
    better = [entry._replace(score=entry.score + 10) for entry in read().values() if entry.deal < 4]
    write(tmp_path / "oracle.csv", better)
    assert (oracle_scores(0, 4, tmp_path / "oracle.csv") == oracle_scores(0, 4) + 10).all()
    values = [100, 120, 130, 90]
    assert regret(values, path=str(tmp_path / "oracle.csv")).value == pytest.approx(regret(values).value + 10)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "oracle.csv"
    some = [read()[number] for number in (7, 2)]
    assert read(path) == {}
    write(path, some)
    assert read(path) == {one.deal: one for one in some}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    whole = path.read_text()
    for damaged in (
        whole[:-5] + "@99\n",
        whole[:-1] + "9\n",
        whole[:-1] + "\xe9\n",
        whole + "3\n",
        whole + f'"{"9" * 2**18}',
        "my notes, in one line\n",
    ):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"is damaged: .* delete it"):
            read(path)


# --- Regret ----------------------------------------------------------------------------------------------------------


def test_regret_refuses_single_deals_and_deals_without_an_oracle_score() -> None:
    with pytest.raises(ValueError, match="at least 2 deals"):
        regret([150.0])
    with pytest.raises(ValueError, match="no oracle score"):
        regret(np.zeros(NUM_BENCHMARK_DEALS + 1))


def test_a_worse_line_never_replaces_a_better_one(tmp_path: Path) -> None:
    known = OracleEntry(0, 10_000, 5, ((1, 2),))
    assert improve(0, 50, known) == known._replace(width=50)


def test_a_deal_that_cannot_be_finished_counts_as_lost() -> None:
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
    assert improve(161, 10, None) == OracleEntry(161, LOST_SCORE, 10, ())
    assert oracle_scores(161, 1).tolist() == [LOST_SCORE]
