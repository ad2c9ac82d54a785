"""Print the environments, agents, extras and commands of this installation: ``python -m quincunx_env``."""

import argparse
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import groupby
from textwrap import fill

import quincunx_env
from quincunx_env.policies import registered_policies

WIDTH = 100
"""Columns of the text."""

OVERVIEW = """\
quincunx_env {version}, Python {python}, {libraries}

Environments
  gymnasium.make("Quincunx/Solitaire-v0")  the solitaire; gymnasium.make_vec steps many games at once
  gymnasium.make("Quincunx/VsOpponents-v0", opponents="greedy", num_players=2)
                                           one agent against policies; game="spiral" for the spiral game
  quincunx_env.quincunx_v0.env()           Quincunx for two to four players (PettingZoo)
  quincunx_env.spiral_v0.env()             the spiral game for two players (PettingZoo)
  quincunx_env.BatchedGames(1024)          many games for several players, stepped together

Agents
{agents}

Extras
{extras}

Commands
  python -m quincunx_env.play              play alone or against agents
  python -m quincunx_env.arena --help      evaluate and compare agents
  python -c "help('quincunx_env')"         the public interface, with first lines of code
"""


def main(arguments: Sequence[str] = ()) -> None:
    """Print the overview; ``arguments`` of the command line may only ask for help."""
    argparse.ArgumentParser(prog="python -m quincunx_env", description=__doc__).parse_args(arguments)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "gymnasium", "pettingzoo"))
    print(
        OVERVIEW.format(
            version=quincunx_env.__version__,
            python=platform.python_version(),
            libraries=libraries,
            agents="\n".join(_agents()),
            extras="\n".join(_extras()),
        ),
        end="",
    )


def _agents() -> Iterator[str]:
    """Yield the names of the registered policies, by the package that declares them. No policy is imported."""
    policies = registered_policies()

    def package(name: str) -> str:
        return policies[name].module.partition(".")[0]

    for declared_by, names in groupby(sorted(policies, key=lambda name: (package(name), name)), package):
        text = f"{declared_by}: {', '.join(names)}"
        yield fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    yield '  Any other policy has the name "module:attribute".'


def _extras() -> Iterator[str]:
    """Yield whether each extra is installed, or which libraries are missing and how to install them."""
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


if __name__ == "__main__":
    main(sys.argv[1:])
