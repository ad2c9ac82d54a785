"""Play line by line on standard input and output.

This needs no library and works over SSH.

>>> from quincunx_env import Rules
>>> from quincunx_env.notation.record import Seeded
>>> console = Console(Session(Rules(), [None], Seeded(0), "greedy"), Path("game.txt"))
>>> console.answer("scores cs")  # doctest: +ELLIPSIS
CS: +5 and 1 draw at C1 D2 A3 B4; +3 at D3 C4; ...
>>> console.answer("CS E1")  # doctest: +ELLIPSIS
E1 is off the grid, which ends at D4; ...
"""

import re
from collections import defaultdict
from itertools import islice
from pathlib import Path

from quincunx_env.core.game import SomeGame
from quincunx_env.core.scene import Scene
from quincunx_env.notation.text import print_action
from quincunx_env.play.review import expected, result_in_words
from quincunx_env.play.session import HINTS, Session, level_of
from quincunx_env.registry import spec_of
from quincunx_env.render import in_colour
from quincunx_env.render.words import for_people, scene_for_people
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
        print(f"{spec.scene(session.game).title}: {', '.join(session.called)}")
        for play in islice(spec.notation.legal_plays(session.game), 1):
            example = self._said(print_action(session.game, play))
            print(f"Write a play, such as {example}, or a command: {', '.join(COMMANDS)}.")
        try:
            while session.mover is not None:
                if session.human_to_move or not self._let_agent_play():
                    self._ask()
        except (EOFError, KeyboardInterrupt):
            print()
        if end := session.ending:
            print(f"\n{self._scene(session.game).text(in_colour())}\n{end.headline}")

    def _said(self, text: object) -> str:
        """Return a text with names of players and places."""
        return for_people(str(text), self.session.called)

    def _scene(self, game: SomeGame, seat: int | None = None) -> Scene:
        return scene_for_people(spec_of(game.rules).scene(game, seat), self.session.called)

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
        print(self._said(self.session.play(action)))
        self._save()

    def _save(self) -> None:
        """Save the game; print a warning where that fails, and go on."""
        try:
            self.session.save(self.path)
        except OSError as error:
            print(f"the game cannot be saved to {self.path}: {error.strerror or error}")

    # --- Input -------------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Show the position, and read lines until one has changed it."""
        session, number = self.session, len(self.session.turns)
        scene = self._scene(session.game, session.seat)
        print(f"\n{scene.text(in_colour())}")
        mover = scene.mover if session.mover is None else session.mover
        prompt = f"points of {scene.pending.title}? " if scene.pending else f"{session.called[mover]}: "
        while len(session.turns) == number:
            self.answer(_read(prompt))

    def answer(self, line: str) -> None:
        """Follow a command or take a play, in letters of either case; where that is impossible, print a line.

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
                    self._play(self.session.parse(_as_recorded(line.upper())))
        except ValueError as error:
            print(self._said(" ".join(str(error).split())))

    # --- Commands ----------------------------------------------------------------------------------------------------

    def _hint(self) -> None:
        """Print the plays that the adviser prefers, each with the other cells in which it is the same play."""
        session = self.session
        scene = self._scene(session.game)
        adviser = session.adviser and level_of(session.rules, session.adviser)
        print(f"{adviser} prefers:" if adviser else "most points at once:")
        try:
            hints = [*islice(session.hints(), HINTS)]
            results = expected(session.game, session.adviser, *(hint.action for hint in hints))
            for number, hint in enumerate(hints, 1):
                also = " ".join(map(scene.place_name, hint.others))
                ends = f"; {result_in_words(session.game, results[hint.action])}" if hint.action in results else ""
                print(f"{number}. {self._said(hint)}{f'; also {also}' if also else ''}{ends}")
        except Exception as error:  # agents of other packages may raise anything
            print(printable(f"{type(error).__name__}: {error}"))

    def _scores(self, name: str) -> None:
        """Print points and draws of the legal plays of a card, or without a name of all cards in the hand."""
        session = self.session
        faces = spec_of(session.rules).scene(session.game).faces
        hand = {faces[card].name: card for card in session.game.hand(session.game.mover)}
        if name and name.upper() not in hand:
            raise ValueError(f"{name!r} is not in the hand, which holds {' '.join(hand)}")
        scored = [self._score(card, text) for text, card in hand.items() if name.upper() in ("", text)]
        print("\n".join(filter(None, scored)) or "no play scores now")

    def _score(self, card: int, name: str) -> str:
        """List the cells of a card by points and draws, descending. The text may be empty."""
        scene, cells = self._scene(self.session.game), defaultdict(list)
        for cell, play in self.session.scores(card).items():
            cells[play.points, play.draws].append(scene.place_name(cell))
        texts = []
        for points, draws in sorted(cells, reverse=True):
            drawn = f" and {draws} draw{'s' * (draws > 1)}" if draws else ""
            texts.append(f"{f'{points:+}' if points else '0'}{drawn} at {' '.join(cells[points, draws])}")
        return f"{name}: {'; '.join(texts)}" if texts else ""


def _as_recorded(line: str) -> str:
    """Return a line with its place as in records: ``CS B3`` becomes ``CS (2, 1)``."""
    line = re.sub(r" ([A-J])([1-9])\s*$", lambda place: f" ({int(place[2]) - 1}, {ord(place[1]) - ord('A')})", line)
    return line.replace("ANNOUNCE", "announce")


def _read(prompt: str) -> str:
    """Read a line. A line in a foreign encoding counts as a call for help."""
    try:
        return input(prompt)
    except UnicodeDecodeError:
        return "?"
