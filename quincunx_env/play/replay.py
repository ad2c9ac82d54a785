"""Print a game record play by play: ``quincunx replay FILE``."""

import argparse
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from quincunx_env.core.command_line import one_line_errors
from quincunx_env.notation.record import Record
from quincunx_env.notation.text import to_text
from quincunx_env.play.viewer import Viewer, describe


def transcript(record: Record, seat: int | None = None, positions: bool = False) -> Iterator[str]:
    """Yield a record as text: rules and deals, each action with the parts of its score and the totals after it, and the
    position at the beginning and at the end of each round.

    Args:
        record: the record of a game.
        seat: the seat that observes the positions; None shows all hands.
        positions: show the position after each action, too.

    Raises:
        ValueError: if there is no such seat.
    """
    record.game(0).check_seat(seat)
    viewer, totals = Viewer(record), [0] * record.rules.num_players
    _, *header = takewhile(lambda line: not line[0].isdigit(), str(record).splitlines())
    yield from (line for line in header if line.split()[0] in ("game", "seats", "seed", "deal"))
    yield to_text(viewer.game, seat)
    for viewer.number, turn in enumerate(record.turns, 1):
        totals = [total + gain for total, gain in zip(totals, turn.gains, strict=True)]
        yield f"{describe(turn)}; total {' '.join(map(str, totals))}"
        last = viewer.number == len(record.turns)
        ended = last or record.turns[viewer.number].round > turn.round
        if positions or ended:
            yield to_text(viewer.game, seat)
        if ended and not last:
            yield f"round {turn.round + 2}"
            yield to_text(record.game(viewer.number), seat)
    yield f"{'over' if record.game().over else 'stopped'}: {' '.join(map(str, totals))}"


def main(arguments: Sequence[str] | None = None, program: str = "quincunx replay") -> None:
    """Run the command line, or ``arguments`` in place of it; ``program`` precedes them in what is printed."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Print a game record play by play, with the parts of every score. "
        "`quincunx play --replay FILE` steps through it.",
    )
    parser.add_argument("file", type=Path, help="game record, as `quincunx play` writes it")
    parser.add_argument("--seat", type=int, help="show the hand of this seat only; all hands by default")
    parser.add_argument("--positions", action="store_true", help="show the position after every action")
    options = parser.parse_args(arguments)
    with one_line_errors(ValueError):
        texts = [*transcript(Record.read(options.file), options.seat, options.positions)]
    print(*texts, sep="\n")
