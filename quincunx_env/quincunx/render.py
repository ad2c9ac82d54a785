"""Scenes of Quincunx, and the appearance of its cards."""

from math import cos, pi, sin

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.rules import chosen_options
from quincunx_env.core.scene import (
    Disc,
    Face,
    Point,
    Polygon,
    Scene,
    ScoredPlay,
    Seat,
    Stroke,
    Suit,
    earlier_rounds,
    in_words,
)
from quincunx_env.quincunx.cards import CARDS, Card, card_name
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import OPEN_SPAN
from quincunx_env.quincunx.scoring import RATINGS, parts, rating


def scene(game: Game, seat: int | None = None) -> Scene:
    """Return the scene of a game as a seat observes it; None shows all hands.

    Raises:
        ValueError: if there is no such seat.
    """
    seat = game.check_seat(seat)
    rules, grid = game.rules, game.rules.grid
    cells = range(rules.num_cells)
    rows, columns = [range(grid.side)] * 2
    if rules.start == "open":
        shown = (cell for cell in cells if game.board[cell] != EMPTY or game.legal[cell])
        places = zip(*map(grid.place, shown), strict=True)
        rows, columns = (range(min(axis), max(axis) + 1) for axis in places)
    winners = game.winners if rules.num_players > 1 else ()
    seats = [
        Seat(
            name=f"seat {player}",
            score=game.totals[player],
            hand_size=sum(game.hands[player]),
            cards=game.hand(player) if seat in (None, player) else None,
            to_move=player == game.mover and not game.over,
            won=player in winners,
        )
        for player in range(rules.num_players)
    ]
    pending = None
    if game.pending:
        card, cell = game.pending
        pending = ScoredPlay(f"{card_name(card)} at {grid.place(cell)}", card, cell, (), scored=False)
    return Scene(
        title=_title(game),
        faces=FACES,
        side=grid.side,
        rows=rows,
        columns=columns,
        max_side=OPEN_SPAN + 1 if rules.start == "open" else grid.side,
        board={cell: game.board[cell] for cell in cells if game.board[cell] != EMPTY},
        legal=frozenset(cell for cell in cells if game.legal[cell]),
        face_down=False,
        seats=seats,
        seat=seat,
        mover=game.mover,
        pile=len(game.pile),
        last=_last(game),
        pending=pending,
        notes=_notes(game),
    )


def candidate(game: Game, card: int, cell: int) -> ScoredPlay:
    """Return the score of playing a card in an empty cell.

    Raises:
        ValueError: if the card is not in the deck of these rules, or the cell is taken or off the grid.
    """
    card, cell = game.check_place(card, cell)
    title = f"{card_name(card)} at {game.rules.grid.place(cell)}"
    return ScoredPlay(title, card, cell, parts(game.rules, game.board, cell, card))


def _last(game: Game) -> ScoredPlay | None:
    """Return the last play of the round. Its score follows from the grid without the card (R2)."""
    if not game.ply:
        return None
    cell = game.order.index(game.ply)
    board = game.board[:]
    card, board[cell] = board[cell], EMPTY
    player = (game.mover - 1) % game.rules.num_players
    title = f"seat {player} played {card_name(card)} at {game.rules.grid.place(cell)}"
    return ScoredPlay(title, card, cell, parts(game.rules, board, cell, card))


def _title(game: Game) -> str:
    rules, elsewhere = game.rules, ("num_players", "mini", "match")  # the notes count the rounds
    players = "solitaire" if rules.num_players == 1 else f"{rules.num_players} players"
    options = (option.label(value) for option, value in chosen_options(rules) if option.name not in elsewhere)
    return ", ".join((f"Quincunx, {players}", *["mini"] * rules.mini, *options))


def _notes(game: Game) -> tuple[str, ...]:
    rules, notes = game.rules, []
    if rules.match:
        notes.append(f"round {game.round + 1} of {rules.num_rounds}")
    if game.previous_round and game.ply < rules.num_players:  # until each seat has played once
        scores, left = game.previous_round.scores, (-cost for cost in game.previous_round.penalties)
        ended = f"round {game.previous_round.round + 1}: {' '.join(map(str, scores))} points"
        notes.append(f"{ended}, left in hand: {' '.join(map(str, left))}")
    elif game.ply < rules.num_players:
        notes += earlier_rounds("round", game.round, game.totals, game.scores)
    if game.over and game.ply == rules.num_plays:
        costs = (f"seat {seat} {-cost}" for seat, cost in enumerate(game.penalties))
        notes.append(f"left in hand: {', '.join(costs)}")
    if game.over and rules.num_players == 1:
        notes.append(f"over: {RATINGS[rating(game.totals[0], game.lost)]}")
    elif game.decided:
        notes.append("over: won by " + " and ".join(f"seat {seat}" for seat in game.winners))
    elif game.over and game.ply < rules.num_plays:
        notes.append("over: forfeited")
    return tuple(notes)


# --- Cards -----------------------------------------------------------------------------------------------------------


def _circle(count: int, radius: float, start: float = -pi / 2) -> list[Point]:
    """Return points on a circle, evenly spaced."""
    angles = [start + 2 * pi * index / count for index in range(count)]
    return [(radius * cos(angle), radius * sin(angle)) for angle in angles]


def _rays() -> tuple[Polygon, ...]:
    tips, left, right = _circle(8, 1.0), _circle(8, 0.62, -pi / 2 - 0.25), _circle(8, 0.62, -pi / 2 + 0.25)
    return tuple(map(Polygon, zip(tips, left, right, strict=True)))


def _wave(y: float) -> Stroke:
    steps = [-0.86 + 1.72 * step / 24 for step in range(25)]
    return Stroke(tuple((x, y + 0.2 * sin(x * 1.5 * pi)) for x in steps), 0.25)


def _leaf() -> tuple[Polygon | Stroke, ...]:
    """Draw a leaf: two arcs, a stem and a vein. The arcs meet in the tip at the upper right."""
    steps = [step / 16 for step in range(17)]
    along = [(1.15 - 1.95 * step, 0.66 * sin(pi * step**0.85)) for step in steps]
    blade = ((x * 0.71 - y * 0.71, -x * 0.71 - y * 0.71) for x, y in (*along, *((x, -y) for x, y in reversed(along))))
    stem = Stroke(((-0.82, 0.82), (-0.5, 0.5)), 0.15)
    return Polygon(tuple(blade)), Stroke(((-0.5, 0.5), (0.34, -0.34)), 0.11, cut=True), stem


def _trefoil(start: float, stop: float) -> tuple[Point, ...]:
    """Return a part of the trefoil knot, seen from above."""
    angles = [start + (stop - start) * step / 40 for step in range(41)]
    return tuple((0.29 * (sin(t) + 2 * sin(2 * t)), -0.18 - 0.29 * (cos(t) - 2 * cos(2 * t))) for t in angles)


def _knot() -> tuple[Stroke, ...]:
    """Draw the knot, then its crossings again, with gaps."""
    over = [pi / 2 + third * 2 * pi / 3 for third in range(3)]
    gaps = [Stroke(_trefoil(angle - 0.22, angle + 0.22), 0.5, cut=True) for angle in over]
    bridges = [Stroke(_trefoil(angle - 0.4, angle + 0.4), 0.24) for angle in over]
    return (Stroke(_trefoil(0, 2 * pi), 0.24), *gaps, *bridges)


def _wyrm() -> tuple[Disc | Stroke, ...]:
    """Draw a serpent that winds upwards, with a thin tail, and a head with an eye."""
    steps = [step / 30 for step in range(31)]
    spine = [(0.62 * sin(2.1 * pi * step) - 0.08, 0.84 - 1.42 * step) for step in steps]
    body = [Stroke(tuple(spine[at : at + 2]), 0.12 + 0.26 * min(1.0, 1.6 * steps[at])) for at in range(30)]
    (x, y) = spine[-1]
    return (*body, Disc((x, y), 0.31), Disc((x + 0.06, y - 0.08), 0.1, cut=True))


SUITS = (
    Suit("Moons", "M", (52, 56, 84), 103, (Disc((-0.08, 0), 0.9), Disc((0.36, -0.12), 0.72, cut=True))),
    Suit("Suns", "S", (226, 146, 0), 172, (Disc((0, 0), 0.5), *_rays())),
    Suit("Waves", "V", (0, 104, 196), 33, (_wave(-0.5), _wave(0.04), _wave(0.58))),
    Suit("Leaves", "L", (20, 150, 84), 35, _leaf()),
    Suit("Wyrms", "Y", (174, 34, 24), 160, _wyrm()),
    Suit("Knots", "K", (208, 104, 174), 169, _knot()),
)
"""The suits in the order of the rules. The colours differ for colour-blind readers, too."""

RANK_WORDS = {"A": "Ace", "C": "Crown", "P": "Pawn", "X": "Excuse"}
"""Ranks without a number in words."""


def _face(card: Card) -> Face:
    suits = tuple(suit for bit, suit in enumerate(SUITS) if card.suits >> bit & 1)
    note = "Excuse" if card.rank == "X" else str(card.value) if not card.rank.isdigit() else ""
    return Face(card.name, card.rank, suits, note, in_words(RANK_WORDS.get(card.rank, card.rank), suits))


FACES = tuple(map(_face, CARDS))
"""Faces by card id. The small print of a card without a number is its value in sums."""
