"""Stepping through a record, independent of any user interface.

>>> from quincunx_env import Rules
>>> from quincunx_env.notation.record import Seeded
>>> viewer = Viewer(Record(Rules(), Seeded(0), actions=(33,), seats=("ann",)))
>>> viewer.go(1)
>>> print(describe(viewer.turns[-1]))
1. seat 0 AV (0, 1): +3 (basic -2, pair +5)
"""

from collections.abc import Sequence

from quincunx_env.core.game import Game
from quincunx_env.notation.ending import Ending, ending
from quincunx_env.notation.record import Record, RecordedAction


def describe(turn: RecordedAction) -> str:
    """Describe an action: number, seat, text and score.

    The gains of all seats follow where they differ from the score. At the end of a round the points lost for cards left
    in hand follow; they are part of the gains.
    """
    score = "" if turn.score is None else f": {turn.score}"
    others = any(gain for seat, gain in enumerate(turn.gains) if seat != turn.seat)
    differs = turn.score is None or turn.gains[turn.seat] != turn.score.points
    gains = f", gains {' '.join(f'{gain:+}' for gain in turn.gains)}" if any(turn.gains) and (others or differs) else ""
    left = f", left in hand {' '.join(str(-points) for points in turn.penalties)}" if any(turn.penalties) else ""
    return f"{turn.number}. seat {turn.seat} {turn.text}{score}{gains}{left}"


class Viewer:
    """A position in a record.

    Attributes:
        record: the record of a game.
        number: number of its actions that have been taken.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.number = 0

    def go(self, steps: int) -> None:
        """Step forwards, or backwards for negative ``steps``. Steps stop at the ends of the record."""
        self.number = min(max(self.number + steps, 0), len(self.record.actions))

    @property
    def game(self) -> Game:
        """The position. After the last play of a round it is the end of that round, not the next deal."""
        game = self.record.game(max(self.number - 1, 0))
        if self.number:
            game.deals = game.deals[: game.round + 1]  # without later deals the game stays at the end of the round
            game.step(self.record.actions[self.number - 1])
        return game

    @property
    def ending(self) -> Ending | None:
        """The end of the game or round in words; None elsewhere."""
        return ending(self.game, self.record.seats)

    @property
    def turns(self) -> Sequence[RecordedAction]:
        """The actions that led to the position."""
        return self.record.turns[: self.number]
