"""The command ``quincunx``: what is installed, what can be done, and the subcommands."""

import argparse
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import groupby
from textwrap import fill
from typing import NamedTuple

import quincunx_env
from quincunx_env.core.command_line import fail
from quincunx_env.policies import registered_policies

PROGRAM = "quincunx"


class Command(NamedTuple):
    """A subcommand. Its module is imported when it runs, so that the others need not be installed or loaded."""

    module: str
    """Has a function ``main(arguments, program)``; ``program`` precedes the arguments in what is printed."""
    summary: str
    """What it does, in a line."""
    named: bool = False
    """The module has several commands: the first argument is the name of this one."""


ARENA = "quincunx_env.arena.__main__"

COMMANDS = {
    "play": Command("quincunx_env.play.__main__", "play alone or against agents, or step through a game record"),
    "evaluate": Command(ARENA, "evaluate policies at the solitaire on numbered deals", named=True),
    "compare": Command(ARENA, "compare policies for several players on paired deals", named=True),
    "tournament": Command(ARENA, "hold a round robin with ratings", named=True),
    "times": Command(ARENA, "measure the processor time of policies per action", named=True),
    "leaderboard": Command(ARENA, "write a page with the results in several directories", named=True),
    "oracle": Command("quincunx_env.oracle.__main__", "compute scores reachable with a known pile"),
}
"""The subcommands by name, in the order in which they are listed."""

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

{commands}
  The public interface, with first lines of code: python -c "help('quincunx_env')"
"""


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> None:
    """Run the command line, or ``arguments`` in place of it; ``program`` precedes them in what is printed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and not arguments[0].startswith("-"):
        _run(arguments[0], arguments[1:], program)
        return
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} [-h] [--version] [command] ...",
        description="Without a command: what is installed, and what can be done.",
        epilog="\n".join(_commands(program)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"quincunx_env {quincunx_env.__version__}")
    parser.parse_args(arguments)
    _print_overview(program)


def _run(name: str, arguments: Sequence[str], program: str) -> None:
    """Run a subcommand."""
    if name not in COMMANDS:
        nearest = get_close_matches(name, COMMANDS, n=1)
        meant = f"did you mean {nearest[0]!r}? " if nearest else ""
        fail(f"{program} has no command {name!r}: {meant}the commands are {', '.join(COMMANDS)}")
    command = COMMANDS[name]
    run = import_module(command.module).main
    if command.named:
        run([name, *arguments], program=program)
    else:
        run(arguments, program=f"{program} {name}")


def _print_overview(program: str) -> None:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "gymnasium", "pettingzoo"))
    print(
        OVERVIEW.format(
            version=quincunx_env.__version__,
            python=platform.python_version(),
            libraries=libraries,
            agents="\n".join(_agents()),
            extras="\n".join(_extras()),
            commands="\n".join(_commands(program)),
        ),
        end="",
    )


def _commands(program: str) -> Iterator[str]:
    """Yield a heading, and a line for each subcommand."""
    yield f"Commands: {program} <command>; {program} <command> --help lists the options"
    width = max(map(len, COMMANDS))
    for name, command in COMMANDS.items():
        yield f"  {name:<{width}}  {command.summary}"


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
    main(program="python -m quincunx_env")
