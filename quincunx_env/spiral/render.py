"""Scenes of the spiral game, and its cards' appearance."""

from collections.abc import Sequence

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.rules import chosen_options
from quincunx_env.core.scene import Disc, Face, Polygon, Scene, ScoredPlay, Seat, Suit, earlier_rounds, in_words
from quincunx_env.core.scoring import Part
from quincunx_env.spiral.cards import CARDS, RANKS, Card, card_name
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.rules import COLUMNS, PLAYS, ROWS, SIDE, SPIRAL
from quincunx_env.spiral.scoring import Line, parts, score_hand


def scene(game: Game, seat: int | None = None) -> Scene:
    """Return the scene of a game as a seat observes it; None shows both hands.

    Raises:
        ValueError: if there is no such seat.
    """
    seat = game.check_seat(seat)
    full = game.over and game.ply == PLAYS and game.rules.scoring == "end"
    seats = [
        Seat(
            name=f"seat {player} ({'dealer' if player == game.dealer else 'non-dealer'})",
            score=game.totals[player],
            hand_size=sum(game.hands[player]),
            cards=game.hand(player) if seat in (None, player) else None,
            to_move=player == game.mover and not game.over,
            won=player in game.winners,
        )
        for player in range(2)
    ]
    return Scene(
        title=_title(game),
        faces=FACES,
        side=SIDE,
        rows=range(SIDE),
        columns=range(SIDE),
        max_side=SIDE,
        board={cell: card for cell, card in enumerate(game.board) if card != EMPTY},
        legal=frozenset() if game.cell is None else frozenset({game.cell}),
        face_down=True,
        seats=seats,
        seat=seat,
        mover=game.mover,
        last=_last(game),
        rows_score=_hands(game, ROWS) if full else {},
        columns_score=_hands(game, COLUMNS) if full else {},
        notes=_notes(game),
    )


def candidate(game: Game, card: int, cell: int) -> ScoredPlay:
    """Return the score of playing a card in an empty cell.

    Raises:
        ValueError: if there is no such card or cell, or the cell is taken.
    """
    card, cell = game.check_place(card, cell)
    return ScoredPlay(f"{card_name(card)} at {divmod(cell, SIDE)}", card, cell, *_parts(game, game.board, card, cell))


def _last(game: Game) -> ScoredPlay | None:
    if not game.ply:
        return None
    cell, board = SPIRAL[game.ply], game.board[:]
    card, board[cell] = board[cell], EMPTY
    title = f"seat {1 - game.mover} played {card_name(card)} at {divmod(cell, SIDE)}"
    return ScoredPlay(title, card, cell, *_parts(game, board, card, cell))


def _parts(game: Game, board: Sequence[int], card: int, cell: int) -> tuple[tuple[Part, ...], bool]:
    """Return the parts of a play's score, and whether plays score. They do not if the full square does."""
    scored = game.rules.scoring == "play"
    return parts(board, cell, card, game.rules.fifteens) if scored else (), scored


def _hands(game: Game, lines: Sequence[Line]) -> dict[int, int]:
    """Return points of full rows or columns, by their number."""
    hands = ([game.board[cell] for cell in line] for line in lines)
    return {number: score_hand(hand, game.rules.fifteens).points for number, hand in enumerate(hands)}


def _title(game: Game) -> str:
    labels = {option.name: option.label(value) for option, value in chosen_options(game.rules)}
    labels |= {"scoring": "scored at the end"} if "scoring" in labels else {}
    return ", ".join(("Spiral game", *(label for name, label in labels.items() if name != "deals")))  # see the notes


def _notes(game: Game) -> tuple[str, ...]:
    notes = []
    if game.rules.deals > 1:
        notes.append(f"deal {game.round + 1} of {game.rules.deals}")
    if game.previous_round and game.ply < 2:  # until each seat has played once
        scores = " ".join(map(str, game.previous_round.scores))
        notes.append(f"deal {game.previous_round.round + 1}: {scores} points")
    elif game.ply < 2:
        notes += earlier_rounds("deal", game.round, game.totals, game.scores)
    if game.decided:
        notes.append("over: won by " + " and ".join(f"seat {seat}" for seat in game.winners))
    elif game.over and game.ply < PLAYS:
        notes.append("over: forfeited")
    return tuple(notes)


# --- Cards -----------------------------------------------------------------------------------------------------------


def _heart(up: int) -> tuple[Disc | Polygon, ...]:
    """Draw a heart on its tip (``up`` 1), or upside down (-1)."""
    wedge = ((-0.83, -0.14 * up), (-0.4, -0.4 * up), (0.4, -0.4 * up), (0.83, -0.14 * up), (0.0, 0.88 * up))
    return Disc((-0.43, -0.35 * up), 0.45), Disc((0.43, -0.35 * up), 0.45), Polygon(wedge)


_STEM = Polygon(((0.06, 0.1), (0.3, 0.92), (-0.3, 0.92), (-0.06, 0.1)))
_CLUB = (Disc((0, -0.48), 0.43), Disc((-0.46, 0.22), 0.43), Disc((0.46, 0.22), 0.43), Disc((0, 0), 0.22), _STEM)

SUITS = (
    Suit("spades", "S", (58, 60, 76), 103, (*_heart(-1), _STEM)),
    Suit("hearts", "H", (196, 52, 24), 160, _heart(1)),
    Suit("clubs", "C", (20, 150, 84), 35, _CLUB),
    Suit("diamonds", "D", (0, 96, 196), 33, (Polygon(((0, -0.95), (0.72, 0), (0, 0.95), (-0.72, 0))),)),
)
"""The suits in the order of the pack; four colours make a flush easy to see."""

RANK_WORDS = {"A": "Ace", "T": "10", "J": "Jack", "Q": "Queen", "K": "King"}
"""Ranks without a digit in words."""


def _face(card: Card) -> Face:
    rank, suits = RANKS[card.rank], (SUITS[card.suit],)
    return Face(card.name, rank.replace("T", "10"), suits, words=in_words(RANK_WORDS.get(rank, rank), suits))


FACES = tuple(map(_face, CARDS))
"""Faces by card id."""
