"""Identity of policies, by which stored games are found again."""

import hashlib
import pickle
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import FunctionType
from typing import Any

from quincunx_env.core.policy import Agent
from quincunx_env.policies.files import PolicyFile

COUNTED = (".py", ".safetensors")
"""Suffixes of the files of a package that count: modules and weights."""

INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages, of which the module's own file counts alone."""

_seen: dict[str, tuple[Any, str]] = {}
"""By module: its ``__spec__``, which each import makes anew, and the hash of its files at the first question."""


def identity(policy: Agent) -> str | None:
    """Return a hash of a policy, the same in all processes.

    Parts of it are the version of this package and

    - of a `PolicyFile` its content and options;
    - of a function, a class, and the class of an object the files of its package, modules and weights, or of its module
      if it is in no package or is installed;
    - of an object its state: the compared fields of a dataclass, otherwise its pickle.

    Returns:
        64 hexadecimal digits; None if the policy cannot be pickled, as a lambda, if its code is in no file, or if
        files have changed since they were first asked for.
    """
    content = BytesIO()
    pickler = _Pickler(content)
    try:
        pickler.dump(policy)
        sources = [(name, _source(name)) for name in sorted(pickler.modules)]
    except Exception:  # objects raise anything when they are taken apart
        return None
    version = import_module("quincunx_env").__version__
    return hashlib.sha256(repr((version, sources)).encode() + content.getvalue()).hexdigest()


class _Pickler(pickle.Pickler):
    """A pickler that notes the modules of functions and classes."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, protocol=4)
        self.fast = True  # without a memo, which depends on what else has the same address
        self.modules = set[str]()

    def reducer_override(self, value: Any) -> Any:
        """Take files and dataclasses apart; see ``pickle.Pickler.reducer_override``."""
        if isinstance(value, FunctionType | type):
            kinds = value.__mro__ if isinstance(value, type) else (value,)
            self.modules |= {each.__module__ for each in kinds}
        elif isinstance(value, PolicyFile):
            return str, (value.definition,)
        elif is_dataclass(value):
            return tuple, ([type(value), *(getattr(value, field.name) for field in fields(value) if field.compare)],)
        return NotImplemented


def _source(name: str) -> str:
    """Return the hash of the files of an imported module. Modules of Python and of this package have versions.

    Raises:
        ValueError: if files have changed since they were first asked for. This process has the code of before; the
            processes that it starts import the new one.
    """
    top = name.partition(".")[0]
    if (top in sys.stdlib_module_names and name != "__main__") or top == "quincunx_env":
        return ""
    module: Any = sys.modules[name]
    imported = module.__spec__ or module
    found = hashlib.sha256(b"".join(path.read_bytes() for path in _files(module, sys.modules[top]))).hexdigest()
    before, first = _seen.get(name, (None, found))
    if before is imported and found != first:
        raise ValueError(f"{name} has changed since it was imported")
    _seen[name] = imported, found
    return found


def _files(module: Any, package: Any) -> Iterator[Path]:
    """Yield the files that count for a module in a package, in order."""
    own = Path(module.__file__)
    if INSTALLED & {*own.parts} or not hasattr(package, "__path__"):
        yield own
        return
    for root in package.__path__:
        yield from sorted(path for path in Path(root).rglob("*") if path.suffix in COUNTED)
