"""The command ``quincunx``: overview of the installation, and the subcommands."""

import os
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import quincunx_env
from quincunx_env.cli.overview import installation
from quincunx_env.utils.errors import fail, requires_extra


class Command(NamedTuple):
    """A subcommand. Its module is imported when it runs: the libraries of other subcommands may be missing."""

    module: str
    """Has a function ``main(name, arguments)``, which gets the name of the subcommand."""
    summary: str
    """Its purpose, in a line."""
    extra: str = "arena"
    """Extra of the package with the libraries that the module imports."""


COMMANDS = {
    "play": Command("play", "play alone or against agents", "play"),
    "replay": Command("replay", "print games play by play, or write a page that replays them", "play"),
    "evaluate": Command("evaluate", "evaluate policies at the solitaire on numbered deals"),
    "compare": Command("evaluate", "compare policies for several players on paired deals"),
    "tournament": Command("evaluate", "hold a round robin with ratings"),
    "verify": Command("verify", "replay files written with --records, and check their figures"),
    "benchmark": Command("tasks", "list the tasks of the benchmark, or evaluate policies on one"),
}
"""The subcommands by name, in the order in which they are listed."""

POLICY = 'A policy is an agent, "module:attribute" or a file.'

HELP = """\
usage: quincunx [-h] [--version] [--all] [command] ...

Without a command: environments, agents, extras and commands.

options:
  -h, --help  show this help message and exit
  --version   show program's version number and exit
  --all       show all extras, too
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, or ``arguments`` in place of it.

    This part needs no library: an installation without extras has no parser of command lines.
    """
    try:
        match sys.argv[1:] if arguments is None else [*arguments]:
            case []:
                print(installation(), "", *_commands(), POLICY, "All extras: quincunx --all", sep="\n")
            case ["--all"]:
                print(installation(everything=True), "", *_commands(everything=True), POLICY, sep="\n")
            case ["-h" | "--help", *_]:
                print(HELP, *_commands(everything=True), sep="\n")
            case ["--version", *_]:
                print(f"quincunx_env {quincunx_env.__version__}")
            case [name, *rest]:
                _run(name, rest)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output, such as ``head``, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end of the process
        sys.exit(1)


def _run(name: str, arguments: Sequence[str]) -> None:
    """Run a subcommand. It finds modules in the current folder, such as policies, as ``python -m`` does."""
    if name not in COMMANDS:
        meant = "".join(f"did you mean {each!r}? " for each in get_close_matches(name, COMMANDS, n=1))
        kind = "option" if name.startswith("-") else "command"
        fail(f"quincunx has no {kind} {name!r}: {meant}the commands are {', '.join(COMMANDS)}")
    here = str(Path.cwd())
    if not sys.flags.safe_path and not {"", here} & {*sys.path}:
        sys.path.append(here)
    command = COMMANDS[name]
    with requires_extra(command.extra, f"quincunx {name}"):
        module = import_module(f"{__name__}.{command.module}")
    module.main(name, arguments)


def _commands(everything: bool = False) -> Iterator[str]:
    """Yield a heading and a line for each subcommand; with ``everything`` also how to read the public interface."""
    yield "Commands: quincunx COMMAND; quincunx COMMAND --help lists the options"
    width = max(map(len, COMMANDS))
    for name, command in COMMANDS.items():
        yield f"  {name:<{width}}  {command.summary}"
    if everything:
        yield """The public interface: python -c "help('quincunx_env')\""""
