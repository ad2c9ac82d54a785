"""Models of PPO, A2C, DQN and MaskablePPO that stable-baselines3 and sb3-contrib saved.

Their own loaders read them. They unpickle parts of the file, which executes any code in it, and therefore need trust.
The algorithm and the options of the environment stand in the JSON file beside a model, or are named with it.
"""

import warnings
from itertools import product
from typing import Any

from gymnasium import spaces

from quincunx_env.utils.extras import needs_extra

with needs_extra("sb3", "a model of stable-baselines3"):
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import A2C, DQN, PPO
    from stable_baselines3.common.save_util import load_from_zip_file

from quincunx_agents.afterstates import Bools
from quincunx_agents.greedy import GreedyPolicy, Scores, legal_scores
from quincunx_env.codec import Codec, Encoding
from quincunx_env.core.policy import NotFiniteError, Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies.encoded import Decoded
from quincunx_env.policies.files import PolicyFile, untrusted
from quincunx_env.registry import spec_of

ALGORITHMS = {algorithm.__name__: algorithm for algorithm in (MaskablePPO, PPO, A2C, DQN)}
"""Algorithms whose models can be used, by name."""

TRAINING = {
    **dict.fromkeys(("clip_range", "learning_rate"), 0.0),
    **dict.fromkeys(("buffer_size", "n_envs", "n_steps"), 1),
    **dict.fromkeys(("ep_info_buffer", "ep_success_buffer", "exploration_schedule", "lr_schedule")),
}
"""Replacements of settings that only training needs: no large buffer, no function of another Python."""

Spaces = tuple[spaces.Space[Any], spaces.Space[Any]]
"""Spaces of the observations and of the actions."""


class Unknown:
    """A model whose algorithm or options are unknown; a `quincunx_env.core.policy.PolicyFactory`.

    Args:
        file: the model.
        own: its spaces.
    """

    def __init__(self, file: PolicyFile, own: Spaces) -> None:
        self.file, self.own = file, own

    def for_rules(self, rules: BaseRules) -> Policy:
        """Refuse the model.

        Raises:
            ValueError: naming the options that give its spaces.
        """
        name, algorithm = self.file.location.name, self.file.algorithm or "MaskablePPO"
        arguments, flags = _fitting(self.own, rules)
        raise ValueError(
            f"its algorithm or the options of its environment are unknown: save it by "
            f"quincunx_env.adapters.sb3.save(model, {name!r}), which writes {Codec.path(self.file.location).name}, or "
            f"name them, as in PolicyFile({name!r}, trust=True, algorithm={algorithm!r}, {arguments}) or "
            f"--algorithm {algorithm} {flags}; algorithms are {', '.join(ALGORITHMS)}"
        )


class Model:
    """A loaded model; a `quincunx_env.core.policy.PolicyFactory`.

    Args:
        model: of one of the `ALGORITHMS`.
        options: of its environment, by name.
        trained: rules of its environment, or None if they are unknown.
    """

    def __init__(self, model: Any, options: dict[str, Any], trained: BaseRules | None) -> None:
        self.model, self.options, self.trained = model, options, trained
        self.policy = model.policy
        self.policy.set_training_mode(False)

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the greedy policy for games with the model's observations.

        Raises:
            ValueError: if it was trained on other observations.
        """
        codec = Codec(rules, **self.options)
        self._require_fitting(codec)
        # The unit of the scores is unknown. Without a tolerance it plays as the library that trained the network.
        return Decoded(GreedyPolicy(self.scores, tolerance=0), codec)

    def _require_fitting(self, codec: Codec) -> None:
        """Check that the model has the spaces of an environment.

        Raises:
            ValueError: naming the options that give them.
        """
        own = self.model.observation_space, self.model.action_space
        if own == _spaces(codec):
            return
        if self.trained not in (None, codec.rules):
            raise ValueError(
                f"it was trained for {_written(self.trained)}, got {_written(codec.rules)}: play the game that it has "
                "learned"
            )
        raise ValueError(f"its environment had other options: name {' or '.join(_fitting(own, codec.rules))}")

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


def _written(rules: Any) -> str:
    """Return rules with the options that are not the default."""
    return f"{spec_of(rules).name}.{rules!r}"


def _spaces(codec: Codec) -> Spaces:
    return codec.observation_space(), codec.action_space()


def _fitting(own: Spaces, rules: BaseRules) -> tuple[str, str]:
    """Return the options of an environment with these spaces, as arguments and as flags.

    Raises:
        ValueError: if there are none.
    """
    values = ("vector", "pieces"), ("joint", "hand"), (False, True), (False, True), ("info", "obs")
    for chosen in product(*values):
        options: dict[str, Any] = dict(zip(Encoding().options, chosen, strict=True))
        try:
            fits = _spaces(Codec(rules, **options)) == own
        except ValueError:  # the game has no padded observations
            continue
        if fits:
            named = {name: value for name, value in options.items() if value != getattr(Encoding, name)}
            flags = (f"--{name.replace('_', '-')}" + f" {value}" * (value is not True) for name, value in named.items())
            return ", ".join(f"{name}={value!r}" for name, value in named.items()), " ".join(flags)
    raise ValueError(f"no options give its observations in {_written(rules)}: play the game that it has learned")


def read(file: PolicyFile) -> Model | Unknown:
    """Read a saved model.

    Raises:
        UntrustedFileError: without trust; nothing of the file has been read then.
        ValueError: if the file is damaged or of another algorithm.
    """
    path = file.location
    if not file.trust:
        raise untrusted(path)
    trained, options, algorithm = None, file.options, file.algorithm
    if Codec.path(path).exists():
        codec, algorithm = Codec.read(path)
        trained, options = codec.rules, codec.options
    if algorithm and algorithm not in ALGORITHMS:
        raise ValueError(f"models of {algorithm} cannot be used: algorithms are {', '.join(ALGORITHMS)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "Could not deserialize object")
            if options["observation"] is None or not algorithm:
                saved: Any = load_from_zip_file(path, device="cpu", custom_objects=TRAINING)[0]
                return Unknown(file, (saved["observation_space"], saved["action_space"]))
            model = ALGORITHMS[algorithm].load(path, device="cpu", custom_objects=TRAINING)
            return Model(model, options, trained)
    except Exception as error:  # anything that the file contains was executed
        reason = " ".join(str(error).split())[:160]
        kind = f"{algorithm} of stable-baselines3" if algorithm else "stable-baselines3"
        raise ValueError(f"it is damaged, or not a model of {kind}: {type(error).__name__}: {reason}") from error
