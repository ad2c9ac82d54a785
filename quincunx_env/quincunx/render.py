"""A game of Quincunx as text."""

from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx.cards import card_name, print_cards
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.scoring import RATINGS, rating


def ansi(game: Game, seat: int | None = None) -> str:
    """The grid, hands, pile and scores of a game, readable without colour.

    Args:
        game: what to show.
        seat: the seat that looks: the other hands show as numbers of cards. None shows all hands.
    """
    rules = game.rules
    rows, columns = [range(rules.grid.side)] * 2
    if rules.start == "open":
        shown = [cell for cell in range(rules.num_cells) if game.board[cell] != EMPTY or game.legal[cell]]
        places = zip(*map(rules.grid.place, shown), strict=True)
        rows, columns = (range(min(axis), max(axis) + 1) for axis in places)
    lines = ["     " + " ".join(f"{column:<4}" for column in columns)]
    for row in rows:
        cells = (rules.grid.cell((row, column)) for column in columns)
        lines.append(f"{row:>3}  " + " ".join(f"{_cell(game, cell):<4}" for cell in cells))
    for player in range(rules.num_players):
        mark = ">" if player == game.mover and not game.over else " "
        cards = game.hand(player)
        hand = print_cards(cards) if seat in (None, player) else f"{len(cards)} cards"
        lines.append(f"{mark} seat {player}: {game.totals[player]:>4} points, hand: {hand}")
    lines.append(f"  pile: {len(game.pile)} cards")
    if game.pending:
        card, cell = game.pending
        lines.append(f"  announcing {card_name(card)} at {rules.grid.place(cell)}")
    if game.over:
        lines.append(f"  over: {_ending(game)}")
    return "\n".join(line.rstrip() for line in lines)


def _cell(game: Game, cell: int) -> str:
    if game.board[cell] == EMPTY:
        return "." if game.legal[cell] else " "
    return card_name(game.board[cell])


def _ending(game: Game) -> str:
    if game.rules.num_players == 1:
        return RATINGS[rating(game.totals[0], game.lost)]
    return "won by seat " + " and ".join(map(str, game.winners))
