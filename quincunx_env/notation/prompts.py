r"""Prompts for language models, and their answers, for any game.

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

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any, NamedTuple

from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.notation.text import parse_action
from quincunx_env.registry import spec_of

# --- Prompts ---------------------------------------------------------------------------------------------------------


_SEATS = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|seat \d(?: and \d)*""")
"""A quoted string, or numbers of seats."""


def with_names(text: str, names: Sequence[str]) -> str:
    """Replace ``seat 0``, ``seat 0 and 1`` in a text by the names of the players. Quoted strings stay."""

    def named(found: re.Match[str]) -> str:
        quoted = found[0][0] != "s"
        return found[0] if quoted else " and ".join(names[int(seat)] for seat in re.findall(r"\d", found[0]))

    return _SEATS.sub(named, text)


def prompt(game: SomeGame, seat: int, names: Sequence[str], top: str) -> str:
    """Return a prompt for a seat: ``top``, the position as the seat knows it, and how to write an action."""
    spec, known = spec_of(game.rules), game.copy()
    known.previous_round = None  # no observation has it, and the arena's prompts are made of observations
    scene, notation = spec.scene(known, seat), spec.notation
    lines = [top, "", with_names(replace(scene, seats=(), last=None).text(), names)]
    for number, each in enumerate(scene.seats):
        name = with_names(each.name, names)
        if number == seat:
            lines.append(f"You, {name}: {each.score} points, hand: {notation.NAMES.print_cards(each.cards or ())}")
        else:
            lines.append(f"{name}: {each.score} points, {each.hand_size} card{'s' * (each.hand_size != 1)}")
    form = notation.PLAY_FORM if game.decision == "play" else "announce points"
    return "\n".join([*lines, "Game over." if game.over else f"Your action: {form}, or: legal, rules"])


# --- Reading answers -------------------------------------------------------------------------------------------------

MAX_READ = 20_000
"""Most characters of an answer that are read, besides blocks of reasoning. Of a longer one these are the last."""
MAX_KEPT = 2_000
"""Most characters of an answer that are sent back or stored; see `shortened`."""

_REASONING = re.compile(
    r"(?:<|\[(?=/?think\])|\u25c1)(/?)(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)[>\]\u25b7]",
    re.IGNORECASE,
)
"""The beginning or the end of a block of reasoning, in the tags that models use."""
_TAG = re.compile(r"<action>((?:(?!</?action>).)*)</action>|<action>\s*+([^\n<]*+)\s*+\Z", re.DOTALL | re.IGNORECASE)
_STRAY = re.compile("</?action>", re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]*\}(?=[^\w{]*\Z)")
"""A JSON object at the end, in one line or several."""
_TOKEN = re.compile(
    r"(?:<|&lt;|\\u003c|\[(?=[|/]|(?-i:[A-Z][A-Z_]+\])|end of ))\s?[/\\]?\s?"
    r"(?:[|\uff5c][\s\u2581]?([^\W\d][\w\u2581 -]{0,40})[|\uff5c]?"
    r"|(?!action\s?[>\]])([^\W\d_][\w\u2581-]{0,40}|end of \w{1,9})\s?[|\uff5c]?)"
    r"\s?/?(?:>|&gt;|\\u003e|\])(?:\s?(?:assistant|model|system|tool|user)\b)?"
    r"|<[|\uff5c/]([\w\u2581 -]{0,40})[|\uff5c]?\Z|\\[nrt]|<0x0A>",
    re.IGNORECASE,
)
"""A special token of a chat template or another tag, or a line break that is written out. A token may be unfinished at
the end, and the next role may follow it."""
_BETWEEN = re.compile(r"[^\w}]*")
"""Signs between tokens at the end. A brace may close a JSON object."""
_QUESTIONS = ("LEGAL", "RULES")
_MARKS = 30
"""Most combining marks of a character, as in Unicode's stream-safe format (UAX #15). Sorting takes quadratic time."""
_KEYS = ("action", "answer", "move", "play", "card", "cell", "row", "column", "col", "announce", "announcement")
"""Entries of a JSON object that belong to an action."""
_BLANK = re.compile(r"(?![-\u2010-\u2015]\s*\d+(?!\w))[\W_]")
"""A character that is neither letter nor digit of any script. A dash before a number is kept."""
_PLAY = re.compile(
    r"(?:1 (?=\w*[A-Z]))?(?:(?:MY|FINAL|ACTION|ANSWER|MOVE|IS|I|WILL|PLAY|LAY|PLACE|PUT|THE|CARD|BOXED|TEXT) )*"
    r"(?P<card>(?:10|[2-9ACPXTJQK]) ?[MSVLYKHCD]{0,3})"
    r"(?:(?: (?:AT|TO|IN|INTO|ON|CELL))*(?: ROW)? (?P<row>[0-9]{1,2})"
    r"(?: AND)?(?: COLUMN| COL)? (?P<column>[0-9]{1,2}))?"
)
_ANNOUNCEMENT = re.compile(
    r"(?:(?:MY|FINAL|ACTION|ANSWER|PLAY|I|WILL|ANNOUNCE|ANNOUNCEMENT|IS|THE|BOXED|TEXT) )*"
    r"(?P<points>[-+]?[0-9]{1,4})(?: POINTS?)?"
)


class _Line(NamedTuple):
    """A line of a text."""

    plain: str = ""
    """The line in capital letters, without signs but a minus before a number."""
    written: str = ""
    """The line itself."""


def text_of(answer: Any) -> str:
    """Return the text of an answer.

    It is a string, a list of content parts, or None.

    Raises:
        IllegalAction: for anything else.
    """
    parts = answer if isinstance(answer, list) else ["" if answer is None else answer]
    texts = [part.get("text", "") if isinstance(part, Mapping) and parts is answer else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise IllegalAction(f"an action must be a string, or content parts with a text, got {answer!r:.60}")
    return "".join(texts)


def answer_of(text: str) -> str:
    """Return the answer in capital letters without signs; see `read_action`."""
    return _answers(text)[0].plain


def shortened(answer: str) -> str:
    """Return an answer as it is sent back or stored: of more than `MAX_KEPT` characters the last ones."""
    if len(answer) <= MAX_KEPT:
        return answer
    mark = f"[{len(answer):,} characters] ... "
    return mark + answer[len(mark) - MAX_KEPT :]


def _answers(text: str) -> tuple[_Line, _Line, str]:
    """Return the answer, the last line after its tag, and a fault of tags and blocks.

    Empty tags after a full one are strays.
    """
    kept, last = _without_reasoning(text)
    kept = _without_ending(kept[-MAX_READ:])
    tags = [*_TAG.finditer(kept)]
    if full := [tag for tag in tags if (tag[1] or tag[2] or "").strip()]:
        after = _STRAY.sub(" ", kept[full[-1].end() :])
        inside = _without_ending(full[-1][1] or full[-1][2])
        return _last_line(" ".join(inside.split())), _last_line(after), ""
    answer = _Line() if tags else _last_line(_STRAY.sub(" ", kept))
    strays, block, fault = _STRAY.findall(kept), last and ascii(last[0])[1:-1], ""
    if last and not last[1]:
        fault = f"the block {block} has no end"
    elif strays and strays[-1][1] != "/":
        fault = "the tag <action> has no end"
    elif not answer.written and strays:
        fault = "the tag <action> is empty"
    elif not answer.written:
        fault = f"nothing follows {block}" if last else "the answer is empty"
    return answer, _Line(), fault


def _without_reasoning(text: str) -> tuple[str, re.Match[str] | None]:
    """Drop blocks of reasoning; return their last tag, too. One may begin in the prompt, and one may have no end."""
    kept, end, inside, last = list[str](), 0, False, None
    for last in _REASONING.finditer(text):
        if not inside:
            kept.append(text[end : last.start()])
            if last[1]:
                kept.clear()
        end, inside = last.end(), not last[1]
    return "".join(kept if inside else [*kept, text[end:]]), last


def _without_ending(text: str) -> str:
    """Drop special tokens, tags and written-out line breaks at the end, unless one is an action or a question."""
    text = text.rstrip()
    end = len(text)
    for token in reversed([*_TOKEN.finditer(text)]):
        word = _plain(token[token.lastindex]) if token.lastindex else ""
        if not _BETWEEN.fullmatch(text, token.end(), end) or (word and (_parts(word) or word in _QUESTIONS)):
            break
        end = token.start()
    return text[:end] if any(map(str.isalnum, text[:end])) else text


def _last_line(text: str) -> _Line:
    """Return the last line with a letter or a digit. A JSON object at the end is one line."""
    lines = _OBJECT.sub(_in_one_line, text).splitlines()
    written = _OBJECT.sub(lambda found: " ".join(found[0].split()), text).splitlines()
    for line, original in zip(reversed(lines), reversed(written), strict=True):
        if plain := _plain(line):
            return _Line(plain, " ".join(original.split()))
    return _Line("", " ".join(text.split()))


def _plain(line: str) -> str:
    """Return a line in Unicode's form NFKC without signs, in capital letters if it is ASCII."""
    if not line.isascii():
        marks, kept = 0, list[str]()
        for character in line:
            marks = marks + 1 if unicodedata.combining(character) else 0
            kept += [character] * (marks <= _MARKS)
        line = unicodedata.normalize("NFKC", "".join(kept)).replace("\u2212", "-")[-MAX_READ:]  # one may become 18
    plain = " ".join(_BLANK.sub(" ", line).split())
    return plain.upper() if plain.isascii() else plain


def _in_one_line(found: re.Match[str]) -> str:
    try:
        entries = json.loads(found[0], object_pairs_hook=list)
        action = [entry for entry in entries if entry[0].lower() in _KEYS] or entries
        return " ".join(" ".join(f"{key} {value}" for key, value in action).split()) or "{}"
    except (ValueError, RecursionError):  # perhaps a set, as in \boxed{CS (1, 3)}; or thousands of brackets
        return " ".join(found[0].split())


def read_action(game: SomeGame, text: str) -> int:
    r"""Return the legal action that the answer in a text denotes.

    Blocks of reasoning, such as ``<think>...</think>``, are left out. The answer is the content of the last
    ``<action>`` tag. Without one it is the last line with a letter or a digit, or a JSON object at the end. It holds
    one action and nothing else, in any case: ``CS (1, 3)``, ``cs 1 3``, ``Play: CS at row 1, column 3.``; in the spiral
    game ``9H`` or ``10h``; ``announce 12``, ``12 points``. The suits of a card may have any order.

    Special tokens, tags and line breaks that are written out are dropped at the end: ``</s>``, ``<|im_end|>``,
    ``[/INST]``, ``[EOS]``, ``\n``. A word in brackets stays if it is an action, ``[9H]``.

    Characters are read in Unicode's form NFKC. One that is neither a letter nor a digit of any script is a blank; a
    minus before a number remains. Of more than `MAX_READ` characters outside of blocks of reasoning the last ones are
    read, since the answer stands at the end.

    Raises:
        IllegalAction: if the answer is not an action, or an illegal one, or if the last line after the tag is another
            action; the message names the error.
    """
    notation, (found, answer) = spec_of(game.rules).notation, _read(text)

    def parsed(action: str) -> int:
        try:
            return parse_action(game, action)
        except IllegalAction as error:  # it quotes what was read
            raise IllegalAction(str(error).replace(repr(action), _shown(answer))) from None

    if "points" in found:
        return parsed(f"announce {found['points']}")
    names = map(notation.NAMES.card_name, range(len(notation.NAMES)))
    card = next((name for name in names if _sorted(name) == _sorted(found["card"])), found["card"])
    if "row" not in found:
        return parsed(card)
    place = int(found["row"]), int(found["column"])
    if notation.encode_play(game.rules, 0, 0) != notation.encode_play(game.rules, 0, 1):
        return parsed(f"{card} {place}")
    action = parsed(card)  # the cell is given by the rules
    next_cell = divmod(notation.decode_play(game, action)[1], isqrt(game.rules.num_cells))
    if place != next_cell:
        raise IllegalAction(f"the next card goes to {next_cell}, not to {place}")
    return action


def read_points(text: str) -> int:
    """Return the number of points that the answer in a text denotes: ``12``, ``-5 points``; see `read_action`.

    Raises:
        IllegalAction: if the answer is not a number, or if there are two.
    """
    found, answer = _read(text)
    if "points" not in found:
        raise IllegalAction(f"{_shown(answer)} is not a number of points: end with a line that holds nothing else")
    return int(found["points"])


def _read(text: str) -> tuple[dict[str, str], str]:
    """Return the parts of the answer in a text, and the answer as it is written.

    Raises:
        IllegalAction: if the answer is not an action, or if the last line after the tag is another one.
    """
    answer, after, fault = _answers(text)
    found, also = _parts(answer.plain), _parts(after.plain)
    if not found:
        raise IllegalAction(
            f"{fault or _shown(answer.written) + ' is not read as an action'}: end with a line that holds nothing "
            "else, or write <action>...</action>"
        )
    if any(_sorted(found[name]) != _sorted(also[name]) for name in found.keys() & also.keys()):
        raise IllegalAction(f"{_shown(answer.written)} and {_shown(after.written)} are two actions: write one of them")
    return found, answer.written


def _parts(answer: str) -> dict[str, str]:
    """Return the parts of an action by name; none if the answer is not an action."""
    found = _ANNOUNCEMENT.fullmatch(answer) or _PLAY.fullmatch(answer)
    parts = {name: part for name, part in found.groupdict().items() if part} if found else {}
    return {name: part.replace(" ", "") if name == "card" else str(int(part)) for name, part in parts.items()}


def _sorted(card: str) -> str:
    """Return the name of a card with its suits in alphabetical order. People often write them in another order."""
    card = card.replace("10", "T")
    return card[0] + "".join(sorted(card[1:]))


def _shown(written: str) -> str:
    """Return an answer in quotation marks, in at most 120 ASCII characters."""
    quoted = ascii(written)
    return quoted if len(quoted) <= 120 else f"{quoted[:116]}...{quoted[0]}"
