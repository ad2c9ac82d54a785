"""Stepping through a record, independent of any user interface.

>>> from quincunx_env import Rules
>>> from quincunx_env.notation.record import Seeded
>>> viewer = Viewer(Record(Rules(), Seeded(0), actions=(33,), seats=("ann",)))
>>> viewer.go(1)
>>> print(viewer.position)
After 1 of 1; all hands
>>> print(describe(viewer.turns[-1]))
1. seat 0 AV (0, 1): +3 (basic -2, pair +5)
"""

from collections.abc import Sequence

from quincunx_env.core.game import Game
from quincunx_env.core.scene import Scene
from quincunx_env.notation.record import Record, RecordedAction
from quincunx_env.play.ending import Ending, ending
from quincunx_env.registry import spec_of

KEY_STEPS = {"right": 1, "left": -1, "home": -9999, "end": 9999}
"""Argument of `Viewer.go` by key; the large numbers go to the ends of any record."""


def describe(turn: RecordedAction) -> str:
    """Number, seat, text and score of an action; also the gains of all seats where they differ from the score, and at
    the end of a round the points lost for cards left in hand, which are part of the gains.
    """
    score = "" if turn.score is None else f": {turn.score}"
    others = any(gain for seat, gain in enumerate(turn.gains) if seat != turn.seat)
    differs = turn.score is None or turn.gains[turn.seat] != turn.score.points
    gains = f", gains {' '.join(f'{gain:+}' for gain in turn.gains)}" if any(turn.gains) and (others or differs) else ""
    left = f", left in hand {' '.join(str(-points) for points in turn.penalties)}" if any(turn.penalties) else ""
    return f"{turn.number}. seat {turn.seat} {turn.text}{score}{gains}{left}"


class Viewer:
    """A position in a record, and the seat from which it is shown.

    Args:
        record: the record of a game.

    Attributes:
        record: the same.
        number: number of its actions that have been taken.
        seat: the seat from whose point of view the game is shown; None shows all hands.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.number = 0
        self.seat: int | None = None

    def go(self, steps: int) -> None:
        """Step forwards, or backwards for negative ``steps``, and stop at the ends of the record."""
        self.number = min(max(self.number + steps, 0), len(self.record.actions))

    def next_view(self) -> None:
        """Show the game from the next seat; after the last one show all hands."""
        seats = [None, *range(self.record.rules.num_players)]
        self.seat = seats[(seats.index(self.seat) + 1) % len(seats)]

    @property
    def game(self) -> Game:
        """The position; after the last play of a round the end of that round, not the next deal."""
        game = self.record.game(max(self.number - 1, 0))
        if self.number:
            game.deals = game.deals[: game.round + 1]  # without later deals the game stays at the end of the round
            game.step(self.record.actions[self.number - 1])
        return game

    @property
    def scene(self) -> Scene:
        """The position as a scene."""
        return spec_of(self.record.rules).scene(self.game, self.seat)

    @property
    def ending(self) -> Ending | None:
        """The end of the game, or of a round, in words; None elsewhere."""
        return ending(self.game, self.record.seats)

    @property
    def turns(self) -> Sequence[RecordedAction]:
        """The actions that led to the position."""
        return self.record.turns[: self.number]

    @property
    def position(self) -> str:
        """The position and the point of view in words."""
        view = "all hands" if self.seat is None else f"seat {self.seat}"
        return f"After {self.number} of {len(self.record.actions)}; {view}"
