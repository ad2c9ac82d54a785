"""The rules card fits on a screen, its numbers are the engines', and it names the options that are on."""

import re

from quincunx_env import quincunx, spiral
from quincunx_env.core.rules import BaseRules, option_sentences
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.registry import spec_of
from quincunx_env.spiral.scoring import score_hand
from tests.variants import EVERY_GAME, SPIRAL, VARIANTS


def test_the_card_fits_on_a_screen_and_in_a_prompt() -> None:
    for name, rules in EVERY_GAME.items():
        card = rules_card(rules)
        assert len(card) <= (900 if rules == quincunx.Rules() else 1300), name
        lines = card.split("\n")
        assert len(lines) <= 24, name
        assert all(line.rstrip() == line and 0 < len(line) <= 80 for line in lines), name
        assert card.isascii(), name


def numbers(text: str) -> list[int]:
    """Every number in a text, without signs."""
    return [int(number) for number in re.findall(r"\d+", text)]


def without_options(rules: BaseRules) -> str:
    """The card but for the sentences of the options that these rules have, each of which is a paragraph."""
    paragraphs, sentences = spec_of(rules).rules_card(rules), option_sentences(rules, without=["scoring"])
    assert {*sentences} <= {*paragraphs}
    return "\n".join(each for each in paragraphs if each not in sentences)


def bonus(name: str, *cards: str) -> int:
    """What a part of the score brings for the last of these cards, laid to the others in the top row, left to right."""
    rules = quincunx.Rules(num_players=2, flush=True)
    board = [-1] * (rules.num_cells + 1)
    ids = [next(number for number, card in enumerate(CARDS) if card.name == text) for text in cards]
    board[: len(ids) - 1] = ids[:-1]
    return scoring.score(rules, board, len(ids) - 1, ids[-1]).parts[name]


def test_every_number_of_quincunx_is_the_engines() -> None:
    for name, rules in VARIANTS.items():
        deal = quincunx.Deal.from_seed(rules, 0)
        side = 5 if rules.start == "open" else rules.grid.side
        by_rank = {card.rank: card for card in CARDS}
        expected = [rules.num_players] * (rules.num_players > 1)
        lowest, highest, example = (4, 5, 4) if rules.mini else (2, 9, 7)
        expected += [by_rank["A"].value, lowest, highest, *[by_rank["P"].value] * rules.pawns, by_rank["C"].value]
        expected += [by_rank["X"].value] * rules.excuse
        expected += [example, example]
        expected += [side, side, len(deal.hands[0]), len(deal.pile)]
        expected += [2, 9, 10, 11, 20, 12, 19, 10]  # see the test of the sums
        expected += [bonus("pair", "4MS", "4VL"), 3, bonus("three", "4MS", "4VL", "4YK")]
        expected += [lowest, highest, bonus("straight", "2MK", "3LY", "4VL")]
        costs = {rank: scoring.HAND_PENALTY[rank] for rank in "AP"}
        expected += [rules.setup.filled, costs["A"], *[costs["P"]] * rules.pawns]
        expected += numbers(" ".join(scoring.RATINGS)) if rules.num_players == 1 and not rules.mini else []
        assert numbers(without_options(rules)) == expected, name
        for card in map(CARDS.__getitem__, rules.deck):
            assert scoring.HAND_PENALTY[card.rank] == costs.get(card.rank, card.value)


def test_the_sums_of_quincunx_are_the_engines() -> None:
    """The lines on adjacent cards, read and compared with the score of every pair of cards with suits."""
    card = rules_card(quincunx.Rules(pawns=True))
    found = re.search(
        r"(\d+)-(\d+): -sum; .*\n +(\d+): nothing; (\d+) or (\d+): draw; (\d+)-(\d+): \+\(sum-(\d+)\)", card
    )
    assert found
    low, high, nothing, draw, last_draw, gain, last_gain, less = map(int, found.groups())
    seen = set()
    for one in CARDS[:40]:
        for other in CARDS[:40]:
            if one is other:
                continue
            total = one.value + other.value
            seen.add(total)
            if low <= total <= high:
                friends = one.suits & other.suits and {"A", "P"} & {one.rank, other.rank}
                expected = (total if friends else -total, 0)
            elif total in (draw, last_draw):
                expected = (0, 1)
            else:
                assert total == nothing or gain <= total <= last_gain
                expected = (total - less if total != nothing else 0, 0)
            assert scoring.basic(CARDS.index(one), CARDS.index(other)) == expected
    assert seen == set(range(low, last_draw + 1))


def test_every_number_of_the_spiral_game_is_the_engines() -> None:
    parse = spiral.cards.parse_cards
    kinds = [score_hand(parse(line), False).kinds for line in ("2S 2H 9S KH 5C", "2S 2H 2C KH 5C")]
    kinds.append(score_hand(parse("2S 2H 2C 2D 5C"), False).kinds)
    runs = [score_hand(parse(line), False) for line in ("2S 3H 9C KS 7H", "2S 3H 4C KS 7H")]
    suits = [score_hand(parse(line), False) for line in ("2S 4S 9C KS 7H", "2S 4S 9S KH 7H")]
    fifteen = score_hand(parse("9S 6H KC QS JH"), True)
    assert [score.run for score in runs] == [0, 3]
    assert [score.flush for score in suits] == [0, 3]
    for name, rules in SPIRAL.items():
        expected = [2, rules.deals, 52, *range(2, 10), 25, 5, 5, len(spiral.Deal.from_seed(rules, 0).hands[0])]
        expected += [number for count, points in enumerate(kinds, 2) for number in (count, points)]
        expected += [3, 3, 24]
        text = without_options(rules).replace("A23456789TJQK", "A 2 3 4 5 6 7 8 9 T J Q K")
        assert numbers(text) == expected, name
    [sentence] = option_sentences(spiral.Rules(fifteens=True))
    assert numbers(sentence) == [fifteen.fifteen, 15, 10]


def test_numbers_of_options_are_the_engines() -> None:
    flush = bonus("flush", "2VL", "4VL", "8VL", "AL")
    rules: dict[quincunx.Rules, list[int]] = {
        quincunx.Rules(flush=True): [flush, 4, 2, 2],
        quincunx.Rules(pawns=True): [next(card.value for card in CARDS if card.rank == "P"), 9],
        quincunx.Rules(2, start="open"): [5, 5],
        quincunx.Rules(mini=True): [quincunx.Rules(mini=True).grid.side] * 2,
    }
    for each, expected in rules.items():
        [sentence] = option_sentences(each)
        assert numbers(sentence) == expected, sentence


def test_options_of_the_spiral_game_that_the_card_weaves_in() -> None:
    for name, rules in SPIRAL.items():
        card = rules_card(rules)
        assert ("five columns" in card) == (rules.scoring == "end"), name
        assert ("deal again" in card) == (rules.deals > 1), name
