"""Guided games: a few plays on a fixed deal, each of which shows a part of the rules.

The data are in ``lessons.toml``.

>>> lesson = lessons()["solitaire"]
>>> lesson.title, lesson.steps[0].play
('Learn Quincunx in eight plays', '7VY (0, 1)')
"""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Seeded
from quincunx_env.play.session import Session
from quincunx_env.registry import GAMES


class Step(NamedTuple):
    """A play of a guided game."""

    play: str
    """The play as text."""
    text: str
    """A sentence on what the play shows."""
    cells: tuple[tuple[int, int], ...]
    """(row, column) of the cells that the sentence is about."""
    points: int
    draws: int = 0


@dataclass(frozen=True)
class Lesson:
    """A guided game."""

    title: str
    game: str
    """Its name in `quincunx_env.registry.GAMES`."""
    seed: int
    """Seed of its deal."""
    steps: tuple[Step, ...]
    end: str
    """A sentence after the last step, when the game goes on freely."""
    opponent: str = ""
    """Name of the policy in all other seats."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the rules."""

    @property
    def rules(self) -> BaseRules:
        """The rules of the game."""
        rules: BaseRules = GAMES[self.game].Rules(**self.options)
        return rules

    def session(self, adviser: Any = None) -> Session:
        """Start a session with the learner in seat 0."""
        players = [None, *[self.opponent] * (self.rules.num_players - 1)]
        return Session(self.rules, players, Seeded(self.seed), adviser)


@cache
def lessons() -> dict[str, Lesson]:
    """Return the guided games by name."""
    text = files("quincunx_env.play").joinpath("lessons.toml").read_text(encoding="utf-8")
    return {name: _lesson(**lesson) for name, lesson in tomllib.loads(text).items()}


def _lesson(steps: list[dict[str, Any]], **lesson: Any) -> Lesson:
    read = (Step(**{**step, "cells": tuple(map(tuple, step["cells"]))}) for step in steps)
    return Lesson(steps=tuple(read), **lesson)
