"""The command ``quincunx``: what is installed, what can be done, and the subcommands."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import quincunx_env
from quincunx_env._commands.overview import installation
from quincunx_env.utils.errors import fail

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
    "replay": Command(
        "quincunx_env.play.replay", "print games play by play, with scores, or write a page that replays them"
    ),
    "evaluate": Command(ARENA, "evaluate policies at the solitaire on numbered deals", named=True),
    "compare": Command(ARENA, "compare policies for several players on paired deals", named=True),
    "tournament": Command(ARENA, "hold a round robin with ratings", named=True),
    "exploit": Command(ARENA, "find lower bounds of the exploitability of policies", named=True),
    "times": Command(ARENA, "measure the processor time of policies per action", named=True),
    "verify": Command(ARENA, "replay all games of files written with --records, and check their figures", named=True),
    "leaderboard": Command(ARENA, "write a page with the results of verified files", named=True),
    "benchmark": Command(
        "quincunx_env._commands.benchmark", "list the tasks of the standard benchmark, or evaluate policies on one"
    ),
    "envs": Command("quincunx_env._commands.overview", "list the environments with their spaces and options"),
    "oracle": Command("quincunx_env.oracle.__main__", "compute scores reachable with a known pile"),
}
"""The subcommands by name, in the order in which they are listed."""


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> None:
    """Run the command line, or ``arguments`` in place of it; ``program`` precedes them in what is printed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments and not arguments[0].startswith("-"):
            _run(arguments[0], arguments[1:], program)
        else:
            _overview(arguments, program)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output, such as ``head``, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end of the process
        sys.exit(1)


def _overview(arguments: Sequence[str], program: str) -> None:
    """Print what is installed and what can be done, or help."""
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} [-h] [--version] [command] ...",
        description="Without a command: what is installed, and what can be done.",
        epilog="\n".join(_commands(program)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"quincunx_env {quincunx_env.__version__}")
    parser.parse_args(arguments)
    print(installation(), "", *_commands(program), sep="\n")


def _run(name: str, arguments: Sequence[str], program: str) -> None:
    """Run a subcommand. It finds modules of the current folder, such as those of policies, as with ``python -m``."""
    if name not in COMMANDS:
        nearest = get_close_matches(name, COMMANDS, n=1)
        meant = f"did you mean {nearest[0]!r}? " if nearest else ""
        fail(f"{program} has no command {name!r}: {meant}the commands are {', '.join(COMMANDS)}")
    here = str(Path.cwd())
    if not sys.flags.safe_path and not {"", here} & {*sys.path}:
        sys.path.append(here)
    command = COMMANDS[name]
    run = import_module(command.module).main
    if command.named:
        run([name, *arguments], program=program)
    else:
        run(arguments, program=f"{program} {name}")


def _commands(program: str) -> Iterator[str]:
    """Yield a heading, and a line for each subcommand."""
    yield f"Commands: {program} <command>; {program} <command> --help lists the options"
    width = max(map(len, COMMANDS))
    for name, command in COMMANDS.items():
        yield f"  {name:<{width}}  {command.summary}"
    yield """The public interface, with first lines of code: python -c "help('quincunx_env')\""""


if __name__ == "__main__":
    main(program="python -m quincunx_env")
