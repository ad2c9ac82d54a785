"""Show games play by play, as text or as a page with a replay player: ``quincunx replay FILE``."""

import argparse
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from quincunx_env.arena.explanation import explain
from quincunx_env.arena.games import Games, holds_games
from quincunx_env.core.policy import Agent
from quincunx_env.notation.record import Record
from quincunx_env.notation.text import to_text
from quincunx_env.notation.viewer import Viewer, describe
from quincunx_env.policies import display_name, load_path
from quincunx_env.render.replay_page import replay_page
from quincunx_env.utils.errors import one_line_errors, require_writable
from quincunx_env.utils.files import write_atomically


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


def read_games(path: Path, numbers: Sequence[int] = ()) -> list[Record]:
    """Read a game record, or games from a file that ``quincunx evaluate --records`` and the like write.

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


def main(arguments: Sequence[str] | None = None, program: str = "quincunx replay") -> None:
    """Run the command line, or ``arguments`` in place of it; ``program`` precedes them in what is printed."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Print a game play by play, with the parts of every score, or write a page that replays it. "
        "`quincunx play --replay FILE` shows it in the browser, with --terminal in the terminal.",
    )
    parser.add_argument(
        "file", type=Path, help="game record, as `quincunx play` writes it, or file of games of `evaluate --records`"
    )
    parser.add_argument(
        "--game", type=int, nargs="+", default=[], help="numbers of the games in a file of games, from 0"
    )
    parser.add_argument("--seat", type=int, help="show the hand of this seat only; all hands by default")
    parser.add_argument("--positions", action="store_true", help="show the position after every action")
    parser.add_argument("--html", type=Path, metavar="OUT", help="write a page for a browser, which needs no network")
    parser.add_argument("--values", metavar="AGENT", help="with --html: show this agent's values of the plays")
    parser.add_argument(
        "--trust",
        action="store_true",
        help="load files of stable-baselines3 and RLlib, too, which executes any code",
    )
    options = parser.parse_args(arguments)
    with one_line_errors(ValueError):
        if options.html and options.positions:
            raise ValueError("--html shows every position: leave out --positions")
        if options.values and not options.html:
            raise ValueError("--values needs --html")
        if options.html and (options.html.is_dir() or options.html.resolve() == options.file.resolve()):
            raise ValueError(f"--html must name a file of its own, such as game.html, got {options.html}")
        if options.html:
            require_writable(options.html.parent, "--html")
        games = read_games(options.file, options.game)
        agent = options.values and load_path(options.values, options.trust)
        if not options.html:
            texts = [text for game in games for text in transcript(game, options.seat, options.positions)]
        else:
            texts = [_write_page(options.html, games, options.seat, agent)]
    print(*texts, sep="\n")


def _write_page(path: Path, games: Sequence[Record], seat: int | None, agent: Agent | str | None) -> str:
    """Write a page with a replay player, and return a line about it."""
    page = replay_page(
        games,
        seat=seat,
        values=(lambda game: explain(agent, game)) if agent else None,
        valued_by=display_name(agent) if agent else "",
    ).encode()
    write_atomically(path, lambda unfinished: unfinished.write_bytes(page))
    return f"wrote {path} ({len(page) / 1000:.0f} kB): open it in a browser"
