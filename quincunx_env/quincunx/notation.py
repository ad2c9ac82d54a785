"""How plays, announcements and positions of Quincunx are written."""

import re
from collections.abc import Iterable

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.notation import BaseNotation, Json, Last, Worth
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import NAMES, card_name, parse_card, print_cards
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import ANNOUNCE_MAX, ANNOUNCE_MIN, Rules
from quincunx_env.quincunx.scoring import RATINGS, Score, rating

_PLAY = re.compile(r"(\w+)\s*\(?\s*(\d{1,2})\s*[,\s]\s*(\d{1,2})\s*\)?", re.ASCII)
_ANNOUNCEMENT = re.compile(r"(?:announce\s+)?([-+]?\d{1,4})", re.ASCII)


class Notation(BaseNotation[Game]):
    """A play is written ``2MK (1, 3)``: card, row and column; an announcement ``announce 12``.

    Brackets and comma, and the word ``announce``, may be left out when it is read.
    """

    NAMES = NAMES

    def print_action(self, rules: Rules, action: int) -> str:
        """See `BaseNotation.print_action`."""
        if action >= rules.num_plays_encoded:
            return f"announce {action - rules.num_plays_encoded + ANNOUNCE_MIN}"
        card, cell = divmod(action, rules.num_cells)
        return f"{card_name(card)} {rules.grid.place(cell)}"

    def read_action(self, rules: Rules, text: str) -> int:
        """See `BaseNotation.read_action`."""
        if rules.simpleton and (announcement := _ANNOUNCEMENT.fullmatch(text.strip())):
            points = int(announcement[1])
            if not ANNOUNCE_MIN <= points <= ANNOUNCE_MAX:
                raise ValueError(f"an announcement lies between {ANNOUNCE_MIN} and {ANNOUNCE_MAX}, got {points}")
            return rules.num_plays_encoded + points - ANNOUNCE_MIN
        play = _PLAY.fullmatch(text.strip())
        if not play:
            also = ", or an announcement as 'announce 12'" if rules.simpleton else ""
            raise ValueError(f"{text!r} is no play: write card, row and column as in '2MK (1, 3)'{also}")
        card = parse_card(play[1])
        if card >= rules.num_cards:
            raise ValueError(f"{play[1]} belongs to the extended deck, which these rules do not use")
        return card * rules.num_cells + rules.grid.cell((int(play[2]), int(play[3])))

    def legal(self, game: Game) -> str:
        """See `BaseNotation.legal`."""
        if game.over:
            return "the game is over"
        if game.pending:
            return f"seat {game.mover} must announce the points of its play now, {ANNOUNCE_MIN} to {ANNOUNCE_MAX}"
        cells = " ".join(str(game.rules.grid.place(cell)) for cell in game.legal_cells())
        return f"seat {game.mover} may play {print_cards(game.legal_cards())} at {cells}"

    def plays(self, game: Game) -> Iterable[int]:
        """See `BaseNotation.plays`."""
        cells = game.legal_cells()
        return (card * game.rules.num_cells + cell for card in game.legal_cards() for cell in cells)

    def worth(self, game: Game, action: int) -> Worth:
        """See `BaseNotation.worth`."""
        rules = game.rules
        announcing = game.pending and action >= rules.num_plays_encoded
        return _worth(game.score(*(game.pending if announcing else divmod(action, rules.num_cells))))  # type: ignore[misc]

    def last(self, game: Game) -> Last | None:
        """See `BaseNotation.last`; with Simpleton it has the true points."""
        if not game.ply:
            return None
        rules, cell = game.rules, game.order.index(game.ply)
        before = game.board[:]
        before[cell] = EMPTY
        score = scoring.score(rules, before, cell, game.board[cell])
        seat = (game.first + game.ply - 1) % rules.num_players
        return Last(seat, game.board[cell] * rules.num_cells + cell, _worth(score))

    def own(self, game: Game, seat: int | None, legal: bool) -> Json:
        """See `BaseNotation.own`."""
        rules, side, cells = game.rules, game.rules.grid.side, game.rules.num_cells
        rows = [slice(start, start + side) for start in range(0, cells, side)]
        pending: Json | None = None
        if game.pending:
            card, cell = game.pending
            worth = self.worth(game, rules.num_plays_encoded) if legal and seat in (None, game.mover) else None
            pending = {
                "action": f"{card_name(card)} {rules.grid.place(cell)}",
                "least": ANNOUNCE_MIN,
                "most": ANNOUNCE_MAX,
                "worth": worth and worth._asdict(),
            }
        return {
            "board": [self.names(game.board[row]) for row in rows],
            "order": [[ply if ply >= 0 else None for ply in game.order[row]] for row in rows],
            "pile": len(game.pile),
            "pending": pending,
            "lost": game.lost,
            "rating": RATINGS[rating(game.totals[0], game.lost)] if game.over and rules.num_players == 1 else None,
        }


def _worth(score: Score) -> Worth:
    return Worth(score.points, len(score.draws), {name: points for name, points in score.parts.items() if points})
