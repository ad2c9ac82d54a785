"""The rules of a game in short, for people and language models.

>>> from quincunx_env import spiral
>>> print(rules_card(spiral.Rules()))
SPIRAL GAME, 2 players, 2 deals. Most points in total win.
Cards: 52, rank A23456789TJQK (A low) then suit SHCD, as TD, the ten of
diamonds.
Start: 25 cards face down as 5x5, never seen; a starter face up on the centre;
13 in each hand.
Turn: play a card face up on the next cell of the spiral: from right of the
centre clockwise outwards (right, down, left, up) to the top right. You choose
the card only. Non-dealer first, then in turn.
Score its row and its column, face-up cards only, and add:
  Kinds: cards of its rank, it included: 2 score 2, 3 score 6, 4 score 12
  Run: the longest set of n >= 3 consecutive ranks with it, in any order: n
  times the product of how many cards each of these ranks has
  Flush: n >= 3 touching cards of one suit with it: n
End: 24 plays. The last card of each hand costs nothing. Then deal again; the
players deal in turn.
"""

import textwrap

from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of

WIDTH = 80
"""Columns of a rules card."""


def rules_card(rules: BaseRules) -> str:
    """Return the rules that a newcomer needs for a first game.

    They are for the given options only. RULES.md has the complete rules, with examples.

    Args:
        rules: rules of any game.

    Returns:
        Plain text of at most 24 lines of 80 columns, without a final line break.
    """
    lines: list[str] = []
    for paragraph in spec_of(rules).rules_card(rules):
        indent = "  " if paragraph.startswith(" ") else ""
        lines += textwrap.wrap(paragraph, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines)
