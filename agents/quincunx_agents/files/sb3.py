"""Models that stable-baselines3 and sb3-contrib saved: PPO, A2C, DQN and MaskablePPO.

Such a ``*.zip`` holds JSON, in which everything but plain values is pickled, and the weights. Nothing is unpickled here
where that can be avoided: the weights are read with ``weights_only=True``, their names and shapes give the layers of an
``MlpPolicy``, a ``MultiInputPolicy`` or a `QuincunxMaskablePolicy`, and the text that stable-baselines3 writes beside
each pickle names the activation function. Anything else is built from the pickles, if the file is trusted.
"""

import base64
import json
import pickletools
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from torch import Tensor, nn

from quincunx_agents.afterstates import Bools
from quincunx_agents.files.encodings import Encoded, Encoding, encodings
from quincunx_agents.networks.policy import sizes_of
from quincunx_agents.torch.greedy_policy import GreedyPolicy
from quincunx_agents.torch.networks import PolicyNetwork
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.policy_files import needs_trust

STANDARD = {
    "stable_baselines3.common.policies": "Tanh",
    "sb3_contrib.common.maskable.policies": "Tanh",
    "stable_baselines3.dqn.policies": "ReLU",
    "quincunx_agents.torch.sb3_policy": "",
}
"""Modules of the policies that can be built without their pickles, with their default activation functions."""

UNSUPPORTED = {
    "sb3_contrib.ars.policies": "ARS",
    "sb3_contrib.common.recurrent.policies": "RecurrentPPO",
    "sb3_contrib.qrdqn.policies": "QRDQN",
}
"""Modules of policies that would be refused after unpickling, too: without logits or Q-values of a single position."""

ACTIVATIONS = ("ELU", "GELU", "LeakyReLU", "ReLU", "SiLU", "Tanh")
"""Activation functions of ``torch.nn`` that are known by name."""

PASSIVE = {
    *("activation_fn", "net_arch", "optimizer_class", "optimizer_kwargs", "ortho_init", "log_std_init"),
    *("share_features_extractor", "normalize_images", "observer", "width", "depth", "code"),
}
"""Arguments of policies that change nothing but the layers, which follow from the weights, and training."""

OWN = "mlp_extractor.cell_encoder.bias"
"""A weight that only a `PolicyNetwork` has."""

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Model:
    """A saved model; a `quincunx_env.core.policy.PolicyFactory`."""

    path: Path
    data: dict[str, Any]
    weights: dict[str, Tensor]
    trust: bool

    def for_rules(self, rules: BaseRules) -> Policy:
        """The greedy policy, for games with the observations on which the model was trained.

        Raises:
            PolicyFileError: if the model needs to be trusted.
            ValueError: if it was trained on other observations, or cannot be built.
        """
        encoding = self._encoding(rules)
        if problem := self._problem():
            if not self.trust:
                raise needs_trust(self.path, problem)
            return encoding.policy(self._unpickled(encoding))
        if OWN in self.weights:
            network = self._policy_network(encoding)
            greedy = GreedyPolicy(network.forward_actor, encoding.observer)
            padded = getattr(encoding.observer, "unpad_policy", None)
            return padded(greedy) if padded is not None else greedy
        return encoding.policy(self._layers(encoding))

    # --- Observations ------------------------------------------------------------------------------------------------

    def _encoding(self, rules: BaseRules) -> Encoding:
        """The encoding of the saved observation space, whose bounds are byte strings in its pickle."""
        saved = self.data["observation_space"]
        found = {bytes(value) for value in _values(saved) if isinstance(value, bytes | bytearray)}
        names, form = _names(saved), (saved.get("dtype"), saved.get("_shape"))
        for encoding in encodings(rules):
            space = encoding.space()
            entries = space.spaces if isinstance(space, spaces.Dict) else {}
            agrees = set(entries) == set(names) if entries else form == (str(space.dtype), list(space.shape or ()))
            boxes = entries.values() or [space]
            if saved[":type:"] == str(type(space)) and agrees and all(_bounds(box) <= found for box in boxes):
                if {"f4", "f8"} & {value for value in _values(self.data.get("_last_obs")) if isinstance(value, str)}:
                    raise ValueError(
                        "its last observations were changed by a wrapper such as VecNormalize, which is no part of the "
                        "file; name it as 'module:attribute', with a function that does the same"
                    )
                return encoding
        shape = ", ".join(names) or f"{form[0]} {form[1]}"
        raise ValueError(f"its observations ({shape}) are those of no environment of {rules}")

    # --- Networks ----------------------------------------------------------------------------------------------------

    def _problem(self) -> str:
        """What cannot be built without unpickling; empty if nothing."""
        arguments = self.data["policy_kwargs"]
        unknown = {name for name in arguments if not name.startswith(":")} - PASSIVE
        if self.data["policy_class"].get("__module__") not in STANDARD:
            return f"a policy class of its own ({self.data['policy_class'].get('__module__')})"
        if unknown:
            return f"policy_kwargs {', '.join(sorted(unknown))}"
        if self._activation() not in ("", *ACTIVATIONS):
            return f"the activation function {self._activation()}"
        return ""

    def _activation(self) -> str:
        text = str(self.data["policy_kwargs"].get("activation_fn", ""))
        named = re.fullmatch(r"<class 'torch\.nn\.modules\.activation\.(\w+)'>", text)
        return named[1] if named else text or STANDARD[self.data["policy_class"]["__module__"]]

    def _policy_network(self, encoding: Encoding) -> PolicyNetwork:
        prefix = "mlp_extractor."
        weights = {name.removeprefix(prefix): tensor for name, tensor in self.weights.items()}
        network = PolicyNetwork(encoding.observer, *sizes_of(weights))
        network.load_state_dict(weights)
        return network

    def _layers(self, encoding: Encoding) -> Any:
        """The layers of the actor, or of the Q-values: linear, with activation functions between them."""
        weights = dict(self.weights)
        prefixes = ["q_net.q_net"] if "q_net.q_net.0.weight" in weights else ["mlp_extractor.policy_net", "action_net"]
        names = [name.removesuffix(".weight") for name in weights if name.endswith(".weight")]
        hidden = [name for name in names if name.rpartition(".")[0] == prefixes[0]]
        layers: list[nn.Module] = []
        for name in [*sorted(hidden, key=lambda name: int(name.rpartition(".")[2])), *prefixes[1:]]:
            weight, bias = weights.pop(f"{name}.weight"), weights.pop(f"{name}.bias")
            layer = nn.Linear(weight.shape[1], weight.shape[0])
            layer.load_state_dict({"weight": weight, "bias": bias})
            layers += [layer, getattr(nn, self._activation())()]
        ignored = ("mlp_extractor.value_net.", "value_net.", "q_net_target.")
        if other := [name for name in weights if not name.startswith(ignored)]:
            raise ValueError(f"it has other layers than those of an MlpPolicy: {', '.join(other)}")
        network, pieces = nn.Sequential(*layers[:-1]).eval(), _names(self.data["observation_space"])

        def scores(encoded: Encoded, mask: Bools) -> Numbers:
            parts = [encoded[name] for name in pieces] if isinstance(encoded, dict) else [encoded]
            parts = [part.reshape(len(mask), -1) for part in parts]
            with torch.no_grad():
                found: Tensor = network(torch.from_numpy(np.concatenate(parts, axis=1, dtype=np.float32)))
            return found.numpy()

        return scores

    def _unpickled(self, encoding: Encoding) -> Any:
        """Logits or Q-values of the policy as stable-baselines3 builds it."""
        from stable_baselines3.common.save_util import json_to_data

        names = ("policy_class", "observation_space", "action_space", "policy_kwargs")
        found = json_to_data(json.dumps({name: self.data[name] for name in names}))
        if missing := [name for name in names if name not in found]:
            raise ValueError(f"{', '.join(missing)} cannot be unpickled here")
        arguments = {name: value for name, value in found["policy_kwargs"].items() if name != "device"}
        policy = found["policy_class"](found["observation_space"], found["action_space"], lambda _: 0.0, **arguments)
        if not hasattr(policy, "q_net") and not hasattr(policy, "get_distribution"):
            raise ValueError(f"a {type(policy).__name__} has no logits or Q-values of discrete actions")
        policy.load_state_dict(self.weights)
        policy.set_training_mode(False)

        def scores(encoded: Encoded, mask: Bools) -> Numbers:
            tensors: Any = (
                {name: torch.from_numpy(piece) for name, piece in encoded.items()}
                if isinstance(encoded, dict)
                else torch.from_numpy(encoded)
            )
            with torch.no_grad():
                if hasattr(policy, "q_net"):
                    found: Tensor = policy.q_net(tensors)
                else:
                    distribution = policy.get_distribution(tensors)
                    parts = getattr(distribution, "distributions", None) or distribution.distribution
                    found = torch.cat([part.logits for part in (parts if isinstance(parts, list) else [parts])], dim=1)
            return found.numpy()

        return scores


def read(path: Path, trust: bool) -> Model:
    """A saved model.

    Args:
        path: of the file.
        trust: build policies from their pickles where necessary.

    Raises:
        ValueError: if the file is damaged, no such model, or of another algorithm.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
            with archive.open("policy.pth") as file:
                weights = torch.load(file, map_location="cpu", weights_only=True)
        if not all(isinstance(data[name], dict) for name in ("observation_space", "policy_class", "policy_kwargs")):
            raise ValueError("its entries are of other types")
        if not all(isinstance(tensor, Tensor) for tensor in weights.values()):
            raise ValueError("its weights are no tensors")
    except Exception as error:  # zipfile and torch raise anything for a damaged file
        reason = " ".join(str(error).split())[:120]
        raise ValueError(
            f"it is damaged, or no model of stable-baselines3: {type(error).__name__}: {reason}"
        ) from error
    if algorithm := UNSUPPORTED.get(data["policy_class"].get("__module__")):
        raise ValueError(f"it is a model of {algorithm}; those of PPO, A2C, DQN and MaskablePPO can be used")
    return Model(path, data, weights, trust)


def _values(saved: Any) -> list[Any]:
    """Strings, byte strings and numbers in an entry that is pickled; finding them executes nothing."""
    if not isinstance(saved, dict) or ":serialized:" not in saved:
        return []
    return [value for _, value, _ in pickletools.genops(base64.b64decode(saved[":serialized:"]))]


def _names(saved: dict[str, Any]) -> list[str]:
    """Names of the pieces of a saved ``Dict`` space in their order, from the text beside its pickle."""
    return re.findall(r"'(\w+)': Box\(", str(saved.get("spaces")))


def _bounds(space: Any) -> set[bytes]:
    """The bounds of a ``Box`` as bytes."""
    return {space.low.tobytes(), space.high.tobytes()}
