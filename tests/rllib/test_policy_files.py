"""Checkpoints of RLlib as policies."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.dqn.default_dqn_rl_module import QF_PREDS
from ray.rllib.algorithms.dqn.dqn_catalog import DQNCatalog
from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import DefaultDQNTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from quincunx_agents.files.rllib import MODULES
from quincunx_agents.torch.rllib_module import PPOPolicyNetworkModule
from quincunx_env.adapters.rllib import SolitaireRLlibVectorEnv
from quincunx_env.arena import evaluate
from quincunx_env.core.observation import Pieces
from quincunx_env.policies import PolicyFile, PolicyFileError
from quincunx_env.policies.files import CONSTRUCTOR
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer

OBSERVER = make_observer(Rules(), preview=True)
ENVS = SolitaireRLlibVectorEnv({"observation": "flat"})
SPACES = {"observation_space": ENVS.single_observation_space, "action_space": ENVS.single_action_space}
NETWORK = {"rules": Rules(), "width": 8, "depth": 4}
FLAT = SPACES | {"observation_space": OBSERVER.flat_space()}
DQN = {"num_atoms": 1, "dueling": True, "double_q": True, "epsilon": [(0, 1.0), (10, 0.1)], "fcnet_hiddens": [8]}
KINDS: dict[str, Any] = {
    "PPO": RLModuleSpec(PPOPolicyNetworkModule, **SPACES, model_config=NETWORK),
    "DQN of RLlib": RLModuleSpec(DefaultDQNTorchRLModule, **FLAT, model_config=DQN, catalog_class=DQNCatalog),
    "PPO of RLlib": RLModuleSpec(
        ActionMaskingTorchRLModule, **SPACES, model_config={"head_fcnet_hiddens": [8], "fcnet_hiddens": [8]}
    ),
}


def make(kind: str) -> Any:
    """A module with random weights."""
    module = KINDS[kind].build()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel()))
    return module


def in_memory(module: Any) -> Any:
    """The greedy policy of a module."""

    def policy(pieces: Pieces, mask: Any, rng: np.random.Generator) -> Any:
        observations = torch.from_numpy(OBSERVER.flatten(pieces)).float()
        batch = {Columns.OBS: {"observations": observations, "action_mask": torch.from_numpy(mask).float()}}
        with torch.no_grad():
            if isinstance(module, DefaultDQNTorchRLModule):
                values = module.compute_q_values({Columns.OBS: observations})[QF_PREDS]
                return values.masked_fill(~torch.from_numpy(mask), -torch.inf).argmax(dim=1).numpy()
            return module.forward_inference(batch)[Columns.ACTION_DIST_INPUTS].argmax(dim=1).numpy()

    return policy


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_plays_as_in_memory(kind: str, tmp_path: Path) -> None:
    module = make(kind)
    module.save_to_path(tmp_path)
    with pytest.raises(PolicyFileError, match="needs to be trusted"):
        evaluate(str(tmp_path), 4)
    found = evaluate(PolicyFile(str(tmp_path), trust=True), 4)
    assert found.scores.tolist() == evaluate(in_memory(module), 4).scores.tolist()
    assert len(set(found.scores.tolist())) > 1
    with pytest.raises(PolicyFileError, match=r"it was trained for quincunx\.Rules\(\), got quincunx\.Rules\(n"):
        PolicyFile(str(tmp_path), trust=True).for_rules(Rules(num_players=2))


def test_one_module_of_an_algorithm_is_chosen(tmp_path: Path) -> None:
    (tmp_path / CONSTRUCTOR).write_bytes(b"")
    for name in ("red", "blue"):
        make("PPO").save_to_path(tmp_path / MODULES / name)
    with pytest.raises(PolicyFileError, match="it has the modules blue, red: name the folder of one of them in"):
        PolicyFile(str(tmp_path), trust=True).for_rules(Rules())
    make("PPO").save_to_path(tmp_path / MODULES / "default_policy")
    assert callable(PolicyFile(str(tmp_path), trust=True).for_rules(Rules()))
    assert callable(PolicyFile(str(tmp_path / MODULES / "red"), trust=True).for_rules(Rules()))


class Canary:
    """Leaves a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_pickled_code_is_executed_with_trust_alone(tmp_path: Path) -> None:
    checkpoint, canary = tmp_path / "checkpoint", tmp_path / "canary"
    make("PPO").save_to_path(checkpoint)
    (checkpoint / CONSTRUCTOR).write_bytes(pickle.dumps(Canary(canary)))
    with pytest.raises(PolicyFileError, match="needs to be trusted"):
        PolicyFile(str(checkpoint)).for_rules(Rules())
    assert not canary.exists()
    with pytest.raises(PolicyFileError, match="cannot be used"):
        PolicyFile(str(checkpoint), trust=True).for_rules(Rules())
    assert canary.exists()


@pytest.mark.parametrize("damaged", [CONSTRUCTOR, "module_state.pkl"])
@pytest.mark.parametrize("content", [None, b"", b"text", b"\x80\x05\x95"])
def test_a_damaged_checkpoint_is_refused(damaged: str, content: bytes | None, tmp_path: Path) -> None:
    make("PPO").save_to_path(tmp_path)
    (tmp_path / damaged).unlink() if content is None else (tmp_path / damaged).write_bytes(content)
    with pytest.raises(PolicyFileError, match=r"^[^\n]+$"):
        PolicyFile(str(tmp_path), trust=True).for_rules(Rules())
