"""Print a game play by play, or write a page with it.

The parts of every score are shown.

    quincunx replay runs/play/20260101-120000.txt
    quincunx replay mine.npz --game 0 1 --html replay.html
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from quincunx_env.arena.explanation import explain
from quincunx_env.cli.options import Trained, Trust
from quincunx_env.cli.parser import parse
from quincunx_env.core.policy import Agent
from quincunx_env.notation.record import Record
from quincunx_env.play.replay import read_games, transcript
from quincunx_env.policies import ModelOptions, display_name, load_path
from quincunx_env.render.replay_page import replay_page
from quincunx_env.utils.errors import one_line_errors, require_writable_path
from quincunx_env.utils.files import write_atomically


@dataclass(kw_only=True)
class Arguments:
    """Games and what is shown of them."""

    file: tyro.conf.Positional[Path]
    """game record, as `quincunx play` writes it, or file of games of `evaluate --records`"""
    game: Annotated[tuple[int, ...], tyro.conf.arg(metavar="NUMBER ...")] = ()
    """numbers of the games in a file of games, from 0; the first by default"""
    seat: int | None = None
    """show the hand of this seat only; all hands by default"""
    positions: bool = False
    """show the position after every action"""
    html: Path | None = None
    """write a page for a browser, which needs no network"""
    values: Annotated[str | None, tyro.conf.arg(metavar="POLICY")] = None
    """with --html: show this agent's values of the plays"""
    trust: Trust = False
    trained: Trained = field(default_factory=ModelOptions)


def main(name: str, arguments: Sequence[str]) -> None:
    """Print the games, or write the page."""
    options = parse(Arguments, f"quincunx {name}", __doc__, arguments)
    with one_line_errors(ValueError):
        if options.html and options.positions:
            raise ValueError("--html shows every position: leave out --positions")
        if options.values and not options.html:
            raise ValueError("--values needs --html")
        if options.html and (options.html.is_dir() or options.html.resolve() == options.file.resolve()):
            raise ValueError(f"--html must name a separate file, such as game.html, got {options.html}")
        if options.html:
            require_writable_path(options.html, "--html")
        games = read_games(options.file, options.game)
        agent = options.values and load_path(options.values, options.trust, options.trained)
        if not options.html:
            texts = [text for game in games for text in transcript(game, options.seat, options.positions)]
        else:
            texts = [_write_page(options.html, games, options.seat, agent)]
    print(*texts, sep="\n")


def _write_page(path: Path, games: Sequence[Record], seat: int | None, agent: Agent | str | None) -> str:
    """Write a page with a replay player; return a line about it."""
    page = replay_page(
        games,
        seat=seat,
        values=(lambda game: explain(agent, game)) if agent else None,
        valued_by=display_name(agent) if agent else "",
    ).encode()
    write_atomically(path, lambda unfinished: unfinished.write_bytes(page))
    return f"wrote {path} ({len(page) / 1000:.0f} kB): open it in a browser"
