"""Identities of policies: equal for equal policies in all processes, different where anything that plays differs."""

import copy
import functools
import importlib
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import quincunx_agents
import quincunx_env
from quincunx_agents.networks.value import ValueWeights
from quincunx_agents.search.monte_carlo import MonteCarlo
from quincunx_agents.search.network import NetworkSearch
from quincunx_env.policies import ChatPolicy, EncodedPolicy, PolicyFile, identities, identity, resolve
from tests.policies.test_files import NETWORK


def first(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
    return mask.argmax(axis=1)


def last(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)


def chat(messages: Any) -> str:
    return "legal"


class Plain:
    """An agent that is no dataclass."""

    def __init__(self, value: Any, inner: Any = first) -> None:
        self.value, self.inner = value, inner

    def play(self, observation: Any, mask: Any, rng: np.random.Generator) -> Any:
        """Play."""
        return self.inner(observation, mask, rng)

    __call__ = play


class Derived(Plain):
    """An agent with a variable of its class."""

    depth = 2


@dataclass
class Fields:
    """An agent with fields."""

    value: Any
    log: str = field(default="", compare=False)

    def __call__(self, observation: Any, mask: Any, rng: np.random.Generator) -> Any:
        """Play."""
        return first(observation, mask, rng)

    @functools.cached_property
    def table(self) -> list[int]:
        """Cached."""
        return [1, 2, 3]


def closed_over(value: Any) -> Any:
    return lambda observation, mask, rng: mask.argmax(axis=1) + 0 * value


def with_default(value: Any) -> Any:
    def policy(observation: Any, mask: Any, rng: Any, number: Any = value) -> Any:
        return mask.argmax(axis=1)

    return policy


def network(seed: int) -> ValueWeights:
    return ValueWeights(({"layer": np.full((3, 2), seed, np.float32)},), ("solitaire",), 0)


WITH: dict[str, Callable[[Any], Any]] = {
    "field": Fields,
    "attribute": Plain,
    "attribute of a policy": lambda value: Plain(0, inner=Fields(value)),
    "method": lambda value: Plain(value).play,
    "partial": lambda value: functools.partial(first, value),
    "keyword of a partial": lambda value: functools.partial(first, rng=value),
    "function of a partial": lambda value: functools.partial(closed_over(value)),
    "closure": closed_over,
    "default": with_default,
    "encoded": lambda value: EncodedPolicy(Fields(value)),
    "chat": lambda value: ChatPolicy(Fields(value)),  # type: ignore[arg-type]  # is never called
}
"""Policies with a value in them."""

VALUES = [
    (1, 2),
    (1, True),
    (0.0, -0.0),
    ("a", "b"),
    ([1, 2], [2, 1]),
    ({"a": 1}, {"a": 2}),
    (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.zeros(3, np.int64), np.zeros(3, np.uint64)),
    (first, last),
    (Plain, Derived),
    (Path("a"), Path("b")),
    (network(0), network(1)),
]
"""Pairs of different values."""


@pytest.mark.parametrize("make", WITH.values(), ids=WITH)
def test_a_value_anywhere_in_a_policy_counts(make: Callable[[Any], Any]) -> None:
    assert identity(make(1)) == identity(make(1)) is not None
    assert identity(make(1)) != identity(make(2)) is not None


@pytest.mark.parametrize(("one", "other"), VALUES, ids=lambda value: type(value).__name__)
def test_values_of_all_kinds_are_told_apart(one: Any, other: Any) -> None:
    assert identity(Fields(one)) == identity(Fields(copy.deepcopy(one))) is not None
    assert identity(Fields(one)) != identity(Fields(other)) is not None


DIFFERENT: list[tuple[Any, Any]] = [
    (first, last),
    (lambda observation, mask, rng: mask.argmax(axis=1), lambda observation, mask, rng: mask.argmin(axis=1)),
    (lambda observation, mask, rng: mask.argmax(axis=1), lambda observation, mask, rng: mask.argmax(axis=0)),
    (MonteCarlo(samples=2), MonteCarlo(samples=16)),
    (NetworkSearch(others=first), NetworkSearch(others=last)),
    (NetworkSearch(weights=network(0)), NetworkSearch(weights=network(1))),
    (EncodedPolicy(first), EncodedPolicy(first, observation="vector")),
    (ChatPolicy(chat), ChatPolicy(chat, answers=2)),
    (Plain(1), Derived(1)),
    (resolve("greedy"), resolve("uniform")),
    (resolve("value"), quincunx_agents.load("solitaire")),
    (quincunx_agents.load("solitaire"), quincunx_agents.load("two-players")),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_policies_that_differ_have_different_identities(one: Any, other: Any) -> None:
    assert identity(one) != identity(other) is not None


def test_what_does_not_play_does_not_count(tmp_path: Path) -> None:
    """Fields that are not compared, cached properties, the place of a file, the order of a set."""
    agent, used = Fields({"x", "y", "z"}), Fields({"z", "y", "x"}, log="log.txt")
    assert used.table
    assert identity(used) == identity(agent) is not None
    assert identity(ChatPolicy(chat, transcript="a")) == identity(ChatPolicy(chat, transcript="b"))
    copied = tmp_path / "other.safetensors"
    copied.write_bytes(NETWORK.read_bytes())
    assert identity(PolicyFile(str(copied))) == identity(PolicyFile(str(NETWORK)))
    (tmp_path / "one").write_text("1")
    (tmp_path / "other").write_text("1")
    same, found = (identity(Fields(tmp_path / name)) for name in ("one", "other"))
    assert same == found
    (tmp_path / "other").write_text("2")
    assert identity(Fields(tmp_path / "other")) != found


class Unpicklable(Fields):
    """An agent that says that it cannot be pickled."""

    def __reduce__(self) -> Any:
        raise RuntimeError("no")


def cyclic() -> Any:
    agent = Fields([])
    agent.value.append(agent)
    return agent


def local() -> Any:
    class Local(Fields):
        pass

    return Local(1)


@pytest.mark.parametrize(
    "agent",
    [Unpicklable(1), Fields(threading.Lock()), Fields(each for each in "ab"), Fields(sys), cyclic(), local()],
    ids=lambda agent: type(agent).__name__,
)
def test_what_cannot_be_told_apart_has_none(agent: Any) -> None:
    assert identity(agent) is None


# --- Code ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a module of a user anew, from a folder whose files the tests write."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # whose times are too coarse for two edits in a second

    def again(name: str) -> ModuleType:
        for each in [each for each in sys.modules if each.startswith("its_")]:
            monkeypatch.delitem(sys.modules, each)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return again


MODULE = """
SAMPLES = 4
class Mine:
    depth = 2
    def __call__(self, observation, mask, rng):
        return mask.argmax(axis=1) * (SAMPLES > 0)
def policy(observation, mask, rng):
    return mask.argmax(axis=1) * (SAMPLES > 0)
agent = Mine()
"""


@pytest.mark.parametrize("name", ["policy", "agent"])
def test_an_edited_module_is_another_policy(name: str, imported: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """Anything in the file counts. Until it is imported again nobody knows what plays."""
    path = tmp_path / "its_module.py"
    path.write_text(MODULE)
    module = imported("its_module")
    before = identity(getattr(module, name))
    assert before is not None
    assert identity(getattr(imported("its_module"), name)) == before
    path.write_text(f"{MODULE}\n\ndef helper():\n    return 1\n")
    assert identity(getattr(sys.modules["its_module"], name)) is None
    edited = identity(getattr(imported("its_module"), name))
    assert edited not in (before, None)
    assert identity(getattr(importlib.reload(sys.modules["its_module"]), name)) == edited
    path.write_text(MODULE)
    assert identity(getattr(imported("its_module"), name)) == before


def test_an_object_of_an_earlier_import_has_none(imported: Callable[[str], ModuleType], tmp_path: Path) -> None:
    (tmp_path / "its_module.py").write_text(MODULE)
    agent = imported("its_module").agent
    assert identity(imported("its_module").agent) is not None
    assert identity(agent) is None


def test_variables_that_a_program_sets_count(imported: Callable[[str], ModuleType], tmp_path: Path) -> None:
    (tmp_path / "its_module.py").write_text(MODULE)
    module: Any = imported("its_module")
    policy, agent = identity(module.policy), identity(module.agent)
    module.SAMPLES = 16
    assert len({policy, identity(module.policy), None}) == len({agent, identity(module.agent), None}) == 3
    module.SAMPLES = 4
    assert (identity(module.policy), identity(module.agent)) == (policy, agent)
    module.Mine.depth = 3
    assert identity(module.agent) not in (agent, None)


@pytest.mark.parametrize("file", ["helper.py", "deep/helper.py", "weights/one.safetensors"])
def test_all_modules_and_weights_of_a_package_count(
    file: str, imported: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    """Also those that are imported later, or never."""
    package = tmp_path / "its_package"
    (package / "sub").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "sub" / "ag.py").write_text(MODULE)
    before = identity(imported("its_package.sub.ag").policy)
    (package / file).parent.mkdir(exist_ok=True)
    (package / file).write_text("1")
    found = identity(imported("its_package.sub.ag").policy)
    (package / file).write_text("2")
    third = identity(imported("its_package.sub.ag").policy)
    assert len({before, found, third, None}) == 4
    (package / "notes.txt").write_text("not code")
    (package / "env" / "lib" / "python3.11").mkdir(parents=True)
    (package / "env" / "lib" / "python3.11" / "abc.py").write_text("no module of the package")
    assert identity(imported("its_package.sub.ag").policy) == third


def test_local_modules_that_a_module_imports_count(imported: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """Also through others, in any form, and in functions."""
    files = {
        "its_module": "import os, its_first as first\n" + MODULE,
        "its_first": "def f():\n    from its_package.sub import table\nimport numpy",
        "its_package/__init__": "",
        "its_package/sub/table": "import its_module",
        "its_package/sub/other": "",
        "its_stranger": "import its_module",
    }
    (tmp_path / "its_package" / "sub").mkdir(parents=True)
    for path, source in files.items():
        (tmp_path / f"{path}.py").write_text(source)
    before = identity(imported("its_module").policy)
    assert before is not None
    for path, source in files.items():
        (tmp_path / f"{path}.py").write_text(f"{source}\n# edited\n")
        assert (identity(imported("its_module").policy) == before) == (path == "its_stranger"), path
        (tmp_path / f"{path}.py").write_text(source)
    assert identity(imported("its_module").policy) == before


@pytest.mark.parametrize("registers", [False, True])
def test_an_installed_package_counts_whole_if_it_registers_policies(
    registers: bool,
    imported: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Otherwise it may be large, and the file of the module counts alone."""
    package = tmp_path / "site-packages" / "its_package"
    package.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(package.parent))
    entry = EntryPoint("mine", "its_package.ag:policy", "quincunx_env.policies")
    monkeypatch.setattr(identities, "registered_policies", lambda: {"mine": entry} if registers else {})
    identities._offering.cache_clear()
    request.addfinalizer(identities._offering.cache_clear)
    for path, content in (("__init__.py", ""), ("ag.py", MODULE), ("helper.py", "1")):
        (package / path).write_text(content)
    before = identity(imported("its_package.ag").policy)
    (package / "helper.py").write_text("2")
    after = identity(imported("its_package.ag").policy)
    assert (before != after, None in (before, after)) == (registers, False)
    (package / "ag.py").write_text(f"{MODULE}\n")
    assert identity(imported("its_package.ag").policy) not in (before, after, None)


@pytest.mark.parametrize("name", ["value", "search", "heuristic", "greedy"])
def test_version_and_weights_are_part_of_our_own_agents(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity(resolve(name))
    with monkeypatch.context() as patched:
        patched.setattr(quincunx_env, "__version__", "0.1.1")
        assert identity(resolve(name)) not in (before, None)
        assert identity(PolicyFile(str(NETWORK))) is not None
    read = Path.read_bytes
    monkeypatch.setattr(identities, "_first_seen", {})  # as in another process
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b" " if path.name == NETWORK.name else b""))
    assert identity(resolve(name)) not in (before, None)


PROGRAM = """
import sys
sys.path.insert(0, "")
from quincunx_env.policies import identity, resolve
from quincunx_agents import load
from quincunx_agents.search.monte_carlo import MonteCarlo
from its_module import agent, policy
def mine(observation, mask, rng):
    return mask.argmax(axis=1)
class Mine:
    names = {"a", "b", "c", "d"}
    def __init__(self):
        self.names = {"a", "b", "c", "d"}
    def __call__(self, observation, mask, rng):
        return mask.argmax(axis=1)
agents = [resolve("search"), load("solitaire"), MonteCarlo(samples=3), agent, policy]
own = [mine, Mine(), lambda observation, mask, rng: mask.argmax(axis=1)]
print(*map(identity, agents), *map(identity, own), sep="\\n")
"""


def test_identities_are_equal_in_all_processes(tmp_path: Path) -> None:
    """Functions and classes of a script have one; those that were typed in have none."""
    (tmp_path / "its_module.py").write_text(MODULE)
    (tmp_path / "script.py").write_text(PROGRAM)

    def run(*arguments: str, typed: str = "") -> list[str]:
        line = [sys.executable, *arguments]
        ended = subprocess.run(line, cwd=tmp_path, input=typed, capture_output=True, text=True, check=True)
        return ended.stdout.split()

    one, other, typed = run("script.py"), run("script.py"), run("-", typed=PROGRAM)
    assert one == other
    assert len({*one, "None"}) == 9
    assert typed == [*one[:5], "None", "None", "None"]
    assert run("-i", "script.py", typed="print(identity(mine))\n")[-1] == "None"
