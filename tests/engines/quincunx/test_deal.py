"""Deals: as text, as values, and made from seeds.

The deals made from seeds are frozen: ``tests/golden/deals.txt`` holds some of them. Only if
they are meant to change, write the file anew with ``python -m tests.engines.quincunx.test_deal``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quincunx_env import spiral
from quincunx_env.core.deal import MAX_SEED, Domain, shuffle
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import parse_card, print_cards
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from tests.variants import VARIANTS

GOLDEN = Path(__file__).parents[2] / "golden" / "deals.txt"

# --- Golden deals ----------------------------------------------------------------------------------------------------

FULL = "+excuse+pawns+flush"

GOLDEN_DEALS: list[tuple[str, Domain, int, int, int]] = [
    ("solitaire", "play", 0, 0, 0),
    ("solitaire", "play", 1, 0, 0),
    ("solitaire", "play", 0, 1, 0),
    ("solitaire", "benchmark", 0, 0, 0),
    ("solitaire", "validation", 0, 0, 0),
    ("solitaire", "play", 2**63 - 1, 0, 0),
    ("solitaire", "benchmark", 2**32, 0, 0),
    ("solitaire", "play", 12345, 1_000_000, 0),
    ("solitaire-contact+excuse", "play", 7, 0, 0),
    ("solitaire+pawns", "validation", 123_456_789_012, 3, 0),
    ("solitaire" + FULL, "play", 42, 17, 0),
    ("corners-2", "play", 0, 0, 0),
    ("corners-2+match", "play", 0, 0, 1),
    ("corners-3+match", "benchmark", 99, 5, 2),
    ("corners-4+match", "validation", 2**40 + 1, 0, 3),
    ("corners-4" + FULL, "play", 3, 0, 0),
    ("open-2", "play", 8, 2, 0),
    ("open-3+pawns", "benchmark", 1000, 0, 0),
    ("open-4+excuse", "play", 2**62, 16, 0),
    ("open-4" + FULL + "+simpleton+match", "play", 31, 4, 3),
]
"""Rules, domain, seed, game, round."""


def golden_text() -> str:
    """The golden deals as the file holds them: for each a line with its parameters, and its cards."""
    blocks = []
    for name, domain, seed, game, round in GOLDEN_DEALS:
        deal = Deal.from_seed(VARIANTS[name], seed, game, round, domain)
        blocks.append(f"{name}: {domain}, seed {seed}, game {game}, round {round}\n{deal}\n")
    return "\n".join(blocks)


def test_deals_from_seeds_are_frozen() -> None:
    text = GOLDEN.read_text(encoding="utf-8")
    assert golden_text() == text
    assert len({line for line in text.splitlines() if "|" in line}) == len(GOLDEN_DEALS) == 20


@pytest.mark.parametrize(("name", "domain", "seed", "game", "round"), GOLDEN_DEALS)
def test_golden_deals_come_through_every_interface(name: str, domain: Domain, seed: int, game: int, round: int) -> None:
    """`Deal`, `Game`, `Batch` and the array function deal the same cards."""
    rules = VARIANTS[name]
    deal = Deal.from_seed(rules, seed, game, round, domain)
    deal.check(rules)
    assert Game.from_seed(rules, seed, game, domain).deals[round] == deal
    seeds, games, rounds = np.array([[seed], [game], [round]], np.uint64)
    assert shuffle(rules.deck, seeds, games, rounds, domain)[0].tolist() == list(deal.cards)
    batch = Batch(rules, 1, domain)
    batch.reset(seed=seed)
    if game < 100:  # a batch gets there one by one
        for _ in range(game):
            batch.reset()
        assert batch.deals(0)[round] == deal


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    rules=st.sampled_from(list(VARIANTS.values())),
    domain=st.sampled_from(list(enumerate(("play", "benchmark", "validation")))),
    words=st.tuples(st.integers(0, MAX_SEED - 1), st.integers(0, 10**6), st.integers(0, 3)),
)
def test_the_hash_in_plain_integers(rules: Rules, domain: tuple[int, Domain], words: tuple[int, int, int]) -> None:
    """The deal by the description of `shuffle`, SplitMix64 written out once more."""
    increment, limit = 0x9E3779B97F4A7C15, 2**64

    def mix(z: int) -> int:
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % limit
        z = (z ^ z >> 27) * 0x94D049BB133111EB % limit
        return z ^ z >> 31

    number, name = domain
    state = number
    for word in words:
        state = (mix((state + increment) % limit) + word) % limit
    state = mix((state + increment) % limit)
    # The card number takes the place of the lowest six bits, and so decides between equal keys.
    keys = {card: (mix((state + increment * (card + 1)) % limit) & ~63) + card for card in rules.deck}
    assert Deal.from_seed(rules, *words, name).cards == tuple(sorted(rules.deck, key=keys.__getitem__))


# --- Seeds -----------------------------------------------------------------------------------------------------------


def test_options_without_influence_on_the_cards_leave_deals_alone() -> None:
    """Deals are a function of deck, set-up, domain, seed, game and round."""
    for seed in range(5):
        plain = Deal.from_seed(Rules(), seed)
        assert Deal.from_seed(Rules(edge_contact=True, flush=True), seed) == plain
        assert Deal.from_seed(Rules(num_players=2), seed).cards == plain.cards
        match = Rules(num_players=2, match=True, simpleton=True)
        assert Deal.from_seed(match, seed) == Deal.from_seed(Rules(num_players=2), seed)


def test_every_word_of_the_seed_matters() -> None:
    """Neighbouring seeds, games and rounds, and words that change places, all deal differently."""
    words = [(seed, game, round) for seed in range(12) for game in range(12) for round in range(4)]
    domains: tuple[Domain, ...] = get_args(Domain)
    deals = {Deal.from_seed(Rules(), *word, domain).cards for word in words for domain in domains}
    assert len(deals) == 3 * len(words)


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64, 1.0, "1", None, True, np.float64(3)])
def test_bad_seeds_are_refused(seed: Any) -> None:
    for deal in (Deal.from_seed, Game.from_seed):
        with pytest.raises(ValueError, match=r"seed must be an integer from 0 to 2\*\*63 - 1, got"):
            deal(Rules(), seed)


@pytest.mark.parametrize("number", [1.5, 1.0, float("nan"), "3", None, True, -1, 2**63], ids=repr)
@pytest.mark.parametrize("word", ["game", "round"])
def test_bad_numbers_of_games_and_rounds_are_refused(word: str, number: Any) -> None:
    with pytest.raises(ValueError, match=rf"{word} must be an integer from 0 to 2\*\*63 - 1, got"):
        Deal.from_seed(Rules(), 0, **{word: number})
    if word == "game":
        with pytest.raises(ValueError, match="game must be an integer"):
            Game.from_seed(Rules(), 0, number)


@pytest.mark.parametrize("domain", ["test", None, ["play"]], ids=repr)
def test_unknown_domains_are_refused(domain: Any) -> None:
    with pytest.raises(ValueError, match="domain must be one of play, benchmark, validation, got"):
        Deal.from_seed(Rules(), 0, domain=domain)


def test_deals_of_the_other_game_are_refused() -> None:
    """By whatever would play them; and rules of the other game have no such deals."""
    deal, other = Deal.from_seed(Rules(), 0), spiral.Deal.from_seed(spiral.Rules(), 0)
    for refuse in (
        lambda: Game(Rules(), other),  # type: ignore[arg-type]
        lambda: other.check(Rules()),
        lambda: Batch(Rules(), 1).reset(deals=[other]),
        lambda: spiral.Game(spiral.Rules(deals=1), deal),  # type: ignore[arg-type]
        lambda: deal.check(spiral.Rules()),
        lambda: Deal.from_seed(spiral.Rules(), 0),
        lambda: spiral.Deal.from_seed(Rules(), 0),
    ):
        with pytest.raises(ValueError, match="Deal is a deal of another game than Rules"):
            refuse()


@pytest.mark.parametrize("deals", ["AM | AS / AV | AL", 5, [None], ["AM"]], ids=repr)
def test_what_is_no_deal_cannot_be_played(deals: Any) -> None:
    with pytest.raises(ValueError, match=r"a Deal is needed \(Deal.parse reads one from text\), got"):
        Game(Rules(), deals)
    if isinstance(deals, int):
        with pytest.raises(ValueError, match="a deal is read from a string, got 5"):
            Deal.parse(deals)  # type: ignore[arg-type]


# --- Uniform ---------------------------------------------------------------------------------------------------------


def decks(rules: Rules, kind: str, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Seeded decks [count, cards] whose seeds, games or rounds count up while the other words stay."""
    up, still = np.arange(count, dtype=np.uint64), np.full(count, 3, np.uint64)
    seeds, games, rounds = (up if name == kind else still for name in ("seeds", "games", "rounds"))
    return shuffle(rules.deck, seeds, games, rounds).astype(np.int64)


@pytest.mark.parametrize("kind", ["seeds", "games", "rounds"])
@pytest.mark.parametrize("rules", [Rules(), Rules(excuse=True, pawns=True)], ids=["36 cards", "41 cards"])
def test_seeded_deals_are_uniform(rules: Rules, kind: str) -> None:
    """Each card at each place, and each card after each other, about equally often.

    The seeds are fixed, so this cannot fail by chance; six standard deviations of chi-square are generous.
    """
    count, size = 20_000, len(rules.deck)
    dealt = np.searchsorted(rules.deck, decks(rules, kind, count))
    assert (np.sort(dealt, axis=1) == np.arange(size)).all(), "every card once"

    def check(table: np.ndarray[tuple[int, int], np.dtype[np.int64]], expected: float, freedom: int) -> None:
        chi_square = ((table - expected) ** 2).sum() / expected
        assert abs(chi_square - freedom) < 6 * (2 * freedom) ** 0.5

    place = np.arange(size)
    table = np.bincount((place * size + dealt).ravel(), minlength=size * size)
    check(table, count / size, (size - 1) ** 2)
    # Which card lies on the first place, by the card there in the next deck.
    first = dealt[:, 0]
    table = np.bincount(first[:-1] * size + first[1:], minlength=size * size)
    check(table, (count - 1) / size**2, size * size - 1)
    # Which card follows the first: any other.
    table = np.bincount(first * size + dealt[:, 1], minlength=size * size).reshape(size, size)
    assert not table.diagonal().any()
    check(table[~np.eye(size, dtype=bool)], count / size / (size - 1), size * (size - 1) - 1)


# --- Text ------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rules=st.sampled_from(list(VARIANTS.values())), seed=st.integers(0, MAX_SEED - 1))
def test_deals_print_and_parse(rules: Rules, seed: int) -> None:
    deal = Deal.from_seed(rules, seed)
    assert Deal.parse(str(deal)) == deal
    assert Deal.of_cards(rules, deal.cards) == deal
    deal.check(rules)


def test_the_text_shows_the_parts_of_a_deal() -> None:
    """Face-up cards, hands separated by slashes, pile from the top; white space does not matter."""
    deal = Deal((0, 6), ((40, 36), (1,)), (30,))
    assert str(deal) == "AM 2MK | X PVLY / AS | CM"
    assert Deal.parse(" AM\n2MK|X   PVLY/AS|CM ") == deal
    assert deal.cards == (0, 6, 40, 36, 1, 30)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AM 2MK", "a deal is written 'face-up cards | hand / hand ... | pile', got 'AM 2MK'"),
        ("AM | 2MK", "a deal is written"),
        ("AM | 2MK | AS | AV", "a deal is written"),
        ("AM | 2KM | AS", "unknown card '2KM'"),
        ("AM | 2MK, 3MV | AS", "unknown card '2MK,'"),
    ],
)
def test_what_is_no_deal_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("|", r"\|").replace("...", r"\.\.\.")):
        Deal.parse(text)


# --- What rules can deal ---------------------------------------------------------------------------------------------


def changed(deal: Deal, old: str, new: str) -> Deal:
    """The deal with one card's name replaced."""
    assert f" {old} " in f" {deal} "
    return Deal.parse(" ".join(new if word == old else word for word in str(deal).split()))


def test_check_names_cards_that_are_missing_double_or_foreign() -> None:
    rules = Rules(num_players=2)
    deal = Deal.from_seed(rules, 1)
    for wrong, messages in (
        (changed(deal, "AM", "AS"), ["missing: AM", "dealt twice: AS"]),
        (changed(deal, "2MK", "X"), ["missing: 2MK", "not in the deck of these rules: X"]),
        (changed(deal, "CK", "PVLY"), ["missing: CK", "not in the deck of these rules: PVLY"]),
    ):
        for refuse in (wrong.check, lambda rules, wrong=wrong: Game(rules, wrong)):
            with pytest.raises(ValueError, match="this deal does not fit the rules") as error:
                refuse(rules)
            assert all(message in str(error.value) for message in messages)
            named = {name for name in ("missing", "dealt twice", "not in the deck") if name in str(error.value)}
            assert len(named) == len(messages)


def test_check_names_sizes() -> None:
    rules = Rules(num_players=2)
    deal = Deal.from_seed(rules, 1)
    short = Deal(deal.face_up, (deal.hands[0][1:], deal.hands[1]), (deal.hands[0][0], *deal.pile))
    with pytest.raises(ValueError, match=r"5 \| 10 / 10 \| 11 cards .* got 5 \| 9 / 10 \| 12"):
        short.check(rules)
    bare = Deal(deal.face_up[1:], deal.hands, (*deal.pile, deal.face_up[0]))
    with pytest.raises(ValueError, match=r"got 4 \| 10"):
        bare.check(rules)
    with pytest.raises(ValueError, match=r"4 \| 7 / 7 / 7 \| 11 cards .* are needed"):
        deal.check(Rules(num_players=3))
    with pytest.raises(ValueError, match="missing: X"):
        deal.check(Rules(num_players=2, excuse=True))


@pytest.mark.parametrize("card", [-1, 41, 99, 3.0, True, "AM", None, np.int64(3), [3]], ids=repr)
def test_check_refuses_what_is_no_card(card: Any) -> None:
    """Wherever it lies; NumPy's integers, too, so that the cards of a game are plain ints."""
    deal = Deal.from_seed(Rules(), 1)
    for wrong in (
        Deal((card, *deal.face_up[1:]), deal.hands, deal.pile),
        Deal(deal.face_up, ((*deal.hands[0][1:], card), *deal.hands[1:]), deal.pile),
        Deal(deal.face_up, deal.hands, (*deal.pile[:-1], card)),
    ):
        for refuse in (wrong.check, lambda rules, wrong=wrong: Game(rules, wrong)):
            with pytest.raises(ValueError, match=re.escape(f"plain ints, card ids from 0 to 40, got {card!r}")):
                refuse(Rules())


def test_check_refuses_other_shapes() -> None:
    deal = Deal.from_seed(Rules(), 1)
    for wrong in (Deal(5, deal.hands, deal.pile), Deal(deal.face_up, deal.pile, deal.pile)):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="a deal holds tuples of card ids"):
            wrong.check(Rules())


def test_a_game_needs_a_deal_for_each_round() -> None:
    match = Rules(num_players=3, match=True)
    deal = Deal.from_seed(match, 0)
    for deals in (deal, [deal], [deal] * 4):
        with pytest.raises(ValueError, match=r"these rules play 3 rounds and need a deal for each, got [14]"):
            Game(match, deals)
    wrong = changed(deal, "AM", "AS")
    with pytest.raises(ValueError, match="missing: AM"):
        Game(match, [deal, deal, wrong])
    assert Game(match, [deal] * 3).deals == (deal,) * 3


def test_face_up_cards_hands_and_pile_are_dealt_in_order() -> None:
    """Face-up cards in reading order, each hand whole from seat 0 on, the pile from the top."""
    rules = Rules(num_players=2)
    names = print_cards(rules.deck).split()
    deal = Deal.of_cards(rules, [parse_card(name) for name in names])
    game = Game(rules, deal)
    laid = {rules.grid.place(cell): names[game.board[cell]] for cell in rules.face_up_cells}
    assert laid == dict(zip([(0, 0), (0, 4), (2, 2), (4, 0), (4, 4)], names[:5], strict=True))
    assert [print_cards(game.hand(seat)).split() for seat in (0, 1)] == [names[5:15], names[15:25]]
    assert print_cards(game.pile).split() == names[25:]
    batch = Batch(rules, 1)
    batch.reset(deals=[deal])
    assert batch.board[0].tolist() == list(game.board)
    assert batch.hands[0].tolist() == [sum(1 << card for card in range(low, low + 10)) for low in (5, 15)]


if __name__ == "__main__":
    GOLDEN.write_text(golden_text(), encoding="utf-8")
