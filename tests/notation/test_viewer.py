"""Stepping through records."""

import pytest

from quincunx_agents.uniform import uniform
from quincunx_env import spiral
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Seeded
from quincunx_env.notation.viewer import Viewer
from quincunx_env.play.session import Session
from quincunx_env.quincunx import Rules
from quincunx_env.registry import spec_of


@pytest.mark.parametrize(
    "rules",
    [Rules(2, match=True), Rules(3, "open", match=True, simpleton=True), spiral.Rules(deals=2, scoring="end")],
    ids=str,
)
def test_a_replay_shows_the_last_play_of_each_round(rules: BaseRules) -> None:
    """On the full grid, with its score; no seat has won before the last round."""
    session = Session(rules, [uniform] * rules.num_players, Seeded(3))
    while not session.game.over:
        session.play(session.choose())
    record, scene_of = session.record, spec_of(rules).scene
    ends = {turn.round: turn for turn in session.turns}
    assert len(ends) == rules.num_rounds
    for round, turn in ends.items():
        viewer = Viewer(record)
        viewer.go(turn.number)
        scene, totals, last = scene_of(viewer.game), record.game(turn.number).totals, round + 1 == rules.num_rounds
        assert scene.last is not None
        assert scene.last.title.startswith(f"seat {turn.seat} played")
        assert [seat.score for seat in scene.seats] == totals
        assert not any(seat.to_move for seat in scene.seats)
        assert [seat.won for seat in scene.seats] == [last and total == max(totals) for total in totals]
        assert any(note.startswith("over") for note in scene.notes) == last
        assert scene.notes[0].endswith(f"{round + 1} of {rules.num_rounds}")
        if isinstance(rules, spiral.Rules):
            assert len(scene.rows_score) == len(scene.columns_score) == 5
        else:
            assert scene.notes[1].startswith("left in hand")
        viewer.go(1)
        assert scene_of(viewer.game).title == scene.title
        assert last or len(scene_of(viewer.game).board) < len(scene.board)
