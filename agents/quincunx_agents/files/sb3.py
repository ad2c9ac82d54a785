"""Models of PPO, A2C, DQN and MaskablePPO that stable-baselines3 and sb3-contrib saved.

Their own loaders read them. They unpickle parts of the file, which executes any code in it, and therefore need trust.
The algorithm follows from the JSON in the file, which is read before and executes nothing. The observations follow from
the options of the environment: `quincunx_env.policies.encoding`.
"""

import json
import warnings
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from quincunx_env.utils.extras import needs_extra

with needs_extra("sb3", "a model of stable-baselines3"):
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import A2C, DQN, PPO

from quincunx_agents.afterstates import Bools
from quincunx_agents.greedy import GreedyPolicy, Scores, legal_scores
from quincunx_agents.torch.network_policy import NetworkPolicy
from quincunx_agents.torch.sb3_policy import QuincunxMaskablePolicy
from quincunx_env.core.policy import NotFiniteError, Policy
from quincunx_env.core.rules import BaseRules, SeveralRules
from quincunx_env.envs.codec import Codec
from quincunx_env.policies.encoded import EncodedPolicy
from quincunx_env.policies.encoding import Encoding, options_file, read_options
from quincunx_env.policies.files import PolicyFile, untrusted
from quincunx_env.registry import spec_of

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
    """A loaded model; a `quincunx_env.core.policy.PolicyFactory`.

    Args:
        model: of one of the `ALGORITHMS`.
        trained: rules of its environment, or None if they are unknown.
        encoding: options of its environment.
    """

    def __init__(self, model: Any, trained: BaseRules | SeveralRules | None, encoding: Encoding) -> None:
        self.model = model
        self.trained = trained
        self.encoding = encoding
        self.policy = model.policy
        self.policy.set_training_mode(False)

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the greedy policy for games with the model's observations.

        Raises:
            ValueError: if it was trained on other observations, or if a wrapper has changed them.
        """
        codec = Codec(rules, **asdict(self.encoding))
        self._require_fitting(codec, rules)
        last = self.model._last_obs
        if last is not None and not _is_own(codec, last):
            raise ValueError(
                "a wrapper such as VecNormalize changed its observations, and the file does not contain the wrapper: "
                "name it as 'module:attribute', with a function that changes them, too"
            )
        # The unit of the scores is unknown. Without a tolerance it plays as the library that trained the network.
        greedy, encoding = GreedyPolicy(self.scores, tolerance=0), self.encoding
        if isinstance(self.policy, QuincunxMaskablePolicy):  # whose vectors `NetworkPolicy` makes
            greedy = NetworkPolicy(self.policy.mlp_extractor.forward_actor, codec.observer)
            encoding = replace(encoding, observation="pieces")
        return EncodedPolicy(greedy, **asdict(encoding)).for_rules(rules)

    def _require_fitting(self, codec: Codec, rules: BaseRules) -> None:
        """Check that the model has the spaces of an environment.

        Raises:
            ValueError: describing both.
        """
        own = self.model.observation_space, self.model.action_space
        given = codec.observation_space(), codec.action_space()
        if own == given:
            return
        if self.trained not in (None, rules):
            raise ValueError(
                f"it was trained for {_written(self.trained)}, got {_written(rules)}: play the game that it has learned"
            )
        options = ", ".join(f"{name}={value!r}" for name, value in asdict(self.encoding).items())
        raise ValueError(
            f"{options} give {_in_words(*given, own[0])} in {_written(rules)}; the model has "
            f"{_in_words(*own, given[0])}"
        )

    def scores(self, encoded: Any, mask: Bools) -> Scores:
        """Return logits or Q-values of the model's actions, [n, actions]; see `GreedyPolicy`."""
        return legal_scores(self._outputs(encoded), mask)

    def _outputs(self, encoded: Any) -> Scores:
        """Return logits or Q-values of the model's actions."""
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
                    found = self.policy.get_distribution(tensors).distribution.logits
                except ValueError as error:  # torch refuses NaN
                    raise NotFiniteError(f"it computes numbers that are none (NaN): {error}") from error
        outputs: Scores = found.numpy()
        return outputs


def _is_own(codec: Codec, observation: Any) -> bool:
    """Return whether observations [n, ...] are unchanged by wrappers such as ``VecNormalize``."""
    seen = observation if isinstance(observation, dict) else {"observation": observation}
    if codec.options["observation"] == "vector":
        encoder, vector = codec.observer.encoder(codec.by_place), seen["observation"]
        return bool((encoder.encode(encoder.decode(vector)) == vector).all())
    return not any(piece.dtype.kind == "f" and (piece != np.floor(piece)).any() for piece in seen.values())


def _written(rules: Any) -> str:
    """Return rules with the options that are not the default."""
    if isinstance(rules, SeveralRules):
        return " and ".join(map(_written, rules))
    return f"{spec_of(rules).name}.{rules!r}"


def _in_words(observations: spaces.Space[Any], actions: spaces.Space[Any], other: spaces.Space[Any]) -> str:
    """Describe two spaces briefly. Of pieces only those are named that other observations have not."""
    entries, others = (each.spaces if isinstance(each, spaces.Dict) else {"": each} for each in (observations, other))
    different = {name: each for name, each in entries.items() if others.get(name) != each} or entries
    shapes = ", ".join(f"{name} {each.dtype} {list(each.shape or ())}".strip() for name, each in different.items())
    return f"observations {shapes} and actions {actions}"


def read(file: PolicyFile) -> Model:
    """Read a saved model.

    Raises:
        UntrustedFileError: without trust; nothing has been unpickled then.
        ValueError: if the file is damaged, not such a model, or of another algorithm, or if the options of its
            environment are unknown.
    """
    path = file.location
    try:
        algorithm = _algorithm(path)
    except Exception as error:  # zipfile raises anything for a damaged file
        raise _damaged(error) from error
    if algorithm not in ALGORITHMS:
        raise ValueError(f"it is a model of {algorithm}; models of PPO, A2C, DQN and MaskablePPO can be used")
    if not file.trust:
        raise untrusted(path)
    trained, encoding = read_options(path) if options_file(path).exists() else (None, file.encoding)
    if encoding.observation is None:
        raise ValueError(
            f"the options of its environment are unknown: save it by quincunx_env.adapters.sb3.save(model, "
            f"{path.name!r}), which writes {options_file(path).name}, or name them, as in PolicyFile({path.name!r}, "
            "trust=True, observation='vector') or --observation vector"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "Could not deserialize object")
            model = ALGORITHMS[algorithm].load(path, device="cpu", custom_objects=TRAINING)
            return Model(model, trained, encoding)
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
