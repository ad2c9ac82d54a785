"""Models of PPO, A2C, DQN and MaskablePPO that stable-baselines3 and sb3-contrib saved.

Their own loaders read them. They unpickle parts of the file, which executes any code in it, and therefore need trust.
The algorithm follows from the JSON in the file, which is read before and executes nothing.
"""

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy.typing as npt

from quincunx_env.utils.extras import needs_extra

with needs_extra("sb3", "a model of stable-baselines3"):
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import A2C, DQN, PPO

from quincunx_agents.afterstates import Bools
from quincunx_agents.files.encodings import Encoded, Encoding, encodings, other_game
from quincunx_agents.torch.greedy_policy import GreedyPolicy
from quincunx_agents.torch.sb3_policy import QuincunxMaskablePolicy
from quincunx_env.core.policy import NotFiniteError, Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies.files import untrusted

ALGORITHMS = {algorithm.__name__: algorithm for algorithm in (PPO, A2C, DQN, MaskablePPO)}
"""Algorithms whose models can be used, by name."""

SETTINGS = {
    "n_delta": "ARS",
    "cg_max_steps": "TRPO",
    "n_quantiles": "QRDQN",
    "top_quantiles_to_drop_per_net": "TQC",
    "target_policy_noise": "TD3 or DDPG",
    "target_entropy": "SAC or CrossQ",
    "clip_range": "PPO",
    "exploration_rate": "DQN",
    "gae_lambda": "A2C",
}
"""Algorithms by a setting that all their models have, but no model of an algorithm after them. RecurrentPPO and
MaskablePPO have the settings of PPO, and differ from it in the buffer."""

TRAINING = {
    **dict.fromkeys(("clip_range", "learning_rate"), 0.0),
    **dict.fromkeys(("buffer_size", "n_envs", "n_steps"), 1),
    **dict.fromkeys(("ep_info_buffer", "ep_success_buffer", "exploration_schedule", "lr_schedule")),
}
"""Replacements of settings that only training needs: no large buffer, no function of another Python."""

MAX_DESCRIPTION = 1 << 26
"""Upper limit of the JSON in a file, in bytes: 64 MiB, many times a usual model."""


class Model:
    """A loaded model; a `quincunx_env.core.policy.PolicyFactory`."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.policy = model.policy
        self.policy.set_training_mode(False)

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the greedy policy for games with the model's observations.

        Raises:
            ValueError: if it was trained on other observations.
        """
        encoding = self._encoding(rules)
        if not isinstance(self.policy, QuincunxMaskablePolicy):
            return encoding.policy(self._scores)
        greedy = GreedyPolicy(self.policy.mlp_extractor.forward_actor, encoding.observer)
        padded = getattr(encoding.observer, "unpad_policy", None)
        return padded(greedy) if padded is not None else greedy

    def _encoding(self, rules: BaseRules) -> Encoding:
        space = self.model.observation_space
        found = next((encoding for encoding in encodings(rules) if encoding.space() == space), None)
        if found is None:
            shape = ", ".join(getattr(space, "spaces", {})) or f"{space.dtype} {list(space.shape)}"
            raise other_game(rules, lambda encoding: encoding.space() == space, shape)
        refuse_normalised(self.model, found)
        return found

    def _scores(self, encoded: Encoded, mask: Bools) -> npt.NDArray[Any]:
        """Compute logits or Q-values of all actions."""
        tensors: Any = (
            {name: torch.from_numpy(piece) for name, piece in encoded.items()}
            if isinstance(encoded, dict)
            else torch.from_numpy(encoded)
        )
        with torch.no_grad():
            if isinstance(self.model, DQN):
                found = self.policy.q_net(tensors)
            else:
                try:
                    distribution = self.policy.get_distribution(tensors)
                except ValueError as error:  # torch refuses NaN
                    raise NotFiniteError(f"it computes numbers that are none (NaN): {error}") from error
                parts = getattr(distribution, "distributions", None) or distribution.distribution
                found = torch.cat([part.logits for part in (parts if isinstance(parts, list) else [parts])], dim=1)
        scores: npt.NDArray[Any] = found.numpy()
        return scores


def refuse_normalised(model: Any, encoding: Encoding) -> None:
    """Check that a model was trained on an environment's own observations.

    Raises:
        ValueError: if a wrapper has changed them.
    """
    last = model._last_obs
    if last is not None and not encoding.is_own(last):
        raise ValueError(
            "a wrapper such as VecNormalize changed its observations, and the file does not contain the wrapper: "
            "name it as 'module:attribute', with a function that changes them, too"
        )


def read(path: Path, trust: bool) -> Model:
    """Read a saved model.

    Args:
        path: of the file.
        trust: needed.

    Raises:
        UntrustedFileError: without ``trust``; nothing has been unpickled then.
        ValueError: if the file is damaged, not such a model, or of another algorithm.
    """
    try:
        algorithm = _algorithm(path)
    except Exception as error:  # zipfile raises anything for a damaged file
        raise _damaged(error) from error
    if algorithm not in ALGORITHMS:
        raise ValueError(f"it is a model of {algorithm}; models of PPO, A2C, DQN and MaskablePPO can be used")
    if not trust:
        raise untrusted(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "Could not deserialize object")
            return Model(ALGORITHMS[algorithm].load(path, device="cpu", custom_objects=TRAINING))
    except Exception as error:  # anything that the file contains was executed
        raise _damaged(error) from error


def _algorithm(path: Path) -> str:
    """Return the name of a saved model's algorithm. It may be one that cannot be used."""
    with zipfile.ZipFile(path) as archive:
        if (size := archive.getinfo("data").file_size) > MAX_DESCRIPTION:
            raise ValueError(f"its description has {size} bytes, at most {MAX_DESCRIPTION} are read")
        data = json.loads(archive.read("data"))
    found = next((name for setting, name in SETTINGS.items() if setting in data), "")
    if not found:
        raise ValueError("its description names the settings of no algorithm")
    if found != "PPO":
        return found
    buffer = data["rollout_buffer_class"]
    if buffer is None:
        return "RecurrentPPO"
    modules = buffer.get("__module__", ""), data["policy_class"].get("__module__", "")
    return "MaskablePPO" if any(module.startswith("sb3_contrib.common.maskable.") for module in modules) else "PPO"


def _damaged(error: Exception) -> ValueError:
    reason = " ".join(str(error).split())[:160]
    return ValueError(f"it is damaged, or no model of stable-baselines3: {type(error).__name__}: {reason}")
