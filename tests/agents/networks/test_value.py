"""The value network: policies, action values and weights files."""

import json
import struct
import zlib
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("safetensors")

from safetensors import safe_open
from safetensors.numpy import save_file

import quincunx_agents
from quincunx_agents.agent_specs import agent_spec_of, rules_of
from quincunx_agents.networks import weights_io
from quincunx_agents.networks.value import (
    WEIGHTS,
    ValueAgent,
    ValueWeights,
    WeightsError,
    action_values,
    layout_of,
    load,
    load_weights,
    margin_weights,
    save_weights,
    shipped,
    shipped_for,
    value,
    values_of,
)
from quincunx_agents.quincunx.features import afterstates_of
from quincunx_agents.quincunx.variants import BASE_VARIANTS
from quincunx_env.quincunx.rules import Rules
from tests.agents.positions import dealt, in_progress, positions, seen

RNG = np.random.default_rng(0)


WITH_OPTIONS = (
    *("solitaire-excuse-pawns-flush", "2-corners-pawns", "3-open-excuse-flush"),
    *("spiral", "spiral-fifteens", "spiral-end", "spiral-end-fifteens"),
)


IN_EVERY_RUN = ("solitaire", "2-corners", "3-open-excuse-flush", "spiral", "spiral-end")
"""A variant of each network."""


@pytest.mark.parametrize(
    "variant",
    [
        name if name in IN_EVERY_RUN else pytest.param(name, marks=pytest.mark.slow)
        for name in (*BASE_VARIANTS, *WITH_OPTIONS)
    ],
)
def test_shipped_weights_play_legally_and_repeat(variant: str) -> None:
    rules = rules_of(variant)
    if isinstance(rules, Rules) and rules.num_players > 1:
        rules = replace(rules, match=True, simpleton=rules.pawns)
    policy, batch = value.for_rules(rules), dealt(rules, 2, 5)
    for turn, (rows, live) in enumerate(in_progress(batch)):
        observation, mask = seen(live)
        actions = policy(observation, mask, RNG)
        if turn % 5 == 0:
            one = {name: piece[-1:] for name, piece in observation.items()}
            assert policy(observation, mask, RNG).tolist() == actions.tolist()
            assert policy(one, mask[-1:], RNG) == actions[-1], "the other positions make no difference"
        batch.step(actions, rows)


def test_rotation_does_not_change_values() -> None:
    batch = positions(Rules(), 4)
    turned = batch.fork(np.arange(batch.num_games))
    turn = np.rot90(np.arange(16).reshape(4, 4)).ravel()
    turned.board[:, :16] = batch.board[:, turn]
    turned.legal[:] = 0
    for cell in range(16):
        turned.legal[:, 0] |= (turned.board[:, cell] == -1).astype(np.uint64) << np.uint64(cell)
    network = load("solitaire").weights
    values = [action_values(network, Rules(), *seen(each)).reshape(-1, 36, 16) for each in (batch, turned)]
    legal = np.isfinite(values[1])
    assert (np.isfinite(values[0][:, :, turn]) == legal).all()
    assert values[0][:, :, turn][legal] == pytest.approx(values[1][legal], abs=1e-3)


def test_refuses_other_games() -> None:
    for rules in (Rules(mini=True), Rules(num_players=2, mini=True)):
        for agent in (value, load("two-players")):
            with pytest.raises(ValueError, match=r"plays? (solitaire, )?2-"):
                agent.for_rules(rules)
    with pytest.raises(ValueError, match="the names are solitaire, two-players"):
        load("unknown")


def test_the_margin_is_shared_among_the_others() -> None:
    assert margin_weights(1).tolist() == [1, 0, 0, 0]
    assert margin_weights(2).tolist() == [1, -1, 0, 0]
    assert margin_weights(3).tolist() == [1, -0.5, -0.5, 0]


@pytest.mark.parametrize(("name", "count"), [*zip(shipped(), (3, 3, 2, 2, 1), strict=True)])
def test_the_outputs_of_the_members_are_summed(name: str, count: int) -> None:
    network = load(name).weights
    assert len(network.members) == count
    rules = rules_of(network.variants[-1])
    observation, mask = seen(dealt(rules, 3, 5))
    for _, described in agent_spec_of(rules).features.afterstates_of(rules, observation, mask).chunks:
        apart = [values_of([member], described) for member in network.members]
        assert sum(apart) == pytest.approx(values_of(network.members, described), abs=1e-3)


@pytest.mark.parametrize("name", shipped())
def test_weights_come_back_as_they_were_written(name: str, tmp_path: Path) -> None:
    file = WEIGHTS / f"{name}.safetensors"
    network = load_weights(file)
    save_weights(tmp_path / "weights.safetensors", network)
    again = load_weights(tmp_path / "weights.safetensors")
    assert (again.variants, again.candidates) == (network.variants, network.candidates)
    for one, other in zip(again.members, network.members, strict=True):
        assert all((one[name] == other[name]).all() for name in one.keys() | other.keys())
    assert (tmp_path / "weights.safetensors").read_bytes() == file.read_bytes()


def test_refuses_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    with pytest.raises(WeightsError, match="missing"):
        load_weights(path)
    good = (WEIGHTS / "solitaire.safetensors").read_bytes()
    for damaged in (good[: len(good) // 2], b"", good[:3] + b"\xff" + good[4:], good[:-9] + b"\x01" + good[-8:]):
        path.write_bytes(damaged)
        with pytest.raises(WeightsError, match="damaged"):
            load_weights(path)
    save_file({"some": np.zeros(3, np.float32)}, path)
    with pytest.raises(WeightsError, match="not a weights file"):
        load_weights(path)
    network = load_weights(WEIGHTS / "solitaire.safetensors")
    save_file(dict(network.members[0]), path)
    with pytest.raises(WeightsError, match="not a weights file"):
        load_weights(path)
    for strange in (replace(network, variants=("whist",)), replace(network, variants=("spiral",))):
        save_weights(path, strange)
        with pytest.raises(WeightsError, match="another version"):
            load_weights(path)
    save_weights(path, network)
    with safe_open(path, framework="numpy") as file:
        about, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors | {"1.trunk.0.bias": tensors["1.trunk.0.bias"] + 1}, path, about)
    with pytest.raises(WeightsError, match="checksum"):
        load_weights(path)


def tensor_file(metadata: str, dtype: str = "F32", content: bytes = bytes(8)) -> bytes:
    """A safetensors file of one tensor of eight bytes."""
    size = {"F8_E4M3": 1, "BF16": 2, "F32": 4, "F64": 8}[dtype]
    tensor = {"dtype": dtype, "shape": [8 // size], "data_offsets": [0, 8]}
    header = json.dumps({"__metadata__": {"metadata": metadata}, "trunk.0.bias": tensor}).encode()
    return struct.pack("<Q", len(header)) + header + content


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        *((tensor_file(text), "its metadata must be a JSON object") for text in ("[]", "3", "null", '"network"')),
        (tensor_file("[" * 100_000), "recursion"),
        (tensor_file('{"network": ' * 80_000), "recursion"),
        (tensor_file("{}", "BF16"), "tensor 'trunk.0.bias' must be F32, got BF16"),
        (tensor_file("{}", "F8_E4M3"), "must be F32, got F8_E4M3"),
        (tensor_file("{}", "F64"), "must be F32, got F64"),
        (tensor_file("{}", content=np.array([0, np.nan], "<f4").tobytes()), "not finite"),
        (tensor_file("{}", content=np.array([0, -np.inf], "<f4").tobytes()), "not finite"),
        (tensor_file(" " * 2**20 + "{}"), "its metadata have more than 1,048,576 characters"),
        (struct.pack("<Q", 2**62), "header too large"),
    ],
    ids=range(13),
)
def test_files_that_are_no_weights_are_refused(content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(content)
    for read in (quincunx_agents.load, load_weights):
        with pytest.raises(WeightsError, match=complaint):
            read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(WeightsError, match="missing, damaged or not a weights file"):
        load_weights(path)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *product(["variants"], [3, None, "solitaire", [], [[]], ["\ud800"], ["solitaire", "spiral"]]),
        *product(["candidates"], [None, "all", True, -1, 2.0, float("inf"), [1]]),
    ],
    ids=ascii,
)
def test_wrong_variants_and_candidates_are_refused(name: str, wrong: Any, tmp_path: Path) -> None:
    path, network = tmp_path / "weights.safetensors", load("solitaire").weights
    metadata = {"variants": network.variants, "candidates": network.candidates, name: wrong}
    variants = metadata["variants"] if isinstance(metadata["variants"], list | tuple) else ()
    tensors = {f"0.{name}": tensor for name, tensor in network.members[0].items()}
    weights_io.write(path, tensors, metadata, f"{tuple(variants)} {metadata['candidates']}")
    with pytest.raises(WeightsError, match="its variants or candidates are unknown"):
        load_weights(path)


def test_members_of_another_form_are_refused(tmp_path: Path) -> None:
    """Also none, tensors without an axis, and names from another prefix than the number of a member."""
    path, network = tmp_path / "weights.safetensors", load("solitaire").weights
    first, *others = network.members
    shapeless = [{**first, name: np.array(0, np.float32)} for name in ("set_encoders.0.0.bias", "trunk.0.bias")]
    smaller = {name: tensor for name, tensor in first.items() if name != "trunk.4.bias"}
    for members in ((), *((wrong, *others) for wrong in (*shapeless, smaller, {}))):
        save_weights(path, replace(network, members=members))
        with pytest.raises(WeightsError, match=r"another version|damaged"):  # safetensors 0.4 reads no empty file
            load_weights(path)
    for prefix in ("", "1.", "00.", "first."):
        tensors = {f"{prefix}{name}": tensor for name, tensor in first.items()}
        metadata = {"variants": network.variants, "candidates": network.candidates}
        weights_io.write(path, tensors, metadata, f"{network.variants} {network.candidates}")
        with pytest.raises(WeightsError, match="another version"):
            load_weights(path)


def test_a_network_has_weights_of_0_for_options_that_are_newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They are the last of the features. A network that lacks more of them is of another version."""
    path, network, layout = tmp_path / "weights.safetensors", load("solitaire").weights, layout_of(["solitaire"])
    save_weights(path, network)
    longer = layout._replace(context=layout.context + 2, further=2)
    monkeypatch.setattr("quincunx_agents.networks.value.layout_of", lambda variants: longer)
    for old, new in zip(network.members, load_weights(path).members, strict=True):
        weight = new["trunk.0.weight"]
        assert np.array_equal(weight[:, :-2], old["trunk.0.weight"])
        assert not weight[:, -2:].any()
        assert {name for name in old if not np.array_equal(old[name], new[name])} == {"trunk.0.weight"}
    longer = longer._replace(further=1)
    with pytest.raises(WeightsError, match="another version"):
        load_weights(path)


@pytest.mark.parametrize("variant", ["solitaire", "spiral"])
def test_more_candidates_than_actions_are_all_of_them(variant: str) -> None:
    rules = rules_of(variant)
    observation, mask = seen(dealt(rules, 2, 5))
    every, more = (replace(shipped_for(rules), candidates=count) for count in (0, 10**20))
    assert (action_values(more, rules, observation, mask) == action_values(every, rules, observation, mask)).all()


def test_shipped_weights_are_small_and_have_a_card() -> None:
    for name in shipped():
        compressed = zlib.compress((WEIGHTS / f"{name}.safetensors").read_bytes())  # as in a wheel
        assert len(compressed) < 2**20
        assert (WEIGHTS / f"{name}.json").exists()


def test_with_zero_weights_only_points_count() -> None:
    network = load("solitaire").weights
    flat = {name: np.zeros_like(array) for name, array in network.members[0].items()}
    observation, mask = seen(positions(Rules(), 2))
    plays = afterstates_of(Rules(), observation, mask)
    chosen = ValueAgent(ValueWeights((flat,), network.variants, 0)).for_rules(Rules())(observation, mask, RNG)
    for row, action in enumerate(chosen):
        here = plays.rows == row
        assert plays.points[here & (plays.actions == action)] == plays.points[here].max()
    for _, described in plays.chunks:
        assert not values_of([flat], described).any()
