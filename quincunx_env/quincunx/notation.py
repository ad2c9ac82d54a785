"""Notation of Quincunx: plays and announcements as text, public positions as plain data."""

import re
from typing import Any

from quincunx_env.core.notation import BaseNotation
from quincunx_env.quincunx.cards import NAMES, card_name, parse_card, print_cards
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import ANNOUNCE_MAX, ANNOUNCE_MIN, Rules
from quincunx_env.quincunx.scoring import RATINGS, rating

_PLAY = re.compile(r"(\w+)\s*\(?\s*(\d{1,2})\s*[,\s]\s*(\d{1,2})\s*\)?", re.ASCII)
_ANNOUNCEMENT = re.compile(r"(?:announce\s+)?([-+]?\d{1,4})", re.ASCII)


class Notation(BaseNotation[Game]):
    """A play is written ``2MK (1, 3)``: card, row and column; an announcement ``announce 12``.

    Parentheses, the comma and the word ``announce`` are optional in input.
    """

    NAMES = NAMES
    PLAY_FORM = "card (row, column)"

    def _print_action(self, rules: Rules, action: int) -> str:
        if action >= rules.num_plays_encoded:
            return f"announce {action - rules.num_plays_encoded + ANNOUNCE_MIN}"
        card, cell = divmod(action, rules.num_cells)
        return f"{card_name(card)} {rules.grid.place(cell)}"

    def _read_action(self, rules: Rules, text: str) -> int:
        if rules.simpleton and (announcement := _ANNOUNCEMENT.fullmatch(text)):
            points = int(announcement[1])
            if not ANNOUNCE_MIN <= points <= ANNOUNCE_MAX:
                raise ValueError(f"an announcement of {points} points is out of range")
            return rules.num_plays_encoded + points - ANNOUNCE_MIN
        play = _PLAY.fullmatch(text)
        if not play:
            also = ", or an announcement as 'announce 12'" if rules.simpleton else ""
            raise ValueError(f"{text!r} is not a play: write card and place as in '2MK (1, 3)'{also}")
        card = parse_card(play[1])
        if card >= rules.num_cards:
            raise ValueError(f"{play[1]} belongs to the extended deck, which these rules do not use")
        return card * rules.num_cells + rules.grid.cell((int(play[2]), int(play[3])))

    def _encode_play(self, rules: Rules, card: int, cell: int) -> int:
        return card * rules.num_cells + cell

    def _decode_play(self, game: Game, action: int) -> tuple[int, int]:
        if action >= game.rules.num_plays_encoded:
            if game.pending is None:
                raise ValueError(f"{self._print_action(game.rules, action)}: no announcement is due")
            return game.pending
        return divmod(action, game.rules.num_cells)

    def describe_legal(self, game: Game) -> str:
        """See `BaseNotation.describe_legal`."""
        if game.over:
            return "the game is over"
        if game.pending:
            return f"seat {game.mover} must announce the points of the play now, {ANNOUNCE_MIN} to {ANNOUNCE_MAX}"
        cells = " ".join(str(game.rules.grid.place(cell)) for cell in game.legal_cells())
        return f"seat {game.mover} may play {print_cards(game.legal_cards())} at {cells}"

    def public_state(self, game: Game) -> dict[str, Any]:
        """See `BaseNotation.public_state`."""
        rules, side = game.rules, game.rules.grid.side
        rows = [slice(start, start + side) for start in range(0, rules.num_cells, side)]
        pending = game.pending and self.print_action(rules, self.encode_play(rules, *game.pending))
        finished = game.over and rules.num_players == 1
        return {
            "board": [self.card_names(game.board[row]) for row in rows],
            "order": [[ply if ply >= 0 else None for ply in game.order[row]] for row in rows],
            "pile": len(game.pile),
            "pending": pending and {"action": pending, "least": ANNOUNCE_MIN, "most": ANNOUNCE_MAX},
            "lost": game.lost,
            "rating": RATINGS[rating(game.totals[0], game.lost)] if finished else None,
        }
