"""Imports run one way, and importing the package loads nothing that it does not need."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import pytest

import quincunx_agents
import quincunx_env

DESIGN = Path(__file__).parents[1] / "docs" / "design.md"


def layers(package: str) -> tuple[str, ...]:
    """Modules and subpackages of a package in the order of its table in the page on the design."""
    _, _, table = DESIGN.read_text(encoding="utf-8").partition(f"\n| module of `{package}` |")
    first_cells = re.findall(r"^\| (`.*?) \|", table.partition("\n\n")[0], re.MULTILINE)
    return tuple(dict.fromkeys(name for cell in first_cells for name in re.findall(r"`(\w+)", cell)))


LAYERS = {package: layers(package) for package in ("quincunx_env", "quincunx_agents")}
"""Modules and subpackages of each package: each imports from those before it, and a subpackage from itself."""

ENGINES = {"utils", "core", "quincunx", "spiral", "registry", "codec", "policies"}
"""The part of `quincunx_env` that agents are built on."""

ALSO = {"torch": {"adapters"}, "files": {"envs"}, "tasks": {"notation"}}
"""Further parts of it that a subpackage of `quincunx_agents` uses."""

GAMES = {"quincunx", "spiral"}
"""Subpackages that know nothing of each other, in either package."""

OF_ONE_GAME = {"registry.py", "quincunx_v0.py", "spiral_v0.py", "envs/solitaire.py"}
"""Modules beside the games that are about one of them, and the list of games."""

WITHIN = (
    *("integers", "cards", "grid", "rules", "deal", "scoring", "rules_card", "arrays", "tables", "play_values"),
    *("scene", "game", "notation", "batch_state", "batch", "hand", "encoding", "observation", "padded", "policy"),
    *("resample", "render", "spec"),
)
"""Modules of `core` and of a game: each imports from those before it, others from all of them."""

OUTSIDE = {"train", "tests", "docs"}
"""A checkout has them, an installed package has not."""

HEAVY = {
    *("torch", "stable_baselines3", "sb3_contrib", "ray", "matplotlib", "scipy", "tqdm", "tyro"),
    *(
        "pygame",
        "thorvg_python",
        "safetensors",
        "open_spiel",
        "pyspiel",
        "jinja2",
        "starlette",
        "uvicorn",
    ),
}
"""Loaded when a module that needs one of these is imported itself: adapters, programs, painters, networks."""

LOADS_HEAVY = {
    "quincunx_env": (
        "adapters/",
        "cli/evaluate.py",
        "cli/options.py",
        "cli/play.py",
        "cli/replay.py",
        "cli/tasks.py",
        "cli/verify.py",
        "render/raster.py",
        "render/window.py",
        "play/web/",
    ),
    "quincunx_agents": ("networks/weights_io.py", "torch/", "files/"),
}
"""Paths of modules that may import heavy libraries at their top."""


class Module(NamedTuple):
    """A module of one of the two packages."""

    package: str
    path: Path
    """Below the package."""

    @property
    def tree(self) -> ast.Module:
        """Its source."""
        return ast.parse((ROOTS[self.package] / self.path).read_text(encoding="utf-8"))

    @property
    def layer(self) -> str:
        """Its place in `LAYERS`."""
        return self.path.parts[0].removesuffix(".py")

    def __str__(self) -> str:
        return f"{self.package}/{self.path.as_posix()}"


ROOTS = {package.__name__: Path(package.__path__[0]) for package in (quincunx_env, quincunx_agents)}
MODULES = [
    Module(package, path.relative_to(root)) for package, root in ROOTS.items() for path in sorted(root.rglob("*.py"))
]


def is_module(package: str, *parts: str) -> bool:
    """Whether a package has a module or subpackage of this name."""
    path = ROOTS[package].joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").exists()


MODULE_NAME = re.compile(r"(quincunx_(?:env|agents)(?:\.[A-Za-z_]\w*)+)(?::\w+)?")
"""A string that names a module, and perhaps an object in it: an import in another form."""


def imports(tree: ast.AST, module: Module, nested: bool = True) -> Iterator[tuple[str, ...]]:
    """Yield what a module imports, as dotted names in parts, by statements or by strings.

    Without ``nested`` only what it does when it is imported, and no strings.
    """
    for node in ast.iter_child_nodes(tree):
        if nested and isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = MODULE_NAME.fullmatch(node.value)
            if found and found[1] != ".".join((module.package, *module.path.with_suffix("").parts)):
                yield tuple(found[1].split("."))
        elif isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = (module.package, *module.path.parts[:-1])
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = (*base, *(node.module.split(".") if node.module else ()))
            for alias in node.names:  # ``from quincunx_env.quincunx import scoring`` is a module, if there is one
                yield (*name, alias.name) if name[0] in ROOTS and is_module(*name, alias.name) else name
        elif nested or not (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            or (isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'"))
        ):
            yield from imports(node, module, nested)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_run_one_way(module: Module) -> None:
    layers, own = LAYERS[module.package], module.layer
    assert own in layers, f"{module} is new: give it a row in {DESIGN.name}"
    for name in imports(module.tree, module):
        if name[0] != module.package:
            continue
        other = name[1] if len(name) > 1 else "__init__"
        assert other in layers, f"{module} imports {'.'.join(name)}, which is no module"
        inside = own == other and len(module.path.parts) > 1
        assert inside or layers.index(other) < layers.index(own), f"{module} imports {'.'.join(name)}"
        assert inside or not {own, other} <= GAMES, f"{module} imports {'.'.join(name)}"
        stem = module.path.stem
        if module.package == "quincunx_env" and inside and own in {"core", *GAMES} and stem in WITHIN and len(name) > 2:
            assert WITHIN.index(name[2]) < WITHIN.index(stem), f"{module} imports {'.'.join(name)}"


@pytest.mark.parametrize("module", [each for each in MODULES if each.package == "quincunx_env"], ids=str)
def test_packages_beside_the_games_import_no_game_by_name(module: Module) -> None:
    """They ask the registry. So a further game needs no change of theirs."""
    if module.layer not in GAMES and module.path.as_posix() not in OF_ONE_GAME:
        assert not GAMES & {name[1] for name in imports(module.tree, module) if len(name) > 1 and name[0] in ROOTS}


@pytest.mark.parametrize("package", ROOTS)
def test_no_modules_import_each_other(package: str) -> None:
    """In a circle of any length, also by strings and inside of functions."""
    names = {
        (package, *path.with_suffix("").parts): module
        for module in MODULES
        if (path := module.path).name != "__init__.py" and module.package == package
    }
    graph = {
        str(module): {str(names[name]) for name in imports(module.tree, module) if name in names}
        for module in names.values()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_environments_do_not_know_agents_and_agents_know_the_engines_alone(module: Module) -> None:
    for name in imports(module.tree, module):
        if module.package == "quincunx_env":
            assert name[0] != "quincunx_agents", f"{module} imports {'.'.join(name)}: name policies by entry points"
        elif name[0] == "quincunx_env":
            allowed = ENGINES | ALSO.get(module.layer, set())
            assert name[1] in allowed, f"{module} imports {'.'.join(name)}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_nothing_imports_from_a_checkout(module: Module) -> None:
    assert not OUTSIDE & {name[0] for name in imports(module.tree, module)}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_heavy_libraries_are_imported_where_they_are_needed(module: Module) -> None:
    if not module.path.as_posix().startswith(LOADS_HEAVY[module.package]):
        assert not HEAVY & {name[0] for name in imports(module.tree, module, nested=False)}


def test_playing_a_game_loads_neither_renderer_nor_programs() -> None:
    """In a fresh interpreter, until a notebook asks for a picture."""
    program = """
import sys
from quincunx_env import Game, Rules
game = Game.from_seed(Rules(), 0)
while not game.over:
    game.play(game.legal_cards()[0], game.legal_cells()[0])
above = ("quincunx_env.render", "quincunx_env.play", "quincunx_env.cli", "quincunx_env.arena", "quincunx_env.envs")
print([name for name in sys.modules if name.startswith(above)])
print(game._repr_svg_()[:4])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]", "<svg"]


def test_public_names_are_those_that_type_checkers_see() -> None:
    stub = ast.parse((ROOTS["quincunx_env"] / "__init__.pyi").read_text(encoding="utf-8"))
    typed = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert sorted(node.names[0].asname or "" for node in typed) == quincunx_env.__all__ == dir(quincunx_env)
    assert len(quincunx_env.__all__) <= 30
    for node in typed:
        module, name = f"quincunx_env.{node.module}" if node.module else "quincunx_env", node.names[0].name
        assert getattr(quincunx_env, name) is resolve_name(f"{module}:{name}")


@pytest.mark.parametrize("package", ROOTS)
def test_importing_a_package_loads_no_heavy_library(package: str) -> None:
    """In a fresh interpreter. PettingZoo may be loaded, as Gymnasium and NumPy are."""
    program = f"import sys; from {package} import *; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {package, "numpy", "gymnasium"} <= loaded
    assert not loaded & (HEAVY | OUTSIDE | {"pytest", "hypothesis"})


ENGINE = {"core", "quincunx", "utils"}
FIRST_USE: dict[str, set[str]] = {
    "IllegalAction": {"core", "utils"},
    "Game": ENGINE,
    "spiral": {"core", "spiral", "utils"},
    "make_observer": {"core", "registry", "utils"},
    "Record": {"core", "registry", "notation", "utils"},
    "registered_policies": {"codec", "core", "registry", "policies", "utils"},
    "BatchedGames": {"codec", "core", "registry", "envs", "utils"},
}
"""Public names, and the modules and subpackages that the first use of one loads."""


@pytest.mark.parametrize("name", FIRST_USE)
def test_the_first_use_of_a_name_loads_what_it_needs_alone(name: str) -> None:
    """In a fresh interpreter, that has imported the package."""
    program = f"import sys, quincunx_env; quincunx_env.{name}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = [module.split(".") for module in run.stdout.split()]
    assert {parts[1] for parts in loaded if parts[0] == "quincunx_env" and len(parts) > 1} == FIRST_USE[name]
    assert not {parts[0] for parts in loaded} & (HEAVY | OUTSIDE | {"quincunx_agents"})
    environments = {parts[2] for parts in loaded if parts[:2] == ["quincunx_env", "envs"] and len(parts) > 2}
    assert not environments & ({"aec", "solitaire", "text", "vs_opponents"})


def test_an_environment_loads_one_game_without_pictures_and_texts() -> None:
    """In a fresh interpreter. Pictures, notation and the other game are loaded when they are used."""
    program = 'import sys, gymnasium, quincunx_env; gymnasium.make("Quincunx/Solitaire-v0"); print(*sys.modules)'
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {module for module in run.stdout.split() if module.split(".")[0] == "quincunx_env"}
    assert {module.split(".")[1] for module in loaded if "." in module} == {*ENGINE, "codec", "registry", "envs"}
    assert len(loaded) <= 41
