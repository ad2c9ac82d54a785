"""A spiral game as text."""

from quincunx_env.core.cards import EMPTY
from quincunx_env.spiral.cards import card_name, print_cards
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.rules import ROWS, SIDE


def ansi(game: Game, seat: int | None = None) -> str:
    """The square, hands and scores of a game, readable without colour; the next card goes where ``()`` stands.

    Args:
        game: what to show.
        seat: the seat that looks: the other hand shows as a number of cards. None shows both hands.
    """
    lines = ["     " + " ".join(f"{column:<3}" for column in range(SIDE))]
    for number, row in enumerate(ROWS):
        cells = ("()" if cell == game.cell else _cell(game.board[cell]) for cell in row)
        lines.append(f"{number:>3}  " + " ".join(f"{cell:<3}" for cell in cells))
    for player in range(2):
        mark = ">" if player == game.mover and not game.over else " "
        cards = game.hand(player)
        hand = print_cards(cards) if seat in (None, player) else f"{len(cards)} cards"
        role = "dealer" if player == game.dealer else "non-dealer"
        lines.append(f"{mark} seat {player} ({role}): {game.totals[player]:>3} points, hand: {hand}")
    if game.rules.deals > 1:
        lines.append(f"  deal {game.round + 1} of {game.rules.deals}")
    if game.over:
        lines.append("  over: won by seat " + " and ".join(map(str, game.winners)))
    return "\n".join(line.rstrip() for line in lines)


def _cell(card: int) -> str:
    return "." if card == EMPTY else card_name(card)
