"""How good the points of a game are."""

import pytest

from quincunx_env import Rules
from quincunx_env.arena.benchmark import TASKS, baselines
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.play.result import comparison, points_on_the_same_deal, scores_of, stored_scores
from quincunx_env.play.session import Session


def test_stored_points_belong_to_the_tasks_of_the_benchmark() -> None:
    assert {*stored_scores()} == {*TASKS}
    for name, scores in stored_scores().items():
        assert scores_of(TASKS[name].rules) is scores
        assert len(scores.percentiles) == 99
        assert [*scores.percentiles] == sorted(scores.percentiles)
        assert scores.percentiles[39] < scores.mean < scores.percentiles[59]
    published = baselines()["solitaire", "heuristic"].score
    assert published.low < stored_scores()["solitaire"].mean < published.high


@pytest.mark.parametrize(
    ("rules", "points", "reached", "sentences"),
    [
        (Rules(), None, None, ["Medium averages 131 points.", "Hard lost the round on this deal."]),
        (Rules(), -1, 99, ["Medium averages 131 points; nearly all of its games have more", "Hard reached 99 on"]),
        (
            Rules(),
            999,
            99,
            ["Medium averages 131 points; 99 of 100 of its games have fewer", "Hard reached 99 on"],
        ),
        (Rules(flush=True), 77, 99, ["Hard reached 99 on this deal."]),
    ],
)
def test_sentences(rules: Rules, points: int | None, reached: int | None, sentences: list[str]) -> None:
    for said, sentence in zip(comparison(rules, points, "Hard", reached), sentences, strict=True):
        assert said.startswith(sentence)
    assert comparison(Rules(flush=True), points) == []


def test_an_agent_plays_the_same_deals_in_the_same_seat() -> None:
    rules = Rules(num_players=2, match=True, simpleton=True)
    players = ["greedy", None]
    record = Record(rules, Seeded(3), (), ("greedy", "human"))
    played = Session(rules, ["greedy", "heuristic"], Seeded(3))
    while played.mover is not None:
        played.play(played.choose())
    assert points_on_the_same_deal(record, "heuristic", players) == played.game.totals[1]
    with pytest.raises(ValueError, match="no single human"):
        points_on_the_same_deal(Record(rules, Seeded(3), (), ("greedy", "greedy")), "heuristic", players)
