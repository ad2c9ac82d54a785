"""Evaluations, comparisons and tournaments on the command line, and files of their games."""

import errno
import json
import os
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from quincunx_agents import networks
from quincunx_agents.greedy import greedy
from quincunx_agents.search.best_response import best_response
from quincunx_agents.uniform import uniform
from quincunx_env.arena import Estimate, compare, evaluate
from quincunx_env.arena.benchmark import BASELINES, TASKS, DealRange, baselines, best_known, read_results
from quincunx_env.arena.games import Games
from quincunx_env.arena.leaderboard import VerifiedFile
from quincunx_env.policies import PolicyFile
from quincunx_env.quincunx.rules import Rules
from tests.cli.conftest import Command
from tests.fuzz.test_files import policy_file

for library in ("choix", "scipy", "tyro"):
    pytest.importorskip(library)

pytestmark = pytest.mark.usefixtures("folder")


def test_the_command_line(quincunx: Command) -> None:
    quincunx("evaluate greedy random=uniform --deals 20 --workers 1 --records alone.npz")
    compared = "compare greedy random=uniform --deals 20 --num-players 3 --start open"
    quincunx(f"{compared} --out three --records three.npz")
    quincunx("tournament greedy uniform --deals 20 --workers 1 --flush --records held.npz")
    printed = quincunx("verify alone.npz three.npz --rerun greedy random=uniform --positions 40")
    for part in (
        "| 0 to 19 | rerun |",
        "| 0 to 19 | rerun, 1 of 1 chunks equal |",
        "alone.npz: random: 1 of 1 chunks equal",
        "60 games replayed; rerun: greedy",
    ):
        assert part in printed
    shown = json.loads(quincunx("verify --show alone.npz"))
    assert shown == json.loads(json.dumps(Games.read("alone.npz").header))
    printed = quincunx("leaderboard alone.npz three.npz held.npz --rerun greedy --page board.md")
    assert printed == "wrote board.md and board.png\n"
    evaluation = json.loads(Path("runs/evaluate/result.json").read_text())
    assert evaluation["evaluations"]["random"] == evaluate(uniform, 20).to_json()
    comparison = json.loads(Path("three/result.json").read_text())
    assert comparison["policies"][1]["name"] == "random"
    expected = compare([greedy, uniform], 20, rules=Rules(num_players=3, start="open")).to_json()
    assert comparison["policies"][0]["margin"] == expected["policies"][0]["margin"]
    ratings = json.loads(Path("runs/tournament/result.json").read_text())["ratings"]
    assert ratings["greedy"]["value"] > 0
    assert Path("runs/tournament/result.png").exists()
    page = Path("board.md").read_text()
    assert page.startswith("# Leaderboard\n")
    for part in ("## Solitaire\n", "## 3 players, start open\n", "## 2 players, flush\n", "| greedy | "):
        assert part in page
    assert "| 0 to 19 | replayed |" in page
    assert "`quincunx leaderboard alone.npz three.npz held.npz --rerun greedy --page" in page
    assert Path("board.png").exists()
    for played, file in (
        ("evaluate greedy random=uniform --deals 20", "alone.npz"),
        ("compare greedy random=uniform --num-players 3 --start open --deals 20", "three.npz"),
        ("compare greedy uniform --flush --deals 20", "held.npz"),
    ):
        assert f"`quincunx {played} --records {file}`" in page
    alone = page.split("## Baselines of the task solitaire\n")[1]
    value = baselines()["solitaire", "value"]
    assert f"| value | {value.deals.count} | {value.score.value:.1f} | " in alone
    assert not re.search(r"^\| greedy \|", alone, re.MULTILINE), "a policy of the files that was asked again"
    assert "## Baselines of the task 3-corners" not in page


def test_the_command_of_a_file_names_the_policies_as_they_were_given(quincunx: Command) -> None:
    """Also the file of a model; what a file of games says is not trusted to be a word."""
    shutil.copy(Path(networks.__file__).parent / "weights" / "solitaire.safetensors", "own.safetensors")
    line = "evaluate mine=own.safetensors --deals 4 --records mine.npz"
    quincunx(f"{line} --workers 1")
    assert VerifiedFile.check("mine.npz").command == f"quincunx {line}"
    records = Games.read("mine.npz")
    replace(records, about={"given": {"mine": "a; rm b"}}).write(Path("mine.npz"))
    assert VerifiedFile.check("mine.npz").command == "quincunx evaluate mine --deals 4 --records mine.npz"


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
        ("verify true.npz", "| 0 to 3 | replayed, 0 of 1 chunks equal, 1 different |"),
        ("leaderboard true.npz --page other.md", "wrote other.md"),
    ):
        status, out, message = quincunx.end(f"{command} --rerun greedy=uniform")
        assert status == 1
        assert shown in out
        assert message.startswith("error: true.npz: greedy: 0 of 1 chunks equal, 1 different; deal ")
        assert "the file has" in message
    assert "| 0 to 3 | replayed, 0 of 1 chunks equal, 1 different |" in Path("other.md").read_text()
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
    assert quincunx.error("evaluate --sealed season.secret.json greedy").startswith(
        "policies on sealed deals are files"
    )
    assert "| policy.safetensors | 6 |" in quincunx(played)
    assert quincunx.error("verify season").startswith("season has no secret.json")
    Path("season.secret.json").rename("season/secret.json")
    assert "| sealed |" in quincunx("verify season")
    quincunx("leaderboard season --page season/page.md")
    page = Path("season/page.md").read_text()
    assert "## Solitaire, sealed deals" in page
    assert "| sealed |" in page
    secret = Path("season/secret.json").read_text()
    Path("season/secret.json").write_text(secret.replace('"deals": 6', '"deals": 7'))
    assert "the secret does not fit the commitment" in quincunx.error("verify season", status=1)
    for wrong in ("seal add other", f"seal new other {path}"):
        assert quincunx.error(wrong).startswith("name policies with add, and none with new")


def test_rows_with_other_values_of_lost_rounds_have_a_table_of_their_own(quincunx: Command) -> None:
    """Their means cannot be compared, and the rows and the command name the value."""
    evaluate("greedy", 20, lost_value=200, records="high.npz")
    evaluate("uniform", 20, records="plain.npz")
    quincunx("leaderboard high.npz plain.npz --page board.md")
    page = Path("board.md").read_text()
    plain, high = page.split("| agent |")[1:]
    assert "| uniform |" in plain
    assert "| 0 to 19 | replayed |" in plain
    assert "| greedy |" in high
    assert "| 0 to 19 | replayed, lost rounds count 200 |" in high
    assert "`quincunx evaluate greedy --deals 20 --chunk 1000 --lost-value 200 --records high.npz`" in page
    assert "`quincunx evaluate uniform --deals 20 --chunk 1000 --records plain.npz`" in page
    assert "above the best known result" not in page, "there lost rounds count 0"


@pytest.mark.parametrize("seats", ["uniform greedy greedy greedy", "uniform uniform greedy greedy"])
def test_the_command_of_a_comparison_seats_the_policies(seats: str, tmp_path: Path) -> None:
    path = tmp_path / "four.npz"
    compare(seats.split(), 2, rules=Rules(4), chunk=1, records=path)
    named = "uniform greedy" if seats.endswith("greedy greedy greedy") else seats
    file = VerifiedFile.check(path)
    assert file.command == f"quincunx compare {named} --num-players 4 --deals 2 --chunk 1 --records four.npz"
    again = compare(named.split(), 2, rules=Rules(4), chunk=1)
    assert file.results[0].to_json() == again.to_json()


def test_a_mean_above_the_best_known_one_is_flagged(quincunx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    best = best_known(Rules())
    assert best is not None
    assert best.score == max(each.score for each in read_results(BASELINES) if each.task.name == "solitaire")
    assert best_known(Rules(flush=True)) is None
    evaluate("greedy", 20, records=Path("greedy.npz"))
    for points, row in ((50.0, "replayed"), (-50.0, f"replayed, above the best known result ({best.policy}, -50.0)")):
        known = replace(best, score=Estimate(points, points, points))
        monkeypatch.setattr("quincunx_env.arena.leaderboard.best_known", lambda rules, known=known: known)
        assert f"| 0 to 19 | {row} |" in quincunx("verify greedy.npz")


def test_lower_bounds_of_exploitability(quincunx: Command) -> None:
    played = "compare best-response:greedy greedy --deals 4 --chunk 3 --mini --records response.npz"
    assert "| best-response:greedy | " in quincunx(played)
    figures = json.loads(Path("runs/compare/result.json").read_text())
    rules = Rules(num_players=2, mini=True)
    expected = compare(
        [best_response(greedy), greedy], 4, rules=rules, chunk=3, names=["best-response:greedy", "greedy"]
    )
    assert figures.items() >= expected.to_json().items()
    verified = quincunx("verify response.npz --rerun best-response:greedy --positions 4")
    assert "; rerun: best-response:greedy" in verified


@pytest.mark.parametrize("command", ["evaluate", "compare", "tournament"])
def test_times_are_ratios_to_the_first_policy(command: str, quincunx: Command) -> None:
    players = "" if command == "evaluate" else " --num-players 2"
    quincunx(f"{command} heuristic greedy --deals 4 --times{players}")
    stored = json.loads(Path(f"runs/{command}/result.json").read_text())
    assert stored.keys() > {"command", "seconds_per_action"}, "beside the other figures"
    seconds = stored["seconds_per_action"]
    assert list(seconds) == ["heuristic", "greedy"]
    ratio = seconds["greedy"] / seconds["heuristic"]
    assert 0 < ratio < 1
    lines = Path(f"runs/{command}/result.md").read_text().splitlines()
    heading = lines.index("| policy | time per action, heuristic = 1 | ms per action here |")
    assert lines[heading - 1] == ""
    assert lines[heading + 2].startswith("| heuristic | 1 | ")
    assert lines[heading + 3].startswith(f"| greedy | {ratio:.3g} | ")
    assert lines[heading + 5].endswith("processor time with 250 deals side by side, each policy in every seat.*")


ERRORS = {
    "evaluate no-such": "unknown policy 'no-such'",
    "evaluate json:nothing": "policy 'json:nothing' cannot be imported",
    "evaluate =greedy": "a policy needs a name before the '=', got '=greedy'",
    "evaluate greedy greedy": "two policies are called 'greedy'",
    "evaluate": "there is nothing to play",
    "evaluate greedy --num-players 2": "evaluate needs the solitaire",
    "evaluate greedy --start open": "start='open' needs 2 to 4 players",
    "evaluate greedy --simpleton": "simpleton=True needs 2 to 4 players",
    "evaluate greedy --workers -1": "workers must be an integer of at least 1, got -1",
    "evaluate greedy --workers 0": "workers must be an integer of at least 1, got 0",
    "evaluate greedy --chunk 60000": "a chunk has at most 10000 deals of these rules, got 60000: choose a smaller one",
    "evaluate greedy --deals 1": "deals must be an integer of at least 2, got 1",
    "evaluate greedy --chunk 0": "chunk must be an integer of at least 1, got 0",
    "evaluate greedy --seed -1": "seed must be an integer of at least 0, got -1",
    "evaluate greedy --first -1": "first must be an integer of at least 0, got -1",
    f"evaluate greedy --first {2**63}": "the number of a deal is at most 2**63 - 1",
    "evaluate greedy --out file": "file is a file: choose another folder for the results with --out",
    "compare greedy uniform --out file/new": "file is a file: choose another folder for the results with --out",
    "compare greedy": "compare takes 2 policies or one for each of the 2 seats, got 1",
    "tournament greedy": "a tournament needs at least two policies, got 1",
    "tournament greedy uniform --num-players 7": "num_players must be 1 (solitaire), 2, 3 or 4, got 7",
    "tournament greedy uniform --spiral.deals 2": "--spiral.deals is an option of the spiral game: add --game spiral",
    "compare greedy uniform --game spiral --simpleton": "--simpleton is an option of Quincunx: leave out --game spiral",
    "compare greedy uniform --game spiral --start corners": "--start is an option of Quincunx: leave out --game spiral",
    "compare best-response:no-such greedy": "unknown policy 'no-such'",
    "compare best-response:no-such.zip greedy": "there is no policy file no-such.zip",
    "compare best-response:greedy greedy --num-players 1": "rules for several players are needed, got the solitaire",
    "leaderboard nowhere": "[Errno 2] No such file or directory: 'nowhere'",
    "leaderboard file": "file: this is not a file of games, as evaluate --records writes it",
    "leaderboard": "name a file of games",
    "verify": "name a file of games",
    "verify --show": "name a file of games",
    "verify --show file": "file: this is not a file of games, as evaluate --records writes it",
    "verify file": "file: this is not a file of games, as evaluate --records writes it",
    "verify .": "[Errno 21] Is a directory: '.'",
    "verify file --rerun no-such": "unknown policy 'no-such'",
    "verify file --seed -1": "--seed must be at least 0, got -1",
    "verify file --positions 0": "positions must be at least 1, got 0",
    "evaluate greedy --records .": ". is a folder: name a file for the games with --records",
    "evaluate greedy --records file": "file is not a file of games: name another file",
    "evaluate greedy --lost-value nan": "--lost-value must be finite, got nan",
    "leaderboard some.npz --page some.npz": "--page must name a separate file",
    "leaderboard some.npz --page page.png": "--page must name a separate file",
    "leaderboard some.npz --page .": "--page must name a separate file",
    "leaderboard nowhere --page file/x.md": "file is a file: choose another folder for the results with --page",
    "compare greedy uniform --records file/new": "file is a file: choose another folder for the results with --records",
}
"""Commands, and how the line of the error begins after ``error:``."""


@pytest.mark.parametrize("arguments", ERRORS)
def test_errors_on_the_command_line(arguments: str, quincunx: Command, folder: Path) -> None:
    Path("file").write_text("no games")
    assert quincunx.error(arguments).removeprefix(f"{Path.cwd()}/").startswith(ERRORS[arguments])
    assert [path.name for path in folder.iterdir()] == ["file"], "nothing is written"


def test_results_that_cannot_be_written(quincunx: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that permits no files is refused before the first game; a full disk ends the run, which can resume."""

    def refuse(**_: object) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "name")

    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "TemporaryFile", refuse)
        for command in ("compare greedy uniform", "evaluate greedy", "tournament greedy uniform"):
            message = quincunx.error(f"{command} --out sub/runs --deals 4")
            assert message == "nothing can be written to sub/runs (Permission denied): choose another folder with --out"
        message = quincunx.error("leaderboard none.npz --page sub/board.md")
        assert message == "nothing can be written to sub (Permission denied): choose another folder with --page"
    assert not list(folder.iterdir())

    def fill(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    command = "tournament greedy uniform --deals 4 --workers 1"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", fill)
        message = quincunx.error(command)
    assert message.startswith("[Errno 28] No space left on device: 'runs/tournament/games/")
    assert message.endswith(f"; finished games are stored, this resumes: quincunx {command}")
    quincunx(command)
    assert not list(folder.rglob(".*"))


def test_games_of_another_tournament(quincunx: Command) -> None:
    """Files that were copied from the results of other games, deals or policies."""
    arguments = "tournament greedy uniform --deals 4 --workers 1 --out three --num-players 3"
    quincunx(arguments)
    (target, *_) = sorted(Path("three").rglob("greedy+uniform*.npz"))
    before = target.read_bytes()
    for other in ("tournament greedy uniform", "evaluate greedy", f"{arguments} --first 4", f"{arguments} --seed 1"):
        quincunx(f"{other} --deals 4 --workers 1 --out other")
        (source,) = Path("other").rglob("greedy[.+]*.npz")
        target.write_bytes(source.read_bytes())
        message = quincunx.error(arguments)
        assert message.startswith(f"{target} is of other games: delete it, and its games are played again")
        source.unlink()
    target.write_bytes(before[:50])
    assert quincunx.error(arguments).startswith(f"{target} cannot be read: delete it")
    target.unlink()
    quincunx(arguments)
    assert target.read_bytes() == before


def test_an_error_of_a_policy_has_its_traceback_and_names_it(
    quincunx: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / "wrong_policies.py").write_text(
        "import numpy as np\n"
        "def broken(observation, mask, rng):\n    raise ValueError('mine')\n"
        "def fractions(observation, mask, rng):\n    return np.zeros(len(mask))\n"
    )
    with pytest.raises(ValueError, match="mine") as caught:
        quincunx("compare greedy mine=wrong_policies:broken --deals 4")
    assert caught.value.__notes__ == ["raised by the policy mine"]
    line = quincunx.error("compare greedy mine=wrong_policies:fractions --deals 4")
    assert line.startswith("the policy mine: 4 integer actions are needed, got float64")


def test_wrong_flags_name_the_help_of_their_command(quincunx: Command) -> None:
    status, _, message = quincunx.end("evaluate greedy --dealz 3")
    assert status == 2
    assert "quincunx evaluate --help " in message
    assert message.count("--help") == 1
    assert "--deals INT" in message
