"""Games as text, from game records and files of games."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from quincunx_env.arena.games import Games, holds_games
from quincunx_env.notation.record import Record
from quincunx_env.notation.text import to_text


def transcript(record: Record, seat: int | None = None, positions: bool = False) -> Iterator[str]:
    """Yield a record as text, action by action.

    It begins with rules and deals. Each action has the parts of its score and the totals after it. The position is
    shown at the beginning, and at the end of each round.

    Args:
        record: the record of a game.
        seat: the seat that observes the positions; None shows all hands.
        positions: show the position after each action, too.

    Raises:
        ValueError: if there is no such seat.
    """
    record.game(0).check_seat(seat)
    totals = [0] * record.rules.num_players
    _, *header = takewhile(lambda line: not line[0].isdigit(), str(record).split("\n"))
    yield from (line for line in header if line.split()[0] in ("game", "seats", "seed", "deal"))
    yield to_text(record.game(0), seat)
    for number, turn in enumerate(record.turns, 1):
        totals = [total + gain for total, gain in zip(totals, turn.gains, strict=True)]
        yield f"{turn}; total {' '.join(map(str, totals))}"
        last = number == len(record.turns)
        ended = last or record.turns[number].round > turn.round
        if positions or ended:
            yield to_text(record.shown(number), seat)
        if ended and not last:
            yield f"round {turn.round + 2}"
            yield to_text(record.game(number), seat)
    yield f"{'over' if record.game().over else 'stopped'}: {' '.join(map(str, totals))}"


def read_games(path: Path, numbers: Sequence[int] = ()) -> list[Record]:
    """Read a game record, or games from a file of games.

    ``quincunx evaluate --records`` and the like write such files.

    Args:
        path: the file.
        numbers: of the games in a file of several games, from 0; by default the first.

    Raises:
        RecordError: if the file is neither, or a game breaks the rules.
        ValueError: if there is no such game.
        OSError: if the file cannot be read.
    """
    if not holds_games(path):
        if numbers:
            raise ValueError(f"{path} holds a single game: leave out --game")
        return [Record.read(path)]
    games = Games.read(path)
    return [games.record(number) for number in numbers or [0]]
