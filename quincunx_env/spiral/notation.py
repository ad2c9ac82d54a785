"""How plays and positions of the spiral game are written."""

from collections.abc import Iterable

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.notation import BaseNotation, Json, Last, Worth
from quincunx_env.spiral import scoring
from quincunx_env.spiral.cards import NAMES, card_name, parse_card, print_cards
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.rules import ROWS, SIDE, SPIRAL, Rules
from quincunx_env.spiral.scoring import Score


class Notation(BaseNotation[Game]):
    """A play is written as its card, ``9H``: the spiral gives its cell."""

    NAMES = NAMES

    def print_action(self, rules: Rules, action: int) -> str:
        """See `BaseNotation.print_action`."""
        return card_name(action)

    def read_action(self, rules: Rules, text: str) -> int:
        """See `BaseNotation.read_action`."""
        return parse_card(text.strip())

    def legal(self, game: Game) -> str:
        """See `BaseNotation.legal`."""
        return "the game is over" if game.over else f"seat {game.mover} may play {print_cards(game.legal_cards())}"

    def plays(self, game: Game) -> Iterable[int]:
        """See `BaseNotation.plays`."""
        return game.legal_cards()

    def worth(self, game: Game, action: int) -> Worth | None:
        """See `BaseNotation.worth`."""
        return _worth(game.score(action)) if game.rules.scoring == "play" else None

    def last(self, game: Game) -> Last | None:
        """See `BaseNotation.last`."""
        if not game.ply:
            return None
        rules, cell = game.rules, SPIRAL[game.ply]
        before = game.board[:]
        before[cell] = EMPTY
        card = game.board[cell]
        worth = _worth(scoring.score(before, cell, card, rules.fifteens)) if rules.scoring == "play" else None
        return Last((game.first + game.ply - 1) % 2, card, worth)

    def own(self, game: Game, seat: int | None, legal: bool) -> Json:
        """See `BaseNotation.own`."""
        return {
            "board": [self.names(game.board[cell] for cell in row) for row in ROWS],
            "dealer": game.dealer,
            "next": None if game.cell is None else [*divmod(game.cell, SIDE)],
        }


def _worth(score: Score) -> Worth:
    return Worth(score.points, 0, {name: points for name, points in score.parts.items() if points})
