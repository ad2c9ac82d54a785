r"""Policies from files: a path is a policy wherever a name is.

>>> is_path("runs/mine/model.zip"), is_path("C:\\model.zip"), is_path("greedy"), is_path("my_module:policy")
(True, True, False, False)

The readers are entry points of the group ``quincunx_env.policies.files``, by suffix: a function of a `PolicyFile` that
returns an agent.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.codec import Codec, Encoding
from quincunx_env.core.integers import with_checked_names
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy, choose, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer
from quincunx_env.utils.errors import printable
from quincunx_env.utils.files import exists, read_bytes

GROUP = "quincunx_env.policies.files"
"""The group of entry points."""

MODEL = ".zip"
"""Suffix of models that need the options of their environment."""


class PolicyFileError(ValueError):
    """A file that cannot be used as a policy. The message names it and gives the reason."""


class UntrustedFileError(PolicyFileError):
    """A file that is loaded with trust only."""


def untrusted(path: Path) -> UntrustedFileError:
    """Return the error for a file that has to be trusted."""
    return UntrustedFileError(
        f"{path} needs to be trusted, because loading it executes any code in it; if you know who made it, use "
        "PolicyFile(path, trust=True), or on the command line add --trust to the same command"
    )


@cache
def readers() -> dict[str, EntryPoint]:
    """Return the readers by suffix. None of them is imported."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def not_installed() -> str:
    """Say how to install the package. It is empty if that is installed."""
    root = Path(__file__).parents[2]
    source = root if (root / "pyproject.toml").exists() else "quincunx_env"
    return "" if readers() else f"quincunx_env is not installed, so policies have no names: pip install {source}"


MAX_REASON = 500
"""Characters of another library's message that are quoted."""

MAX_LOADED = 64
"""Files that are kept in memory: more than an arena compares, and few for a training that names a file after every
change."""


def is_path(policy: str) -> bool:
    """Return whether the name of a policy is a path.

    A path has a separator or the suffix of a reader, or there is such a file. A path with a drive letter has a colon,
    as ``module:attribute`` has, and is recognised by its separators or suffix.
    """
    return (
        "/" in policy
        or "\\" in policy
        or Path(policy).suffix.lower() in readers()
        or (":" not in policy and policy != "" and exists(Path(policy)))
    )


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Encoding):
    """How a model of another library was trained, if no JSON file beside it says so."""

    algorithm: str = ""
    """algorithm of a model of stable-baselines3 without a JSON file beside it: MaskablePPO, PPO, A2C or DQN"""


@with_checked_names
@dataclass(frozen=True)
class PolicyFile(ModelOptions):
    """The policy in a file.

    It is a `quincunx_env.core.policy.PolicyFactory`. A path is the same policy without ``trust`` and options. Other
    processes get path and digest, and load the file themselves, once each.

    Args:
        path: of the file: weights of this package, ``*.safetensors``, or a model of stable-baselines3, ``*.zip``.
        trust: let loading execute any code that the file contains.
        algorithm: of a model of stable-baselines3: ``"MaskablePPO"``, ``"PPO"``, ``"A2C"`` or ``"DQN"``.
        observation, actions, preview, padded, mask_in: options of the environment that the model was trained on. A JSON
            file beside the model, which `quincunx_env.adapters.sb3.save` writes, replaces them and the algorithm.

    Raises:
        PolicyFileError: if there is no such file, or if it is of no known kind.
    """

    path: str
    trust: bool = False
    digest: str = field(init=False)
    """SHA-256 of the content and the options, in hexadecimal."""
    location: Path = field(init=False, repr=False)
    """The path from the root, since another process may run in another folder."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.fspath(self.path))
        object.__setattr__(self, "location", Path(self.path).absolute())
        self._check_kind()
        object.__setattr__(self, "digest", self._find_digest())

    @property
    def definition(self) -> str:
        """Identity of the policy: the hash of the content and the options."""
        return f"file sha256:{self.digest}"

    def for_rules(self, rules: BaseRules) -> Policy:
        """Load the policy for games with these rules.

        Raises:
            PolicyFileError: if the file is damaged or has changed, needs a library or trust, or is of other rules.
        """
        return _FilePolicy(self, rules)

    @property
    def _suffix(self) -> str:
        return self.location.suffix.lower()

    def _check_kind(self) -> None:
        if not exists(self.location):
            raise PolicyFileError(f"there is no policy file {self.path:.220}")
        if self._suffix not in readers() or not self.location.is_file():
            if way_out := not_installed():
                raise PolicyFileError(f"{self.path} cannot be read: {way_out}")
            kinds = ", ".join(f"*{suffix}" for suffix in readers())
            raise PolicyFileError(f"{self.path} is not a policy: files of policies are {kinds}")

    def _find_digest(self) -> str:
        try:
            with self.location.open("rb") as file:
                found = hashlib.file_digest(file, "sha256")
            if self._suffix == MODEL:
                beside = Codec.path(self.location)
                own = f"{Encoding(**self.options)} {self.algorithm}"
                options = read_bytes(beside) if beside.exists() else own.encode()
                found.update(options.replace(b"\r\n", b"\n"))
        except (OSError, ValueError) as error:
            raise PolicyFileError(f"{self.path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        return found.hexdigest()


class _FilePolicy:
    """The policy in a file; a `quincunx_env.core.policy.Policy`. Pickles hold the name of the file, not its content."""

    def __init__(self, file: PolicyFile, rules: BaseRules) -> None:
        self._source = file, rules
        self._policy: Any = _policy(file, rules)
        self.preview: bool = getattr(self._policy, "preview", True)
        if hasattr(self._policy, "action_values"):
            self.action_values = self._action_values

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Choose legal actions, int64 [n].

        Raises:
            PolicyFileError: if the model fails.
        """
        with _naming(self._source[0]):
            return choose(self._policy, observation, mask, rng)

    def _action_values(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.floating]:
        with _naming(self._source[0]):
            values: npt.NDArray[np.floating] = self._policy.action_values(observation, mask, rng)
            return values

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._source


@contextmanager
def _naming(file: PolicyFile) -> Iterator[None]:
    """Let a network overflow without warnings, and name the file in errors. Libraries raise anything for a bad file."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except PolicyFileError:
        raise
    except Exception as error:
        reason = printable(" ".join(str(error).split()))[:MAX_REASON]
        if not isinstance(error, ModuleNotFoundError | RuntimeError | ValueError):
            reason = ": ".join(filter(None, (type(error).__name__, reason)))
        named = reason if reason.startswith(file.path) else f"{file.path} cannot be used: {reason}"
        raise PolicyFileError(named) from error


@lru_cache(maxsize=MAX_LOADED)
def same(file: PolicyFile) -> PolicyFile:
    """Return the first `PolicyFile` that was equal to this one. So one file is one policy in a comparison."""
    return file


@lru_cache(maxsize=MAX_LOADED)
def _load(file: PolicyFile) -> Any:
    """Load a file as an agent, once in a process."""
    if file._find_digest() != file.digest:
        raise PolicyFileError(f"{file.path} has changed since it was named: start again")
    return readers()[file._suffix].load()(file)


@lru_cache(maxsize=MAX_LOADED)
def _policy(file: PolicyFile, rules: BaseRules) -> Policy:
    """Load the policy in a file, and try it on two deals."""
    with _naming(file):
        policy = policy_for(_load(file), rules)
        observer = make_observer(rules, preview=True)
        games = observer.make_batch(2)
        games.reset(seed=[0, 1])
        actions = choose(policy, observer.observe_batch(games), games.mask, np.random.default_rng(0))
        if not games.is_legal(actions).all():
            raise ValueError(
                f"it chooses the actions {actions.tolist()}, which are not legal at the beginning of two games"
            )
        return policy
