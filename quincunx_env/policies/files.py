r"""Policies from files: a path is a policy wherever a name is.

>>> is_path("runs/mine/model.zip"), is_path("C:\\model.zip"), is_path("greedy"), is_path("my_module:policy")
(True, True, False, False)

Packages offer readers as entry points of the group ``quincunx_env.policies.files``. Their names are the suffixes of
files, in lower case, or ``folder``. A reader is a function of the path, and of whether the file is trusted. It returns
an agent::

    [project.entry-points."quincunx_env.policies.files"]
    ".mine" = "my_package.module:read"

A reader whose library executes code in the file loads trusted files only, and raises `untrusted` for others.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer
from quincunx_env.utils.errors import printable
from quincunx_env.utils.processes import TimedProcess

GROUP = "quincunx_env.policies.files"
"""The group of entry points."""

FOLDER = "folder"
"""Name of the reader of folders."""

CONSTRUCTOR = "class_and_ctor_args.pkl"
"""File in every folder that RLlib saves."""


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
    """Return the readers of all installed packages, by suffix. None of them is imported."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def not_installed() -> str:
    """Say how to install the package. It is empty if that is installed."""
    root = Path(__file__).parents[2]
    source = root if (root / "pyproject.toml").exists() else "quincunx_env"
    return "" if readers() else f"quincunx_env is not installed, so policies have no names: pip install {source}"


APART = (".onnx",)
"""Kinds of files that may compute for any time. They run in another process, within `LIMIT`, without a generator."""

LIMIT = 300.0
"""Seconds for a call of a policy from a file in another process. Not tuned."""

MAX_REASON = 300
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
        or (":" not in policy and policy != "" and Path(policy).exists())
    )


@dataclass(frozen=True)
class PolicyFile:
    """The policy in a file, or in the folder of a checkpoint.

    It is a `quincunx_env.core.policy.PolicyFactory`. A path is the same policy without ``trust``. Other processes get
    path and digest, and load the file themselves, once each.

    Args:
        path: of the file.
        trust: let loading execute any code that the file contains.

    Raises:
        PolicyFileError: if there is no such file, or if it is of no known kind.
    """

    path: str
    trust: bool = False
    kind: str = field(init=False)
    """Name of the reader."""
    digest: str = field(init=False)
    """SHA-256 of the content, in hexadecimal."""
    location: Path = field(init=False, repr=False)
    """The path from the root, since another process may run in another folder."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.fspath(self.path))
        object.__setattr__(self, "location", Path(self.path).absolute())
        object.__setattr__(self, "kind", self._find_kind())
        object.__setattr__(self, "digest", self._find_digest())

    @property
    def definition(self) -> str:
        """Identity of the policy: the hash of the file's content."""
        return f"file sha256:{self.digest}"

    def for_rules(self, rules: BaseRules) -> Policy:
        """Load the policy for games with these rules.

        Raises:
            PolicyFileError: if the file is damaged or has changed, needs a library or trust, or is of other rules.
        """
        policy = _FilePolicy(self, rules)
        return _ValuedFilePolicy(self, rules) if policy.ask(_has_values) else policy

    def _find_kind(self) -> str:
        path = self.location
        if not path.exists():
            raise PolicyFileError(f"there is no policy file {self.path}")
        if path.is_dir():
            if not (path / CONSTRUCTOR).is_file():
                raise PolicyFileError(f"{self.path} is a folder, and no checkpoint of RLlib: it has no {CONSTRUCTOR}")
            return FOLDER
        if path.suffix.lower() not in readers():
            if way_out := not_installed():
                raise PolicyFileError(f"{self.path} cannot be read: {way_out}")
            kinds = ", ".join(f"*{suffix}" for suffix in readers() if suffix != FOLDER)
            raise PolicyFileError(f"{self.path} is not a policy: files of policies are {kinds}")
        return path.suffix.lower()

    def _find_digest(self) -> str:
        try:
            return _digest(self.location)
        except OSError as error:
            raise PolicyFileError(f"{self.path} cannot be read: {error.strerror or error}") from error


class _FilePolicy:
    """The policy in a file; a `quincunx_env.core.policy.Policy`. Pickles hold the name of the file, not its content."""

    def __init__(self, file: PolicyFile, rules: BaseRules) -> None:
        self._source = file, rules
        self._policy = None if file.kind in APART else _policy(file, rules)

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Choose legal actions, int64 [n].

        Raises:
            PolicyFileError: if the model fails, or takes longer than `LIMIT`.
        """
        actions: npt.NDArray[np.int64] = self.ask(_choose, observation, mask, rng=rng)
        return actions

    def ask(self, function: Callable[..., Any], *position: Any, rng: np.random.Generator | None = None) -> Any:
        """Call a function with the policy, a position and the generator."""
        with _naming(self._source[0]):
            if self._policy is not None:
                return function(self._policy, *position, rng)
            return _process(os.getpid()).run(LIMIT, _answer, *self._source, function, *position)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._source


class _ValuedFilePolicy(_FilePolicy):
    """The policy with values in a file; a `quincunx_env.core.policy.ValuedPolicy`."""

    def action_values(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.floating]:
        """Return values of all actions, floating [n, actions]; raises as a call."""
        values: npt.NDArray[np.floating] = self.ask(_values, observation, mask, rng=rng)
        return values


@cache
def _process(parent: int) -> TimedProcess:
    """Return the process for files `APART`. A fork has another one than its parent."""
    return TimedProcess()


def _answer(file: PolicyFile, rules: BaseRules, function: Callable[..., Any], *position: Any) -> Any:
    with _naming(file):
        return function(_policy(file, rules), *position, None)


def _has_values(policy: Policy, rng: None) -> bool:
    return hasattr(policy, "action_values")


def _choose(policy: Policy, *position: Any) -> npt.NDArray[Any]:
    actions, rows = np.asarray(policy(*position)), len(position[1])
    if actions.shape != (rows,) or actions.dtype.kind not in "iu":
        raise ValueError(f"it chooses actions {actions.dtype} {list(actions.shape)} for {rows} positions")
    return actions


def _values(policy: Any, *position: Any) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = policy.action_values(*position)
    return values


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
        if not isinstance(error, ModuleNotFoundError | RuntimeError | ValueError | TimeoutError | ChildProcessError):
            reason = ": ".join(filter(None, (type(error).__name__, reason)))
        named = reason if reason.startswith(file.path) else f"{file.path} cannot be used: {reason}"
        raise PolicyFileError(named) from error


@lru_cache(maxsize=MAX_LOADED)
def same(file: PolicyFile) -> PolicyFile:
    """Return the first `PolicyFile` that was equal to this one. So one file is one policy in a comparison."""
    return file


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file or folder, in hexadecimal.

    For a folder it is taken of the names and contents of its files. Line endings of JSON do not count.
    """
    if path.is_file():
        content = path.read_bytes()
        return hashlib.sha256(content.replace(b"\r\n", b"\n") if path.suffix == ".json" else content).hexdigest()
    names = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
    folder = hashlib.sha256()
    for name in names:
        folder.update(f"{name} {_digest(path / name)}\n".encode())
    return folder.hexdigest()


@lru_cache(maxsize=MAX_LOADED)
def _load(file: PolicyFile) -> Any:
    """Load a file as an agent, once in a process."""
    if file._find_digest() != file.digest:
        raise PolicyFileError(f"{file.path} has changed since it was named: start again")
    return readers()[file.kind].load()(file.location, file.trust)


@lru_cache(maxsize=MAX_LOADED)
def _policy(file: PolicyFile, rules: BaseRules) -> Policy:
    """Load the policy in a file, and try it on two deals."""
    with _naming(file):
        policy = policy_for(_load(file), rules)
        observer = make_observer(rules, preview=True)
        games = observer.make_batch(2)
        games.reset(seed=[0, 1])
        actions = _choose(policy, observer.observe_batch(games), games.mask, np.random.default_rng(0))
        if not games.is_legal(actions).all():
            raise ValueError(
                f"it chooses the actions {actions.tolist()}, which are not legal at the beginning of two games"
            )
        return policy
