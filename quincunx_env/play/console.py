"""Play line by line on standard input and output.

This needs no library and works over SSH.

>>> from quincunx_env import Rules
>>> from quincunx_env.notation.record import Seeded
>>> console = Console(Session(Rules(), [None], Seeded(0), "greedy"), Path("game.txt"))
>>> console.answer("scores cs")  # doctest: +ELLIPSIS
CS: +5 and 1 draw at (0, 2) (1, 3) (2, 0) (3, 1); +3 at (2, 3) (3, 2); ...
>>> console.answer("CS (9, 9)")  # doctest: +ELLIPSIS
(9, 9) is off the grid: rows and columns run from 0 to 3; ...
"""

from collections import defaultdict
from itertools import islice
from pathlib import Path

from quincunx_env import render
from quincunx_env.notation.text import print_action
from quincunx_env.play.session import HINTS, Session
from quincunx_env.registry import spec_of
from quincunx_env.utils.errors import printable

COMMANDS = {
    "hint": "the plays that the adviser prefers",
    "scores": "points and draws of every play, or of a card: scores CARD",
    "undo": "go back to your last decision",
    "rules": "the rules in short",
    "help": "this list",
    "quit": "end the program; the game can be continued",
}
"""The commands and their meanings."""

SHORT = {"?": "help"} | {name[0]: name for name in COMMANDS if name != "help"}
"""Commands by the letter that stands for them."""


class Console:
    """A game in progress, saved to a file after every play."""

    def __init__(self, session: Session, path: Path) -> None:
        self.session, self.path = session, path

    def run(self) -> None:
        """Play until the game is over or the input ends. An interrupt ends the input, too."""
        session, spec = self.session, spec_of(self.session.rules)
        players = ", ".join(f"seat {seat} {name}" for seat, name in enumerate(session.names))
        print(f"{spec.scene(session.game).title}: {players}")
        for play in islice(spec.notation.legal_plays(session.game), 1):
            example = print_action(session.game, play)
            print(f"Write a play, such as {example}, or a command: {', '.join(COMMANDS)}.")
        try:
            while session.mover is not None:
                if session.human_to_move or not self._let_agent_play():
                    self._ask()
        except (EOFError, KeyboardInterrupt):
            print()
        if end := session.ending:
            print(f"\n{render.text(session.game)}\n{end.headline}")

    def _let_agent_play(self) -> bool:
        """Let the agent to move play; return whether it could."""
        try:
            action = self.session.choose()
        except Exception as error:  # agents of other packages may raise anything
            print(printable(f"{type(error).__name__}: {error}. The game is kept in {self.path}."))
            return False
        self._play(action)
        return True

    def _play(self, action: int) -> None:
        print(self.session.play(action))
        self._save()

    def _save(self) -> None:
        """Save the game; print a warning where that fails, and go on."""
        try:
            self.session.save(self.path)
        except OSError as error:
            print(f"the game cannot be saved to {self.path}: {error}")

    # --- Input -------------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Show the position, and read lines until one has changed it."""
        session, number = self.session, len(self.session.turns)
        print(f"\n{render.text(session.game, session.seat)}")
        pending = spec_of(session.rules).scene(session.game, session.seat).pending
        prompt = f"points of {pending.title}? " if pending else f"seat {session.mover}: "
        while len(session.turns) == number:
            self.answer(_read(prompt))

    def answer(self, line: str) -> None:
        """Follow a command or take a play, in letters of either case.

        Where that is impossible, print a line.

        Raises:
            EOFError: on the command that ends the program.
        """
        word, *rest = line.split() or [""]
        command = SHORT.get(word.lower(), word.lower())
        try:
            match command:
                case "":
                    pass
                case "undo":
                    self.session.undo()
                    self._save()
                case "rules":
                    print(*spec_of(self.session.rules).rules_card(self.session.rules), sep="\n")
                case "help":
                    print(*(f"{name:<7} {text}" for name, text in COMMANDS.items()), sep="\n")
                case "quit":
                    raise EOFError
                case _ if not self.session.human_to_move:
                    print("it is not your turn: undo, or quit")
                case "hint":
                    self._hint()
                case "scores":
                    self._scores(" ".join(rest))
                case _:
                    self._play(self.session.parse(line.upper().replace("ANNOUNCE", "announce")))
        except ValueError as error:
            print(" ".join(str(error).split()))

    # --- Commands ----------------------------------------------------------------------------------------------------

    def _hint(self) -> None:
        """Print the plays that the adviser prefers. Each has the other cells in which it is the same play."""
        session = self.session
        scene = spec_of(session.rules).scene(session.game)
        print(f"{session.adviser} prefers:" if session.adviser else "most points at once:")
        try:
            for number, hint in enumerate(islice(session.hints(), HINTS), 1):
                also = " ".join(str(scene.place(cell)) for cell in hint.others)
                print(f"{number}. {hint}{f'; also {also}' if also else ''}")
        except Exception as error:  # agents of other packages may raise anything
            print(printable(f"{type(error).__name__}: {error}"))

    def _scores(self, name: str) -> None:
        """Print points and draws of the legal plays of a card. Without a name, print them for all cards in the hand."""
        session = self.session
        faces = spec_of(session.rules).scene(session.game).faces
        hand = {faces[card].name: card for card in session.game.hand(session.game.mover)}
        if name and name.upper() not in hand:
            raise ValueError(f"{name!r} is not in the hand, which holds {' '.join(hand)}")
        scored = [self._score(card, text) for text, card in hand.items() if name.upper() in ("", text)]
        print("\n".join(filter(None, scored)) or "no play scores now")

    def _score(self, card: int, name: str) -> str:
        """List the cells of a card by points and draws, descending. The text may be empty."""
        scene, cells = spec_of(self.session.rules).scene(self.session.game), defaultdict(list)
        for cell, play in self.session.scores(card).items():
            cells[play.points, play.draws].append(str(scene.place(cell)))
        texts = []
        for points, draws in sorted(cells, reverse=True):
            drawn = f" and {draws} draw{'s' * (draws > 1)}" if draws else ""
            texts.append(f"{f'{points:+}' if points else '0'}{drawn} at {' '.join(cells[points, draws])}")
        return f"{name}: {'; '.join(texts)}" if texts else ""


def _read(prompt: str) -> str:
    """Read a line. A line in a foreign encoding counts as a call for help."""
    try:
        return input(prompt)
    except UnicodeDecodeError:
        return "?"
