"""Oracle scores of numbered benchmark deals, in a CSV file. The file has the lines of play that reach them, too."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from quincunx_env.core.arrays import Ints
from quincunx_env.oracle.beam import beam_search
from quincunx_env.quincunx.cards import card_name, parse_card
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.files import package_file, write_atomically

NUM_BENCHMARK_DEALS = 1000
"""The package has the oracle scores of the benchmark deals with lower numbers."""

LOST_SCORE = 0
"""Oracle score of a deal without a known line that finishes the round; a lost round counts the same by default.

Such deals exist: in benchmark deal 161 the hand and the first cards of the pile never earn the four draws that twelve
plays need."""

BENCHMARK_FILE = package_file("quincunx_env.oracle", "benchmark.csv")
"""The oracle scores of the package, in the format of `write`.

:meta hide-value:
"""

COMMAND = "quincunx oracle"
"""The command that computes oracle scores."""


class OracleEntry(NamedTuple):
    """The best known line of one benchmark deal."""

    deal: int
    """Number of the deal."""
    score: int
    """Final score of the line; ``LOST_SCORE`` if no line is known that finishes the round."""
    width: int
    """The widest beam that has searched this deal."""
    plays: tuple[tuple[int, int], ...]
    """The line: (card, cell) of each play; empty if none is known."""


def benchmark_game(number: int) -> Game:
    """Return a benchmark deal as a new game. It is the first game that a batch seeded with the number deals."""
    return Game(Rules(), Deal.from_seed(Rules(), number, domain="benchmark"))


def read(path: Path | str | None = None) -> dict[int, OracleEntry]:
    """Read oracle scores, by deal number.

    Args:
        path: a file that `write` made; the package's own by default. A file that does not exist has no entries.

    Raises:
        ValueError: if the file is damaged.
        OSError: if the file cannot be read.
    """
    path = Path(path or BENCHMARK_FILE)
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="ascii") as file:
            table = csv.DictReader(file)
            rows, columns = list(table), tuple(table.fieldnames or ())
    except (ValueError, csv.Error) as error:
        raise _damaged(path, error) from error
    if columns != OracleEntry._fields:
        raise _damaged(path, f"its columns are {', '.join(columns)}")
    entries = {}
    for row in rows:
        try:
            entry = _read_entry(row)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _damaged(path, row) from error
        entries[entry.deal] = entry
    return entries


def _damaged(path: Path, where: object) -> ValueError:
    return ValueError(f"{path} is damaged: {where}; restore it, or delete it and run\n    {COMMAND}")


def _read_entry(row: dict[str, str]) -> OracleEntry:
    line = tuple(map(_read_play, row["plays"].split()))
    return OracleEntry(int(row["deal"]), int(row["score"]), int(row["width"]), line)


def _read_play(text: str) -> tuple[int, int]:
    card, place = text.split("@")
    row, column = map(int, place)
    return parse_card(card), Rules().grid.cell((row, column))


def write(path: Path | str, entries: Iterable[OracleEntry]) -> None:
    """Write oracle scores atomically. Concurrent readers find either the old file or the new one."""
    grid, text = Rules().grid, io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(OracleEntry._fields)
    for deal, score, width, plays in sorted(entries):
        line = " ".join("{}@{}{}".format(card_name(card), *grid.place(cell)) for card, cell in plays)
        rows.writerow([deal, score, width, line])
    write_atomically(path, lambda unfinished: unfinished.write_text(text.getvalue(), encoding="ascii"))


def oracle_scores(first: int = 0, deals: int = NUM_BENCHMARK_DEALS, path: Path | str | None = None) -> Ints:
    """Return oracle scores of benchmark deals by the default rules.

    Args:
        first: number of the first deal.
        deals: number of deals.
        path: file of the scores, as `read` takes it.

    Returns:
        int64 [deals]; 0 for deals of which no line is known that finishes the round.

    Raises:
        ValueError: if a deal has no oracle score.
    """
    entries = read(path)
    missing = [number for number in range(first, first + deals) if number not in entries]
    if missing:
        raise ValueError(
            f"benchmark deal {missing[0]} has no oracle score: the package has the first {NUM_BENCHMARK_DEALS}; "
            f"compute more in a file, and pass it as path=:\n    {COMMAND} --deals {first + deals}"
        )
    return np.array([entries[number].score for number in range(first, first + deals)], np.int64)


def improve(number: int, width: int, known: OracleEntry | None) -> OracleEntry:
    """Search a benchmark deal. Return the line found, or the known one if that is better."""
    line, known = beam_search(benchmark_game(number), width), known or OracleEntry(number, LOST_SCORE, width, ())
    if line is None or (known.plays and known.score >= line.score):
        return known._replace(width=max(width, known.width))
    return OracleEntry(number, line.score, width, line.plays)
