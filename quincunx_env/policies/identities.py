"""Identity of policies, by which stored games are found again."""

import copyreg
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from quincunx_env.core.policy import Agent
from quincunx_env.policies.files import PolicyFile
from quincunx_env.policies.names import registered_policies

PLAIN = {type(None), bool, int, float, complex, str, type(...)}
"""Types of values with a ``repr`` of their own each."""

CODE = (
    *("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags"),
)
"""Attributes of code that determine what it does."""

INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages."""

IMPORT = re.compile(r"^\s*(?:from\s+(\w[\w.]*)\s+import\b|import\s+(\w[\w., ]*))", re.MULTILINE)
"""An import in the source of a module, which may stand in a function. The second group may have several names."""

PARTS = (".py", ".safetensors")
"""Suffixes of the files of a package that count: modules and weights."""

_first_seen: dict[str, tuple[Any, str]] = {}
"""By module: its ``__spec__``, which each import makes anew, and the first hash of its files."""


class _UnknownError(Exception):
    """Code or state that cannot be identified."""


def identity(policy: Agent) -> str | None:
    """Return a hash of a policy, the same in all processes.

    The version of this package is part of it, and

    - of a `PolicyFile` its content and options;
    - of any other object its class and its state, as a pickle holds it. Fields of a dataclass that are not compared are
      left out, and cached properties. A `Path` of a file stands for the file's content;
    - of a function its code, defaults and closure, and the plain variables of its module that it names;
    - of a class its methods and plain variables, and its bases;
    - of functions and classes the modules and weights of their top-level package, and of the packages that these
      import. A module in no package counts as one. Installed packages count if they register policies; of functions and
      classes in others the file of the module counts.

    Returns:
        64 hexadecimal digits. None if the policy cannot be identified:

        - it cannot be pickled;
        - its class is defined in a function;
        - its code was typed into an interpreter or a notebook;
        - the files of its code have changed since they were imported.
    """
    version = import_module("quincunx_env").__version__
    try:
        described = _Description().of(policy)
    except Exception:  # objects raise anything when they are taken apart
        return None
    return _hash(repr((version, described)).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _Description:
    """Description of objects by nested tuples and lists of strings."""

    def __init__(self) -> None:
        self.hashes: dict[str, str] = {}
        """By package, or by module."""

    def of(self, value: Any) -> Any:
        """Describe any value."""
        kind = type(value)
        if kind in PLAIN:
            return kind.__name__, repr(value)
        if kind is bytes:
            return "bytes", _hash(value)
        if kind in (list, tuple):
            return kind.__name__, [*map(self.of, value)]
        if kind in (set, frozenset):
            return kind.__name__, sorted(repr(self.of(each)) for each in value)
        if kind is dict:
            return "dict", [(self.of(key), self.of(each)) for key, each in value.items()]
        if kind is np.ndarray and not value.dtype.hasobject:
            return "array", repr(value.dtype), value.shape, _hash(value.tobytes())
        if isinstance(value, PolicyFile):
            return value.definition
        if isinstance(value, Path):
            return "path", _hash(value.read_bytes()) if value.is_file() else str(value)
        if isinstance(value, CodeType):
            return [self.of(getattr(value, name)) for name in CODE]
        if isinstance(value, FunctionType):
            return self._function(value)
        return self._class(value) if isinstance(value, type) else self._object(value)

    def _object(self, value: Any) -> Any:
        """Describe an object by what a pickle holds of it."""
        kind = type(value)
        reduce = copyreg.dispatch_table.get(kind)
        found = reduce(value) if reduce else value.__reduce_ex__(4)
        if isinstance(found, str):  # a variable of a module, such as a function in C
            if "<" in found:
                raise _UnknownError
            return self._source(value.__module__), found
        make, arguments, state, items, pairs = (*found, None, None, None)[:5]
        if isinstance(state, dict):
            ignored = {field.name for field in fields(kind) if not field.compare} if is_dataclass(kind) else set()
            members = [member for base in kind.__mro__ for member in vars(base).items()]
            ignored |= {name for name, member in members if isinstance(member, cached_property)}
            state = {name: each for name, each in state.items() if name not in ignored}
        return [self.of(each) for each in (make, arguments, state, [*(items or ())], [*(pairs or ())])]

    def _function(self, function: FunctionType) -> Any:
        name = function.__globals__["__name__"]
        closure = [cell.cell_contents for cell in function.__closure__ or ()]
        if _top(name) in sys.stdlib_module_names and not closure:
            return name, function.__qualname__
        further = function.__defaults__, function.__kwdefaults__, closure, vars(function)
        return self._source(name), function.__qualname__, self._code(function), [*map(self.of, further)]

    def _code(self, function: FunctionType) -> Any:
        """Describe the code of a function, and plain variables that it names."""
        variables, named = function.__globals__, _names(function.__code__) & function.__globals__.keys()
        plain = [name for name in sorted(named) if type(variables[name]) in PLAIN and name[:2] != "__"]
        return self.of(function.__code__), [(name, repr(variables[name])) for name in plain]

    def _class(self, value: type) -> Any:
        """Describe a class and its bases by modules, methods and plain variables."""
        name = f"{value.__module__}:{value.__qualname__}"
        if _top(value.__module__) in sys.stdlib_module_names:
            return name
        if resolve_name(name) is not value:  # of an earlier import of its module
            raise _UnknownError
        bases = [base for base in value.__mro__ if _top(base.__module__) not in sys.stdlib_module_names]
        return name, [(self._source(base.__module__), [*self._members(base)]) for base in bases]

    def _members(self, base: type) -> Iterator[Any]:
        for name, member in vars(base).items():
            if isinstance(member, FunctionType):
                yield name, self._code(member)
            elif type(member) in PLAIN and name[:2] != "__":
                yield name, repr(member)

    def _source(self, name: str) -> str:
        """Return the hash of the files of an imported module.

        Modules of Python and of this package have versions, and stand for themselves.

        Raises:
            _UnknownError: if the files have changed since, or if the module is a session.
        """
        if _has_version(name):
            return name
        module: Any = sys.modules[name]
        file, package = Path(module.__file__), _top(module.__spec__.name if module.__spec__ else name)
        if not file.is_file() or (name == "__main__" and hasattr(sys, "ps1")):
            raise _UnknownError
        local = _is_local(package, file)
        if (place := package if local else name) not in self.hashes:
            roots = getattr(sys.modules[package], "__path__", [file])
            files = _files(package, roots) if local else _hash(file.read_bytes())
            self.hashes[place] = _hash(repr(files).encode())
        imported, found = module.__spec__ or module, self.hashes[place]
        before, first = _first_seen.setdefault(name, (imported, found))
        if before is not imported:
            _first_seen[name] = imported, found
        elif first != found:
            raise _UnknownError
        return found


def _files(package: str, roots: Iterable[Path | str]) -> list[tuple[str, str, str]]:
    """Return the files of a package and of its local imports.

    Each file has its package, its path there and its hash. A module in no package counts as one.
    """
    found, seen, left = list[tuple[str, str, str]](), {package}, [(package, roots)]
    while left:
        package, roots = left.pop()
        for place, path in _walk(roots):
            content = path.read_bytes()
            found.append((package, place, _hash(content)))
            for name in _imported(content) - seen if path.suffix == ".py" else ():
                seen.add(name)
                left.append((name, _roots(name)))
    return sorted(found)


def _has_version(module: str) -> bool:
    return _top(module) in (*sys.stdlib_module_names, "quincunx_env")


def _imported(source: bytes) -> set[str]:
    """Return the packages that a module imports."""
    found = IMPORT.findall(source.decode(errors="replace"))
    return {_top(name.split()[0]) for one, several in found for name in (one or several).split(",") if name.strip()}


def _roots(package: str) -> list[str]:
    """Return folders or the file of a package if it is local."""
    try:
        spec = None if _has_version(package) else find_spec(package)
    except (ImportError, ValueError):
        return []
    roots = [*(spec.submodule_search_locations or filter(None, [spec.origin]))] if spec else []
    return [root for root in roots if _is_local(package, Path(root))]


def _is_local(package: str, file: Path) -> bool:
    """Return whether all files of a package count. An installed one may be large, unless it offers policies."""
    return not INSTALLED & {*file.parts} or package in _offering()


@cache
def _offering() -> set[str]:
    """Return the packages that register policies."""
    return {_top(entry.module) for entry in registered_policies().values()}


def _top(module: str) -> str:
    return module.partition(".")[0]


def _names(code: CodeType) -> set[str]:
    """Return the names that code and functions in it look up."""
    return {*code.co_names}.union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def _walk(roots: Iterable[Path | str]) -> Iterator[tuple[str, Path]]:
    """Yield modules and weights in folders, with their paths there.

    A root may also be a file. Folders whose names are not names of packages are left out.
    """
    for root in map(Path, roots):
        if root.is_file():
            yield root.name, root
        for folder, names, files in os.walk(root):
            names[:] = [name for name in names if name.isidentifier()]
            for path in (Path(folder, file) for file in files):
                if path.suffix in PARTS:
                    yield path.relative_to(root).as_posix(), path
