"""Training runs of train.ppo: results, resumption, checkpoints, refusals."""

import json
import shutil
import zipfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from torch.optim.swa_utils import AveragedModel  # noqa: E402

from quincunx_env.arena import evaluate  # noqa: E402
from quincunx_env.policies import PolicyFile  # noqa: E402
from quincunx_env.quincunx.rules import Rules  # noqa: E402
from train.common import checkpoint  # noqa: E402
from train.common.run import Run  # noqa: E402
from train.ppo import Arguments, main  # noqa: E402

TINY: dict[str, Any] = {
    "total_steps": 1024,
    "num_envs": 16,
    "rollout": 16,
    "batch_size": 128,
    "epochs": 2,
    "eval_every": 512,
    "eval_deals": 20,
    "checkpoint_every": 256,
    "test_deals": 50,
    "threads": 1,
    "progress": False,
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished run ``tiny``, and what it printed and returned."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with redirect_stdout(StringIO()) as printed:
            returned = main(Arguments(name="tiny", **TINY))
    (folder / "tiny.txt").write_text(printed.getvalue(), encoding="utf-8")
    (folder / "tiny.json").write_text(json.dumps(returned), encoding="utf-8")
    return folder


@pytest.fixture
def finished(runs: Path) -> Path:
    """The folder of finished runs, which are in the current folder, too."""
    shutil.copytree(runs / "runs", "runs")
    return runs


def weights(run: str, kind: str = "policy") -> dict[str, Any]:
    content: dict[str, Any] = checkpoint.load(Path("runs") / run / "checkpoint.pt")["learner"][kind]
    return content


def results(run: str) -> dict[str, Any]:
    """Final figures by variant."""
    found: dict[str, Any] = json.loads(Path("runs", run, f"{run}.json").read_text())["benchmark"]
    return found


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_leaves_its_results(finished: Path) -> None:
    folder = Path("runs/tiny")
    facts = json.loads((folder / "tiny.json").read_text())
    assert facts == json.loads((finished / "tiny.json").read_text())
    results = {**facts["baselines"], "tiny": facts["benchmark"]["solitaire"]}
    assert list(results) == ["uniform", "greedy", "heuristic", "tiny"]
    for result in results.values():
        assert set(result) == {"mean", "mean_low", "mean_high", "lost", "at_least_150", "deals"}
        assert result["deals"] == 50
        assert result["mean_low"] < result["mean"] < result["mean_high"]
    assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    header, *points = (folder / "learning_curve.csv").read_text().splitlines()
    assert header == "curve,steps,estimate,low,high"
    assert [point.split(",")[:2] for point in points] == [
        ["solitaire", "0"],
        ["solitaire", "512"],
        ["solitaire", "1024"],
    ]
    assert list((folder / "tensorboard").iterdir())
    assert "| tiny | 50 |" in (finished / "tiny.txt").read_text()
    assert not list(folder.glob(".*")), "no unfinished file stays behind"
    table = (folder / "results.md").read_text(encoding="utf-8")
    assert f"| tiny | 50 | {results['tiny']['mean']:.1f} | " in table
    assert table in (finished / "tiny.txt").read_text()
    assert facts["command"].startswith("python -m train.ppo")


@pytest.mark.usefixtures("finished")
def test_the_saved_weights_are_the_averaged_ones_and_play_the_same() -> None:
    """In stable-baselines3, and without it."""
    from sb3_contrib import MaskablePPO

    model = MaskablePPO.load("runs/tiny/model.zip", device="cpu")
    averaged = weights("tiny", "averaged")
    assert_same(model.policy.state_dict(), {name: averaged[f"module.{name}"] for name in weights("tiny")})
    agent = PolicyFile("runs/tiny/model.zip", trust=True)
    assert round(evaluate(agent, TINY["test_deals"]).mean, 4) == results("tiny")["solitaire"]["mean"]
    written = json.loads(Path("runs/tiny/model.json").read_text())
    assert (written["observation"], written["preview"], written["actions"]) == ("vector", True, "hand")


def test_the_result_is_a_moving_average_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, update = [], AveragedModel.update_parameters

    def record(self: AveragedModel, model: Any) -> None:
        seen.append({name: parameter.detach().clone() for name, parameter in model.named_parameters()})
        update(self, model)

    monkeypatch.setattr(AveragedModel, "update_parameters", record)
    short = TINY | {"total_steps": 512}
    main(Arguments(name="tiny", averaging=0.5, **short))
    assert len(seen) == 1 + 512 / (16 * 16), "the initial weights, and those after each update"
    averaged, expected = weights("tiny", "averaged"), dict(seen[0])
    for number, latest in enumerate(seen[1:], 1):
        expected = {name: past + (latest[name] - past) / (1 + number / 2) for name, past in expected.items()}
    for name, wanted in expected.items():
        torch.testing.assert_close(averaged[f"module.{name}"], wanted)
    main(Arguments(name="latest", averaging=0.0, **short))
    latest = weights("latest", "averaged")
    for name, wanted in weights("latest").items():
        torch.testing.assert_close(latest[f"module.{name}"], wanted)


@pytest.mark.usefixtures("finished")
def test_the_same_seed_gives_the_same_run_and_the_earlier_one_is_kept() -> None:
    main(Arguments(name="tiny", **TINY))
    assert_same(weights("tiny", "averaged"), weights("tiny-1", "averaged"))
    facts = [json.loads(Path("runs", folder, "tiny.json").read_text()) for folder in ("tiny", "tiny-1")]
    assert facts[0]["benchmark"] == facts[1]["benchmark"]
    main(Arguments(name="other", **TINY | {"seed": 1}))
    one, other = weights("tiny"), weights("other")
    assert not all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.usefixtures("finished")
def test_a_resumed_run_equals_one_without_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Run.record

    def record_and_stop(self: Run) -> None:
        record(self)
        if self.done >= 512:  # the last update has a learning rate of 0
            raise KeyboardInterrupt

    monkeypatch.setattr(Run, "record", record_and_stop)
    with pytest.raises(KeyboardInterrupt):
        main(Arguments(name="split", **TINY))
    monkeypatch.setattr(Run, "record", record)
    np.random.seed(99)  # noqa: NPY002  the generators of the new process are anywhere
    torch.manual_seed(99)
    main(Arguments(name="split", resume=True, **TINY))
    whole, split = (checkpoint.load(Path("runs") / name / "checkpoint.pt") for name in ("tiny", "split"))
    for kind in ("policy", "averaged"):
        assert_same(whole["learner"][kind], split["learner"][kind])
    histories = ([entry | {"seconds": None} for entry in content["history"]] for content in (whole, split))
    assert next(histories) == next(histories)
    assert results("tiny") == results("split")


@pytest.mark.usefixtures("finished")
def test_resuming_needs_the_same_arguments() -> None:
    """Those of the game, too."""
    with pytest.raises(checkpoint.CheckpointError, match=r"seed=0 \(now 5\).*resume it with the same"):
        main(Arguments(name="tiny", resume=True, **TINY | {"seed": 5}))
    # The learning rate has fallen to 0 over the steps of the run.
    with pytest.raises(checkpoint.CheckpointError, match=r"total_steps=1024 \(now 1536\), on which its weights depend"):
        main(Arguments(name="tiny", resume=True, **TINY | {"total_steps": 1536}))
    with pytest.raises(checkpoint.CheckpointError, match=r"flush=False \(now True\)"):
        main(Arguments(name="tiny", resume=True, rules=Rules(flush=True), **TINY))


def test_a_plain_network_trains_on_the_plain_observation(capsys: pytest.CaptureFixture[str]) -> None:
    facts = main(Arguments(name="plain", policy="mlp", preview=False, **TINY))
    agent = PolicyFile("runs/plain/model.zip", trust=True)
    assert round(evaluate(agent, 50).mean, 4) == facts["benchmark"]["solitaire"]["mean"]
    printed = capsys.readouterr().out
    assert "evaluate runs/plain/model.zip heuristic --deals 10000 --trust" in printed


# --- Checkpoints -----------------------------------------------------------------------------------------------------


def test_every_damage_to_a_checkpoint_is_noticed_or_harmless() -> None:
    content = {"weights": torch.arange(5000.0), "steps": 7, "note": "text"}
    path = Path("checkpoint.pt")
    checkpoint.save(path, Arguments(name="tiny"), content)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    for position in rng.integers(len(whole), size=200):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            loaded = checkpoint.load(path)
        except checkpoint.CheckpointError:
            noticed += 1
        else:
            assert torch.equal(loaded.pop("weights"), content["weights"])
            del loaded["arguments"]
            assert loaded == {"steps": 7, "note": "text"}
    assert noticed > 150
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(checkpoint.CheckpointError, match="start again without --resume"):
            checkpoint.load(path)


def test_an_archive_that_grows_in_memory_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile("bomb.pt", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("archive/data.pkl", bytes(10**6))
    monkeypatch.setattr(zipfile.ZipFile, "testzip", None)
    monkeypatch.setattr(torch, "load", None)
    with pytest.raises(checkpoint.CheckpointError, match=r"its members have more than \d+ bytes\)"):
        checkpoint.load(Path("bomb.pt"))


@pytest.mark.usefixtures("finished")
def test_weights_that_are_not_finite_are_neither_saved_nor_read() -> None:
    path = Path("runs/tiny/checkpoint.pt")
    content = checkpoint.load(path)
    next(iter(content["learner"]["policy"].values())).fill_(torch.nan)
    torch.save(content, path)
    with pytest.raises(checkpoint.CheckpointError, match="not finite: start again without --resume"):
        main(Arguments(name="tiny", resume=True, **TINY))
    learner: Any = SimpleNamespace(get_state=lambda: content["learner"])  # it writes no weights
    with pytest.raises(checkpoint.CheckpointError, match="not finite: start again with a smaller --learning-rate"):
        Run("train.ppo", Arguments(name="tiny", **TINY), learner, {}, 1)._save()


class Malice:
    """Unpickling this would create a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("executed"),)


def test_loading_a_checkpoint_executes_no_code() -> None:
    torch.save({"policy": Malice()}, "foreign.pt")
    with pytest.raises(checkpoint.CheckpointError, match=r"foreign\.pt"):
        checkpoint.load(Path("foreign.pt"))
    assert not Path("executed").exists()


def test_a_checkpoint_of_something_else_is_refused() -> None:
    Path("runs/tiny").mkdir(parents=True)
    arguments = Arguments(name="tiny", **TINY)
    checkpoint.save(Path("runs/tiny/checkpoint.pt"), arguments, {"learner": {"policy": {}}})
    with pytest.raises(checkpoint.CheckpointError, match="does not fit"):
        main(Arguments(name="tiny", resume=True, **TINY))


@pytest.mark.slow
def test_training_reaches_a_mean_of_100() -> None:
    """An eighth of the default budget is enough."""
    trained = main(Arguments(name="slow", total_steps=200_000, progress=False))["benchmark"]["solitaire"]
    print(f"mean {trained['mean']:.1f}, 95 % interval from {trained['mean_low']:.1f}, lost {trained['lost']:.1%}")
    assert trained["mean"] >= 100
    assert trained["lost"] <= 0.04
