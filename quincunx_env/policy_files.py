r"""Policies from files: a path is a policy wherever a name is.

>>> is_path("runs/mine/model.zip"), is_path("C:\\model.zip"), is_path("greedy"), is_path("my_module:policy")
(True, True, False, False)

`FORMATS` lists the kinds of files, what loading one executes, and the extra of the package that it needs. Readers are
in ``quincunx_agents.files``.
"""

import hashlib
import os
import pkgutil
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer
from quincunx_env.utils.extras import missing_extra


class PolicyFileError(ValueError):
    """A file that cannot be used as a policy; the message names it and gives the reason."""


def needs_trust(path: Path, content: str) -> PolicyFileError:
    """The error for a file that has to be unpickled and is not trusted.

    Args:
        path: of the file.
        content: what is pickled in it.
    """
    return PolicyFileError(
        f"{path} needs to be trusted: it holds {content} as a pickle, and loading a pickle executes any code in it; if "
        "you know who made it, add --trust (in Python PolicyFile(path, trust=True))"
    )


class Format(NamedTuple):
    """A kind of files."""

    files: str
    """What these files are."""
    reader: str
    """``module:function`` that maps a path and whether it is trusted to a `quincunx_env.core.policy.PolicyFactory`; a
    name, as policies have names, because this package does not import ``quincunx_agents``."""
    extra: str
    """Extra of the package with the libraries that it needs."""
    pickled: str
    """When it is unpickled, which executes any code that the file contains, and therefore needs trust; empty: never."""


FOLDER = "folder"
"""Key in `FORMATS` of a folder."""

FORMATS = {
    ".safetensors": Format("weights of this package", "quincunx_agents.files.weights:read", "arena", ""),
    ".zip": Format(
        "a model that stable-baselines3 or sb3-contrib saved",
        "quincunx_agents.files.sb3:read",
        "sb3",
        "where it has a policy class, a features extractor or an activation function of its own",
    ),
    ".onnx": Format("an ONNX model", "quincunx_agents.files.onnx:read", "onnx", ""),
    FOLDER: Format("a checkpoint of Ray RLlib", "quincunx_agents.files.rllib:read", "rllib", "always"),
}
"""Kinds of files by the suffix of their names, in lower case."""

CONSTRUCTOR = "class_and_ctor_args.pkl"
"""File in every folder that RLlib saves."""

MAX_REASON = 300
"""Characters of another library's message that are quoted."""

MAX_LOADED = 64
"""Files that are kept in memory: more than an arena compares, and few for a training that names a file after every
change."""

EXTERNAL_DATA = re.compile(rb"\n\x08location\x12([\x80-\xff]{0,4}[\x00-\x7f])", re.DOTALL)
"""Start of an entry of an ONNX file that names another file with weights. The group is the length of the name in bytes,
a varint of Protocol Buffers: seven bits in each byte, the lowest first."""


def is_path(policy: str) -> bool:
    """Whether a policy is named by a path: by the suffix of a `FORMATS`, a separator, or because there is such a file.

    A path with a drive letter has a colon, as ``module:attribute`` has, and is recognised by its separators or suffix.
    """
    return (
        "/" in policy
        or "\\" in policy
        or Path(policy).suffix.lower() in FORMATS
        or (":" not in policy and policy != "" and Path(policy).exists())
    )


@dataclass(frozen=True)
class PolicyFile:
    """The policy in a file, or in the folder of a checkpoint; a `quincunx_env.core.policy.PolicyFactory`.

    A path is the same policy without ``trust``. Other processes get path and digest, and load the file themselves, once
    each.

    Args:
        path: of the file.
        trust: let loading execute code that the file contains, as unpickling does; `FORMATS` lists where it is needed.

    Raises:
        PolicyFileError: if there is no such file, or if it is of no known kind.
    """

    path: str
    trust: bool = False
    kind: str = field(init=False)
    """Key in `FORMATS`."""
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
        """What makes it this policy and no other: its content, wherever the file lies."""
        return f"file sha256:{self.digest}"

    def for_rules(self, rules: BaseRules) -> Policy:
        """Load the policy for games with these rules.

        Raises:
            PolicyFileError: if the file is damaged or has changed, needs a library or trust, or is of other rules.
        """
        policy = _policy(self, rules)
        # A policy with values is one of this package, and can be copied and pickled as it is.
        return policy if hasattr(policy, "action_values") else _FilePolicy(self, rules)

    def _find_kind(self) -> str:
        path = self.location
        if not path.exists():
            raise PolicyFileError(f"there is no policy file {self.path}")
        if path.is_dir():
            if not (path / CONSTRUCTOR).is_file():
                raise PolicyFileError(f"{self.path} is a folder, and no checkpoint of RLlib: it has no {CONSTRUCTOR}")
            return FOLDER
        if path.suffix.lower() not in FORMATS:
            kinds = ", ".join(f"*{suffix}" for suffix in FORMATS if suffix != FOLDER)
            raise PolicyFileError(f"{self.path} is no policy: files of policies are {kinds}")
        return path.suffix.lower()

    def _find_digest(self) -> str:
        try:
            return _digest(self.location, self.kind)
        except OSError as error:
            raise PolicyFileError(f"{self.path} cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise PolicyFileError(f"{self.path} cannot be used: {error}") from error


class _FilePolicy:
    """The policy in a file; a `quincunx_env.core.policy.Policy`. Pickles hold the name of the file, not its content."""

    def __init__(self, file: PolicyFile, rules: BaseRules) -> None:
        self._source = file, rules
        self._policy = _policy(file, rules)

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Choose legal actions, int64 [n]."""
        return self._policy(observation, mask, rng)

    def __reduce__(self) -> tuple[Any, ...]:
        return _FilePolicy, self._source


@lru_cache(maxsize=MAX_LOADED)
def same(file: PolicyFile) -> PolicyFile:
    """The first `PolicyFile` that was equal to this one, so that one file is one policy in a comparison."""
    return file


def _digest(path: Path, kind: str) -> str:
    """SHA-256 of the files of which a policy consists, in hexadecimal; their names count in a folder.

    Raises:
        ValueError: for an ONNX file that refers to a file outside its folder.
    """
    if kind == FOLDER:
        names = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
        folder = hashlib.sha256()
        for name in names:
            folder.update(f"{name} {_digest(path / name, '')}\n".encode())
        return folder.hexdigest()
    content = path.read_bytes()
    digest = hashlib.sha256(content)
    for name in _external(content) if kind == ".onnx" else ():
        other = path.parent / name
        if not other.resolve().is_relative_to(path.parent.resolve()):
            raise ValueError(f"it refers to {name}, a file outside its folder")
        digest.update(other.read_bytes())
    return digest.hexdigest()


def _external(content: bytes) -> list[str]:
    """Names of other files with weights, from the content of an ONNX file."""
    names = set()
    for found in EXTERNAL_DATA.finditer(content):
        length = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(found[1]))
        names.add(content[found.end() : found.end() + length].decode(errors="replace"))
    return sorted(names)


@lru_cache(maxsize=MAX_LOADED)
def _load(file: PolicyFile) -> Any:
    """The content of a file as an agent, once in a process."""
    if file._find_digest() != file.digest:
        raise PolicyFileError(f"{file.path} has changed since it was named: start again")
    return pkgutil.resolve_name(FORMATS[file.kind].reader)(file.location, file.trust)


@lru_cache(maxsize=MAX_LOADED)
def _policy(file: PolicyFile, rules: BaseRules) -> Policy:
    """The policy in a file, after it has chosen actions for two deals."""
    try:
        policy = policy_for(_load(file), rules)
        observer = make_observer(rules, preview=True)
        games = observer.make_batch(2)
        games.reset(seed=[0, 1])
        actions = np.asarray(policy(observer.observe_batch(games), games.mask(), np.random.default_rng(0)))
        if actions.shape != (2,) or actions.dtype.kind not in "iu":
            raise ValueError(f"it chooses actions {actions.dtype} {list(actions.shape)} for two positions")
    except PolicyFileError:
        raise
    except ModuleNotFoundError as error:
        raise PolicyFileError(missing_extra(error, FORMATS[file.kind].extra, str(file.path))) from error
    except Exception as error:  # libraries raise anything for a damaged file
        reason = " ".join(str(error).split())[:MAX_REASON]
        reason = reason if isinstance(error, RuntimeError | ValueError) else f"{type(error).__name__}: {reason}"
        raise PolicyFileError(
            reason if reason.startswith(file.path) else f"{file.path} cannot be used: {reason}"
        ) from error
    return policy
