"""Policies by the path of a file, wherever a policy is named."""

import pickle
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quincunx_agents
from quincunx_agents.networks.value import WEIGHTS, load_weights, save_weights, shipped
from quincunx_env.arena import Run, compare, evaluate, evaluate_all
from quincunx_env.cli import main
from quincunx_env.core.policy import NotFiniteError
from quincunx_env.envs.vs_opponents import VsOpponentsEnv
from quincunx_env.policies import (
    PolicyFile,
    PolicyFileError,
    by_display_name,
    display_name,
    resolve,
    split_name,
)
from quincunx_env.policies.files import is_path, readers
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.extras import KNOWN_AS
from tests.agents.positions import positions, seen

NETWORK = WEIGHTS / f"{shipped()[0]}.safetensors"
"""What ``value`` plays in the solitaire."""


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ("greedy", False),
        ("my.module:policy", False),
        ("my_module:some.policy", False),
        ("", False),
        ("model.zip", True),
        ("MODEL.ZIP", True),
        ("runs/checkpoint", True),
        (r"C:\runs\model.zip", True),
        (r"C:\runs\checkpoint", True),
        ("C:model.zip", True),
        ("C:/runs/checkpoint", True),
        (".", True),
    ],
)
def test_paths_are_told_from_names(policy: str, found: bool) -> None:
    assert is_path(policy) is found


def test_names_before_an_equals_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, expected in (
        ("mine=runs/model.zip", ("mine", "runs/model.zip")),
        (r"mine=C:\model.zip", ("mine", r"C:\model.zip")),
        ("mine=runs/lr=0.1/model.zip", ("mine", "runs/lr=0.1/model.zip")),
        ("runs/lr=0.1/model.zip", ("runs/lr=0.1/model.zip",) * 2),
    ):
        assert split_name(text) == expected
    for name in ("epoch=6.zip", "lr=0.1/mine.zip"):
        monkeypatch.chdir(tmp_path)
        assert split_name(name)[0] != name
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
        assert split_name(name) == (name, name), "an existing file"
    found = by_display_name([f"mine={NETWORK}", "greedy", str(NETWORK)])
    assert list(found) == ["mine", "greedy", str(NETWORK)]
    assert found["mine"] is found[str(NETWORK)] is resolve(str(NETWORK)) is resolve(NETWORK)
    assert display_name(PolicyFile(str(NETWORK))) == display_name(NETWORK) == str(NETWORK)


@pytest.mark.slow
def test_a_file_is_loaded_by_other_processes(tmp_path: Path) -> None:
    several = evaluate_all({"mine": str(NETWORK), "value": "value"}, 3, run=Run(chunk=1, out=tmp_path, workers=2))
    assert several["mine"].scores.tolist() == several["value"].scores.tolist()


def test_a_weights_file_plays_as_the_network_in_it() -> None:
    expected = evaluate("value", 3)
    assert evaluate(str(NETWORK), 3).scores.tolist() == expected.scores.tolist()
    with pytest.raises(PolicyFileError, match=rf"{NETWORK.name} cannot be used: the network has not learned"):
        compare([str(NETWORK), "greedy"], 2)


def test_a_file_is_one_policy_until_its_content_changes(tmp_path: Path) -> None:
    path = Path(shutil.copy(NETWORK, tmp_path / "mine.safetensors"))
    before, again = resolve(str(path)), resolve(str(path))
    assert isinstance(before, PolicyFile)
    assert again is before
    shutil.copy(WEIGHTS / "two-players.safetensors", path)
    with pytest.raises(PolicyFileError, match=r"mine\.safetensors has changed since it was named"):
        before.for_rules(Rules())
    now = resolve(str(path))
    assert isinstance(now, PolicyFile)
    assert now is not before
    assert callable(now.for_rules(Rules(num_players=2)))


def test_stored_games_are_those_of_the_content(tmp_path: Path) -> None:
    path = Path(shutil.copy(NETWORK, tmp_path / "mine.safetensors"))
    again: dict[str, Any] = {"deals": 2, "run": Run(out=tmp_path / "out")}
    before = evaluate_all([f"mine={path}"], **again)["mine"]
    shutil.copy(path, tmp_path / "moved.safetensors")
    assert (evaluate_all([f"mine={tmp_path / 'moved.safetensors'}"], **again)["mine"].scores == before.scores).all()
    weights = load_weights(path)
    save_weights(path, replace(weights, candidates=1))
    after = evaluate_all([f"mine={path}"], **again)["mine"]
    assert (after.scores == evaluate(str(path), 2).scores).all()
    assert (after.scores != before.scores).any()


# --- Files that cannot be used ---------------------------------------------------------------------------------------


def one_line(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Evaluate on the command line; returns the only line on stderr, after exit status 2."""
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *arguments, "--deals", "2", "--workers", "1", "--out", "never"])
    lines = capfd.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    assert not Path("never").exists()
    return lines[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_that_are_none_are_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "notes.txt").write_text("notes")
    (folder / "empty").mkdir()
    (folder / "model.zip").mkdir()
    (folder / "greedy").mkdir()
    (folder / "described.zip").touch()
    (folder / "described.json").write_text("[" * 2**20 + "]")
    for name, message in (
        ("no-such.zip", "there is no policy file no-such.zip"),
        (r"mine=C:\no-such.zip", r"there is no policy file C:\no-such.zip"),
        ("notes.txt", r"notes.txt is not a policy: files of policies are *.safetensors, *.zip"),
        ("empty", "empty is not a policy"),
        ("model.zip", "model.zip is not a policy"),
        ("./greedy", "./greedy is not a policy"),
        ("described.zip", "described.zip cannot be read: described.json has more than 1,048,576 bytes"),
        ("no-such", "or by the path of a file"),
    ):
        assert message in one_line(capfd, name)
    assert resolve("greedy") is resolve("quincunx_agents.greedy:greedy"), "a registered name comes first"


def huge(path: Path) -> None:
    """Write a network with finite weights that overflow when it is used."""
    shipped = load_weights(NETWORK)
    tensors = {name: (np.sign(tensor) * 1e38).astype(np.float32) for name, tensor in shipped.members[0].items()}
    save_weights(path, replace(shipped, members=(tensors,)))


NAN = "it computes numbers that are none (NaN) or infinite for legal actions: its weights are damaged or too large"


def test_weights_that_overflow_are_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    huge(folder / "huge.safetensors")
    assert one_line(capfd, "mine=huge.safetensors") == f"error: huge.safetensors cannot be used: {NAN}"
    agent: Any = quincunx_agents.load("huge.safetensors")
    observation, mask = seen(positions(Rules(), 0, 2))
    with np.errstate(all="ignore"), pytest.raises(NotFiniteError, match="infinite for legal actions"):
        agent.for_rules(Rules())(observation, mask, np.random.default_rng(0))


def test_a_network_that_overflows_later_is_named_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(WEIGHTS / "two-players.safetensors", "model.safetensors")
    rules, problem = Rules(num_players=2), f"model.safetensors cannot be used: {NAN}"
    file = PolicyFile("model.safetensors")
    env, chosen = VsOpponentsEnv(opponents="model.safetensors", num_players=2, seat=0), file.for_rules(rules)
    _, info = env.reset(seed=0)
    overflow = np.full(1, np.inf, np.float32)
    monkeypatch.setattr("quincunx_agents.networks.value.values_of", lambda *_: overflow[:, None])
    observation, mask = seen(positions(rules, 2, 3))
    asked: Any
    for asked in (chosen, chosen.action_values, pickle.loads(pickle.dumps(chosen))):  # type: ignore[attr-defined]
        with pytest.raises(PolicyFileError, match=f"^{re.escape(problem)}$"):
            asked(observation, mask, np.random.default_rng(0))
    with pytest.raises(PolicyFileError, match=f"^{re.escape(problem)}$"):
        env.step(int(np.flatnonzero(info["action_mask"])[0]))
    with pytest.raises(SystemExit):
        main(["compare", "mine=model.safetensors", "greedy", "--deals", "2", "--out", "never"])
    assert capfd.readouterr().err == f"error: {problem}\n"


PYTHON = """
import numpy as np
from quincunx_agents.greedy import GreedyPolicy

values = GreedyPolicy(lambda observation, mask: np.where(mask, np.nan, -np.inf))
infinite = GreedyPolicy(lambda observation, mask: np.where(mask, np.inf, -np.inf))
actions = lambda observation, mask, rng: np.full(len(mask), np.nan)
"""


@pytest.mark.parametrize("name", ["values", "infinite", "actions"])
def test_a_policy_in_python_that_computes_nan_is_named_in_one_line(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "nan_module.py").write_text(PYTHON)
    monkeypatch.delitem(sys.modules, "nan_module", raising=False)
    reason = "2 integer actions are needed, got float64 of shape (2,)" if name == "actions" else NAN
    assert one_line(capfd, f"mine=nan_module:{name}") == f"error: the policy mine: {reason}"
    env = VsOpponentsEnv(opponents=f"nan_module:{name}", num_players=2, seat=0)
    action = int(np.flatnonzero(env.reset(seed=0)[1]["action_mask"])[0])
    with pytest.raises(RuntimeError, match=r"^the opponent .* is at fault: "):
        env.step(action)


DAMAGED = {
    "empty": b"",
    "text": b"not a policy",
    "zeros": bytes(1000),
    "zip": b"PK\x03\x04" + bytes(100),
    "deep": b"[" * 50_000,
}


@pytest.mark.parametrize("content", DAMAGED)
@pytest.mark.parametrize("suffix", readers())
def test_foreign_files_are_refused(suffix: str, content: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if suffix == ".zip":
        pytest.importorskip("sb3_contrib")
    (folder / f"model{suffix}").write_bytes(DAMAGED[content])
    assert f"model{suffix}" in one_line(capfd, f"model{suffix}", "--trust")


def test_a_missing_library_is_named_with_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    monkeypatch.delitem(sys.modules, readers()[".zip"].module, raising=False)
    (folder / "model.zip").write_bytes(b"")
    name = KNOWN_AS.get("sb3_contrib", "sb3_contrib")
    named = rf'needs ({name}|PyTorch): pip install "quincunx_env\[sb3\]"$'
    with pytest.raises(PolicyFileError, match=rf"model\.zip cannot be used: .* {named}"):
        PolicyFile("model.zip", trust=True).for_rules(Rules())
