"""Command lines of the training scripts: one line for what the user can repair."""

import contextlib
import errno
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
pytest.importorskip("safetensors")

import torch

from quincunx_agents.networks.value import WEIGHTS
from train import ppo
from train.common import checkpoint
from train.common.options import run_script
from train.common.run import provenance
from train.td_lambda import training as td_lambda

SCRIPTS: dict[str, Any] = {"ppo": ppo, "td_lambda": td_lambda}
VALUE_NETWORK = WEIGHTS / "solitaire.safetensors"
TINY = "--total-steps 64 --num-envs 4 --rollout 8 --batch-size 16 --eval-deals 2 --test-deals 2 --no-progress"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("threading.excepthook", sys.__excepthook__)  # run_script sets it


def error(script: str, flags: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a script that fails, and return the line that it prints."""
    monkeypatch.setattr(sys, "argv", [script, *flags])
    with pytest.raises(SystemExit) as end:
        run_script(SCRIPTS[script].main, SCRIPTS[script].Arguments, f"train.{script}", None)
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return str(line)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ppo --num-envs -3", "--num-envs must be at least 1, got -3"),
        ("ppo --name=", "--name must be the name of a folder, without a path, got ''"),
        ("ppo --name ..", "--name must be the name of a folder"),
        ("ppo --name a/b", "--name must be the name of a folder"),
        ("ppo --learning-rate nan", "--learning-rate must be a number of at least 0, got nan"),
        ("ppo --gamma 1.5", "--gamma must be from 0 to 1, got 1.5"),
        ("ppo --seed -1", "--seed must be from 0 to 1000000, got -1"),
        ("ppo --test-deals 1", "--test-deals must be at least 2, for an interval, got 1"),
        ("ppo --num-envs 4 --rollout 4 --batch-size 5", "--batch-size 5 leaves a minibatch of a single step"),
        ("ppo --num-players 2", "--num-players 2: train.ppo learns the solitaire; train.td_lambda and train.recipes."),
        ("ppo --no-preview", "--policy quincunx needs the preview: leave out --no-preview, or use --policy mlp"),
        ("ppo --start open", "start='open' needs 2 to 4 players"),
        ("ppo --resume", "there is no checkpoint at runs/ppo/checkpoint.pt: start again without --resume"),
        ("td_lambda nope --seed 1", "unknown setting 'nope': choose one of solitaire, solitaire-long, "),
        ("td_lambda --variants nope", "--variants must be of solitaire, contact, "),
        ("td_lambda --variants", "--variants must be of solitaire, contact, "),
        ("td_lambda --variants spiral 2-open", "--variants: all must be of one game"),
        ("td_lambda --iterations 0", "--iterations must be at least 1, got 0"),
        ("td_lambda --pool-share 2", "--pool-share must be from 0 to 1, got 2.0"),
        ("td_lambda --against-share 0.9", "--pool-share and --against-share must add up to at most 1"),
        ("td_lambda --seed 10000000", "--seed must be from 0 to 1000000, got 10000000"),
        ("td_lambda --against no-such", "unknown policy 'no-such'"),
        ("td_lambda --variants mini-2 --against value", "--against value does not play mini-2: no shipped network"),
        (
            f"td_lambda two-players --against {VALUE_NETWORK}",
            f"--against {VALUE_NETWORK} does not play 2-corners: ",
        ),
        ("ppo --name model", "--name model: model.json holds the options of the environment"),
    ],
)
def test_a_wrong_option_is_named_in_one_line(
    command: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing has changed: the folder of all runs and its contents stay as they are."""
    earlier = Path("runs/earlier/model.zip")
    earlier.parent.mkdir(parents=True)
    earlier.touch()
    script, *flags = command.split()
    assert error(script, flags, monkeypatch, capsys).startswith(f"error: {message}")
    assert [*Path().rglob("*")] == [Path("runs"), Path("runs/earlier"), earlier]


# --- Files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", ["ppo", "td_lambda"])
@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        ({"policy": {}}, "holds no checkpoint of this project"),
        ({"arguments": {"name": 1}}, "another script or version"),
    ],
)
def test_a_foreign_checkpoint_is_refused(
    script: str,
    foreign: dict[str, Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path("runs/x/checkpoint.pt")
    path.parent.mkdir(parents=True)
    torch.save(foreign, path)
    line = error(script, ["--name", "x", "--resume"], monkeypatch, capsys)
    assert message in line
    assert "start again without --resume" in line


@pytest.mark.parametrize("script", ["ppo", "td_lambda"])
def test_a_file_in_place_of_a_folder_is_named(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a folder that permits no writing, which the superuser may write to."""
    Path("runs").touch()
    flags = {
        "ppo": TINY.split(),
        "td_lambda": ["--variants", "2-corners", "--no-progress"],
    }
    assert "runs" in error(script, flags[script], monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("script", ["ppo", "td_lambda"])
def test_a_full_disk_is_named_and_the_last_checkpoint_stays(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save, saved = checkpoint.save, []

    def save_until_full(path: Path, *content: Any) -> None:
        saved.append(path.exists() and path.read_bytes())
        with monkeypatch.context() as patch:
            if len(saved) == 2:
                patch.setattr(Path, "write_bytes", full)
            save(path, *content)

    def full(path: Path, content: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "save", save_until_full)
    flags = {
        "ppo": f"{TINY} --checkpoint-every 32",
        "td_lambda": "--variants 2-corners --games 2 --updates 1 --iterations 2 --checkpoint-every 1 --no-progress "
        "--set-width 8 --width 8 --candidates 2",
    }
    line = error(script, ["--name", "x", *flags[script].split()], monkeypatch, capsys)
    path = Path("runs/x/checkpoint.pt")
    expected = f"error: No space left on device: '{path}'; --resume continues from the last checkpoint"
    assert line == expected
    assert saved == [False, path.read_bytes()]
    assert not list(path.parent.glob(".*"))


def test_a_checkpoint_that_cannot_be_written_is_an_error_of_its_file() -> None:
    """PyTorch itself raises a RuntimeError about positions."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: 'checkpoint\.pt'$"):
            checkpoint.save(Path("checkpoint.pt"), ppo.Arguments(), {"weights": torch.zeros(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not [*Path().iterdir()]


def test_temporary_files_of_a_killed_run_are_removed_by_the_next() -> None:
    """Also from the folder of an earlier run, which is renamed."""
    for name in ("other", "x"):
        Path("runs", name).mkdir(parents=True)
        Path("runs", name, ".checkpoint.unfinished-elsewhere-1.pt").touch()
        Path("runs", name, f".checkpoint.unfinished-{__import__('platform').node()}-{2**22 + 1}.pt").touch()
    with checkpoint.locked(Path("runs/x")):
        pass
    checkpoint.save(Path("runs/other/checkpoint.pt"), ppo.Arguments(), {})
    left = [path for path in Path().rglob(".*") if "elsewhere" not in path.name]
    assert left == [Path("runs/.x.lock")]


# --- Runs at the same time --------------------------------------------------------------------------------------------


@pytest.fixture
def in_progress() -> Iterator[subprocess.Popen[bytes]]:
    """Another process, which has begun the run x."""
    program = """if True:
        from pathlib import Path
        from train.common import checkpoint
        with checkpoint.locked(Path("runs/x")):
            Path("runs/x/file").touch()
            print(flush=True)
            input()"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.parametrize("arguments", [["--resume"], []])
def test_an_error_that_names_the_way_out_recommends_no_other(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged checkpoint, and a run in progress."""
    Path("runs/x").mkdir(parents=True)
    Path("runs/x/checkpoint.pt").write_bytes(b"damaged")
    with contextlib.nullcontext() if arguments else checkpoint.locked(Path("runs/x"), resume=True):
        line = error("ppo", ["--name", "x", *TINY.split(), *arguments], monkeypatch, capsys)
    assert "--resume continues" not in line
    assert ("start again without --resume" if arguments else "choose another --name") in line


@pytest.mark.parametrize("script", ["ppo", "td_lambda"])
def test_the_folder_of_a_run_in_progress_is_not_renamed(
    script: str,
    in_progress: "subprocess.Popen[bytes]",
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It blocks no run of another name, and none after it was killed."""
    before = {*Path().rglob("*")}
    flags = {"ppo": TINY, "td_lambda": "--iterations 1 --games 2 --updates 1 --test-deals 2 --eval-deals 2"}
    line = error(script, ["--name", "x", *flags[script].split()], monkeypatch, capsys)
    assert line == "error: a run of that name is in progress in runs/x: choose another --name"
    assert {*Path().rglob("*")} == before
    with (
        pytest.raises(checkpoint.CheckpointError, match="in progress"),
        checkpoint.locked(Path("runs/x"), resume=True),
    ):
        pass
    with checkpoint.locked(Path("runs/x.run")):
        assert {*Path().rglob("*")} == before | {Path("runs/.x.run.lock"), Path("runs/x.run")}
    in_progress.kill()
    in_progress.wait()
    with checkpoint.locked(Path("runs/x"), resume=True):
        assert Path("runs/x/file").exists()
    with checkpoint.locked(Path("runs/x")):
        assert Path("runs/x-1/file").exists()


def test_a_card_names_the_command_as_a_shell_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["anything", "--name", "two words", "--resume", "--against", "a:b($x)"])
    command = provenance("train.ppo", ppo.Arguments())["command"]
    assert command == "python -m train.ppo --name 'two words' --against 'a:b($x)'"
