"""Runs of both trainers that are killed or terminated end up as if they had not been."""

import itertools
import json
import os
import signal
import sys
import time
import traceback
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sb3_contrib")
pytest.importorskip("safetensors")

from train import ppo
from train.common import checkpoint
from train.common.options import run_script
from train.td_lambda import training as td_lambda

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning"),  # the copies have one thread
]

SCRIPTS: dict[str, Any] = {"ppo": ppo, "td_lambda": td_lambda}

RUNS = {
    "ppo": "--total-steps 256 --num-envs 8 --rollout 8 --batch-size 32 --epochs 2 --eval-every 128 --eval-deals 2 "
    "--checkpoint-every 64 --test-deals 2",
    "td_lambda": "two-players --variants 2-corners --iterations 4 --games 4 --updates 2 --batch-size 32 --candidates 2 "
    "--replay 2 --set-width 8 --width 8 --snapshot-every 1 --eval-every 2 --eval-deals 2 --test-deals 2 "
    "--pool-share 0.5 --against greedy --checkpoint-every 1 --workers 0",
}
"""Short runs with a checkpoint after every rollout or iteration."""

MOMENTS = {
    "ppo": (1, 3, 5, 7, 8, 18, 19, 21, 31, 33, 35, 36, 40, 48, 56),
    "td_lambda": (1, 2, 3, 4, 5, 6, 14, 22, 23, 24, 25),
}
"""Moments at which a run is killed: before (odd) or after (even) it puts a file in place, the first file at moments 1
and 2, the second at 3 and 4, ... Among them are those of the last checkpoint and of the results.
"""


def start(script: str, name: str, *flags: str, moment: int = 0) -> int:
    """Start a run in a process of its own, a copy of this one, since PyTorch takes long to load; returns its id."""
    process = os.fork()
    if process:
        return process
    status: Any = 1
    try:
        with Path("errors.txt").open("w") as errors, Path(os.devnull).open("w") as nothing:
            sys.stdout, sys.stderr = nothing, errors
            sys.argv = [script, *RUNS[script].split(), "--no-progress", "--name", name, *flags]
            if moment:
                kill_itself_at(moment)
            try:
                run_script(SCRIPTS[script].main, SCRIPTS[script].Arguments, f"train.{script}", None)
                status = 0
            except SystemExit as end:
                status = end.code
            except BaseException:
                traceback.print_exc(file=errors)
    finally:
        os._exit(status)


def kill_itself_at(moment: int) -> None:
    """Let this process end at a moment, as `MOMENTS` counts them."""
    replace, moments = Path.replace, itertools.count(1)

    def die() -> None:
        if next(moments) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def replace_or_die(self: Path, target: Path) -> Path:
        die()
        replaced = replace(self, target)
        die()
        return replaced

    Path.replace = replace_or_die  # type: ignore[method-assign, assignment]


def finish(process: int) -> int:
    """Wait for the end of a run; returns its exit status, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def completed(script: str, name: str, *flags: str) -> list[Any]:
    """Run to the end; returns the results."""
    assert finish(start(script, name, *flags)) == 0, Path("errors.txt").read_text()
    assert not list(Path("runs", name).glob(".*")), "temporary files are removed"
    return results(script, name)


def results(script: str, name: str) -> list[Any]:
    """The weights as bytes, and all figures."""
    folder = Path("runs", name)
    if script == "ppo":
        with zipfile.ZipFile(folder / "model.zip") as model:  # whose other parts have dates
            weights = [model.read("policy.pth"), (folder / "model.json").read_bytes()]
    else:
        weights = [(folder / f"{name}.safetensors").read_bytes()]
    card = json.loads((folder / f"{name}.json").read_text())
    evaluations = [entry["variants"] for entry in card["validation"]]
    return [weights, card["benchmark"], card.get("pools"), card["steps"], evaluations]


@pytest.fixture(params=RUNS)
def script(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A trainer."""
    monkeypatch.chdir(tmp_path)
    return str(request.param)


def test_a_run_killed_at_any_write_continues_exactly(script: str) -> None:
    """Killed with SIGKILL before and after a file is put in place, and then resumed."""
    straight = completed(script, "straight")
    for moment in MOMENTS[script]:
        name = f"killed{moment}"
        assert finish(start(script, name, moment=moment)) == -signal.SIGKILL, f"moment {moment} lies after the end"
        resumed = Path("runs", name, "checkpoint.pt").exists()
        assert resumed or moment < {"ppo": 8, "td_lambda": 4}[script], (
            "the first checkpoint comes before the first step"
        )
        assert completed(script, name, *["--resume"] * resumed) == straight
    print(f"train.{script}: killed {len(MOMENTS[script])} times at a write")


def test_a_run_killed_at_any_time_continues_exactly(script: str) -> None:
    """Killed again and again, at moments that hit rollouts, updates, evaluations and writes alike."""
    path, killed, flags = Path("runs/killed/checkpoint.pt"), 0, list[str]()
    for pause in (0.0, 0.01, 0.03, 0.1, 0.3, 0.02, 0.2):
        process = start(script, "killed", *flags)
        before = path.stat().st_mtime_ns if path.exists() else 0
        while process and (not path.exists() or path.stat().st_mtime_ns == before):
            time.sleep(0.002)
            process = 0 if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) else process
        if not process:
            break
        time.sleep(pause)
        os.kill(process, signal.SIGKILL)
        killed += finish(process) == -signal.SIGKILL
        checkpoint.load(path)
        flags = ["--resume"]
    assert killed >= 2
    assert completed(script, "killed", *flags) == completed(script, "straight")
    print(f"train.{script}: killed {killed} times")


@pytest.mark.parametrize(("sent", "word"), [(signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted")])
def test_a_terminated_run_ends_in_one_line_and_continues_exactly(script: str, sent: signal.Signals, word: str) -> None:
    path = Path("runs/ended/checkpoint.pt")
    process = start(script, "ended")
    while not path.exists():
        time.sleep(0.002)
    os.kill(process, sent)
    assert finish(process) == 128 + sent
    assert Path("errors.txt").read_text() == f"{word}; --resume continues from the last checkpoint\n"
    assert not list(path.parent.glob(".*"))
    assert completed(script, "ended", "--resume") == completed(script, "straight")
