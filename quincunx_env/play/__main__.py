"""Play against agents, or replay a recorded game. Without flags a start screen offers the choices.

    quincunx play
    quincunx play --num-players 2 --opponents greedy
    quincunx play --window --num-players 3 --start open
    quincunx play --game spiral --spiral.deals 1
    quincunx play --resume runs/play/20260101-120000.txt
    quincunx play --replay runs/play/20260101-120000.txt
    quincunx play --window --replay runs/play/20260101-120000.txt

Every play is saved at once; an interrupted game is resumed from its file.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

from quincunx_env.core.command_line import fail, one_line_errors, parse, refuse_other_game, requires_extra
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.play.session import Session, adviser_name, default_agent, new_path, recorded_players, seat_players
from quincunx_env.quincunx.rules import Rules
from quincunx_env.spiral.rules import Rules as SpiralRules

with requires_extra("play"):
    import tyro

PROGRAM = "python -m quincunx_env.play"


@dataclass(kw_only=True)
class Arguments:
    """Game, players and files."""

    rules: Annotated[Rules, tyro.conf.arg(name="")] = field(default_factory=Rules)
    game: Literal["quincunx", "spiral"] = "quincunx"
    """the game; options of the spiral game begin with ``--spiral``, the other options of rules belong to Quincunx"""
    spiral: SpiralRules = field(default_factory=SpiralRules)
    opponents: tuple[str, ...] = ()
    """one for all other seats, or one for each, beginning with the seat after yours: names of registered policies,
    ``module:attribute``, or ``human``"""
    seat: int = 0
    """your seat"""
    seed: int | None = None
    """seed of the deal; random by default"""
    adviser: str | None = None
    """the agent that gives hints, named as an opponent"""
    resume: Path | None = None
    """continue a game from its file"""
    replay: Path | None = None
    """replay a game from its file"""
    window: bool = False
    """play or replay in a window, with the mouse"""
    out: Path = Path("runs/play")
    """directory of the files of games"""

    def begin(self) -> Session | Record:
        """The game to play or the record to replay."""
        if self.replay:
            return Record.read(self.replay)
        if self.resume:
            record = Record.read(self.resume)
            self._warn(record.rules, needed=self.adviser is None)
            return Session.resume(record, recorded_players(record), adviser_name(record.rules, self.adviser))
        rules = self.rules if self.game == "quincunx" else self.spiral
        self._warn(rules, needed=not self.opponents or self.adviser is None)
        players = seat_players(rules, self.seat, self.opponents)
        dealt = None if self.seed is None else Seeded(self.seed)
        return Session(rules, players, dealt, adviser_name(rules, self.adviser))

    @staticmethod
    def _warn(rules: BaseRules, needed: bool) -> None:
        """Print a line if the default agent is needed and another one takes its place."""
        if needed and (problem := default_agent(rules).problem):
            print(f"warning: {problem}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> None:
    """Run the command line, or ``arguments`` in place of it; ``program`` precedes them in what is printed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parse(Arguments, program, __doc__, arguments)
    with one_line_errors(ValueError):
        refuse_other_game(chosen.game, arguments, [option.name for option in fields(Rules)])
        begin = chosen.begin() if arguments else None
        if not chosen.replay:
            chosen.out.mkdir(parents=True, exist_ok=True)  # where every play is saved
    path = _in_window(begin, chosen) if chosen.window else _in_terminal(begin, chosen)
    if path and path.exists():
        print(f"Continue or replay this game:\n\n    {program} --resume {path}\n    {program} --replay {path}")


def _in_terminal(begin: Session | Record | None, chosen: Arguments) -> Path | None:
    """Run the terminal interface, and return the file of the last game."""
    try:
        from quincunx_env.play.terminal import Terminal
    except ModuleNotFoundError as error:
        fail(f'playing in the terminal needs {error.name}: pip install "quincunx_env[play]"')
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        fail("playing needs a terminal")
    terminal = Terminal(begin, chosen.out, chosen.resume)
    terminal.run()
    return terminal.path


def _in_window(begin: Session | Record | None, chosen: Arguments) -> Path | None:
    """Run the graphical interface, and return the file of the last game."""
    try:
        from quincunx_env.play.window import PlayWindow, ReplayWindow
    except ModuleNotFoundError as error:
        fail(f'playing in a window needs {error.name}: pip install "quincunx_env[play,render]"')
    assert begin is not None  # --window is an argument, and with arguments no start screen is needed
    try:
        if isinstance(begin, Record):
            ReplayWindow(begin).run()
            return None
        window = PlayWindow(begin, chosen.resume or new_path(chosen.out), lambda: new_path(chosen.out))
    except RuntimeError as error:
        fail(error)
    window.run()
    return window.path


if __name__ == "__main__":
    main()
