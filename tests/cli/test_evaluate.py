"""Evaluations, comparisons and tournaments on the command line."""

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform
from quincunx_env.arena import compare, evaluate
from quincunx_env.arena.games import Games
from quincunx_env.quincunx.rules import Rules
from tests.cli.conftest import Command

for library in ("scipy", "tyro"):
    pytest.importorskip(library)

pytestmark = pytest.mark.usefixtures("folder")


def test_the_command_line(quincunx: Command) -> None:
    printed = quincunx("evaluate greedy random=uniform --deals 20 --workers 1 --records alone.npz")
    assert "`benchmark` deals 0 to 19, lost rounds counted 0;" in printed
    compared = "compare greedy random=uniform --deals 20 --num-players 3 --start open"
    quincunx(f"{compared} --out three --records three.npz")
    quincunx("tournament greedy uniform --deals 20 --workers 1 --flush --records held.npz")
    quincunx("verify alone.npz three.npz held.npz")
    evaluation = json.loads(Path("runs/evaluate/result.json").read_text())
    assert evaluation.keys() == {"command", "evaluations"}, "no times"
    assert evaluation["evaluations"]["random"] == evaluate(uniform, 20, adjusted=True).to_json()
    comparison = json.loads(Path("three/result.json").read_text())
    assert comparison["policies"][1]["name"] == "random"
    expected = compare([greedy, uniform], 20, rules=Rules(num_players=3, start="open")).to_json()
    assert comparison["policies"][0]["margin"] == expected["policies"][0]["margin"]
    ratings = json.loads(Path("runs/tournament/result.json").read_text())["ratings"]
    assert ratings["greedy"]["value"] > 0
    assert Path("runs/tournament/result.png").exists()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be bound to cores")
def test_by_default_there_is_a_process_for_each_core_that_may_be_used() -> None:
    from quincunx_env.cli.evaluate import Evaluate

    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert Evaluate(policies=("greedy",)).workers == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(
    ("play", "line"), [(evaluate, "evaluate uniform"), (compare, "compare greedy uniform")], ids=["evaluate", "compare"]
)
def test_functions_and_commands_play_the_same_games(play: Any, line: str, quincunx: Command) -> None:
    """A policy that draws random numbers depends on the size of a chunk."""
    quincunx(f"{line} --deals 301 --records games.npz")
    claims = Games.read("games.npz").lineups[0].claims
    policies = line.split()[1:]
    assert claims == play(policies if len(policies) > 1 else policies[0], 301).figures()


@pytest.mark.parametrize("command", ["evaluate", "tournament"])
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


def test_commands_adjust_few_deals_unasked(quincunx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("safetensors")
    monkeypatch.setattr("quincunx_env.arena.luck.FEW_DEALS", 6)
    for arguments, adjusts in (("--deals 6", True), ("--deals 7", False), ("--deals 7 --adjusted", True)):
        assert ("adjusted mean" in quincunx(f"evaluate uniform --workers 1 {arguments}")) == adjusts
        stored = json.loads(Path("runs/evaluate/result.json").read_text(encoding="utf-8"))
        assert ("adjusted_mean" in stored["evaluations"]["uniform"]) == adjusts
    assert "adjusted mean" not in quincunx("evaluate uniform --workers 1 --deals 6 --flush")
    printed = quincunx("benchmark solitaire uniform --workers 1 --split search --deals 6 --out runs/task")
    assert "| mean score | 95 % interval | adjusted mean | 95 % interval |" in printed
    for line in ("benchmark 2-corners greedy --adjusted", "benchmark combinations greedy --adjusted"):
        assert "adjusted" in quincunx.error(f"{line} --deals 2 --out runs/task")


ERRORS = {
    "evaluate =greedy": "a policy needs a name before the '=', got '=greedy'",
    "evaluate gredy": "unknown policy 'gredy'; did you mean 'greedy'? registered policies: greedy, ",
    "evaluate mine=builtins:len": "the policy len(obj, /) has the wrong arguments: it is called as policy(",
    "evaluate greedy greedy": "two policies are called 'greedy'",
    "evaluate": "there is nothing to play",
    "evaluate greedy --num_players=2": "quincunx evaluate has no --num_players: use compare for several players",
    "evaluate greedy --no-match": "quincunx evaluate has no --no-match: use compare for several players",
    "compare greedy uniform --edge-contact": "quincunx compare has no --edge-contact: use evaluate for the solitaire",
    "evaluate greedy --workers 0": "workers must be an integer of at least 1, got 0",
    "evaluate greedy --deals 1": "deals must be an integer of at least 2, got 1",
    "evaluate greedy --out file": "file is a file: choose another folder for the results with --out",
    "compare greedy": "compare takes 2 policies or one for each of the 2 seats, got 1",
    "tournament greedy": "a tournament needs at least two policies, got 1",
    "tournament greedy uniform --spiral.deals 2": "--spiral.deals is an option of the spiral game: add --game spiral",
    "compare greedy uniform --game spiral --simpleton": "--simpleton is an option of Quincunx: leave out --game spiral",
    "compare uniform greedy --num-players 1": "rules for several players are needed, got the solitaire",
    "evaluate greedy --records .": ". is a folder: name a file for the games with --records",
    "evaluate greedy --records file": "file is not a file of games: name another file",
    "evaluate greedy --lost-value nan": "the value of a lost round must be a number from -1,000,000 to 1,000,000",
    "evaluate greedy --lost-value 1e308": "the value of a lost round must be a number from -1,000,000",
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
    assert not list(folder.iterdir())

    def fill(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    command = "tournament greedy uniform --deals 4 --workers 1"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", fill)
        message = quincunx.error(command)
    assert message.startswith("No space left on device: 'runs/tournament/games/")
    assert "finished games" not in message, "none are stored"
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
        "def ends(observation, mask, rng):\n    raise SystemExit(1)\n"
        "class Unread:\n"
        "    def for_rules(self, rules):\n        raise FileNotFoundError(2, 'missing', 'table')\n"
        "class Valued:\n"
        "    def __call__(self, observation, mask, rng):\n        return mask.argmax(1)\n"
        "    action_values = Unread.for_rules\n"
        "unread, valued = Unread(), Valued()\n"
    )
    (folder / "ends_at_once.py").write_text("raise SystemExit(1)\n")
    with pytest.raises(ValueError, match="mine") as caught:
        quincunx("compare greedy mine=wrong_policies:broken --deals 4")
    assert caught.value.__notes__ == ["raised by the policy mine"]
    with pytest.raises(FileNotFoundError, match="missing") as missing:
        quincunx("evaluate wrong_policies:unread --deals 4 --workers 1")
    assert missing.value.__notes__ == ["raised by the policy Unread"]
    quincunx("evaluate greedy --deals 4 --workers 1 --records games.npz")
    with pytest.raises(TypeError, match="for_rules") as raised:
        quincunx("replay games.npz --html page.html --values wrong_policies:valued")
    assert raised.value.__notes__ == ["raised by the policy wrong_policies:valued"]
    line = quincunx.error("evaluate mine=wrong_policies:ends --deals 4 --workers 1")
    assert line == "the policy mine ends the program (SystemExit(1)): let it raise an error"
    line = quincunx.error("evaluate ends_at_once:policy --deals 4")
    assert line == "policy 'ends_at_once:policy' cannot be imported: SystemExit: 1"
    line = quincunx.error("compare greedy mine=wrong_policies:fractions --deals 4")
    assert line.startswith("the policy mine: 4 integer actions are needed, got float64")
