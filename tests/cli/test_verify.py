"""Files of games, seasons and the leaderboard on the command line."""

import inspect
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quincunx_agents import networks
from quincunx_env.arena import Estimate, compare, evaluate, evaluate_all
from quincunx_env.arena.benchmark import TASKS, DealRange, best_known
from quincunx_env.arena.games import Games
from quincunx_env.cli.verify import command_of
from quincunx_env.policies import PolicyFile
from quincunx_env.quincunx.rules import Rules
from quincunx_env.submissions.verification import VerifiedFile
from tests.cli.conftest import Command
from tests.fuzz.test_files import policy_file

for library in ("choix", "scipy", "tyro"):
    pytest.importorskip(library)

pytestmark = pytest.mark.usefixtures("folder")


def test_the_command_of_a_file_names_the_policies_as_they_were_given(quincunx: Command) -> None:
    """Also the file of a model; what a file of games says is not trusted to be a word."""
    shutil.copy(Path(networks.__file__).parent / "weights" / "solitaire.safetensors", "own.safetensors")
    line = "evaluate mine=own.safetensors --deals 4 --records mine.npz"
    quincunx(f"{line} --workers 1")
    assert command_of(VerifiedFile.check("mine.npz")) == f"quincunx {line}"
    records = Games.read("mine.npz")
    replace(records, about={"given": {"mine": "a; rm b"}}).write(Path("mine.npz"))
    assert command_of(VerifiedFile.check("mine.npz")) == "quincunx evaluate mine --deals 4 --records mine.npz"


def test_a_false_file_has_another_exit_status(quincunx: Command) -> None:
    """1 and not 2; the line names file and game. The page of a leaderboard is not written."""
    evaluate("greedy", 4, records=Path("true.npz"))
    records = Games.read(Path("true.npz"))
    (lineup,) = records.lineups
    totals = lineup.totals + np.array([[0], [0], [7], [0]])
    replace(records, lineups=(replace(lineup, totals=totals),)).write(Path("false.npz"))
    for command in ("verify false.npz", "leaderboard true.npz false.npz --page board.md"):
        message = quincunx.error(command, status=1)
        assert message.startswith("false.npz: greedy: deal 2, the file claims ")
    for command, shown in (
        ("verify true.npz", "| 0 to 3 | replayed, 1 of 1 chunks asked again, 1 different |"),
        ("leaderboard true.npz --page other.md", "wrote other.md"),
    ):
        status, out, message = quincunx.end(f"{command} --rerun greedy=uniform")
        assert status == 1
        assert shown in out
        assert message.startswith("error: true.npz: greedy: 1 of 1 chunks asked again, 1 different; deal ")
        assert "the file has" in message
    assert "| 0 to 3 | replayed, 1 of 1 chunks asked again, 1 different |" in Path("other.md").read_text()
    Path("false.npz").write_bytes(Path("true.npz").read_bytes()[:-1])
    assert quincunx.error("verify false.npz").startswith("false.npz: the file is damaged or cut short")
    assert not Path("board.md").exists()


def test_rows_on_other_deals_than_the_tasks_are_not_ranked(quincunx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their author may have chosen lucky ones."""
    solitaire = replace(TASKS["solitaire"], final=DealRange("benchmark", 40, 20), search=DealRange("benchmark", 40, 4))
    monkeypatch.setitem(TASKS, "solitaire", solitaire)
    evaluate("uniform", 20, first=40, records="task.npz")
    evaluate("greedy", 4, first=40, records="search.npz")
    for first in (41, 10):
        evaluate("heuristic", 20, first=first, records=f"lucky-{first}.npz")
    evaluate("value", 3, first=40, records="few.npz")
    evaluate("heuristic", 20, first=40, domain="validation", records="validation.npz")
    printed = quincunx("verify lucky-41.npz lucky-10.npz few.npz task.npz search.npz")
    ranked, others = printed.split("Not ranked, because these are not the deals of the benchmark's task:")
    names = [[line.split(" | ")[0] for line in part.splitlines() if line.startswith("| ")] for part in (ranked, others)]
    assert sorted(names[0]) == ["| agent", "| greedy", "| uniform"]
    assert names[1] == ["| agent", "| heuristic", "| value", "| heuristic"], "by their deals"
    assert quincunx("verify validation.npz").splitlines()[2].startswith("Not ranked")
    assert "Not ranked" not in quincunx("verify task.npz search.npz")


def test_a_season_on_sealed_deals(quincunx: Command) -> None:
    path = policy_file(Path())
    assert quincunx("seal new season --deals 6").count("wrote ") == 2
    assert quincunx(f"seal add season {path}") == f"{PolicyFile(str(path)).digest}  {path}\n"
    played = f"evaluate --sealed season.secret.json season/policies/{path} --workers 1 --records season/games.npz"
    for option in ("--first 3", "--deals 7", "--domain play", "--seed 1"):
        refused = f"{option.split()[0]} follows from the secret of --sealed: leave it out"
        assert quincunx.error(f"{played} {option}") == refused
    refused = quincunx.error("evaluate --sealed season.secret.json greedy")
    assert refused.startswith("policies on sealed deals are files")
    assert "| policy.safetensors | 6 |" in quincunx(played)
    assert quincunx.error("verify season").startswith("season has no secret.json")
    Path("season.secret.json").rename("season/secret.json")
    assert "| sealed |" in quincunx("verify season")
    quincunx("leaderboard season --page season/page.md")
    page = Path("season/page.md").read_text()
    assert "## Solitaire, sealed deals" in page
    assert "| sealed |" in page
    for wrong in ("seal add other", f"seal new other {path}"):
        assert quincunx.error(wrong).startswith("name policies with add, and none with new")


@pytest.mark.parametrize("ranked", [False, True])
def test_rows_with_other_values_of_lost_rounds_have_a_table_of_their_own(
    ranked: bool, quincunx: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their means cannot be compared, and the rows and the command name the value. The table of 0 comes first."""
    if ranked:
        final = replace(TASKS["solitaire"], final=DealRange("benchmark", 0, 20))
        monkeypatch.setitem(TASKS, "solitaire", final)
    evaluate("greedy", 20, lost_value=200, records="high.npz")
    evaluate("uniform", 20, records="plain.npz")
    quincunx("leaderboard high.npz plain.npz --page board.md")
    page = Path("board.md").read_text()
    plain, high = page.split("| agent |")[1:]
    assert "| uniform |" in plain
    assert "| 0 to 19 | replayed |" in plain
    assert "| greedy |" in high
    assert "| 0 to 19 | replayed, lost rounds count 200 |" in high
    assert "`quincunx evaluate greedy --deals 20 --lost-value 200 --records high.npz`" in page
    assert "`quincunx evaluate uniform --deals 20 --records plain.npz`" in page
    assert "above the best known result" not in page, "there lost rounds count 0"


@pytest.mark.parametrize("seats", ["uniform greedy greedy greedy", "uniform uniform greedy greedy"])
def test_the_command_of_a_comparison_seats_the_policies(seats: str, tmp_path: Path) -> None:
    path = tmp_path / "four.npz"
    compare(seats.split(), 2, rules=Rules(4), chunk=1, records=path)
    named = "uniform greedy" if seats.endswith("greedy greedy greedy") else seats
    file = VerifiedFile.check(path)
    assert command_of(file) == f"quincunx compare {named} --num-players 4 --deals 2 --chunk 1 --records four.npz"
    again = compare(named.split(), 2, rules=Rules(4), chunk=1)
    assert file.results[0].to_json() == again.to_json()


def test_a_mean_above_the_best_known_one_is_flagged(quincunx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    best = best_known(Rules())
    assert best is not None
    evaluate("greedy", 20, records=Path("greedy.npz"))
    for points, row in ((50.0, "replayed"), (-50.0, f"replayed, above the best known result ({best.policy}, -50.0)")):
        known = replace(best, score=Estimate(points, points, points))
        monkeypatch.setattr("quincunx_env.submissions.leaderboard.best_known", lambda rules, known=known: known)
        assert f"| 0 to 19 | {row} |" in quincunx("verify greedy.npz")


ERRORS = {
    "leaderboard nowhere": "[Errno 2] No such file or directory: 'nowhere'",
    "leaderboard": "name a file of games",
    "verify": "name a file of games",
    "verify --show": "name a file of games",
    "verify --show file": "file: this is not a file of games, as evaluate --records writes it",
    "verify file": "file: this is not a file of games, as evaluate --records writes it",
    "verify .": "[Errno 21] Is a directory: '.'",
    "verify file --rerun no-such": "unknown policy 'no-such'",
    "verify file --seed -1": "--seed must be at least 0, got -1",
    "verify file --positions 0": "positions must be at least 1, got 0",
    "leaderboard some.npz --page some.npz": "--page must name a separate file",
    "leaderboard some.npz --page page.png": "--page must name a separate file",
    "leaderboard some.npz --page .": "--page must name a separate file",
    "leaderboard nowhere --page file/x.md": "file is a file: choose another folder for the results with --page",
}
"""Commands, and how the line of the error begins after ``error:``."""


@pytest.mark.parametrize("arguments", ERRORS)
def test_errors_on_the_command_line(arguments: str, quincunx: Command, folder: Path) -> None:
    Path("file").write_text("no games")
    assert quincunx.error(arguments).removeprefix(f"{Path.cwd()}/").startswith(ERRORS[arguments])
    assert [path.name for path in folder.iterdir()] == ["file"], "nothing is written"


def reads_frames(observation: Any, mask: Any, rng: Any) -> Any:
    """The recorded actions, if a caller has them; otherwise the first legal ones."""
    frame = inspect.currentframe()
    while frame is not None:
        found = frame.f_locals
        if {"lineup", "at", "own"}.issubset(found):
            return found["lineup"].actions[found["at"][found["own"]]]
        frame = frame.f_back
    return mask.argmax(axis=1)


def test_code_cannot_read_the_recorded_actions_of_its_caller(quincunx: Command) -> None:
    evaluate_all({"cheat": "greedy"}, 20, records="cheat.npz")
    status, _, line = quincunx.end("verify cheat.npz --rerun cheat=tests.cli.test_verify:reads_frames")
    assert status == 1
    assert "the file has" in line
