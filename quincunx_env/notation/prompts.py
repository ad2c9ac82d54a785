r"""Prompts and answers: positions and actions as a language model reads and writes them, for any game.

`quincunx_env.envs.text.TextEnv` is the environment made of them. With `prompt` and `read_action` alone, several models
can play each other on one `quincunx_env.core.game.BaseGame`.

>>> from quincunx_env import spiral
>>> game = spiral.Game.from_seed(spiral.Rules(), seed=0)
>>> print(prompt(game, 0, ["Ada", "Ben"], "Ada begins."))
Ada begins.
<BLANKLINE>
     0   1   2   3   4
  0  .   .   .   .   .
  1  .   .   .   .   .
  2  .   .   6S  ()  .
  3  .   .   .   .   .
  4  .   .   .   .   .
  deal 1 of 2
You, Ada (non-dealer): 0 points, hand: 3S TS KS 5H TH 3C 8C 9C 2D 3D 9D TD KD
Ben (dealer): 0 points, 13 cards
Your action: card, or: legal, rules
>>> gains = game.step(read_action(game, "I add to nothing yet.\nPlay: 10s."))
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from math import isqrt

from quincunx_env.core.game import Game, IllegalAction
from quincunx_env.notation.text import parse_action
from quincunx_env.registry import spec_of

# --- Prompts ---------------------------------------------------------------------------------------------------------


def with_names(text: str, names: Sequence[str]) -> str:
    """Replace ``seat 0``, ``seat 0 and 1`` in a text by the names of the players."""

    def named(found: re.Match[str]) -> str:
        return " and ".join(names[int(seat)] for seat in re.findall(r"\d", found[0]))

    return re.sub(r"seat \d(?: and \d)*", named, text)


def prompt(game: Game, seat: int, names: Sequence[str], top: str) -> str:
    """Return a prompt for a seat: a text, below it the position as this seat knows it and how to write an action."""
    spec = spec_of(game.rules)
    scene, notation = spec.scene(game, seat), spec.notation
    lines = [top, "", with_names(replace(scene, seats=(), last=None).text(), names)]
    for number, each in enumerate(scene.seats):
        name = with_names(each.name, names)
        if number == seat:
            lines.append(f"You, {name}: {each.score} points, hand: {notation.NAMES.print_cards(each.cards or ())}")
        else:
            lines.append(f"{name}: {each.score} points, {each.hand_size} card{'s' * (each.hand_size != 1)}")
    form = "announce points" if getattr(game, "pending", None) else notation.PLAY_FORM
    return "\n".join([*lines, "Game over." if game.over else f"Your action: {form}, or: legal, rules"])


# --- Reading answers -------------------------------------------------------------------------------------------------

_TAG = re.compile(r"<action>(.*?)(?:</action>|\Z)", re.DOTALL | re.IGNORECASE)
_LOOK_ALIKE = str.maketrans({"\u2212": "-", "\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"})
_DECORATION = re.compile(r"\A\s*-(?=\s)(?!\s+\d+\W*(?:points?\W*)?\Z)|[-=]>|[][()*_`\"'{},;:=|/\\.!]")
"""A bullet, an arrow, punctuation. A minus before a number is neither."""
_PLAY = re.compile(
    r"(?:(?:MY|FINAL|ACTION|ANSWER|MOVE|I|WILL|PLAY|LAY|PLACE|PUT|THE|CARD) )*"
    r"(?P<card>(?:10|[2-9ACPXTJQK]) ?[MSVLYKHCD]{0,3})"
    r"(?:(?: (?:AT|TO|IN|INTO|ON|CELL))*(?: ROW)? (?P<row>[0-9]{1,2})"
    r"(?: AND)?(?: COLUMN| COL)? (?P<column>[0-9]{1,2}))?"
)
_ANNOUNCEMENT = re.compile(
    r"(?:(?:MY|FINAL|ACTION|ANSWER|PLAY|I|WILL|ANNOUNCE|ANNOUNCEMENT|IS) )*(?P<points>[-+]?[0-9]{1,4})(?: POINTS?)?"
)


def answer_of(text: str) -> str:
    """Return the answer in a text, in capital letters without punctuation: the last ``<action>``, or the last line."""
    tags = _TAG.findall(text)
    lines = [tags[-1]] if tags else text.splitlines()
    plain = (" ".join(_DECORATION.sub(" ", line.translate(_LOOK_ALIKE)).split()) for line in lines)
    return ([""] + [line.upper() if line.isascii() else line for line in plain if line])[-1]


def read_action(game: Game, text: str) -> int:
    """Return the legal action that the answer in a text denotes.

    The answer is the content of the last ``<action>`` tag, otherwise the last line. It holds one action and nothing
    else, in any case, spacing and punctuation: ``CS (1, 3)``, ``cs 1 3``, ``Play: CS at row 1, column 3.``; in the
    spiral game ``9H`` or ``10h``; ``announce 12``, ``12 points``.

    Raises:
        IllegalAction: if the answer is no action, or an illegal one; the message names the error.
    """
    notation, answer = spec_of(game.rules).notation, answer_of(text)
    play, announcement = _PLAY.fullmatch(answer), _ANNOUNCEMENT.fullmatch(answer)
    if announcement:
        return parse_action(game, f"announce {announcement['points']}")
    if not play:
        shown = answer if len(answer) <= 60 else answer[:57] + "..."
        raise IllegalAction(
            f"{ascii(shown.upper())[:120]} is not read as an action: end with a line that holds nothing else, or write "
            "<action>...</action>"
        )
    card = play["card"].replace(" ", "").replace("10", "T")
    if play["row"] is None:
        return parse_action(game, card)
    place = int(play["row"]), int(play["column"])
    if notation.encode_play(game.rules, 0, 0) != notation.encode_play(game.rules, 0, 1):
        return parse_action(game, f"{card} {place}")
    action = parse_action(game, card)  # the cell is given by the rules
    next_cell = divmod(notation.decode_play(game, action)[1], isqrt(game.rules.num_cells))
    if place != next_cell:
        raise IllegalAction(f"the next card goes to {next_cell}, not to {place}")
    return action
