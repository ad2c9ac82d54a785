"""ONNX models as policies."""

import copy
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from quincunx_env.arena import evaluate, explain  # noqa: E402
from quincunx_env.core.observation import Pieces  # noqa: E402
from quincunx_env.envs.vs_opponents import VsOpponentsEnv  # noqa: E402
from quincunx_env.policies import PolicyFile, PolicyFileError, files  # noqa: E402
from quincunx_env.quincunx.rules import Rules  # noqa: E402
from quincunx_env.registry import make_observer  # noqa: E402
from tests.policies.test_files import one_line  # noqa: E402
from tests.variants import new_game  # noqa: E402

ACTIONS = Rules().num_actions


def weights(size: int, actions: int = ACTIONS) -> Any:
    """Weights of a linear network, float32 [size, actions]."""
    return np.random.default_rng(size).normal(size=(size, actions)).astype(np.float32)


def save(
    path: Path,
    size: int = 71,
    kind: int = TensorProto.FLOAT,
    batch: Any = "n",
    mask: str = "",
    output: str = "scores",
    actions: int = ACTIONS,
    table: Any = None,
    **external: str,
) -> str:
    """Write a linear network; returns the path."""
    inputs = [helper.make_tensor_value_info("x", kind, [batch, size])]
    nodes = [
        helper.make_node("Cast", ["x"], ["cast"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["cast", "weights"], ["scores"]),
        helper.make_node("Cast", [mask or "x"], ["other"], to=TensorProto.FLOAT),
    ]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, actions])]
    if mask:
        inputs.insert(0, helper.make_tensor_value_info(mask, TensorProto.BOOL, [batch, actions]))
        nodes += [
            helper.make_node("Mul", ["other", "high"], ["add"]),
            helper.make_node("Add", ["scores", "add"], ["masked"]),
            helper.make_node("ArgMax", ["masked"], ["action"], axis=1, keepdims=0),
        ]
    if output == "action":
        outputs = [helper.make_tensor_value_info("action", TensorProto.INT64, [batch])]
    tensor = numpy_helper.from_array(weights(size, actions) if table is None else table, "weights")
    if external:
        content = tensor.raw_data
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in {**external, "length": str(len(content))}.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
        if not Path(external["location"]).is_absolute():
            (path.parent / external["location"]).write_bytes(content)
    high = numpy_helper.from_array(np.array(1e6, np.float32), "high")
    graph = helper.make_graph(nodes, "linear", inputs, outputs, [tensor, high])
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    )
    return str(path)


def linear(preview: bool = False, padded: bool = False) -> Any:
    """The same network as a policy."""
    observer: Any = make_observer(Rules(), preview, padded)
    table = weights(observer.size, observer.num_actions)

    def policy(pieces: Pieces, mask: Any, rng: np.random.Generator) -> Any:
        return np.where(mask, observer.flatten(pieces).astype(np.float32) @ table, -np.inf).argmax(axis=1)

    return observer.unpad_policy(policy) if padded else policy


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kind": TensorProto.INT16},
        {"batch": 1},
        {"mask": "mask"},
        {"mask": "action_mask", "output": "action"},
    ],
    ids=str,
)
def test_a_model_plays_as_the_same_network_elsewhere(options: dict[str, Any], tmp_path: Path) -> None:
    expected = evaluate(linear(), 20)
    assert evaluate(save(tmp_path / "model.onnx", **options), 20).scores.tolist() == expected.scores.tolist()
    assert len(set(expected.scores.tolist())) > 1


def test_the_preview_and_padding_follow_from_the_size(tmp_path: Path) -> None:
    assert evaluate(save(tmp_path / "a.onnx", size=1223), 9).scores.tolist() == (
        evaluate(linear(preview=True), 9).scores.tolist()
    )
    padded = make_observer(Rules(), padded=True)
    path = save(tmp_path / "b.onnx", size=padded.size, actions=padded.num_actions)
    assert evaluate(path, 9).scores.tolist() == evaluate(linear(padded=True), 9).scores.tolist()


@pytest.mark.parametrize("padded", [False, True])
def test_values_are_scores(padded: bool, tmp_path: Path) -> None:
    observer: Any = make_observer(Rules(), padded=padded)
    game, policy = new_game(Rules(), 1), save(tmp_path / "a.onnx", size=observer.size, actions=observer.num_actions)
    values = explain(policy, game)
    scores = observer.flatten(observer.observe(game)) @ weights(observer.size, observer.num_actions)
    scores = scores[observer._actions] if padded else scores
    legal = make_observer(Rules()).mask(game).astype(bool)
    assert values.ravel()[legal] == pytest.approx(scores[legal], rel=1e-4, abs=1e-4)
    assert np.isnan(values.ravel()[~legal]).all()


def test_a_model_of_actions_has_no_values(tmp_path: Path) -> None:
    path = save(tmp_path / "model.onnx", mask="action_mask", output="action")
    with pytest.raises(ValueError, match="has no values of actions"):
        explain(path, new_game(Rules(), 1))


def test_a_model_is_an_opponent(tmp_path: Path) -> None:
    rules = Rules(num_players=2)
    path = save(tmp_path / "model.onnx", size=make_observer(rules).size, actions=rules.num_actions)
    env = VsOpponentsEnv(opponents=path, num_players=2)
    _, info = env.reset(seed=1)
    for each in (env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        each.step(int(np.flatnonzero(info["action_mask"])[0]))


@pytest.mark.parametrize("location", ["weights.bin", f"{'w' * 200}.bin", "../outside.bin", "absolute", "link.bin"])
def test_weights_in_other_files_are_refused(location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside.bin"
    folder.mkdir()
    outside.write_bytes(weights(71).tobytes())
    if location == "link.bin":
        (folder / location).symlink_to(outside)
    path = save(folder / "model.onnx", location=str(outside) if location == "absolute" else location)
    monkeypatch.setattr(files, "APART", ())
    for current in (tmp_path, folder):  # ONNX Runtime would look for the weights of a model in memory here
        monkeypatch.chdir(current)
        with pytest.raises(PolicyFileError, match=r"cannot be used: its weights are in other files; save it as one"):
            PolicyFile(path).for_rules(Rules())


def test_a_model_is_saved_as_one_file(tmp_path: Path) -> None:
    """As the refusal of others says."""
    path = save(tmp_path / "model.onnx", location="weights.bin")
    onnx.save(onnx.load(path), path)
    (tmp_path / "weights.bin").unlink()
    assert evaluate(path, 9).scores.tolist() == evaluate(linear(), 9).scores.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 72}, r"its observations \(of the shape \['n', 72\]\) fit no environment of this package"),
        ({"size": 93}, r"it was trained for quincunx\.Rules\(num_players=2\), got quincunx\.Rules\(\): play the game"),
        ({"actions": 7}, r"its outputs are neither scores \[n, 576\] nor actions \[n\]: scores tensor\(float\)"),
        ({"mask": "second"}, "its inputs are second, x: a flat observation is needed"),
        ({"table": np.full((71, ACTIONS), np.nan, np.float32)}, r"numbers that are none \(NaN\)"),
    ],
    ids=str,
)
def test_other_models_are_refused(
    options: dict[str, Any], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "model.onnx", **options)
    with pytest.raises(PolicyFileError, match=rf"model\.onnx cannot be used: .*{message}"):
        PolicyFile(path).for_rules(Rules())
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("output", ["scores", "action"])
def test_a_model_that_overflows_plays_no_illegal_action(output: str, tmp_path: Path) -> None:
    path = save(
        tmp_path / "model.onnx", table=3e37 * weights(71), mask="mask" if output == "action" else "", output=output
    )
    reason = {"scores": "computes numbers that are none", "action": "chooses the actions .* not legal"}[output]
    with pytest.raises(PolicyFileError, match=rf"^\S+model\.onnx cannot be used: it {reason}[^\n]+$"):
        PolicyFile(path).for_rules(Rules())


def test_a_model_that_overflows_later_is_named_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table = weights(71)
    table[70] = 3e38  # of the points so far
    save(tmp_path / "model.onnx", table=table)
    assert callable(PolicyFile("model.onnx").for_rules(Rules())), "there are none at the beginning"
    problem = "model.onnx cannot be used: it computes numbers that are none (NaN) or infinite for legal actions"
    assert one_line(capfd, "mine=model.onnx").startswith(f"error: {problem}: its weights are damaged or too large")
    with pytest.raises(PolicyFileError, match=re.escape(problem)):
        evaluate("model.onnx", 2)


def save_late(path: Path, operators: str) -> str:
    """Write a model with operators that fail where few actions are legal; returns the path.

    They compute ``late`` from ``few``, negative in the first positions, or from ``many``, which is 0 there.
    """
    model = f"""<ir_version: 9, opset_import: ["" : 17]>
        late (float[n, 71] x, bool[n, {ACTIONS}] mask) => (float[n, {ACTIONS}] scores) {{
            numbers = Cast <to = 1> (mask)
            one = Constant <value_ints = [1]> ()
            legal = ReduceSum (numbers, one)
            sixty = Constant <value_float = 60.0> ()
            few = Sub (sixty, legal)
            positive = Relu (few)
            many = ReduceMax <keepdims = 0> (positive)
            {operators}
            added = Cast <to = 1> (late)
            scores = Add (numbers, added)
        }}"""
    path.write_bytes(onnx.parser.parse_model(model).SerializeToString())
    return str(path)


SQUARE = """
    hundred = Constant <value_float = 100.0> ()
    rows = Mul (many, hundred)
    integer = Cast <to = 7> (rows)
    length = Reshape (integer, one)
    shape = Concat <axis = 0> (length, length)
    power0 = ConstantOfShape (shape)
    """
DAYS = (
    SQUARE + "".join(f"power{n + 1} = MatMul (power{n}, power{n}) " for n in range(999)) + "late = ReduceSum (power999)"
)
"""A thousand products of matrices with thousands of rows."""

LATE = {
    "index": ("row = Cast <to = 7> (many) late = Gather (one, row)", "indices element out of data bounds"),
    "256 TiB": (
        """
        huge = Constant <value_float = 70368744177664.0> ()
        product = Mul (many, huge)
        integer = Cast <to = 7> (product)
        length = Reshape (integer, one)
        tensor = ConstantOfShape (length)
        late = ReduceSum (tensor)
        """,
        "",
    ),
    "days": (DAYS, "no answer within 3 seconds"),
}
"""Operators that fail late, and what the error says."""


@pytest.mark.parametrize("failure", LATE)
def test_a_failure_in_any_move_is_one_line_that_names_the_file(
    failure: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    operators, reason = LATE[failure]
    path = save_late(tmp_path / "late.onnx", operators)
    assert callable(PolicyFile(path).for_rules(Rules())), "it plays at the beginning"
    monkeypatch.setattr(files, "LIMIT", 3.0)
    line = one_line(capfd, f"mine={path}")
    assert line.startswith(f"error: {path} cannot be used: ")
    assert reason in line
    assert evaluate(save(tmp_path / "model.onnx"), 2).scores.shape == (2,), "others go on"


def test_a_signal_ends_a_command_that_waits_for_a_model(tmp_path: Path) -> None:
    path = save_late(tmp_path / "late.onnx", DAYS)
    command = [sys.executable, "-m", "quincunx_env", "evaluate", path, "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path, text=True) as process:
        try:
            time.sleep(5)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=10)
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGTERM
    assert err.splitlines()[-1].startswith("terminated")


BODY = helper.make_graph([], "body", [], [])
REFUSED = {
    "If": helper.make_node("If", ["true"], ["y"], then_branch=BODY, else_branch=BODY),
    "Loop": helper.make_node("Loop", ["trips", ""], ["y"], body=BODY),
    "Scan": helper.make_node("Scan", ["x"], ["y"], body=BODY, num_scan_inputs=1),
    "GreedySearch": helper.make_node("GreedySearch", ["x"], ["y"], domain="com.microsoft", decoder=BODY),
    **{name: helper.make_node(name, ["x"], ["y"]) for name in ("Bernoulli", "Multinomial")},
    **{name: helper.make_node(name, ["x"], ["y"]) for name in ("RandomNormalLike", "RandomUniformLike")},
    **{name: helper.make_node(name, [], ["y"], shape=[1]) for name in ("RandomNormal", "RandomUniform")},
    "Dropout": helper.make_node("Dropout", ["x", "half", "true"], ["y"]),
}
"""Operators of control flow, and random ones."""


@pytest.mark.parametrize("place", ["model", "function"])
@pytest.mark.parametrize("name", REFUSED)
def test_control_flow_and_random_operators_are_refused(name: str, place: str, tmp_path: Path) -> None:
    model, node = onnx.load(save(tmp_path / "model.onnx")), REFUSED[name]
    if place == "function":
        versions = [helper.make_opsetid("", 17)]
        model.functions.append(helper.make_function("own", "f", [], ["y"], [node], versions))
        model.opset_import.append(helper.make_opsetid("own", 1))
        node = helper.make_node("f", [], ["y"], domain="own")
    model.graph.node.append(node)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(PolicyFileError, match=rf"model\.onnx cannot be used: it has the operator {name}: export"):
        PolicyFile(str(tmp_path / "model.onnx")).for_rules(Rules())


def test_the_other_format_of_onnx_runtime_is_refused(tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(save(tmp_path / "model.onnx"), options, providers=["CPUExecutionProvider"])
    (tmp_path / "model.ort").rename(tmp_path / "model.onnx")
    with pytest.raises(PolicyFileError, match=r"model\.onnx cannot be used: [^\n]+$"):
        PolicyFile(str(tmp_path / "model.onnx")).for_rules(Rules())


def test_an_exported_policy_network_plays_as_its_weights_file(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    from quincunx_agents.networks.policy import save_weights
    from quincunx_agents.torch import PolicyNetwork
    from train.export import Arguments, main

    network = PolicyNetwork(make_observer(Rules(), preview=True), width=8, depth=4)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())))
    save_weights(tmp_path / "mine.safetensors", network.trained())
    path = main(Arguments(tmp_path / "mine.safetensors", output=tmp_path / "mine.onnx"))
    scores = [evaluate(str(file), 9).scores.tolist() for file in (path, tmp_path / "mine.safetensors")]
    assert scores[0] == scores[1]
    assert len(set(scores[0])) > 1


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_model_is_refused(share: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = Path(save(tmp_path / "model.onnx"))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(PolicyFileError, match=r"^[^\n]*model\.onnx cannot be used: [^\n]+$"):
        PolicyFile(str(path)).for_rules(Rules())
    assert capfd.readouterr().err == ""
