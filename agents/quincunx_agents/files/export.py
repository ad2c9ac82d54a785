"""Writers of policies in files that execute nothing when they are read.

>>> from sb3_contrib import MaskablePPO
>>> from quincunx_env.adapters.sb3 import SolitaireVecEnv
>>> model = MaskablePPO("MlpPolicy", SolitaireVecEnv(8, observation="flat"))
>>> save_policy(model, "mine.onnx")  # doctest: +SKIP
"""

import copy
import warnings
from pathlib import Path
from typing import Any

from quincunx_env.utils.extras import needs_extra

with needs_extra("train", __name__):
    import torch
    from torch import Tensor, nn
import numpy as np

from quincunx_agents.networks import policy
from quincunx_agents.quincunx.symmetries import symmetries, turned
from quincunx_agents.torch import PolicyNetwork
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.utils.files import write_atomically

# --- Models of stable-baselines3 -------------------------------------------------------------------------------------


def save_policy(model: Any, path: Path | str) -> None:
    """Write the policy of a stable-baselines3 model as a file.

    The file executes nothing, unlike the one of ``model.save``.

    Args:
        model: of PPO, A2C, DQN or MaskablePPO, trained on flat observations.
        path: of the file: ``*.safetensors`` for a `QuincunxMaskablePolicy`, ``*.onnx`` for any other policy. ONNX needs
            the extra ``onnx``.

    Raises:
        ValueError: for another suffix, other observations, or observations that a wrapper normalised.
        OSError: if the file cannot be written.
    """
    with needs_extra("sb3", "a model of stable-baselines3"):
        from quincunx_agents.files.encodings import encoding_of
        from quincunx_agents.files.sb3 import refuse_normalised
        from quincunx_agents.torch import QuincunxMaskablePolicy

    path, found = Path(path), model.policy
    own = isinstance(found, QuincunxMaskablePolicy)
    suffix = ".safetensors" if own else ".onnx"
    if path.suffix != suffix:
        raise ValueError(f"a {type(found).__name__} is written as *{suffix}, got {path.name!r}")
    refuse_normalised(model, encoding_of(found.observation_space))
    if own:
        policy.save_weights(path, found.mlp_extractor.trained())
        return
    if found.observation_space.shape is None or len(found.observation_space.shape) != 1:
        raise ValueError("the policy takes observations by name: train it with observation='flat', mask_in='info'")
    example = (torch.zeros(2, *found.observation_space.shape),)
    write_onnx(Scores(model), example, ["observation"], ["scores"], path)


class Scores(nn.Module):
    """The logits of a policy of stable-baselines3, or its Q-values."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.policy = copy.deepcopy(model.policy).cpu()  # training may go on

    def forward(self, observation: Tensor) -> Tensor:
        """Map flat observations, float32 [n, size], to scores [n, actions], or [n, cards + cells] for pairs."""
        if hasattr(self.policy, "q_net"):
            scores: Tensor = self.policy.q_net(observation)
            return scores
        features = self.policy.extract_features(observation, self.policy.pi_features_extractor)
        scores = self.policy.action_net(self.policy.mlp_extractor.forward_actor(features))
        return scores


# --- Networks of this package ----------------------------------------------------------------------------------------


class GreedyLogits(nn.Module):
    """Logits of a policy network, and the greedy action. The logits are means over the symmetries of the grid."""

    entries: Tensor
    """[8, size]: the entry of an observation that each entry of a view receives."""
    actions: Tensor
    """[8, actions]: the action of a view that is each action."""

    def __init__(self, network: PolicyNetwork, observer: Observer) -> None:
        super().__init__()
        self.network = network
        numbers: Pieces = {
            piece.name: np.arange(observer.size)[observer.slices[piece.name]].reshape(1, *piece.shape)
            for piece in observer.pieces
        }
        plays, views = np.arange(observer.num_actions).reshape(network.cards, -1), symmetries(network.cells)
        entries = [np.concatenate([each.ravel() for each in turned(numbers, cells).values()]) for cells in views]
        actions = [plays[:, cells.argsort()].ravel() for cells in views]
        self.register_buffer("entries", torch.from_numpy(np.stack(entries)))
        self.register_buffer("actions", torch.from_numpy(np.stack(actions)))

    def forward(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [n, actions] and greedy actions [n]; inputs as ``train/export.py`` lists them."""
        views = self.network.forward_actor(observation[:, self.entries].flatten(0, 1)).unflatten(0, (-1, 8))
        mean = views.gather(2, self.actions.expand(observation.shape[0], -1, -1)).mean(dim=1)
        logits = mean.masked_fill(~mask, -torch.inf)
        return logits, logits.argmax(dim=1)


def torch_policy(found: policy.PolicyWeights) -> PolicyNetwork:
    """Return the torch module with these weights."""
    weights = {name: torch.from_numpy(array) for name, array in found.tensors.items()}
    network = PolicyNetwork(found.observer, *policy.sizes_of(weights))
    network.load_state_dict(weights)
    return network


def write_onnx(
    network: nn.Module,
    example: tuple[Tensor, ...],
    inputs: list[str],
    outputs: list[str],
    path: Path,
) -> None:
    """Write a network as ONNX.

    Args:
        network: the module.
        example: arguments of its ``forward``, whose first axis may have any length.
        inputs: names of its arguments.
        outputs: names of its results.
        path: of the file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that the inputs share their axes, which is intended
        program = torch.onnx.export(
            network.eval(),
            example,
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=({0: torch.export.Dim("n")},) * len(example),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    write_atomically(path, program.save)
