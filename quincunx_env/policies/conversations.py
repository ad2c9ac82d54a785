"""Records of the decisions of language models, as JSON Lines.

A line is a decision: ``policy`` (its name), ``deal``, ``seating``, ``seat``, ``ply`` (the actions of the game before),
``messages`` (the conversation), ``illegal`` (the number of illegal answers), ``fallback`` (whether none was legal),
``action`` (as text, None for a forfeited game) and ``seconds``. The messages have the form that fine-tuning reads.
"""

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from quincunx_env.utils.files import MOST_BYTES
from quincunx_env.utils.markdown import escaped, markdown_table

PLACE = ("policy", "deal", "seating", "seat", "ply")
"""The fields that say which decision it is."""

MARK = "\N{DAGGER}"
"""Marks a suspicious score."""

SUSPICIOUS = 0.05
"""Share of decisions by the fallback from which on a score is marked."""


class Counts(NamedTuple):
    """Decisions of a language model."""

    decisions: int = 0
    illegal: int = 0
    """Illegal answers."""
    fallback: int = 0
    """Decisions without a legal answer, which the fallback played, or which forfeited the game."""

    def __add__(self, other: object) -> "Counts":
        assert isinstance(other, Counts)
        return Counts(*(one + another for one, another in zip(self, other, strict=True)))

    @property
    def suspicious(self) -> bool:
        """Whether the fallback made too many decisions for the score to be the model's."""
        return self.fallback > SUSPICIOUS * self.decisions


class Conversations:
    """The decisions of language models in the games of a lineup. Each is written as it is made.

    Args:
        path: the file, made with the first decision; None for none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path, self._lock = path, threading.Lock()
        self._kept = {_place(record): record for record in _records(path)}

    def find(self, place: Mapping[str, Any], prompt: str) -> dict[str, Any] | None:
        """Return the record of a decision, or None. Its conversation begins with this prompt."""
        record = self._kept.get(_place(place))
        return record if record is not None and record["messages"][0]["content"] == prompt else None

    def add(self, record: dict[str, Any]) -> None:
        """Write the record of a decision. Threads may call it side by side."""
        with self._lock:
            self._kept[_place(record)] = record
            if self.path is None:
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                end = file.seek(0, os.SEEK_END)
                torn = end > 0 and (file.seek(end - 1), file.read(1))[1] != b"\n"  # by a kill, or a full disk
                file.write(b"\n" * torn + json.dumps(record).encode() + b"\n")

    def counts(self, deals: range) -> dict[str, Counts]:
        """Count the decisions in games of numbered deals, by name of the policy."""
        found = dict[str, Counts]()
        for record in self._kept.values():
            if record["deal"] in deals:
                one = Counts(1, record["illegal"], record["fallback"])
                found[record["policy"]] = found.get(record["policy"], Counts()) + one
        return found


def _place(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in PLACE)


def _records(path: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the records of a file. Lines of something else, and torn ones, are skipped."""
    if path is None or not path.exists():
        return
    with path.open("rb") as file:
        for line in iter(partial(file.readline, MOST_BYTES), b""):
            try:
                record = json.loads(line)
                numbers = (*(record[name] for name in PLACE[1:]), record["illegal"], record["fallback"])
                complete = isinstance(record["policy"], str) and {"action"} <= record.keys()
                if complete and all(isinstance(number, int) for number in numbers) and record["messages"][0]["content"]:
                    yield record
            except (ValueError, TypeError, LookupError, RecursionError, AttributeError):
                continue


def total(counts: Iterable[Mapping[str, Counts]]) -> dict[str, Counts]:
    """Add counts of several lineups."""
    found = dict[str, Counts]()
    for each in counts:
        for name, counted in each.items():
            found[name] = found.get(name, Counts()) + counted
    return found


def counts_table(counts: Mapping[str, Counts]) -> str:
    """Return a Markdown table of the language models' decisions, and a sentence for each suspicious one."""
    rows = [(escaped(name), *(f"{number:,}" for number in counted)) for name, counted in counts.items()]
    table = markdown_table(("language model", "decisions", "illegal answers", "by the fallback"), rows)
    lines = (
        f"{MARK} {escaped(name)}: no answer was legal in {counted.fallback / counted.decisions:.0%} of the decisions. "
        "The score is partly the fallback's."
        for name, counted in counts.items()
        if counted.suspicious
    )
    return "\n\n".join([table, *lines])


def marked(name: str, counts: Mapping[str, Counts]) -> str:
    """Return a name for a table, marked if it is suspicious."""
    return escaped(name) + f" {MARK}" * counts.get(name, Counts()).suspicious
