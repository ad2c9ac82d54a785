"""Guided games, played with the engine."""

import re
from pathlib import Path

import pytest

from quincunx_env.core.game import IllegalAction
from quincunx_env.core.scene import ScoredPlay
from quincunx_env.play.lessons import Lesson, lessons
from quincunx_env.play.web.tables import Games, Table
from quincunx_env.registry import spec_of


def plays(lesson: Lesson) -> list[ScoredPlay]:
    """The plays of a lesson, with the parts of their scores; the opponents answer."""
    session, spec, found = lesson.session(), spec_of(lesson.rules), []
    for step in lesson.steps:
        while not session.human_to_move:
            session.play(session.choose())
        action = session.parse(step.play)
        found.append(spec.candidate(session.game, *spec.notation.decode_play(session.game, action)))
        turn = session.play(action)
        assert turn.score is not None
        assert (turn.score.points, turn.score.draws) == (step.points, step.draws), step.play
    return found


@pytest.mark.parametrize("name", lessons())
def test_plays_are_legal_and_score_what_the_lesson_says(name: str) -> None:
    lesson = lessons()[name]
    side = spec_of(lesson.rules).scene(lesson.session().game).side
    for step, play in zip(lesson.steps, plays(lesson), strict=True):
        scoring = {play.cell, *(cell for part in play.parts for cell in part.cells)}
        marked = {row * side + column for row, column in step.cells}
        assert play.cell in marked
        assert marked <= scoring or not play.parts, "it marks cards that score"
        assert re.fullmatch(r"[^.]+\.", step.text), "one sentence"
        assert len(step.text.split()) <= 25


def test_the_lessons_show_every_part_of_the_score() -> None:
    for name, expected in {
        "solitaire": {"basic", "pair", "straight", "three", "power", "draw"},
        "spiral": {"kinds", "run", "flush"},
    }.items():
        assert {part.name for play in plays(lessons()[name]) for part in play.parts} == expected
    solitaire = lessons()["solitaire"]
    assert len(solitaire.steps) == 8
    assert len(lessons()["spiral"].steps) == 3
    (danger,) = (number for number, step in enumerate(solitaire.steps) if step.text.startswith("Danger"))
    session = solitaire.session()
    for step in solitaire.steps[:danger]:
        session.play(session.parse(step.play))
    assert sum(session.game.hands[0]) == 4 < session.game.rules.num_plays - session.game.ply - 1
    for step in solitaire.steps[danger:]:
        session.play(session.parse(step.play))
    assert sum(session.game.hands[0]) == 4 == 12 - session.game.ply, "as its last sentence says"


def test_a_guided_table_takes_its_plays_only_and_is_not_saved(tmp_path: Path) -> None:
    games = Games(tmp_path, pause=0.0)
    table: Table = games.learn(lessons()["solitaire"])
    other = next(play for play in table.session.candidates() if play.action != table.wanted)
    with pytest.raises(IllegalAction, match="this guided game"):
        table.play(0, other.action)
    while table.wanted is not None:
        table.play(table.position, table.wanted)
    assert table.step is None
    table.play(table.position, table.session.candidates()[0].action)
    table.undo(table.position)
    table.undo(table.position)
    assert table.step == 7
    assert not [*games.folder.iterdir()]
