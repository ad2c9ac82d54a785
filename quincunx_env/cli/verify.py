"""Replay all games of files, and check their figures.

    quincunx evaluate greedy --records greedy.npz
    quincunx verify greedy.npz

The exit status is 0 if the games follow the rules and the figures follow from the games. It is 1 for the first
difference, which one line names, and 2 for a file that cannot be read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from quincunx_env.arena.games import Games
from quincunx_env.arena.verification import VerificationError, verify
from quincunx_env.cli.program import run
from quincunx_env.utils.errors import fail

FALSE = 1
"""Exit status for a file whose games are not what it claims."""


@dataclass(kw_only=True)
class Arguments:
    """Files of games."""

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE [FILE ...]")]
    """files that evaluate, compare, tournament or benchmark have written with --records"""

    def run(self, line: str) -> None:
        """Print a line for each evaluation or comparison in the files.

        Raises:
            RecordError: if a file cannot be read.
            ValueError: for no file.
            OSError: if a file cannot be read.
        """
        if not self.files:
            raise ValueError("name a file of games, as evaluate --records writes it")
        for path in self.files:
            games = Games.read(path)
            try:
                results = verify(games)
            except VerificationError as error:
                fail(f"{path}: {error}", FALSE)
            for lineup, result in zip(games.lineups, results, strict=True):
                print(f"{path}: {lineup}: {len(lineup.lengths):,} games replayed; {result}")


def main(name: str, arguments: Sequence[str]) -> None:
    """Run the command."""
    run(Arguments, __doc__, name, arguments)
