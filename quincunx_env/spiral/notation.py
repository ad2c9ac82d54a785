"""Notation of the spiral game: plays as text, public positions as plain data."""

from typing import Any

from quincunx_env.core.notation import BaseNotation
from quincunx_env.spiral.cards import NAMES, card_name, parse_card, print_cards
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.rules import ROWS, SIDE, Rules


class Notation(BaseNotation[Game]):
    """A play is its card, ``9H``; the spiral determines its cell."""

    NAMES = NAMES
    PLAY_FORM = "card"

    def _print_action(self, rules: Rules, action: int) -> str:
        return card_name(action)

    def _read_action(self, rules: Rules, text: str) -> int:
        return parse_card(text)

    def _encode_play(self, rules: Rules, card: int, cell: int) -> int:
        return card

    def _decode_play(self, game: Game, action: int) -> tuple[int, int]:
        if game.cell is None:
            raise ValueError("the game is over: no card is played any more")
        return action, game.cell

    def describe_legal(self, game: Game) -> str:
        """See `BaseNotation.describe_legal`."""
        return "the game is over" if game.over else f"seat {game.mover} may play {print_cards(game.legal_cards())}"

    def public_state(self, game: Game) -> dict[str, Any]:
        """See `BaseNotation.public_state`."""
        return {
            "board": [self.card_names(game.board[cell] for cell in row) for row in ROWS],
            "dealer": game.dealer,
            "next": None if game.cell is None else [*divmod(game.cell, SIDE)],
        }
