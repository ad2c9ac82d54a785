"""Imports run one way, and importing the package loads nothing that it does not need."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import quincunx_env

ROOT = Path(quincunx_env.__file__).parent
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))

LAYERS = (
    "core",
    "quincunx",
    "spiral",
    "games",
    "text",
    "record",
    "render",
    "yardstick",
    "testing",
    "envs",
    "quincunx_v0",
    "spiral_v0",
    "adapters",
    "arena",
    "play",
    "__init__",
    "__main__",
)
"""Modules and subpackages: each imports from those before it, and a subpackage from itself."""

GAMES = {"quincunx", "spiral"}
"""Subpackages that know nothing of each other."""

WITHIN = (
    "cards",
    "grid",
    "rules",
    "deal",
    "scoring",
    "scene",
    "game",
    "notation",
    "batch",
    "observation",
    "policy",
    "resample",
    "render",
)
"""Modules of `core` and of a game: each imports from those before it, others from all of them."""

OUTSIDE = {"agents", "train", "tests"}
"""A checkout has them, an installed package has not."""

HEAVY = {
    *("torch", "stable_baselines3", "sb3_contrib", "ray", "matplotlib", "choix", "scipy", "tqdm", "tyro"),
    *("pygame", "textual", "rich"),
}
"""Nothing but an adapter, a program or a painter imports these when it is imported itself."""

PAINTERS = {Path("render/paint.py"), Path("render/window.py"), Path("play/terminal.py"), Path("play/window.py")}
"""Imported by functions of `quincunx_env.render` and by programs, when there is something to show."""


def layer(parts: tuple[str, ...]) -> str:
    """The layer of a module of the package, from its path or dotted name without ``quincunx_env``."""
    return parts[0].removesuffix(".py") if parts else "__init__"


def is_module(*parts: str) -> bool:
    """Whether the package has a module or subpackage of this name."""
    path = ROOT.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").exists()


def imports(tree: ast.AST, module: Path, nested: bool = True) -> Iterator[tuple[str, ...]]:
    """What a module imports, as dotted names in parts; without ``nested`` only what it does when it is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ("quincunx_env", *module.parts[:-1])
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = (*base, *(node.module.split(".") if node.module else ()))
            for alias in node.names:  # ``from quincunx_env.quincunx import scoring`` is a module, if there is one
                yield (
                    (*name, alias.name) if name[:1] == ("quincunx_env",) and is_module(*name[1:], alias.name) else name
                )
        elif nested or not (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            or (isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'"))
        ):
            yield from imports(node, module, nested)


def parse(module: Path) -> ast.Module:
    """The source of a module of the package."""
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_run_one_way(module: Path) -> None:
    own = layer(module.parts)
    assert own in LAYERS, f"{module} is new: give it a place in LAYERS"
    for name in imports(parse(module), module):
        if name[0] == "quincunx_env":
            other = layer(name[1:])
            assert other in LAYERS, f"{module} imports {'.'.join(name)}, which is no module"
            inside = own == other and len(module.parts) > 1
            assert inside or LAYERS.index(other) < LAYERS.index(own), f"{module} imports {'.'.join(name)}"
            assert inside or not {own, other} <= GAMES, f"{module} imports {'.'.join(name)}"
            stem = module.stem
            if inside and own in {"core", *GAMES} and stem in WITHIN and len(name) > 2:
                assert WITHIN.index(name[2]) < WITHIN.index(stem), f"{module} imports {'.'.join(name)}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_nothing_imports_from_a_checkout(module: Path) -> None:
    assert not OUTSIDE & {name[0] for name in imports(parse(module), module)}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_adapters_import_heavy_libraries(module: Path) -> None:
    if layer(module.parts) != "adapters" and module.name != "__main__.py" and module not in PAINTERS:
        assert not HEAVY & {name[0] for name in imports(parse(module), module, nested=False)}


def test_import_statements_of_all_kinds_are_seen() -> None:
    """Otherwise the tests above would show nothing."""
    source = """
import torch.nn as nn, quincunx_env.quincunx.cards
from quincunx_env.quincunx import scoring
from quincunx_env import Game
from quincunx_env.envs.solitaire import SolitaireEnv
from ..rules import Rules
from . import other
if True:
    import ray
class Here:
    import agents
if TYPE_CHECKING:
    import matplotlib
def later():
    import scipy
"""
    module = Path("envs/new.py")
    found = [".".join(name) for name in imports(ast.parse(source), module)]
    assert found == [
        *("torch.nn", "quincunx_env.quincunx.cards", "quincunx_env.quincunx.scoring", "quincunx_env"),
        *("quincunx_env.envs.solitaire", "quincunx_env.rules", "quincunx_env.envs", "ray", "agents", "matplotlib"),
        "scipy",
    ]
    assert [".".join(name) for name in imports(ast.parse(source), module, nested=False)] == found[:-2]


def test_importing_the_package_loads_no_heavy_library() -> None:
    """In a fresh interpreter. PettingZoo may be loaded, as Gymnasium and NumPy are."""
    program = "import sys, quincunx_env; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    loaded = set(run.stdout.split())
    assert {"quincunx_env", "numpy", "gymnasium"} <= loaded
    assert not loaded & (HEAVY | OUTSIDE | {"pytest", "hypothesis"})
