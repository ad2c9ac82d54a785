"""Rules of Quincunx: options, set-ups and quantities that follow. The rules are RULES.md 1.1, 1.2, 1.5 and 1.6."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

from quincunx_env.core.integers import with_checked_names
from quincunx_env.core.rules import BaseRules, Decision, check_options, described, option
from quincunx_env.quincunx.cards import BASIC_DECK, CARDS, EXCUSE, MINI_DECK, PAWNS, RANKS
from quincunx_env.quincunx.grid import Grid, grid

Start = Literal["corners", "open"]

OPEN_SPAN = 5
"""Open start: most rows or columns that the cards in play may span."""


class Setup(NamedTuple):
    """Set-up of the table before the first play."""

    side: int
    """The grid has ``side`` x ``side`` cells. The open start has a 9x9 grid, on which a 5x5 square can grow in any
    direction around the first card in the middle."""
    face_up: tuple[tuple[int, int], ...]
    """(row, column) of the face-up cards, in reading order."""
    hand: int
    """Cards dealt to each player."""
    filled: int
    """Cards on the grid when the round ends."""


_FOUR = ((0, 0), (0, 4), (4, 0), (4, 4))
_FIVE = ((0, 0), (0, 4), (2, 2), (4, 0), (4, 4))
_MIDDLE = ((4, 4),)

SETUPS: dict[tuple[int, str], Setup] = {
    (1, "corners"): Setup(4, ((0, 0), (0, 3), (3, 0), (3, 3)), 8, 16),
    (2, "corners"): Setup(5, _FIVE, 10, 25),
    (3, "corners"): Setup(5, _FOUR, 7, 25),
    (4, "corners"): Setup(5, _FIVE, 6, 25),
    (2, "open"): Setup(9, _MIDDLE, 12, 25),
    (3, "open"): Setup(9, _MIDDLE, 8, 25),
    (4, "open"): Setup(9, _MIDDLE, 6, 25),
}
"""Setups by number of players and start."""

MINI_SETUPS = {
    1: Setup(3, ((0, 0), (0, 2), (2, 0), (2, 2)), 3, 9),
    2: Setup(3, ((0, 0), (0, 2), (1, 1), (2, 0), (2, 2)), 2, 9),
}
"""Setups of the mini variant, by number of players (ruling R16)."""

PLAY_POINTS_MIN, PLAY_POINTS_MAX = -36, 302
"""Bounds of the points of a single play."""

PLAY_DRAWS_MAX = 4
"""Most draws of a single play, one for each adjacent card (1.4.1)."""

ANNOUNCE_MIN, ANNOUNCE_MAX = -64, 319
"""Simpleton: least and greatest announcement, beyond the bounds of a play."""


@with_checked_names
@dataclass(frozen=True, repr=False)
class Rules(BaseRules):
    """The options of a game of Quincunx.

    Raises:
        ValueError: for an invalid option or combination of options; the message names the valid ones.
    """

    game: ClassVar[str] = "quincunx"
    """Name of the game, see `quincunx_env.registry.GAMES`."""
    num_players: int = option(1, "players", dict.fromkeys((1, 2, 3, 4), ""), "1 is the solitaire.")
    start: Start = option(
        "corners",
        "start",
        {
            "corners": "a 5x5 grid, corners dealt",
            "open": "one card, then each shares an edge with one in play, within 5x5",
        },
        "The solitaire starts from corners.",
    )
    edge_contact: bool = option(
        False, "edge contact", "a card must share an edge with a card in play", "Solitaire only (ruling R1)."
    )
    excuse: bool = option(False, "Excuse", "no suit, no rank; scores, draws and costs nothing", "Extended deck.")
    pawns: bool = option(
        False, "Pawns", "four cards worth 1, like Aces in low sums, between 9 and Crown in order", "Extended deck."
    )
    flush: bool = option(False, "flush bonus", "10 points for each line of 4+ and each 2x2 box sharing a suit")
    simpleton: bool = option(
        False,
        "Simpleton",
        "first announce your points; the next player gets what you miss, an excess is deducted",
        "Several players.",
    )
    match: bool = option(False, "match", "as many rounds as players, added up", "Several players.")
    mini: bool = option(
        False,
        "mini",
        "twelve cards on a 3x3 grid",
        "One or two players. Not of the sources; it is small enough to be solved (ruling R16).",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.num_players == 1:
            if self.start == "open":
                raise ValueError("start='open' needs 2 to 4 players; the solitaire's start is 'corners'")
            if self.simpleton:
                raise ValueError("simpleton=True needs 2 to 4 players: an opponent takes missing points (RULES.md 1.6)")
            if self.match:
                raise ValueError("match=True needs 2 to 4 players; a solitaire is a single round")
        elif self.edge_contact:
            raise ValueError(
                "edge_contact=True is an option of the solitaire (num_players=1); with several players "
                "start='open' requires contact and start='corners' has none"
            )
        if self.mini and (self.num_players > 2 or self.start == "open" or self.excuse or self.pawns):
            raise ValueError("mini=True needs 1 or 2 players, start='corners' and neither excuse nor pawns")

    def __repr__(self) -> str:
        return described(self)

    @cached_property
    def setup(self) -> Setup:
        """Grid, face-up cells and hand size."""
        return MINI_SETUPS[self.num_players] if self.mini else SETUPS[self.num_players, self.start]

    @cached_property
    def grid(self) -> Grid:
        """The grid."""
        return grid(self.setup.side)

    @cached_property
    def num_cells(self) -> int:
        """Length of every axis of cells."""
        return self.grid.num_cells

    @cached_property
    def face_up_cells(self) -> tuple[int, ...]:
        """Cells of the face-up cards, in reading order."""
        return tuple(map(self.grid.cell, self.setup.face_up))

    @cached_property
    def deck(self) -> tuple[int, ...]:
        """Ids of the cards in the deck, ascending."""
        if self.mini:
            return MINI_DECK
        return (*BASIC_DECK, *(PAWNS if self.pawns else ()), *((EXCUSE,) if self.excuse else ()))

    @cached_property
    def ranks(self) -> str:
        """The ranks in order, Ace low (1.4.3). R8: Pawns stand between 9 and Crown. R16: the mini variant has four."""
        in_deck = {CARDS[card].rank for card in self.deck}
        return "".join(rank for rank in RANKS if rank in in_deck).removesuffix("X")

    @cached_property
    def num_cards(self) -> int:
        """Length of every axis of cards. It is 36 for the basic deck, 41 with either extension."""
        return 41 if self.pawns or self.excuse else 36

    @cached_property
    def num_dealt(self) -> int:
        """A deal holds the whole deck."""
        return len(self.deck)

    @cached_property
    def hand_size(self) -> int:
        """Cards dealt to each seat."""
        return self.setup.hand

    @cached_property
    def pile_size(self) -> int:
        """Cards in the draw pile when play begins."""
        return self.num_dealt - len(self.face_up_cells) - self.num_players * self.hand_size

    @cached_property
    def num_plays(self) -> int:
        """Plays that fill the grid."""
        return self.setup.filled - len(self.face_up_cells)

    @cached_property
    def num_rounds(self) -> int:
        """Rounds of a game: one, or in a match one each player."""
        return self.num_players if self.match else 1

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """The actions of a play, in order. With Simpleton its points are announced (1.6)."""
        return ("play", "announce") if self.simpleton else ("play",)

    @cached_property
    def points_range(self) -> tuple[int, int]:
        """Bounds of a seat's points in a game, far from any reached.

        With Simpleton a seat loses, or the next one gains, what the announcement differs from the points of the play. A
        card left in hand costs at most 15.
        """
        plays = -(-self.num_plays // self.num_players) * self.num_rounds
        least, most = PLAY_POINTS_MIN, PLAY_POINTS_MAX
        if self.simpleton:
            least, most = 2 * least - ANNOUNCE_MAX, 2 * most - ANNOUNCE_MIN
        return plays * least - 15 * len(self.deck) * self.num_rounds, plays * most

    @cached_property
    def touching(self) -> bool:
        """Whether a card must share an edge with a card in play."""
        return self.edge_contact or self.start == "open"

    @cached_property
    def num_lines(self) -> int:
        """Number of ``LINES`` that count (R7). In the solitaire these are two, the row and the column (1.4)."""
        return 2 if self.num_players == 1 else 4

    @cached_property
    def num_plays_encoded(self) -> int:
        """Number of joint actions that are plays: ``card * num_cells + cell``."""
        return self.num_cards * self.num_cells

    @cached_property
    def num_actions(self) -> int:
        """Number of joint actions: plays and, with Simpleton, ``num_plays_encoded + announcement + 64``."""
        return self.num_plays_encoded + (ANNOUNCE_MAX - ANNOUNCE_MIN + 1 if self.simpleton else 0)


def solitaire_rules(num_players: int = 1, **options: Any) -> Rules:
    """Return the `Rules` of the solitaire.

    Raises:
        ValueError: naming the option and its valid values.
    """
    if type(num_players) is not int or num_players != 1:
        raise ValueError(f"num_players must be 1 in an environment of the solitaire, got {num_players!r}")
    return Rules(num_players, **options)


def multiplayer_rules(num_players: int = 2, **options: Any) -> Rules:
    """Return the `Rules` of a game for two to four players.

    Raises:
        ValueError: naming the option and its valid values.
    """
    if type(num_players) is not int or num_players not in (2, 3, 4):
        raise ValueError(f"num_players must be one of 2, 3, 4, got {num_players!r}")
    return Rules(num_players, **options)


def title(rules: Rules) -> str:
    """Return the heading of results under these rules."""
    return "Solitaire" if rules.num_players == 1 else f"{rules.num_players} players"
