"""Play against agents, or look at a game that was played. Without flags a screen asks what to play.

    python -m quincunx_env.play
    python -m quincunx_env.play --num-players 2 --opponents greedy
    python -m quincunx_env.play --window --num-players 3 --start open
    python -m quincunx_env.play --game spiral --spiral.deals 1
    python -m quincunx_env.play --resume runs/play/20260101-120000.txt
    python -m quincunx_env.play --replay runs/play/20260101-120000.txt
    python -m quincunx_env.play --window --replay runs/play/20260101-120000.txt

Every play is saved at once: after an interruption the game is resumed from its file.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

try:
    import tyro
except ModuleNotFoundError as error:
    sys.exit(f'error: playing needs {error.name}: pip install "quincunx_env[play]"')

from quincunx_env.notation.record import Record, Seeded
from quincunx_env.play.session import Session, adviser_of, free_path, seated, seated_again
from quincunx_env.quincunx.rules import Rules
from quincunx_env.spiral.rules import Rules as SpiralRules

PROGRAM = "python -m quincunx_env.play"


@dataclass(kw_only=True)
class Arguments:
    """What to play, and against whom."""

    rules: Annotated[Rules, tyro.conf.arg(name="")] = field(default_factory=Rules)
    game: Literal["quincunx", "spiral"] = "quincunx"
    """which game; options of the spiral game begin with ``--spiral``, the other options of rules are of Quincunx"""
    spiral: SpiralRules = field(default_factory=SpiralRules)
    opponents: tuple[str, ...] = ()
    """one for all other seats, or one for each that follows yours: short names (in a checkout), ``module:attribute``,
    or ``human``"""
    seat: int = 0
    """yours"""
    seed: int | None = None
    """of the deal; a new one by default"""
    adviser: str | None = None
    """the agent that gives hints"""
    resume: Path | None = None
    """go on with a game from its file"""
    replay: Path | None = None
    """look at a game from its file"""
    window: bool = False
    """play, or look, with the mouse, in a window"""
    out: Path = Path("runs/play")
    """directory of the games"""

    def begin(self) -> Session | Record:
        """What is to be shown."""
        if self.replay:
            return Record.read(self.replay)
        if self.resume:
            record = Record.read(self.resume)
            return Session.resume(record, seated_again(record), adviser_of(record.rules, self.adviser))
        rules = self.rules if self.game == "quincunx" else self.spiral
        players = seated(rules, self.seat, self.opponents)
        dealt = None if self.seed is None else Seeded(self.seed)
        return Session(rules, players, dealt, adviser_of(rules, self.adviser))


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line, or ``arguments`` instead of it, says."""
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = tyro.cli(Arguments, prog=PROGRAM, description=__doc__, args=arguments)
    try:
        begin = chosen.begin() if arguments else None
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    path = _in_window(begin, chosen) if chosen.window else _in_terminal(begin, chosen)
    if path and path.exists():
        print(f"Go on with this game, or look at it:\n\n    {PROGRAM} --resume {path}\n    {PROGRAM} --replay {path}")


def _in_terminal(begin: Session | Record | None, chosen: Arguments) -> Path | None:
    """Show it, and return the file of the last game."""
    try:
        from quincunx_env.play.terminal import Terminal
    except ModuleNotFoundError as error:
        sys.exit(f'error: playing in the terminal needs {error.name}: pip install "quincunx_env[play]"')
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        sys.exit("error: playing needs a terminal")
    terminal = Terminal(begin, chosen.out, chosen.resume)
    terminal.run()
    return terminal.path


def _in_window(begin: Session | Record | None, chosen: Arguments) -> Path | None:
    """Show it, and return the file of the last game."""
    try:
        from quincunx_env.play.window import Replay, Table
    except ModuleNotFoundError as error:
        sys.exit(f'error: playing in a window needs {error.name}: pip install "quincunx_env[play,render]"')
    assert begin is not None  # --window is an argument, and with arguments there is nothing left to ask
    try:
        if isinstance(begin, Record):
            Replay(begin).run()
            return None
        table = Table(begin, chosen.resume or free_path(chosen.out), lambda: free_path(chosen.out))
    except RuntimeError as error:
        sys.exit(f"error: {error}")
    table.run()
    return table.path


if __name__ == "__main__":
    main()
