"""Play alone or against agents, in browser or terminal.

Without options of a game a start page in the browser offers the choices. In the terminal the solitaire begins.

    quincunx play
    quincunx play --num-players 2 --opponents greedy
    quincunx play --game spiral --spiral.deals 1
    quincunx play --resume runs/play/20260101-120000.txt
    quincunx play --terminal
    quincunx play --terminal --num-players 3 --start open

Every play is saved at once; an interrupted game is resumed from its file. The page comes from this program, which
listens on this machine only. On a remote machine forward its port, as in `ssh -L 8017:localhost:8017 machine`, and
open the link that it prints.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from quincunx_env.cli.options import GameOptions, Trained
from quincunx_env.cli.parser import parse
from quincunx_env.core.policy import Agent
from quincunx_env.notation.record import HUMAN, Record, Seeded
from quincunx_env.play.console import Console
from quincunx_env.play.session import (
    Session,
    adviser_name,
    new_path,
    recorded_players,
    resuming,
    seat_players,
    unregistered,
)
from quincunx_env.policies import ModelOptions, display_name, load_path
from quincunx_env.registry import DEFAULT_GAME, GAMES
from quincunx_env.utils.errors import one_line_errors, require_writable, requires_extra


@dataclass(kw_only=True)
class Arguments(GameOptions):
    """Game, players and files."""

    opponents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="POLICY ...")] = ()
    """one for all other seats, or one for each, beginning with the seat after yours: names of registered policies,
    `module:attribute`, paths of files, or `human`. With --resume: for the seats whose players in the file are not
    registered policies, in the same order"""
    seat: int = 0
    """your seat"""
    seed: int | None = None
    """seed of the deal; random by default"""
    adviser: Annotated[str | None, tyro.conf.arg(metavar="POLICY")] = None
    """the agent that gives hints, named as an opponent"""
    trust: bool = False
    """load models of stable-baselines3, too, which executes any code in them. With --resume also let the file name any
    policies, which executes their code"""
    trained: Trained = field(default_factory=ModelOptions)
    resume: Path | None = None
    """continue a game from its file"""
    out: Path = Path("runs/play")
    """directory of the files of games"""
    terminal: bool = False
    """play line by line in the terminal, not in the browser"""
    browser: bool = True
    """open the link in the browser; it is printed, too"""
    port: int | None = None
    """port of the page; 8017 by default, or a free one if another program has it"""
    host: str = "127.0.0.1"
    """address on which the page is offered; others than the default let other machines play, with the link"""
    allow_host: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """additional allowed Host headers, such as the name of a proxy"""

    def __post_init__(self) -> None:
        if self.port is not None and not 0 <= self.port < 2**16:
            raise ValueError(f"--port is a number from 0 to {2**16 - 1}, got {self.port}")
        if "*" in "".join(self.allow_host):
            raise ValueError(f"--allow-host takes whole names, got {' '.join(self.allow_host)}")
        given = self.seat or self.seed is not None or self.chosen_rules != GAMES[DEFAULT_GAME].Rules()
        if self.resume and given:
            raise ValueError("the file has rules, deal and players: leave out --resume, or these options")
        if self.opponents and not self.resume and self.chosen_rules.num_players == 1:
            raise ValueError("the solitaire has no --opponents: add --num-players 2")

    def begin(self) -> Session:
        """Return the game to play."""
        if self.resume:
            return self._resumed(Record.read(self.resume), self.resume)
        rules = self.chosen_rules
        players = seat_players(rules, self.seat, [self._agent(name) for name in self.opponents])
        dealt = None if self.seed is None else Seeded(self.seed)
        return Session(rules, players, dealt, adviser_name(rules, self.chosen_adviser))

    def _resumed(self, record: Record, path: Path) -> Session:
        """Load a game from a file, which never chooses code."""
        names = unregistered(record)
        if names and not self.opponents and not self.trust:
            raise ValueError(
                f"{path} was played by {', '.join(names)}, and a file never chooses code; if you know these policies: "
                f"quincunx play {resuming(record, path)}"
            )
        players = recorded_players(record, [self._agent(name) for name in self.opponents or names])
        return Session.resume(record, players, adviser_name(record.rules, self.chosen_adviser))

    @property
    def chosen_adviser(self) -> Agent | str | None:
        """The adviser, loaded if it is a file."""
        return None if self.adviser is None else self._agent(self.adviser)

    @property
    def named_opponents(self) -> dict[str, Agent | str]:
        """The opponents by name, loaded if they are files."""
        return {display_name(agent): agent for agent in map(self._agent, self.opponents)}

    def _agent(self, name: str) -> Agent | str:
        return name if name == HUMAN else load_path(name, self.trust, self.trained)


def main(name: str, arguments: Sequence[str]) -> None:
    """Run the command."""
    chosen = parse(Arguments, f"quincunx {name}", __doc__, arguments)
    with one_line_errors(ValueError):
        chosen.refuse_other_game(arguments)
        begin = chosen.begin() if chosen.terminal or _names_game(arguments) else None
        require_writable(chosen.out)
        chosen.out.mkdir(parents=True, exist_ok=True)  # where every play is saved
    if not chosen.terminal:
        _in_browser(begin, chosen)
    elif begin is not None:
        _in_terminal(begin, chosen)


def _names_game(arguments: Sequence[str]) -> bool:
    """Return whether a command line has options of a game, so that no start page is needed."""
    about_page = {"terminal", "no-terminal", "browser", "no-browser", "port", "host", "allow-host", "out"}
    about_page |= {f"{no}{name.replace('_', '-')}" for name in ("trust", *asdict(ModelOptions())) for no in ("", "no-")}
    flags = {argument.partition("=")[0].replace("_", "-") for argument in arguments if argument.startswith("--")}
    return bool(flags - {f"--{name}" for name in about_page})


def _in_terminal(begin: Session, chosen: Arguments) -> None:
    """Play line by line, and print how to go on."""
    with one_line_errors():  # SIGTERM ends the program as Ctrl-C does
        path = chosen.resume or new_path(chosen.out)
        Console(begin, path).run()
    if path.exists():
        again, shown = resuming(begin.record, path), shlex.quote(str(path))
        print(f"Continue or replay this game:\n\n    quincunx play --terminal {again}\n    quincunx replay {shown}")


def _in_browser(begin: Session | None, chosen: Arguments) -> None:
    """Offer the page until the program is interrupted."""
    with requires_extra("play"):
        from quincunx_env.play.web.server import is_loopback, listen, offer
        from quincunx_env.play.web.tables import Games
    page = ""
    with one_line_errors(ValueError):
        games = Games(chosen.out, chosen.chosen_adviser, named=chosen.named_opponents)
        if not is_loopback(chosen.host) and not chosen.allow_host:
            raise ValueError(f"--host {chosen.host} needs --allow-host NAME, the name in the address of the page")
        if begin is not None:
            page = f"game/{games.start(begin, chosen.resume).name}"
        listening = listen(chosen.host, chosen.port)
    offer(games, listening, page, chosen.allow_host, chosen.browser)
