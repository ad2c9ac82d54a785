"""Sessions between humans and agents, without a user interface."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_agents.greedy import greedy
from quincunx_env import spiral
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.play.session import (
    Session,
    adviser_name,
    levels,
    recorded_players,
    resuming,
    seat_players,
    unregistered,
)
from quincunx_env.quincunx import Rules
from tests.variants import BASES, SOME_SPIRAL

WEIGHTS = (
    Path(__file__).parents[2] / "agents" / "quincunx_agents" / "networks" / "weights" / "three-four-players.safetensors"
)

GAMES: dict[str, BaseRules] = {
    **BASES,
    **SOME_SPIRAL,
    "simpleton-match": Rules(num_players=3, simpleton=True, match=True, pawns=True),
}


def drawn(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Any legal action."""
    return np.array([rng.choice(np.flatnonzero(row)) for row in mask])


def deaf_to_masks(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The play with most points, whether or not the mask allows it."""
    return greedy(observation, np.ones_like(mask), rng)


def play_on(session: Session, until: int = 10_000) -> None:
    """Play on: humans take their last candidate, or announce 7; agents choose."""
    while session.mover is not None and len(session.turns) < until:
        plays = session.candidates()
        person = plays[-1].action if plays else session.parse("announce 7") if session.human_to_move else None
        session.play(person if session.human_to_move and person is not None else session.choose())


@pytest.mark.parametrize("rules", GAMES.values(), ids=GAMES)
def test_a_whole_game(rules: BaseRules) -> None:
    """Every game is played against agents; half of the record is resumed to the same end."""
    players = [None, *[drawn] * (rules.num_players - 1)]
    session = Session(rules, players, Seeded(3))
    play_on(session)
    record = session.record
    assert record.game().over
    assert record.seats == ("human", *["drawn"] * (rules.num_players - 1))
    half = Record(rules, record.dealt, record.actions[: len(record.actions) // 2], record.seats)
    resumed = Session.resume(half, players)
    play_on(resumed)
    assert resumed.record == record, "agents choose the same again"


def test_the_point_of_view() -> None:
    session = Session(Rules(num_players=3), [drawn, None, None], Seeded(0))
    assert (session.mover, session.human_to_move, session.seat) == (0, False, 1)
    session.play(session.choose())
    assert (session.mover, session.human_to_move, session.seat) == (1, True, 1)
    play_on(session, 2)
    assert session.seat == 2
    play_on(session, 3)
    assert (session.mover, session.seat) == (0, 2), "the human who moved last"
    play_on(session)
    assert session.mover is None
    assert not session.human_to_move
    assert session.seat is None, "all hands at the end"
    assert Session(Rules(), [drawn]).seat is None


def test_undo_goes_back_to_the_last_decision_of_a_human() -> None:
    session = Session(Rules(num_players=2), [drawn, None], Seeded(0))
    with pytest.raises(ValueError, match="nothing to take back"):
        session.undo()
    play_on(session, 1)
    before = session.record
    with pytest.raises(ValueError, match="nothing to take back"):
        session.undo()
    play_on(session, 3)
    reply = session.turns[2]
    session.undo()
    assert session.record == before
    assert session.game.__getstate__() == before.game().__getstate__()
    play_on(session, 3)
    assert session.turns[2] == reply, "the same play gets the same reply"
    play_on(session)
    session.undo()
    assert not session.game.over, "a finished game, too"


def test_undo_of_an_announcement_and_of_the_play_before() -> None:
    session = Session(Rules(num_players=2, simpleton=True), [None, None], Seeded(0))
    session.play(session.parse("AV (0, 1)"))
    assert session.candidates() == []
    session.play(session.parse("announce 5"))
    assert session.turns[-1].gains == [1, 0]
    session.undo()
    assert [turn.text for turn in session.turns] == ["AV (0, 1)"]
    session.undo()
    assert session.turns == []


def test_candidates() -> None:
    session = Session(Rules(num_players=2), [None, None], Seeded(0))
    points = [play.score.points for play in session.candidates() if play.score]
    assert len(points) == 10 * 20
    assert points == sorted(points, reverse=True)
    silent = Session(spiral.Rules(scoring="end"), [None, None], Seeded(0))
    assert [play.score for play in silent.candidates()] == [None] * 13


def test_hints_are_ranked_by_the_adviser_and_grouped() -> None:
    """Every legal play is in one hint; those of a hint have the same card and the same parts."""
    session = Session(Rules(num_players=2, start="open"), [None, None], Seeded(0), adviser="greedy")
    first, cells = session.game.hand(0)[0], {play.action % session.rules.num_cells for play in session.candidates()}
    hints = [*session.hints()]
    assert len(hints) == 12, "in the open start the four cells beside the first card are mirror images"
    assert all(len(hint.others) == 3 for hint in hints)
    points = [hint.score.points for hint in hints if hint.score]
    assert points == sorted(points, reverse=True), "greedy ranks by points"
    assert (hints, session.turns) == ([*session.hints()], []), "an adviser answers the same again"
    assert {*session.scores(first)} == cells
    for hint in hints:
        card, cell = divmod(hint.action, session.rules.num_cells)
        scores = session.scores(card)
        assert {play.points for play in scores.values()} == {hint.score.points if hint.score else None}
        assert {cell, *hint.others} == cells
    session.play(hints[0].action)
    while not session.game.over:
        grouped = [*session.hints()]
        assert sum(1 + len(hint.others) for hint in grouped) == len(session.candidates())
        session.play(grouped[-1].action)
    with pytest.raises(ValueError, match="the game is over"):
        session.hints()
    assert session.scores(first) == {}


def test_hints_of_other_advisers() -> None:
    solitaire = Rules()
    without = [*Session(solitaire, [None], Seeded(0)).hints()]
    assert [str(hint) for hint in without[:2]] == ["9LK (0, 2): +9 (basic +9)", "9LK (2, 0): +9 (basic +9)"]
    assert without[0].others == (7,), "the other cell beside the same Crown"
    deaf = [*Session(solitaire, [None], Seeded(0), adviser=deaf_to_masks).hints()]
    assert [hint.text for hint in deaf] == ["9LK (0, 2)"], "it chooses the same again"
    simpleton = Session(Rules(2, simpleton=True), [None, None], Seeded(0), adviser="greedy")
    simpleton.play(simpleton.parse("9LK (0, 3)"))
    [hint] = simpleton.hints()
    assert (str(hint), simpleton.scores(0)) == ("announce 9", {})
    silent = Session(spiral.Rules(scoring="end"), [None, None], Seeded(0), adviser="uniform")
    assert len([*silent.hints()]) == 13
    assert silent.scores(silent.game.hand(0)[0]) == {}


def test_mistakes_change_nothing() -> None:
    session = Session(Rules(num_players=2), [None, drawn], Seeded(0))
    with pytest.raises(IllegalAction, match="which holds"):
        session.play(session.parse("AM (0, 1)"))
    with pytest.raises(ValueError, match="no agent is to move"):
        session.choose()
    assert session.turns == []
    with pytest.raises(ValueError, match="2 seats, got 1 players"):
        Session(Rules(num_players=2), [None])
    with pytest.raises(ValueError, match="unknown policy 'no-such'"):
        Session(Rules(num_players=2), [None, "no-such"])


@pytest.mark.parametrize("name", ["dir/my  net.safetensors", "a,b#.safetensors"])
def test_a_file_with_any_name_is_resumed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(WEIGHTS.read_bytes())
    session = Session(Rules(num_players=3), seat_players(Rules(num_players=3), 0, [name]), Seeded(0))
    session.save(Path("game.txt"))
    record = Record.read("game.txt")
    assert unregistered(record) == [name, name]
    players = recorded_players(record, [name])
    assert players == [None, name, name]
    assert Session.resume(record, players).names == session.names


@pytest.mark.parametrize(
    ("rules", "expected", "adviser"),
    [
        (Rules(), ("uniform", "greedy", "heuristic", "value", "search"), "value"),
        (Rules(3, simpleton=True, match=True), ("uniform", "greedy", "heuristic", "value", "search"), "value"),
        (Rules(2, mini=True), ("uniform", "greedy", "heuristic", "monte-carlo"), "monte-carlo"),
        (spiral.Rules(scoring="end"), ("uniform", "greedy", "heuristic", "value", "search"), "value"),
    ],
)
def test_levels_that_cannot_play_the_rules_are_left_out(
    rules: BaseRules, expected: tuple[str, ...], adviser: str
) -> None:
    assert tuple(levels(rules).values()) == expected
    assert adviser_name(rules) == adviser


def test_players_are_seated() -> None:
    rules = Rules(num_players=3)
    assert seat_players(rules, 1, ["a"]) == ["a", None, "a"]
    assert seat_players(rules, 2, ["a", "human"]) == ["a", None, None]
    assert seat_players(Rules()) == [None]
    assert seat_players(Rules(2), 1) == ["heuristic", None], "an opponent by default"
    assert seat_players(spiral.Rules()) == [None, "heuristic"]
    assert (adviser_name(rules), adviser_name(rules, "human")) == ("value", None)
    assert recorded_players(Record(rules, Seeded(0))) == [None] * 3


def test_players_of_a_record_are_registered_or_given_in_their_place() -> None:
    rules = Rules(num_players=3)
    record = Record(rules, Seeded(0), seats=("greedy", "human", "uniform"))
    assert (unregistered(record), recorded_players(record)) == ([], ["greedy", None, "uniform"])
    assert resuming(record, Path("a b.txt")) == "--resume 'a b.txt'"
    record = Record(rules, Seeded(0), seats=("no such", "greedy", "--trust"))
    assert recorded_players(record, ["x", "human"]) == ["x", "greedy", None]
    assert recorded_players(record, [drawn]) == [drawn, "greedy", drawn]
    assert resuming(record, Path("a.txt")) == "--resume a.txt --opponents 'no such' POLICY"
    for others in [], ["x", "y", "z"]:
        with pytest.raises(ValueError, match=f"names 2 players that are not .*: no such, --trust; got {len(others)} "):
            recorded_players(record, others)
    with pytest.raises(ValueError, match="names 0 players that are not registered policies; got 1 policies"):
        recorded_players(Record(rules, Seeded(0)), ["x"])
