"""View model of a game, independent of game and renderer.

It is printed as text here, and drawn by `quincunx_env.render`. Each game builds a `Scene` of its state. A scene holds
no rules, and making one needs no graphics library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from quincunx_env.core.integers import check_integer
from quincunx_env.core.scoring import Part

Point = tuple[float, float]
"""(x, y) relative to the centre of an emblem, which extends from -1 to 1; y points down."""


class Disc(NamedTuple):
    """A filled circle in an emblem."""

    centre: Point
    radius: float
    cut: bool = False
    """Whether the shape is cut out of the emblem instead of added to it."""


class Polygon(NamedTuple):
    """A filled polygon in an emblem."""

    points: tuple[Point, ...]
    cut: bool = False


class Stroke(NamedTuple):
    """A thick line with round ends in an emblem."""

    points: tuple[Point, ...]
    width: float
    cut: bool = False


class Suit(NamedTuple):
    """Appearance of a suit. Suits differ in shape and in colour, so that either is enough."""

    name: str
    letter: str
    colour: tuple[int, int, int]
    """RGB, on the light background of a card."""
    terminal: int
    """Colour number in a terminal of 256 colours, readable on black and on white."""
    emblem: tuple[Disc | Polygon | Stroke, ...]


class Face(NamedTuple):
    """Appearance of a card."""

    name: str
    """Its name in text: ``2MK``, ``TH``."""
    rank: str
    """The large print: ``2``, ``10``."""
    suits: tuple[Suit, ...]
    note: str = ""
    """The small print."""
    words: str = ""
    """The card in words: ``7 of Waves and Wyrms``."""


def in_words(rank: str, suits: Sequence[Suit]) -> str:
    """Return a card in words, from its rank and its suits: ``7 of Waves and Wyrms``."""
    names = [suit.name for suit in suits]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return f"{rank} of {listed}" if names else rank


class Seat(NamedTuple):
    """A seat with score and hand, as the observing seat sees it."""

    name: str
    score: int
    """Points in the whole game so far."""
    hand_size: int
    """Number of cards held."""
    cards: tuple[int, ...] | None
    """Ids of the cards held; None if they are hidden from the observing seat."""
    to_move: bool
    """Whether it is to move."""
    won: bool = False


class ScoredPlay(NamedTuple):
    """A card in a cell, and its points, scored or possible."""

    title: str
    """The play in words: seat, card and cell."""
    card: int
    cell: int
    parts: tuple[Part, ...]
    scored: bool = True
    """Whether its points are known and shown now."""

    @property
    def points(self) -> int:
        """Sum of the parts."""
        return sum(part.points for part in self.parts)

    @property
    def draws(self) -> int:
        """Cards drawn."""
        return sum(part.draws for part in self.parts)


def place_name(row: int, column: int) -> str:
    """Name a place for people: B3 is column B, row 3."""
    return f"{chr(ord('A') + column)}{row + 1}"


class Example(NamedTuple):
    """A play that shows a rule."""

    text: str
    """The rule in a sentence."""
    rows: Sequence[str]
    """Cards by row, ``.`` for an empty cell; the card that is played has an asterisk."""
    points: int
    draws: int = 0


@dataclass(frozen=True)
class Scene:
    """A game as observed by one seat, or with all hands open."""

    title: str
    """Name and options of the game."""
    faces: Sequence[Face]
    """Appearance of each card, by its id."""
    side: int
    """Cells of a row; cells are numbered row by row."""
    rows: range
    columns: range
    """The part of the grid that is shown."""
    max_side: int
    """Most rows and columns that the scene of this game can ever show; pictures are laid out for this number."""
    board: Mapping[int, int]
    """Card ids by cell; other cells are empty."""
    legal: frozenset[int]
    """Cells in which a card may be played."""
    face_down: bool
    """Whether empty cells show face-down cards."""
    seats: Sequence[Seat]
    seat: int | None
    """The observing seat; None shows all hands."""
    mover: int
    pile: int | None = None
    """Cards left to draw; None where there is no pile."""
    last: ScoredPlay | None = None
    """The last play of the round."""
    pending: ScoredPlay | None = None
    """Simpleton: the play whose points are to be announced."""
    rows_score: Mapping[int, int] = field(default_factory=dict)
    """Points by row, where rows score."""
    columns_score: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Lines about the progress of the game."""
    lettered: bool = False
    """Whether places are called as in chess, ``B3``, instead of by (row, column) from 0."""

    def text(self, colour: bool = False) -> str:
        """Return the scene as lines of text, readable without colour.

        The last card played is in brackets. With ``colour`` the suits have terminal escape sequences.
        """
        width = max(3, *(len(face.name) for face in self.faces)) + 1
        lines = ["     " + "".join(f"{self.column_name(column):<{width}}" for column in self.columns)]
        lines += [f"{self.row_name(row):>3} " + self._row(row, width, colour) for row in self.rows]
        room = max(len(seat.name) for seat in self.seats) + 1 if self.lettered else 0
        for seat in self.seats:
            hand = f"{seat.hand_size} cards" if seat.cards is None else " ".join(self._names(seat.cards, colour))
            lines.append(
                f"{'>' if seat.to_move else ' '} {seat.name + ':':<{room}} {seat.score:>4} points, hand: {hand}"
            )
        if self.pile is not None:
            lines.append(f"  pile: {self.pile} cards")
        if self.last:
            lines.append(f"  last: {self.last.title}{self._score(self.last)}")
        if self.pending:
            lines.append(f"  announcing {self.pending.title}")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(line.rstrip() for line in lines)

    @property
    def shown(self) -> int:
        """The seat whose hand is shown large: the observing seat, or the seat to move if all hands are open."""
        return self.mover if self.seat is None else self.seat

    def place(self, cell: int) -> tuple[int, int]:
        """Return (row, column) of a cell.

        Raises:
            ValueError: if there is no such cell.
        """
        return divmod(check_integer("cell", cell, 0, self.side**2 - 1), self.side)

    def row_name(self, row: int) -> str:
        """Return the label of a row."""
        return str(row + self.lettered)

    def column_name(self, column: int) -> str:
        """Return the label of a column."""
        return chr(ord("A") + column) if self.lettered else str(column)

    def place_name(self, cell: int) -> str:
        """Return the name of a cell: ``B3`` or ``(2, 1)``."""
        row, column = self.place(cell)
        return place_name(row, column) if self.lettered else f"({row}, {column})"

    def _row(self, row: int, width: int, colour: bool) -> str:
        text = " "
        for column in self.columns:
            cell = row * self.side + column
            card = self.board.get(cell)
            played = self.last is not None and cell == self.last.cell
            plain = self._empty(cell) if card is None else self.faces[card].name
            shown = plain if card is None else self._names([card], colour)[0]
            if played:
                text = text[:-1] + "["
            text += shown + ("]" if played else " ") + " " * (width - 1 - len(plain))
        return text

    def _empty(self, cell: int) -> str:
        if self.face_down:
            return "()" if cell in self.legal else "."
        return "." if cell in self.legal else " "

    def _names(self, cards: Sequence[int], colour: bool) -> list[str]:
        faces = [self.faces[card] for card in cards]
        return [coloured(face) if colour else face.name for face in faces]

    def _score(self, play: ScoredPlay) -> str:
        if not play.scored:
            return ""
        points = f": {play.points} points"
        draws = f" and {play.draws} draw{'s' * (play.draws > 1)}" if play.draws else ""
        return points + draws + "".join(f"\n    {line}" for line in self.sums(play))

    def sums(self, play: ScoredPlay) -> list[str]:
        """Return a line of text for each kind of part, such as ``basic +4 (0, 1), +9 (1, 2)``."""
        names = dict.fromkeys(part.name for part in play.parts)
        return [f"{name} " + ", ".join(self._part(part) for part in play.parts if part.name == name) for name in names]

    def _part(self, part: Part) -> str:
        cells = " ".join(map(self.place_name, part.cells))
        return f"{part.points:+} {cells}" if not part.draws else cells


def earlier_rounds(name: str, number: int, totals: Sequence[int], scores: Sequence[int]) -> list[str]:
    """Return a note on the rounds before this one, from what observations have; none in the first.

    Args:
        name: what the game calls a round.
        number: of this round, from 0.
        totals: points of each seat, this round included.
        scores: points of each seat in this round.
    """
    points = " ".join(str(total - score) for total, score in zip(totals, scores, strict=True))
    return [f"{name} 1: {points} points" if number == 1 else f"{name}s 1 to {number}: {points} points"] * (number > 0)


def coloured(face: Face) -> str:
    """Return a card's name with coloured suit letters, for a terminal."""
    rank = face.name[: len(face.name) - len(face.suits)]
    letters = (f"\033[38;5;{suit.terminal}m{suit.letter}" for suit in face.suits)
    return f"\033[1m{rank}{''.join(letters)}\033[0m"
