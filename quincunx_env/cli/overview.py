"""Text of ``quincunx``: the installation."""

import csv
import json
import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import groupby
from textwrap import fill

import quincunx_env
from quincunx_env.policies import registered_policies
from quincunx_env.utils.files import package_file

WIDTH = 80
"""Columns of the text."""

OVERVIEW = """\
quincunx_env {version}, Python {python}
{libraries}

Environments: gymnasium.make(id); make_vec steps many games at once
  Quincunx/Solitaire-v0        the solitaire
  Quincunx/VsOpponents-v0      one agent against policies
  Quincunx/SolitaireFlat-v0, Quincunx/VsOpponentsFlat-v0      float32 vectors
  Quincunx/SolitaireMasked-v0, Quincunx/VsOpponentsMasked-v0  also the mask
  Quincunx/Text-v0             prompts and answers for language models
  quincunx_env.quincunx_v0.env(), quincunx_env.spiral_v0.env()     PettingZoo

{agents}

Extras
{extras}"""

_TASKS = ("solitaire", "2-corners")
"""Tasks of the benchmark whose scores are shown."""

EXTRAS = {
    "arena": "evaluation, networks",
    "play": "in browser and terminal",
    "render": "pixels and windows",
    "sb3": "stable-baselines3, PyTorch",
    "train": "the training scripts",
}
"""Extras for users, with their purposes."""


def installation(everything: bool = False) -> str:
    """List the versions, environments, agents and extras of this installation.

    No agent is imported. With ``everything`` extras have their missing libraries.
    """
    return OVERVIEW.format(
        version=quincunx_env.__version__,
        python=platform.python_version(),
        libraries=", ".join(f"{name} {version(name)}" for name in ("numpy", "gymnasium", "pettingzoo")),
        agents="\n".join(_strengths()),
        extras="\n".join(_extras(everything)),
    )


def _strengths() -> Iterator[str]:
    """Yield agents with benchmark results and times, then other policies."""
    scores = _scores()
    times = package_file("quincunx_env.arena", "times.json").read_text(encoding="utf-8")
    seconds = json.loads(times)["seconds_per_action"]
    packages = dict(_by_package())
    yield "Agents         solitaire  2 players    time"
    for name in packages.pop("quincunx_agents", []):
        mean, wins = (scores.get((task, name)) for task in _TASKS)
        shown = (
            "" if mean is None else f"{mean:.1f}",
            "" if wins is None else f"{wins:.1%}",
            f"{float(format(seconds[name] / seconds['heuristic'], '.2g')):g}",
        )
        yield "  {:<13}{:>9}  {:>9}  {:>6}".format(name, *shown).rstrip()
    yield "  Mean points; wins against heuristic; time as a multiple of heuristic's."
    for package, names in packages.items():
        yield f"  {package}: {', '.join(names)}"


def _scores() -> dict[tuple[str, str], float]:
    """Read the scores of the benchmark by task and policy."""
    with package_file("quincunx_env.arena", "benchmark.csv").open(encoding="utf-8", newline="") as file:
        return {(row["task"], row["policy"]): float(row["score"]) for row in csv.DictReader(file)}


def _by_package() -> list[tuple[str, list[str]]]:
    """Group the registered policies by package, the strongest first by the share of the reference's score."""
    policies, scores = registered_policies(), _scores()

    def strength(name: str) -> float:
        shares = (scores[task, name] / scores[task, "heuristic"] for task in _TASKS if (task, name) in scores)
        return next(shares, -1.0)

    def package(name: str) -> str:
        return policies[name].module.partition(".")[0]

    ordered = sorted(policies, key=lambda name: (package(name), -strength(name), name))
    return [(declared_by, [*names]) for declared_by, names in groupby(ordered, package)]


def _extras(everything: bool) -> Iterator[str]:
    """Yield whether each extra is installed, or how to install it; with ``everything`` also its missing libraries."""
    try:
        requirements = requires("quincunx_env") or []
    except PackageNotFoundError:
        yield "  unknown, because the package is not installed: pip install ."
        return
    missing: dict[str, list[str]] = {}
    for requirement in requirements:
        library, extra = re.match(r"[\w.-]+", requirement), re.search(r"extra\s*==\s*['\"]([\w-]+)", requirement)
        if library and extra:
            missing.setdefault(extra[1], []).extend([] if _installed(library[0]) else [library[0]])
    if not everything:
        for name, purpose in EXTRAS.items():
            status = f'missing: pip install "quincunx_env[{name}]"' if missing.get(name) else "installed"
            yield f"  {name:<8}{purpose}: {status}"
        return
    for name, libraries in sorted(missing.items()):
        command = f'pip install "quincunx_env[{name}]"'.replace(" ", "\0")  # not broken over two lines
        status = f"missing {', '.join(libraries)}: {command}" if libraries else "installed"
        line = fill(f"  {name:<10}{status}", WIDTH, subsequent_indent=" " * 12, break_on_hyphens=False)
        yield line.replace("\0", " ")


def _installed(library: str) -> bool:
    try:
        version(library)
    except PackageNotFoundError:
        return False
    return True
