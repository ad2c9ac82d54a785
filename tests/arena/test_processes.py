"""Tournaments in several processes that are terminated or killed."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from quincunx_env.arena import Run, tournament
from quincunx_env.cli import main
from quincunx_env.utils.processes import worker_processes

pytest.importorskip("scipy")
pytest.importorskip("tyro")

PROCESSES = Path("/proc")
ARGUMENTS = ["tournament", "greedy", "uniform", "other=quincunx_agents.uniform:uniform"]
TOURNAMENT = ["quincunx_env", *ARGUMENTS]
WORKERS = ["--workers", "2"]
ENDLESS, SLOW = ["--deals", "5000", "--chunk", "10", *WORKERS], ["--deals", "40", "--chunk", "2", *WORKERS]

lists_processes = pytest.mark.skipif(not (PROCESSES / "self" / "stat").exists(), reason="lists processes by /proc")


@pytest.mark.parametrize("before", [None, "3"])
def test_worker_processes_compute_with_one_thread_each(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many threads as cores in each of as many processes hold each other up."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if before:
        monkeypatch.setenv("OMP_NUM_THREADS", before)
    with worker_processes(1) as pool:
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
    assert os.environ.get("OMP_NUM_THREADS") == before


def test_on_windows_more_processes_than_it_allows_are_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with worker_processes(64) as pool:
        assert pool._max_workers == 61  # type: ignore[attr-defined]


def test_calls_left_over_by_an_interruption_print_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes first, the end of the workers or of the executor."""
    errors: list[object] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    shutdown = ProcessPoolExecutor.shutdown

    def late_shutdown(pool: ProcessPoolExecutor, *args: Any, **options: Any) -> None:
        time.sleep(0.5)
        shutdown(pool, *args, **options)

    monkeypatch.setattr(ProcessPoolExecutor, "shutdown", late_shutdown)

    def interrupted() -> None:
        with worker_processes(1) as pool:
            first, *_ = [pool.submit(time.sleep, 0.1) for _ in range(100)]
            first.result()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert errors == []


GUARDLESS = """
from quincunx_env.arena import Run, evaluate_all

evaluate_all({"uniform": "uniform"}, 4, run=Run(workers=2, chunk=2))
"""


def test_a_script_without_main_guard_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(GUARDLESS)
    ended = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    # multiprocessing may add a warning about semaphores of the workers that ended
    told = [line for line in ended.stderr.splitlines() if line.startswith("ChildProcessError: ")]
    assert told[-1].startswith("ChildProcessError: a worker process failed when it started")
    assert "if __name__ == '__main__':" in told[-1]


@pytest.mark.parametrize(
    ("function", "argument", "reason"),
    [
        (os._exit, 3, "ended with status 3: use one worker"),
        (os._exit, 1, "ended with status 1: use one worker"),
        pytest.param(signal.raise_signal, 9, "was killed, perhaps because memory ran out", marks=lists_processes),
        pytest.param(signal.raise_signal, 6, "ended by signal 6: use one worker", marks=lists_processes),
        pytest.param(signal.raise_signal, 15, "was terminated: repeat", marks=lists_processes),
    ],
)
def test_a_dead_worker_is_reported_with_its_own_error(
    function: Callable[[int], object], argument: int, reason: str
) -> None:
    with pytest.raises(ChildProcessError, match=f"a worker process {reason}"), worker_processes(2) as pool:
        pool.submit(function, argument).result()


def start(folder: Path, program: list[str]) -> subprocess.Popen[str]:
    """Start a program in a process group of its own, which its workers share."""
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", *program],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def group(leader: int, ended: str = "ZX") -> list[tuple[int, str]]:
    """The processes of a group with their command lines, apart from those in states that mean that they have ended."""
    found = []
    for path in PROCESSES.glob("[0-9]*"):
        try:
            state, _, members = (path / "stat").read_text().rpartition(")")[2].split()[:3]
            line = (path / "cmdline").read_text()
        except OSError:
            continue  # ended meanwhile
        if int(members) == leader and state not in ended:
            found.append((int(path.name), line))
    return found


def workers(leader: int) -> list[int]:
    return [process for process, line in group(leader) if "spawn_main" in line]


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60  # in case that the machine is busy
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def stored(folder: Path) -> int:
    return len(list(folder.glob("runs/tournament/games/[!.]*.npz")))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stop(
    folder: Path, program: list[str], ready: Callable[[int], object], send: Callable[[int], object]
) -> tuple[int, str]:
    """Start a program and end it when it is ready; its exit status and error output. No process is left."""
    process = start(folder, program)
    try:
        wait_until(lambda: ready(process.pid) or process.poll() is not None)
        send(process.pid)
        wait_until(lambda: not group(process.pid))
    finally:
        if left := group(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    errors = process.communicate()[1]
    assert not left, errors
    # Until the system forgets a killed process, its temporary file counts as being written.
    wait_until(lambda: not group(process.pid, ended="X"))
    return process.returncode, errors


def finish(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Run the tournament to its end, in this process; its files."""
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    main([*ARGUMENTS, *SLOW, "--workers", "1"])
    return contents(folder)


def unfinished(folder: Path) -> list[Path]:
    return list(folder.rglob(".*"))


@lists_processes
def test_a_terminated_tournament_ends_its_workers_and_resumes(tmp_path: Path) -> None:
    status, errors = stop(
        tmp_path, [*TOURNAMENT, *ENDLESS], lambda _: stored(tmp_path), lambda leader: os.kill(leader, signal.SIGTERM)
    )
    assert status == 128 + signal.SIGTERM
    line = " ".join(["quincunx", *ARGUMENTS, *ENDLESS])
    assert errors == f"terminated; finished games are stored, this resumes: {line}\n"
    before = contents(tmp_path)
    assert stored(tmp_path)
    policies = {"greedy": "greedy", "uniform": "uniform", "other": "quincunx_agents.uniform:uniform"}
    resumed = tournament(policies, 20, run=Run(chunk=10, out=tmp_path / "runs" / "tournament"))
    assert resumed.to_json() == tournament(policies, 20, run=Run(chunk=10)).to_json()
    finished = {path: content for path, content in before.items() if ".unfinished" not in path}
    assert finished.items() <= contents(tmp_path).items()


SENT: dict[str, tuple[Callable[[int], object], int, str]] = {
    "terminated": (lambda leader: os.kill(leader, signal.SIGTERM), 128 + signal.SIGTERM, "terminated"),
    "group terminated": (
        lambda leader: os.killpg(leader, signal.SIGTERM), 128 + signal.SIGTERM, "terminated"
    ),
    "interrupted": (
        lambda leader: os.killpg(leader, signal.SIGINT), 128 + signal.SIGINT, "interrupted"
    ),
    "killed": (lambda leader: os.kill(leader, signal.SIGKILL), -signal.SIGKILL, ""),
    "worker killed": (
        lambda leader: os.kill(workers(leader)[-1], signal.SIGKILL), 2, "error: a worker process was killed"
    ),
}  # fmt: skip
"""Signals with the exit status, and part of the error output."""


MOMENTS: dict[str, Callable[[Path, int], object]] = {
    "first worker": lambda _, leader: len(workers(leader)) >= 1,
    "all workers": lambda _, leader: len(workers(leader)) == 2,
    **{f"{number} chunks": partial(lambda least, folder, _: stored(folder) >= least, number) for number in (1, 10, 30)},
    "write": lambda folder, _: list(folder.rglob(".*.npz")),
}
"""When signals are sent: conditions of the folder and the process."""


@lists_processes
def test_an_interrupt_while_workers_start_is_one_line(tmp_path: Path) -> None:
    ready = MOMENTS["all workers"]
    status, errors = stop(tmp_path, [*TOURNAMENT, *ENDLESS], partial(ready, tmp_path), SENT["interrupted"][0])
    assert status == 128 + signal.SIGINT
    assert re.fullmatch(r"interrupted(; finished games are stored, .*)?\n", errors), "a chunk may be finished by then"


@lists_processes
@pytest.mark.slow
@pytest.mark.parametrize("case", SENT)
def test_tournaments_that_end_at_any_moment(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is left, and the next run ends with the same files as one without interruption."""
    send, status, message = SENT[case]
    whole = finish(tmp_path / "whole", monkeypatch)
    ended, left, noisy = 0, 0, 0
    for moment, ready in MOMENTS.items():
        folder = tmp_path / moment
        result, errors = stop(folder, [*TOURNAMENT, *SLOW], partial(ready, folder), send)
        assert result == status, (moment, errors)
        assert message in errors, (moment, errors)
        if moment.endswith("chunks") and status > 128:  # earlier none may be stored
            assert "finished games" in errors, (moment, errors)
        ended, left, noisy = ended + 1, left + bool(unfinished(folder)), noisy + (errors.count("\n") > 1)
        assert finish(folder, monkeypatch) == whole, moment
    print(f"{case}: {ended} runs, {left} with a temporary file, {noisy} with more than one line of errors")
