"""Prompts, and answers as models and people write them."""

import random
import re
import string
import sys
import time
import unicodedata
from contextlib import suppress

import pytest

from quincunx_env import IllegalAction, Rules, parse_card, spiral
from quincunx_env.core.game import SomeGame
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.prompts import (
    MAX_KEPT,
    MAX_READ,
    answer_of,
    prompt,
    read_action,
    read_points,
    shortened,
    with_names,
)
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.notation.text import parse_action, print_action, to_json
from tests.variants import EVERY_GAME, by_name, new_game, positions, random_action

LIMIT = 1_800

QUINCUNX = [
    *("CS (1, 3)", "cs 1 3", "cs 1,3", "CS at (1, 3)", "play: CS (1,3).", "  c s\t(1 ;3)", "CS(1,3)", "CS -> 1, 3"),
    *(
        "**CS (1, 3)**",
        "`CS (1, 3)`",
        "- CS (1, 3)",
        "“CS (1, 3)”",
        "[CS (1, 3)]",
        "CS\u00a0(1,\u00a03)!",
    ),
    *(
        "I will play the CS at row 1, column 3.",
        "Action: CS to row 1 and column 3",
        '{"card": "CS", "row": 1, "column": 3}',
    ),
    *("AV (0, 1) would lose points.\n\nFinal answer: CS (1, 3)\n", "Either AV or CS.\n```\nCS (1, 3)\n```\n"),
    *(
        "<action>CS (1, 3)</action> as AV (0, 1) is worse",
        "<think>AV (0, 1)?</think>\n<ACTION>\ncs 1 3\n</ACTION>\nDone.",
    ),
    *("It pairs.\n<action>CS (1, 3)", "<action>AV (0, 1)</action> no: <action>CS (1, 3)</action>"),
    *(
        "It pairs.\n<action>\nCS (1, 3)",
        "Answers are in <action> tags.\nCS (1, 3)",
        "<action>AV</action> <action> CS 1 3\n",
    ),
    *("<action>CS (1, 3)</action>\n<action>", "<action>CS (1, 3)</action> <action> </action>\nDone."),
    *("<action>CS (1, 3)</action>\nI play the CS.", "<action>CS (1, 3)</action>\nCS at row 1, column 3"),
    *(
        "<think>Perhaps <action>AV (0, 1)</action>? No.</think>\nCS (1, 3)",
        "<Thinking>\nAV (0, 1)\n</Thinking>CS (1, 3)",
        "AV (0, 1)? <action>AV (0, 1)</action> No.\n</think>\n\nCS (1, 3)",
        "CS (1, 3)\n<think>or rather\nAV (0, 1)",
        "<action>CS (1, 3)</action><reasoning>AV (0, 1)</reasoning>",
        "<think>a <think>b</think> AV (0, 1)</think>CS (1, 3)",
        "[THINK]AV (0, 1)[/THINK]CS (1, 3)",
        "\u25c1think\u25b7AV (0, 1)\u25c1/think\u25b7CS (1, 3)",
        "[Reasoning] It pairs.\nCS (1, 3)",
    ),
    *("\\boxed{CS (1, 3)}", "So:\n\\[ \\boxed{\\text{CS (1, 3)}} \\]", "The answer is $\\boxed{CS (1, 3)}$."),
    *(
        "CS \uff081\uff0c3\uff09",
        "Action\uff1aCS (1, 3)",
        "CS (1, 3)\u3002",
        "CS \u2013 (1, 3)",
        "CS → (1, 3)",
        "✅ CS (1, 3)",
        "CS (\uff11, \uff13)",
    ),
    *(
        "CS (1, 3)?",
        "CS (1, 3) ✓",
        "«CS (1, 3)»",
        "CS ⇒ [1, 3]",
        "• CS — (1, 3)",
        "\uff23\uff33 1 3",
        "CS (1, 3)\n———\n🙂",
        "1.CS (1, 3)",
    ),
    *("1. CS (1, 3)", "1) **CS (1, 3)**", "> CS (1, 3)", "### CS (1, 3)"),
    *(
        '```json\n{\n  "card": "CS",\n  "row": 1,\n  "column": 3\n}\n```',
        '{"card": "CS",\n"cell": [\n1,\n3\n]}',
        '{"reasoning": "AV (0, 1) is worse.",\n "action": "CS (1, 3)"\n}',
        '{"confidence": 0.9, "action": "CS (1, 3)", "points": 5}',
        '<action>\n{"card": "CS",\n"row": 1, "column": 3}\n</action>',
        "{'card': 'CS',\n'row': 1,\n'column': 3}",
        "CS (1, 3)\n{}",
        'CS (1, 3)\n{"": ""}',
    ),
]
"""Ways to write CS (1, 3)."""

UNREADABLE = [
    *(
        "",
        "   ",
        "pass",
        "CS",
        "CS 1",
        "(1, 3)",
        "CS (1, 3, 2)",
        "CS or AV (1, 3)",
        "CS (1, 3) or (0, 1)",
        "not CS (1, 3)",
    ),
    *(
        "CS (-1, 3)",
        "CS (1, -3)",
        "CS 1-3",
        "CS column 3 row 1",
        "CS (1, 3²)",
        "CS \u2013 1, 3",
        "CS 1\u20133",
    ),
    *(
        "CS (1, 3)\nThat is a pair.",
        "CS (1, 3) AV (0, 1)",
        "CS (1.5, 3)",
        "1CS (1, 3)",
        "<action></action>",
    ),
    *(
        "<think>CS (1, 3)",
        "<think>AV (0, 1)</think>",
        "CS (1, 3) <think>no</think> AV (0, 1)",
        "2. CS (1, 3)",
        "3. CS (1, 3)\n4. AV (0, 1)",
    ),
    *(
        "<action>AV (0, 1)</action> No.\nCS (1, 3)",
        "<action>CS (1, 3)</action>\nCS (1, 2)",
        "CS (1, 3) </action> AV (0, 1)?",
    ),
    *(
        '{"action": "AV (0, 1)", "action": "CS (1, 3)"}',
        '{"first": "CS (1, 3)",\n"second": "AV (0, 1)"}',
        '{"action": null}',
    ),
    *("<action>AV (0, 1)\nCS (1, 3)</action>", '{"action": ["CS (1, 3)", "AV (0, 1)"]}'),
    *("10S (1, 3)", "announce 5", "5", "seat 9 é", "CS (1, 3)" * 400, "\u017f", "CSs (1, 3)", "\ud800"),
]
"""Texts that are no play, or may denote two."""


ENDINGS = [
    *("<|im_end|>", "\n<|im_end|>\n", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<|endoftext|>", "<|user|>"),
    *(
        "<|END_OF_TURN_TOKEN|>",
        "<|end_of_text|>",
        "<|end-of-turn|>",
        "<| im_end |>",
        "<|IM_END|>",
        "<im_end>",
        "</im_end>",
    ),
    *(
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<\uff5cUser\uff5c>",
        "<end_of_turn>\n",
        "<turn|>",
        "<|turn>",
        "<end_of_utterance>",
    ),
    *(
        "</s>",
        " </s> ",
        "</s></s>\n</s>",
        "</S>",
        "< /s >",
        "<eos>",
        "<EOD>",
        "<pad><pad>",
        "<|reserved_special_token_2|>",
    ),
    *(
        "[/INST]",
        "[EOS]",
        "[/inst]",
        "\n[END]",
        "[DONE].",
        "</answer>",
        "</response>",
        "<br>",
        "<br/>",
        "</final_answer>\n</s>",
    ),
    *(
        "\\n",
        "\\n\\n",
        "\\r\\n",
        "\\n</s>",
        "</s>\\n",
        "\\t",
        "<0x0A>",
        "\\\\n",
        ".\\n",
        "\n```\\n",
        "**</s>",
        "<|im_end|>`",
    ),
    *("<|im_end|", "<|im_end", "</s", "&lt;/s&gt;", "\\u003c/s\\u003e", "<\\s>", "<end of turn>", "<|end of text|>"),
    *(" [end of text]", "[|endofturn|]", "<\uff5c\u2581EOS\u2581\uff5c>", "<|im_start|>user", "</s>\n<|assistant|>\n"),
    *("<|im_end|>\n<|im_start|>assistant\n", "<|eot_id|><|start_header_id|>user<|end_header_id|>"),
    *(
        "",
        "\n",
        ".",
        "!",
        "**",
        "`",
        "\n```",
        " \u2713",
        "\n---",
        "\u3002",
        "\n\n\n",
        "\x00",
        "\ufffd",
        "\u200b",
        "\ufeff",
        "<|",
    ),
]
"""What may follow an answer."""

ENDED = [
    *(
        "AV <or> CS (1, 3)",
        "CS (1, 3)\nAV",
        "CS (1, 3)\n<AV>",
    ),
    *(
        "CS (1, 3)\n<pass now>",
        "CS (1, 3)\n[pass]",
        "CS (1, 3)\n[Pass]",
        "CS (1, 3) <2>",
        "CS (1, 3)\nim_end",
        "CS (1, 3)n",
    ),
    *(
        "CS (1, 3)\n<|AV|>",
        "</s>",
        "[PASS]",
        "\\n",
        "<|im_end|></s>",
        "<think>CS (1, 3)</think></s>",
        "CS (1, 3)\n<legal>",
    ),
    *("CS (1, 3)\n<|AV", "CS (1, 3)\n[pass now]", "CS (1, 3)\nuser", "CS (1, 3) <|im_end|> no"),
]
"""Texts that end with something else than a token, or with nothing before it."""

PATIENCE = 0.05
"""Most seconds of processor time for an answer."""

COMBINING = [character for character in map(chr, range(0x300, 0x1D300)) if unicodedata.combining(character)]

PIECES = [
    *(
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        '"',
        "\\",
        "\n",
        " ",
        "-",
        "1",
        "CS",
        "CS (1, 3)",
        "\u2212",
        "\ufdfa",
        "\u0301",
        "e",
    ),
    *("<action>", "</action>", "<think>", "</think>", "[THINK]", "</s>", "<|im_end|>", "\\n", "[EOS]", "MY ", "CARD "),
    *(
        '{"action": "CS (1, 3)"}',
        '{"a": [',
        "{}",
        "announce 5",
        "\u2028",
        "\x85",
        "<|",
        "|>",
        "<eos",
        "[/",
        "\u2047",
        "\u33c2",
    ),
]
"""Parts of texts that `read_action` looks for, and characters that become many."""

HARD = {
    "combining marks": "\u0301\u0316" * 20_000,
    "combining marks in lines": ("\u0301\u0316" * 400 + "\n") * 50,
    "brackets": "[" * 2_000,
    "brackets of an object": '{"action": ' + "[" * 2_000 + "]" * 2_000 + "}",
    "brackets that can be read": '{"action": ' + "[" * 400 + "]" * 400 + "}",
    "a long number": '{"action": ' + "1" * 10_000 + "}",
    "ligatures": "\ufdfa" * 50_000,
    "many signs of one": "\u2057" * 50_000,
    **{piece.encode("unicode_escape").decode(): piece * (100_000 // len(piece)) for piece in PIECES},
    "2 MB": "CS or AV\n" * 222_222,
}
"""Texts by what may take long."""


@pytest.mark.parametrize("text", QUINCUNX)
def test_plays_are_read_as_people_write_them(text: str) -> None:
    game = new_game(Rules(), 0)
    assert read_action(game, text) == parse_action(game, "CS (1, 3)")


@pytest.mark.parametrize("text", UNREADABLE)
def test_text_that_may_mean_something_else_is_refused(text: str) -> None:
    game = new_game(Rules(), 0)
    before = to_json(game)
    with pytest.raises(IllegalAction) as error:
        read_action(game, text)
    assert str(error.value).isascii()
    assert len(str(error.value)) < 500
    assert to_json(game) == before


@pytest.mark.parametrize("text", ["CS (1, 3)", "It pairs.\n<action>cs 1 3", '{"card": "CS", "row": 1, "column": 3}'])
@pytest.mark.parametrize("ending", ENDINGS)
def test_what_follows_the_answer_does_not_spoil_it(text: str, ending: str) -> None:
    game = new_game(Rules(), 0)
    assert read_action(game, text + ending) == parse_action(game, "CS (1, 3)")
    assert answer_of(f"legal{ending}") == "LEGAL"


@pytest.mark.parametrize("text", ENDED)
def test_what_may_be_an_answer_is_not_taken_for_an_ending(text: str) -> None:
    with pytest.raises(IllegalAction):
        read_action(new_game(Rules(), 0), text)


def test_a_card_or_a_question_in_brackets_is_an_answer() -> None:
    game = new_game(Rules(), 0)
    for text in (
        "AV (0, 1)\n[CS (1, 3)]",
        "AV (0, 1)\n[CS_1_3]",
        "AV (0, 1)\n<|CS_1_3|></s>",
        "<CS> <row 1, column 3>",
    ):
        assert print_action(game, read_action(game, text)) == "CS (1, 3)"
    game = new_game(spiral.Rules(), 0)
    for text in ("[TS]", "<ts>", "3S\n[10S]", "3S\n<|TS|>", "3S\n<ts></s>"):
        assert print_action(game, read_action(game, text)) == "TS"
    for text in ("[LEGAL]", "TS\n<legal>", "<|legal|>\n</s>"):
        assert answer_of(text) == "LEGAL"


def test_the_end_of_a_long_answer_is_read() -> None:
    game = new_game(Rules(), 0)
    action, thoughts = parse_action(game, "CS (1, 3)"), "AV (0, 1)? " * 10_000
    for text in (f"{thoughts}\nCS (1, 3)", f"<think>{thoughts}</think>CS (1, 3)", f"CS (1, 3)<think>{thoughts}"):
        assert read_action(game, text) == action
    for text in (f"CS (1, 3)\n{thoughts}", f"<think>{thoughts}\nCS (1, 3)"):  # the second block has no end
        with pytest.raises(IllegalAction):
            read_action(game, text)
    assert read_action(game, " " * (MAX_READ - 6) + "CS 1 3") == action
    with pytest.raises(IllegalAction):
        read_action(game, "CS 1 3" + " " * (MAX_READ - 5))


def test_an_answer_is_kept_with_its_end() -> None:
    assert shortened("a" * MAX_KEPT) == "a" * MAX_KEPT
    kept = shortened("AV (0, 1)? " * 200_000 + "\nCS (1, 3)")
    assert len(kept) == MAX_KEPT
    assert kept.startswith("[2,200,010 characters] ... ")
    assert kept.endswith("\nCS (1, 3)")


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
def test_patience_is_constant(text: str) -> None:
    game = new_game(Rules(), 0)
    assert seconds(game, text) < PATIENCE
    assert seconds(game, f"{text}\nCS (1, 3)") < PATIENCE


@pytest.mark.parametrize("count", [200, pytest.param(5_000, marks=pytest.mark.slow)])
def test_no_random_text_takes_long(count: int) -> None:
    games = [new_game(rules, 0) for rules in (Rules(), spiral.Rules())]
    worst = max((seconds(games[seed % 2], random_text(seed)), seed) for seed in range(count))
    print(f"{count:,} texts: at most {1000 * worst[0]:.1f} ms, by seed {worst[1]}")
    assert worst[0] < PATIENCE


def seconds(game: SomeGame, text: str) -> float:
    """Processor time of reading a text, the least of three if it is long."""
    times = list[float]()
    while len(times) < 3 and not (times and times[-1] < PATIENCE):
        start = time.process_time()
        with suppress(IllegalAction):
            read_action(game, text)
        times.append(time.process_time() - start)
    return min(times)


def random_text(seed: int) -> str:
    """Up to 100,000 characters: of all Unicode, of a few of them, or of pieces with a meaning."""
    rng = random.Random(seed)
    length = int(10 ** rng.uniform(0, 5))
    kinds: list[list[str]] = [
        [chr(rng.randrange(sys.maxunicode + 1)) for _ in range(1_000)],
        [chr(rng.randrange(0x300)) for _ in range(100)],
        rng.choices(string.printable, k=3),
        rng.choices(PIECES, k=rng.randint(1, 20)),
        [*rng.choices(PIECES, k=5), *rng.choices(COMBINING, k=5), *rng.choices(string.printable, k=5)],
    ]
    alphabet = rng.choice(kinds)
    return "".join(rng.choices(alphabet, k=length))[:100_000]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<think>AV first?\n<action>CS (1, 3)</action>", "the block <think> has no end"),
        ("So:\n[THINK]\nCS (1, 3)", "the block [THINK] has no end"),
        ("<think>CS (1, 3)</think>\n", "nothing follows </think>"),
        ("<action>CS (1, 3)\nDone", "the tag <action> has no end"),
        ("CS (1, 3)\n<action>", "the tag <action> has no end"),
        ("<action></action>", "the tag <action> is empty"),
        (" \n", "the answer is empty"),
        ("Hm.\nI play  CS or av!", "'I play CS or av!' is not read as an action"),
        ("<action>no</action>\n<action>", "'no' is not read as an action"),
        ("`...`", "'`...`' is not read as an action"),
        ('{\n"action": null\n}', "'{ \"action\": null }' is not read as an action"),
        ("<action>cs (1, 3)</action>\nPlay: CS (1, 2)", "'cs (1, 3)' and 'Play: CS (1, 2)' are two actions"),
        ("10s (1, 3)", "unknown card '10S'"),
        ("4kk (1, 3)", "unknown card '4KK'"),
    ],
)
def test_errors_name_the_reason_or_quote_the_answer_as_written(text: str, reason: str) -> None:
    with pytest.raises(IllegalAction, match=f"^{re.escape(reason)}"):
        read_action(new_game(Rules(), 0), text)


@pytest.mark.parametrize("text", ["rules?", "Hm.\n**Rules**", "\u00ab rules \u00bb\uff1f", "<action>rules"])
def test_a_question_is_read_as_an_answer_is(text: str) -> None:
    assert answer_of(text) == "RULES"


def test_names_take_the_place_of_seats_outside_quotations() -> None:
    names = ["Ada", "Ben"]
    for text, expected in {
        "seat 0 and 1 win": "Ada and Ben win",
        "'seat 9 \\' seat 8' is not of seat 1": "'seat 9 \\' seat 8' is not of Ben",
        "seat 0's card, the players' seat 1": "Ada's card, the players' Ben",
        '"it\'s seat 7"': '"it\'s seat 7"',
    }.items():
        assert with_names(text, names) == expected


def test_illegal_plays_are_explained() -> None:
    game = new_game(Rules(), 0)
    with pytest.raises(IllegalAction, match=r"AK cannot be played at \(1, 3\): it is not in the hand"):
        read_action(game, "ak 1 3")
    with pytest.raises(IllegalAction, match="the cell is taken"):
        read_action(game, "cs 0 0")


def test_the_cell_of_the_spiral_may_be_written() -> None:
    game = new_game(spiral.Rules(), 0)
    for text in ("TS", "10s", "Play: 10 S.", "ts at (2, 3)", "T S row 2, column 3"):
        assert print_action(game, read_action(game, text)) == "TS"
    with pytest.raises(IllegalAction, match=r"the next card goes to \(2, 3\), not to \(2, 4\)"):
        read_action(game, "TS (2, 4)")


def test_the_suits_of_a_card_may_have_any_order() -> None:
    game = new_game(Rules(), 0)
    for text in ("4KY (1, 3)", "4yk 1 3", "4 KY at (1, 3)"):
        assert print_action(game, read_action(game, text)) == "4YK (1, 3)"
    with pytest.raises(IllegalAction, match="unknown card"):
        read_action(game, "4KK (1, 3)")


def test_the_excuse_is_read() -> None:
    excuse, games = parse_card("X"), (new_game(Rules(excuse=True), seed) for seed in range(99))
    game = next(game for game in games if excuse in game.hand(0))
    for text in ("x 0 1", "X at (0, 1)", "Play: X to 0 1"):
        assert print_action(game, read_action(game, text)) == "X (0, 1)"


def test_announcements_are_read_when_they_are_due() -> None:
    game = new_game(Rules(2, simpleton=True), 0)
    with pytest.raises(IllegalAction, match="no announcement is due"):
        read_action(game, "announce 5")
    game.step(random_action(game, random.Random(0)))
    for text in (
        "announce -5",
        "ANNOUNCE: -5",
        "-5",
        "\u22125 points",
        "I announce -5 points.",
        "My announcement is -5",
        "<think>12</think>\\boxed{-5}",
        '{"announce":\n-5}',
        "<action>-5</action>\nThe points are -5.",
        "announce\uff1a\uff0d5\u3002",
        "→ -5 ✓",
    ):
        assert print_action(game, read_action(game, text)) == "announce -5"
    for text in ("- 5", "- 5 POINTS", "\u2212 5", "<action>- 5</action>", "1. 5", "\u20135"):
        with pytest.raises(IllegalAction, match="not read as an action"):
            read_action(game, text)
    for text in (
        "announce - 5",
        "announce \u20135",
        "announce 5.5",
        "announce 4 5",
        "announce five",
        "<action>announce 12</action>\n21 points",
        "announce 99999",
    ):
        with pytest.raises(IllegalAction):
            read_action(game, text)
    with pytest.raises(IllegalAction, match="must announce the points"):
        read_action(game, "CS (1, 3)")


def test_points_are_read_without_a_game() -> None:
    for text in ("-5", "announce -5", "It loses.\n**-5 points**", "<action>-5</action></s>"):
        assert read_points(text) == -5
    for text in ("CS (1, 3)", "<action>5</action>\n6", "five", ""):
        with pytest.raises(IllegalAction):
            read_points(text)


@by_name(EVERY_GAME)
def test_prompts_are_short_and_read_back(rules: BaseRules) -> None:
    """With the rules card, in positions of a game; every written form of a legal action is read as this one."""
    card, names = rules_card(rules), [f"player_{seat}" for seat in range(rules.num_players)]
    rng = random.Random(0)
    for game in positions(rules, 0):
        if game.ply > rules.num_players and rng.random() < 0.8:  # prompts are longest after the end of a round
            continue
        text = prompt(game, game.mover, names, card)
        assert len(text) < LIMIT, text
        assert set(text) <= {*string.ascii_letters, *string.digits, *string.punctuation, " ", "\n"}
        assert not re.search(r"\bseat \d", text)
        if not game.over:
            action = random_action(game, rng)
            assert read_action(game, varied(print_action(game, action), rng)) == action


def varied(text: str, rng: random.Random) -> str:
    """An action in another case and spacing, alone or after a thought."""
    text = rng.choice((str.lower, str.upper, str.title))(text)
    text = text.replace(", ", rng.choice((",", " ", " , ", ", "))).replace("(", rng.choice(("(", "( ", "at (")))
    return rng.choice(("", "Let me think.\n", "Play: ", "<action>", "\n\n")) + text + rng.choice(("", ".", " ", "\n"))
