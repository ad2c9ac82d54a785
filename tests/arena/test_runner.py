"""The runner of lineups: what is refused before the first game, and which stored games are used."""

import functools
import importlib
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quincunx_env
from quincunx_agents.greedy import greedy
from quincunx_agents.search.monte_carlo import MonteCarlo
from quincunx_agents.uniform import uniform
from quincunx_env.arena import Deals, Run, evaluate, evaluate_all, tournament
from quincunx_env.arena.generalisation import evaluate_generalisation
from quincunx_env.cli import main
from quincunx_env.policies import ChatPolicy, PolicyFileError, identity
from tests.policies.test_files import NETWORK

pytest.importorskip("scipy")

DEALS = Deals(4, "validation")


def test_a_file_for_other_rules_is_refused_before_games_are_played(tmp_path: Path) -> None:
    """The network of the solitaire does not play against others; games without it come first."""
    with pytest.raises(PolicyFileError, match="solitaire"):
        tournament({"a": "greedy", "b": "uniform", "c": str(NETWORK)}, 2, run=Run(out=tmp_path))
    assert not [*tmp_path.iterdir()]


# --- Stored games ----------------------------------------------------------------------------------------------------


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines that have been said since the last call."""

    def said() -> list[str]:
        found = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        caplog.clear()
        return found

    return said


def used(games: int, out: Path) -> list[str]:
    return [f"{games:,} stored games of the same policies are used, from {out / 'games'}: delete it to play anew"]


def turned(times: int) -> Any:
    """A policy of one's own that plays another game for each number."""

    def policy(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
        return np.array([np.roll(np.flatnonzero(row), -times)[0] for row in mask])

    return policy


class Turned:
    """An agent that plays as `turned`."""

    def __init__(self, times: int) -> None:
        self.times = times

    def __call__(self, observation: Any, mask: Any, rng: np.random.Generator) -> Any:
        """Play."""
        return turned(self.times)(observation, mask, rng)


class Unpicklable(Turned):
    """An agent that cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("no")


def answer(times: int, messages: Any) -> str:
    return "legal" if times else "rules"


PAIRS: dict[str, tuple[Any, Any]] = {
    "fields": (MonteCarlo(samples=1, rounds=1), MonteCarlo(samples=8, rounds=1)),
    "closures": (turned(0), turned(1)),
    "lambdas": (lambda *seen: turned(0)(*seen), lambda *seen: turned(1)(*seen)),
    "attributes": (Turned(0), Turned(1)),
    "methods": (Turned(0).__call__, Turned(1).__call__),
    "partials": (functools.partial(Turned.__call__, Turned(0)), functools.partial(Turned.__call__, Turned(1))),
}
"""Policies of one's own that have one name."""


@pytest.mark.parametrize(("one", "other"), PAIRS.values(), ids=PAIRS)
def test_stored_games_of_another_policy_of_the_name_are_not_used(
    one: Any, other: Any, tmp_path: Path, lines: Callable[[], list[str]]
) -> None:
    first, second = (evaluate_all({"mine": each}, DEALS)["mine"].scores for each in (one, other))
    assert (first != second).any()
    for agent, expected, said in (
        (one, first, []),
        (other, second, []),
        (one, first, used(4, tmp_path) if identity(one) else []),  # functions without a name play anew
        (other, second, used(4, tmp_path) if identity(other) else []),
    ):
        assert (evaluate_all({"mine": agent}, DEALS, run=Run(out=tmp_path))["mine"].scores == expected).all()
        assert lines() == said


def test_what_cannot_be_told_apart_is_played_anew(tmp_path: Path, lines: Callable[[], list[str]]) -> None:
    """Also by several processes, and beside a policy that can be told; nothing of it is stored."""
    agent = Unpicklable(0)
    policies = {"mine": agent, "greedy": greedy, "uniform": uniform}
    for games in (0, 8):
        before = tournament(policies, DEALS, run=Run(out=tmp_path))
        assert lines() == (used(games, tmp_path) if games else [])
        assert [path.name.split(".")[0] for path in tmp_path.rglob("*.npz")] == ["greedy+uniform"]
    agent.times = 1
    after = tournament(policies, DEALS, run=Run(out=tmp_path))
    pair = "greedy", "mine"
    assert (after.comparisons[pair].totals != before.comparisons[pair].totals).any()


def test_another_version_of_the_package_plays_anew(
    tmp_path: Path, lines: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(out=tmp_path)
    evaluate("greedy", DEALS, run=run)
    monkeypatch.setattr(quincunx_env, "__version__", "0.1.1")
    evaluate("greedy", DEALS, run=run)
    assert lines() == []
    evaluate("greedy", DEALS, run=run)
    assert lines() == used(4, tmp_path)


def test_a_language_model_is_told_by_its_code_and_options(tmp_path: Path, lines: Callable[[], list[str]]) -> None:
    """And not by what its results do not depend on."""
    chats = [functools.partial(answer, times) for times in (0, 1)]
    agents = [ChatPolicy(chats[0], "m"), ChatPolicy(chats[1], "m"), ChatPolicy(chats[0], "m", answers=2)]
    for agent in agents:
        evaluate(agent, 2, run=Run(out=tmp_path))
    assert lines() == []
    for agent in (*agents, ChatPolicy(chats[0], "m", at_once=2, retries=0)):
        evaluate(agent, 2, run=Run(out=tmp_path))
        assert lines() == used(2, tmp_path)


def test_one_line_tells_of_all_games_of_a_task_of_generalisation(
    tmp_path: Path, lines: Callable[[], list[str]]
) -> None:
    arguments: dict[str, Any] = {"split": "validation", "deals": 2, "run": Run(out=tmp_path)}
    found = evaluate_generalisation("rules-never-met", "greedy", **arguments)
    assert lines() == []
    assert evaluate_generalisation("rules-never-met", "greedy", **arguments) == found
    assert lines() == used(2 * 9, tmp_path)


def test_results_that_are_removed_in_mid_run_are_named(tmp_path: Path) -> None:
    def removing(chunks: Any) -> Any:
        yield from chunks
        shutil.rmtree(tmp_path)

    with pytest.raises(ValueError, match=r"npz was removed while games were played: start again$"):
        evaluate("greedy", DEALS, run=Run(out=tmp_path, progress=removing))


def test_a_damaged_file_is_refused_before_games_are_played(tmp_path: Path) -> None:
    run = Run(out=tmp_path)
    evaluate("greedy", DEALS, run=run)
    [path] = tmp_path.rglob("*.npz")
    path.write_bytes(b"")

    def fail(chunks: Any) -> Any:
        raise AssertionError("games are played")

    with pytest.raises(ValueError, match="cannot be read: delete it, and its games are played again"):
        evaluate_all(["uniform", "greedy"], DEALS, run=Run(out=tmp_path, progress=fail))


# --- Commands --------------------------------------------------------------------------------------------------------

LOWEST = "def policy(observation, mask, rng):\n    return mask.argmax(axis=1)\n"
HIGHEST = "def policy(observation, mask, rng):\n    return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)\n"

COMMANDS = {
    "evaluate mine=its_policy:policy --deals 4": 4,
    "evaluate mine=its_policy:policy --deals 4 --observation pieces": 4,
    "tournament mine=its_policy:policy greedy --deals 4": 8,
    "benchmark solitaire mine=its_policy:policy --deals 4 --split validation": 4,
    "benchmark 2-open mine=its_policy:policy --deals 2 --split validation": 4,
}
"""Commands, and the games that they play."""


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_play_an_edited_module_anew(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lines: Callable[[], list[str]],
) -> None:
    pytest.importorskip("tyro")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # whose times are too coarse for two edits in a second

    def figures(source: str) -> str:
        (tmp_path / "its_policy.py").write_text(source)
        monkeypatch.delitem(sys.modules, "its_policy", raising=False)
        importlib.invalidate_caches()
        main([*command.split(), "--workers", "1", "--out", "out"])
        return Path("out", "results.csv" if "benchmark" in command else "result.json").read_text()

    lowest, again = figures(LOWEST), used(COMMANDS[command], Path("out"))
    assert lines() == []
    highest = figures(HIGHEST)
    assert (highest != lowest, lines()) == (True, [])
    assert (figures(HIGHEST), lines()) == (highest, again)
    assert (figures(LOWEST), lines()) == (lowest, again)


SCRIPT = """
import sys
from quincunx_env.arena import Run, evaluate
from quincunx_agents.search.monte_carlo import MonteCarlo

class Mine(MonteCarlo):
    pass

if __name__ == "__main__":
    samples, workers = map(int, sys.argv[1:])
    print(evaluate(Mine(samples=samples, rounds=1), 4, run=Run(out="out", chunk=2, workers=workers)).mean)
"""


def test_a_script_and_its_processes(tmp_path: Path) -> None:
    """In fresh interpreters. The line is on stderr, the figure on stdout."""
    (tmp_path / "script.py").write_text(SCRIPT)

    def run(samples: int, workers: int) -> tuple[str, str]:
        line = [sys.executable, "-W", "error", "script.py", str(samples), str(workers)]
        ended = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
        return ended.stdout, ended.stderr

    two, sixteen = run(2, 2), run(16, 1)
    assert (two[1], sixteen[1]) == ("", "")
    assert two[0] != sixteen[0]
    [line] = used(4, Path("out"))
    assert run(2, 1) == (two[0], f"{line}\n")
    assert run(16, 2) == (sixteen[0], f"{line}\n")
    script = tmp_path / "script.py"
    script.write_text(f"{SCRIPT}\n")
    assert run(2, 1) == two
