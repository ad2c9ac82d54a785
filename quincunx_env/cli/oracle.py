"""Compute oracle scores of benchmark deals by beam search.

The search knows the pile.

    quincunx oracle                    # resumes where it was interrupted
    quincunx oracle --width 200000     # wider beams; an oracle score never falls
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from quincunx_env.cli.parser import parse
from quincunx_env.oracle.store import BENCHMARK_FILE, NUM_BENCHMARK_DEALS, OracleEntry, improve, read, write
from quincunx_env.utils.errors import one_line_errors, require_writable
from quincunx_env.utils.processes import results_in_order, worker_processes

_WRITE_EVERY = 20
"""Deals searched between two writes of the file, as an interruption may lose them. Not tuned."""


def default_path(package_file: Path) -> Path:
    """Choose the package's file in a checkout, and ``runs/oracle.csv`` elsewhere.

    A checkout has a ``pyproject.toml`` two folders above the folder of the file. In an installation a command must not
    change what `quincunx_env.arena.regret` returns.
    """
    in_checkout = (package_file.parents[2] / "pyproject.toml").exists()
    return package_file if in_checkout else Path("runs/oracle.csv")


DEFAULT_PATH = default_path(BENCHMARK_FILE)
"""File of the command if no ``--path`` is given."""


@dataclass
class Arguments:
    """Deals to search, and width of the beam."""

    deals: int = NUM_BENCHMARK_DEALS
    """number of deals: benchmark deals from 0 on are searched"""
    width: int = 20_000
    """states kept after each play; deals already searched with such a width are skipped"""
    processes: int = 1
    """deals searched at the same time"""
    path: Path = DEFAULT_PATH
    """file of oracle scores; it is updated as the search goes on, and only better scores replace those in it. In a
    checkout of the project the default is the file of the package, elsewhere runs/oracle.csv, which begins with the
    scores of the package"""

    def __post_init__(self) -> None:
        for name in ("deals", "width", "processes"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} must be at least 1, got {getattr(self, name)}")
        if self.path.is_dir():
            raise ValueError(f"--path must be a file, got the folder {self.path}")


def main(name: str, arguments: Sequence[str]) -> None:
    """Search, write and print a summary."""
    options = parse(Arguments, f"quincunx {name}", __doc__, arguments)
    with one_line_errors(ValueError):
        entries = read(options.path) or (read() if options.path == DEFAULT_PATH else {})
        due = [
            (number, options.width, entries.get(number))
            for number in range(options.deals)
            if number not in entries or entries[number].width < options.width
        ]
        if due:
            require_writable(options.path.parent, "--path")
    remedy = "the same command continues; --path names another file"
    with one_line_errors(ValueError, remedy=lambda: remedy):
        _search(options, entries, due)


def _search(
    options: Arguments, entries: dict[int, OracleEntry], due: list[tuple[int, int, OracleEntry | None]]
) -> None:
    progress = tqdm(_improved(due, options.processes), total=len(due), unit="deal")
    try:
        for done, entry in enumerate(progress):
            entries[entry.deal] = entry
            progress.set_postfix(mean=f"{np.mean([each.score for each in entries.values()]):.1f}")
            if done % _WRITE_EVERY == _WRITE_EVERY - 1:
                _merge(options.path, entries)
    finally:
        if due:
            _merge(options.path, entries)
    searched = [entries[number] for number in range(options.deals)]
    scores = np.array([entry.score for entry in searched])
    print(
        f"{len(searched)} deals, beams of at least {options.width}: mean {scores.mean():.1f}, "
        f"median {np.median(scores):.0f}, highest {scores.max()}, 150 or more: {(scores >= 150).mean():.1%}, "
        f"never finished: {sum(not entry.plays for entry in searched)}"
    )


def _merge(path: Path, entries: dict[int, OracleEntry]) -> None:
    """Take better entries from the file, and write all. Another command may have written the file during the search."""
    for number, stored in read(path).items():
        known = entries.get(number, stored)
        best = max(stored, known, key=lambda entry: (bool(entry.plays), entry.score))
        entries[number] = best._replace(width=max(stored.width, known.width))
    write(path, entries.values())


def _improved(due: list[tuple[int, int, OracleEntry | None]], processes: int) -> Iterator[OracleEntry]:
    """Yield the entries of `improve` for ``due``, in order."""
    if processes == 1 or not due:
        yield from starmap(improve, due)
    else:
        with worker_processes(processes) as pool:
            yield from results_in_order(pool, improve, due)
