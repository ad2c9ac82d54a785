"""Looking at a record, action by action: what every interface to replay needs, and nothing that shows it.

>>> from quincunx_env import Rules
>>> from quincunx_env.notation.record import Seeded
>>> viewer = Viewer(Record(Rules(), Seeded(0), actions=(33,), seats=("ann",)))
>>> viewer.go(1)
>>> print(viewer.place)
After 1 of 1; all hands
>>> print(told(viewer.turns[-1]))
1. seat 0 AV (0, 1): +3 (basic -2, pair +5)
"""

from collections.abc import Sequence

from quincunx_env.core.scene import Scene
from quincunx_env.notation.record import Record, RecordedAction
from quincunx_env.registry import spec_of

KEYS = {"right": 1, "left": -1, "home": -9999, "end": 9999}
"""How many actions a key goes on."""


def told(turn: RecordedAction) -> str:
    """A turn as people read it: what it was worth, and what each seat got of it where that is not the same."""
    worth = "" if turn.score is None else f": {turn.score}"
    others = any(gain for seat, gain in enumerate(turn.gains) if seat != turn.seat)
    differs = turn.score is None or turn.gains[turn.seat] != turn.score.points
    gains = f", gains {' '.join(f'{gain:+}' for gain in turn.gains)}" if any(turn.gains) and (others or differs) else ""
    return f"{turn.number}. seat {turn.seat} {turn.text}{worth}{gains}"


class Viewer:
    """A place in a record, and who looks.

    Args:
        record: of which game.

    Attributes:
        record: the same.
        number: how many of its actions have been taken.
        seat: who looks; None sees all hands.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.number = 0
        self.seat: int | None = None

    def go(self, steps: int) -> None:
        """Go on, or back, as far as the record reaches."""
        self.number = min(max(self.number + steps, 0), len(self.record.actions))

    def look(self) -> None:
        """Look from the next seat, then from all."""
        seats = [None, *range(self.record.rules.num_players)]
        self.seat = seats[(seats.index(self.seat) + 1) % len(seats)]

    @property
    def scene(self) -> Scene:
        """What there is to see: after the last play of a round that round, not the deal of the next one."""
        game = self.record.game(max(self.number - 1, 0))
        if self.number:
            game.deals = game.deals[: game.round + 1]  # what follows would hide the end of a round
            game.step(self.record.actions[self.number - 1])
        return spec_of(self.record.rules).scene(game, self.seat)

    @property
    def turns(self) -> Sequence[RecordedAction]:
        """How it came about."""
        return self.record.turns[: self.number]

    @property
    def place(self) -> str:
        """Where in the record this is, and who looks."""
        looks = "all hands" if self.seat is None else f"seat {self.seat}"
        return f"After {self.number} of {len(self.record.actions)}; {looks}"
