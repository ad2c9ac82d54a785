"""`train.td_lambda` on another device than the CPU: networks and features stay there, and the results are the same.

There need not be a GPU. In place of one stands PyTorch's device ``meta``, whose tensors have no values: here they are
wrappers of tensors that have, and what is done with tensors is recorded.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest

pytest.importorskip("array_api_compat")
pytest.importorskip("torch")
pytest.importorskip("safetensors")

import array_api_compat.torch
import torch
from numpy.testing import assert_allclose
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from quincunx_agents.afterstates import NUMPY, SEATS, Backend
from quincunx_agents.agent_specs import agent_spec_of, rules_of
from quincunx_agents.greedy import greedy
from quincunx_agents.networks.value import load_weights
from quincunx_env.registry import make_observer, spec_of
from tests.train.test_expert_iteration import TINY as EXPERT
from tests.train.test_td_lambda import EACH, TINY, network_for
from tests.variants import legal_actions
from train.common.opponents import Member, Pool
from train.common.options import OptionError
from train.common.timer import PhaseTimer
from train.expert_iteration import training as expert_iteration
from train.expert_iteration.search_targets import Searcher, SearchOptions, SearchTargets
from train.td_lambda import training as td_lambda
from train.td_lambda.learning import learn
from train.td_lambda.rollout import Opponents, ValueTargets, Weights, join, play_games
from train.td_lambda.settings import Arguments

DEVICE = torch.device("meta")


class Elsewhere(torch.Tensor):
    """A tensor on `DEVICE` that has values: those of a tensor on the CPU."""

    held: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> "Elsewhere":  # noqa: D102 (the class says it)
        made = torch.Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), dtype=held.dtype, device=DEVICE
        )
        made.held = held
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """In files it is a tensor of the CPU."""
        return self.held.__reduce_ex__(protocol)

    @classmethod
    def __torch_dispatch__(cls, function: Any, *_: Any) -> Any:
        raise AssertionError(f"{function} of a tensor that outlived `device`")


class Operation(NamedTuple):
    """An operation with a result or an argument on the CPU: numbers that are not integers, in an array."""

    kind: Literal["on the CPU", "copied to the CPU", "on both"]
    name: str
    shape: tuple[int, ...]


class Recorder(TorchDispatchMode):
    """Executes operations on tensors of `DEVICE`, and records those that are not there alone."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: list[Operation] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        assert not [each for each in tensors if each.is_meta and type(each) is torch.Tensor], "without values"
        there = {id(each.held): each for each in tensors if isinstance(each, Elsewhere)}
        to_device = bool(there)
        if kwargs.get("device") is not None:
            to_device = torch.device(kwargs["device"]) == DEVICE
            kwargs["device"] = torch.device("cpu")
        copying = function is torch.ops.aten._to_copy.default
        arguments = tree_map_only(Elsewhere, lambda each: each.held, (args, kwargs))
        results = function(*arguments[0], **arguments[1])
        if to_device and not copying:
            self.record("on both", function, tensors)
        if not to_device:
            self.record("copied to the CPU" if there else "on the CPU", function, results)
            return results
        # What is changed in place remains the same object.
        return tree_map_only(
            torch.Tensor, lambda each: there[id(each)] if id(each) in there else Elsewhere(each), results
        )

    def record(self, kind: Any, function: Any, found: Any) -> None:
        """Record tensors on the CPU."""
        for each in tree_leaves(found):
            if type(each) is torch.Tensor and each.ndim and each.numel() and each.is_floating_point():
                self.operations.append(Operation(kind, str(function), tuple(each.shape)))


class Made(TorchFunctionMode):
    """Brings numbers and arrays to `DEVICE` with their values."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function in (torch.asarray, torch.as_tensor) and kwargs.get("device") == DEVICE:
            del kwargs["device"]
            return function(*args, **kwargs).to(DEVICE)
        return function(*args, **kwargs)


@contextmanager
def device() -> Iterator[list[Operation]]:
    """In this context `DEVICE` has values; yields the operations that are recorded."""
    with Recorder() as recorder, Made():
        yield recorder.operations


def test_operations_outside_of_the_device_are_recorded() -> None:
    with device() as operations:
        inside, outside = torch.ones(3, 2, device=DEVICE), torch.ones(3, 2)
        assert inside.device == DEVICE
        operations.clear()
        assert (inside * 2 + inside.sum(dim=0)).cpu().tolist() == [[5, 5]] * 3
        assert [each.kind for each in operations] == ["copied to the CPU"]
        operations.clear()
        assert (outside * 2).tolist() == [[2, 2]] * 3
        assert [each.kind for each in operations] == ["on the CPU"]
        operations.clear()
        assert (inside * outside).device == DEVICE
        assert [each.kind for each in operations] == ["on both"]


@pytest.mark.parametrize("variant", EACH)
def test_features_do_not_depend_on_the_library(variant: str) -> None:
    """Those of PyTorch are those of NumPy."""
    rules, torch_on_cpu, rng = rules_of(variant), Backend(array_api_compat.torch), np.random.default_rng(0)
    module, observer = agent_spec_of(rules).features, make_observer(rules, preview=True)
    batch: Any = spec_of(rules).Batch(rules, 4)
    batch.reset(seed=0)
    for _ in range(0, rules.num_plays, 4):
        observation, mask = observer.observe_batch(batch), batch.mask
        ours, theirs = (
            module.afterstates_of(rules, observation, mask, backend=backend) for backend in (NUMPY, torch_on_cpu)
        )
        for _, (sets, context) in theirs.chunks:
            assert all(isinstance(each, torch.Tensor) for each in (*sets, context))
        assert_allclose(theirs.features(module.LAYOUT), ours.features(module.LAYOUT), atol=2e-3)
        for _ in range(4):
            batch.step(legal_actions(batch, rng))


def play(variant: str, networks: Sequence[Weights], backend: Backend) -> tuple[ValueTargets, SearchTargets]:
    """Games of a network against a fixed agent and a snapshot, with search targets."""
    weights, snapshot = ({name: backend.array(array) for name, array in each.items()} for each in networks)
    pool: Opponents = Pool([Member("greedy", greedy), Member("earlier", snapshot)])
    rng, timer = np.random.default_rng(0), PhaseTimer()
    options = SearchOptions(search_share=0.3, search_plays=3, search_depth=2, search_candidates=3)
    searcher = Searcher(options, [weights], rng)
    targets, _ = play_games(TINY, rules_of(variant), 4, [weights], pool, 7, rng, timer, backend, searcher)
    return targets, join(searcher.targets, backend)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant", ["3-open", *(pytest.param(name, marks=pytest.mark.slow) for name in ("solitaire", "spiral-end"))]
)
def test_games_and_gradient_steps_are_on_the_device(variant: str) -> None:
    """The CPU sees the cards, and points and values of the plays, which the engine needs."""
    networks = [network_for(variant), network_for(variant)]
    weights = [network_for(variant, seed).weights() for seed in range(2)]
    expected = play(variant, weights, NUMPY)
    with device() as operations:
        backend = Backend(array_api_compat.torch, DEVICE)
        play(variant, weights, backend)  # tables are made once
        operations.clear()
        targets, searched = play(variant, weights, backend)
        playing = operations.copy()
        operations.clear()
        networks[1].to(DEVICE)
        options = replace(TINY, device=str(DEVICE), workers=0)
        for network, each, plays in zip(networks, (TINY, options), (expected, (targets, searched)), strict=True):
            optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
            operations.clear()
            learn(each, network, optimizer, [plays[0]], np.random.default_rng(0))
        learning = operations.copy()
        trained = [{name: each.detach().cpu() for name, each in network.state_dict().items()} for network in networks]
    size = agent_spec_of(rules_of(variant)).features.LAYOUT.size
    for operation in playing + learning:
        assert operation.kind != "on both", operation
        assert np.prod(operation.shape[1:]) < size / 10, operation
    brought = {"aten.lift_fresh.default", "aten.detach.default"}  # arrays of NumPy as tensors, and the converse
    assert {each.name for each in playing + learning if each.kind == "on the CPU"} <= brought
    assert {each.shape[1:] for each in playing if each.kind == "copied to the CPU"} == {(), (SEATS,)}
    assert not [each for each in learning if each.kind == "copied to the CPU"]
    for ours, theirs in zip(expected, (targets, searched), strict=True):
        for part, other in zip(ours, theirs, strict=True):
            assert_allclose(getattr(other, "held", other), part, atol=1e-2)
    for name, tensor in trained[0].items():
        assert_allclose(trained[1][name], tensor, atol=1e-3, err_msg=name)


def assert_equal_weights(runs: Path) -> None:
    """The runs ``cpu`` and ``there`` have learned the same.

    Adam divides a gradient by its size, so that rounding moves a weight whose gradient is near 0 by as much as others
    learn, 0.001 a step: what is compared is the root mean square of each tensor.
    """
    ours, theirs = (load_weights(runs / name / f"{name}.safetensors").tensors for name in ("cpu", "there"))
    for name, tensor in ours.items():
        # Rounding alone moves the bias of the preference, which changes no difference between plays.
        compared = slice(SEATS) if name == "trunk.4.bias" else slice(None)
        assert np.square(theirs[name][compared] - tensor[compared]).mean() ** 0.5 < 3e-4, name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")  # it is copied here
def test_a_run_on_the_device_equals_one_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its continuation, too; both write weights."""
    monkeypatch.chdir(tmp_path)
    options = replace(TINY, variants=("2-corners",), iterations=3, checkpoint_every=1)
    td_lambda.main(replace(options, name="cpu"))
    calls = iter(range(100))

    def stop(*arguments: Any) -> Any:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return learn(*arguments)

    with device():
        there = replace(options, name="there", device=str(DEVICE))
        monkeypatch.setattr(td_lambda, "learn", stop)
        with pytest.raises(KeyboardInterrupt):
            td_lambda.main(there)
        monkeypatch.setattr(td_lambda, "learn", learn)
        td_lambda.main(replace(there, resume=True))
    assert_equal_weights(tmp_path / "runs")


@pytest.mark.slow
def test_expert_iteration_on_the_device_equals_one_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = replace(EXPERT, files=2)
    expert_iteration.main(replace(options, name="cpu"))
    with device():
        expert_iteration.main(replace(options, name="there", device=str(DEVICE)))
    assert_equal_weights(tmp_path / "runs")


def test_another_device_than_the_cpu_has_one_process() -> None:
    assert (Arguments().num_workers, Arguments(device=str(DEVICE)).num_workers) == (2, 0)
    with pytest.raises(OptionError, match="--device meta needs --workers 0"):
        Arguments(device=str(DEVICE), workers=1)
