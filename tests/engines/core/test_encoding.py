"""The encoding for networks loses nothing; an action by place plays the card at that place."""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from quincunx_env import Rules, make_observer
from quincunx_env.core.arrays import Words, as_bits
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.encoding import one_hot
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.cards import card_name, parse_cards, print_cards
from quincunx_env.quincunx.padded import PaddedObserver
from quincunx_env.registry import spec_of
from quincunx_env.spiral.cards import NAMES
from tests.variants import BASES, COVERING, EVERY_GAME, by_name, new_batch, random_action, same, slow_unless_covering

SEED, ROWS = 30, 2

COVERED = {name: rules for name, rules in EVERY_GAME.items() if name in {*BASES, *COVERING}}
SPIRAL = next(rules for rules in EVERY_GAME.values() if rules.num_cards == 52)


def words(hands: Any) -> Words:
    """Hands with 1 for each card held, [n, cards], as bits."""
    return as_bits(np.arange(hands.shape[1])[None], hands != 0)


def check_vectors(observer: Any, batch: Any, seats: Any, by_place: bool) -> None:
    """Vectors of a batch and of its single games are, to the last bit, those that the pieces are encoded as."""
    vectors = observer.encoder(by_place).encode(observer.observe_batch(batch, seats))
    assert vectors.dtype == np.float32
    same(observer.vector_batch(batch, seats, by_place), vectors)
    seats = batch.mover if seats is None else seats
    for row, seat in enumerate(seats.tolist()):
        same(observer.vector(batch.to_game(row), seat, by_place), vectors[row])


@by_name(EVERY_GAME, slow_unless_covering)
@pytest.mark.parametrize("by_place", [False, True], ids=["by card", "by place"])
def test_the_vector_holds_all_pieces(rules: BaseRules, by_place: bool) -> None:
    """In every variant, padded or not, for every seat; encoding and decoding are inverse, within the space."""
    padded = [False, True] if spec_of(rules).PaddedObserver else [False]
    observers = [make_observer(rules, preview, pad) for preview in (False, True) for pad in padded]
    spaces = [observer.encoder(by_place).space() for observer in observers]
    batch, rng = new_batch(rules, ROWS), random.Random(SEED)
    batch.reset(SEED)
    while not batch.over.all():
        for observer, space in zip(observers, spaces, strict=True):
            encoder = observer.encoder(by_place)
            seats = np.full(ROWS, rng.randrange(rules.num_players))
            for looking in (None, seats, (seats + np.arange(ROWS)) % rules.num_players):
                check_vectors(observer, batch, looking, by_place)
            pieces = observer.observe_batch(batch, seats)
            vectors = encoder.encode(pieces)
            assert vectors.shape == (ROWS, encoder.size)
            assert all(map(space.contains, vectors))
            same(encoder.encode({name: piece[0] for name, piece in pieces.items()}), vectors[0])
            expected = dict(pieces)
            if by_place and observer.preview:  # cards beyond the last place cannot be played
                cards, number = observer.places.cards(words(pieces["hand"])), np.arange(pieces["hand"].shape[1])
                beyond = ~(number[None, None] == cards[:, :, None]).any(axis=1)
                expected["preview"] = pieces["preview"].copy()
                if "pending" in pieces:  # its points are to be announced
                    row = (pieces["pending"][:, 0] >= 0).nonzero()[0]
                    beyond[row, pieces["pending"][row, 0]] = False
                expected["preview"][beyond] = 0
            same(encoder.decode(vectors), expected)
        for _ in range(5):
            batch.step([0 if over else random_action(batch.to_game(row), rng) for row, over in enumerate(batch.over)])


@pytest.mark.parametrize("rules", [Rules(), Rules(2, excuse=True, pawns=True), Rules(3, simpleton=True)], ids=str)
@pytest.mark.parametrize("by_place", [False, True], ids=["by card", "by place"])
def test_cards_beyond_the_last_place_are_in_the_vector(rules: BaseRules, by_place: bool) -> None:
    """They are in ``rest``, without a preview; so it is while a play of one of them is to be announced."""
    batch = new_batch(rules, ROWS)
    batch.reset(SEED)
    batch.hands |= words(np.ones((1, 20), np.int8))
    for _ in range(2 if getattr(rules, "simpleton", False) else 1):
        for padded, preview in product((False, True), repeat=2):
            observer = make_observer(rules, preview, padded)
            assert (np.bitwise_count(batch.hands) > observer.places.places).all()
            check_vectors(observer, batch, None, by_place)
        plays = make_observer(rules).mask_batch(batch)
        batch.step(plays.shape[1] - 1 - plays[:, ::-1].argmax(axis=1))


def test_cards_and_numbers_are_encoded_as_documented() -> None:
    """Ranks, suits and a bit for a card; counts and preview divided by their units."""
    rules = Rules()
    observer = make_observer(rules, preview=True)
    game: Any = spec_of(rules).Game.from_seed(rules, SEED)
    pieces, slices = observer.observe(game), observer.encoder().slices
    vector = observer.encoder().encode(pieces)
    board = vector[slices["board"]].reshape(16, 17)
    for cell, card in enumerate(pieces["board"].tolist()):
        name = card_name(card) if card != EMPTY else ""
        letters = "A23456789C" + "MSVLYK"
        assert board[cell].tolist() == [float(letter in name) for letter in letters] + [float(card != EMPTY)]
    assert vector[slices["counts"]].tolist() == pytest.approx([24 / 24, 8 / 36, 0])
    preview = vector[slices["preview"]].reshape(36, 16, 2)
    assert preview[..., 0] == pytest.approx(pieces["preview"][..., 0] / 20)
    assert (preview[..., 1] == pieces["preview"][..., 1]).all()
    wide = PaddedObserver(rules)
    board = wide.encoder().encode(wide.observe(game))[wide.encoder().slices["board"]].reshape(81, -1)
    assert (board[:, -1] == -1).sum() == 81 - 16, "cells that these rules do not have"


def test_an_integer_is_one_hot_and_its_lack_is_nothing() -> None:
    """-1, the lack of an integer, is all 0."""
    assert [one_hot(3, "").table[number + 1].tolist() for number in (-1, 0, 1, 2)] == [
        [0, 0, 0],
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
    ]


# --- Places of the hand ----------------------------------------------------------------------------------------------


def test_a_hand_is_sorted_by_rank_and_then_by_id() -> None:
    places = make_observer(Rules(excuse=True, pawns=True)).places
    assert places.places == Rules().hand_size + 2
    hand = np.zeros((1, 41), np.int8)
    hand[0, list(parse_cards("X CM PVLY 9MS 2VL 2MK AK"))] = 1
    assert print_cards(places.cards(words(hand))[0, :7].tolist()) == "AK 2MK 2VL 9MS PVLY CM X"
    hand[0, :12] = 1
    assert places.cards(words(hand)).tolist() == [[*range(10)]], "cards beyond the last place wait"
    spiral = make_observer(SPIRAL).places
    hand = np.zeros((1, 52), np.int8)
    hand[0, list(NAMES.parse_cards("KS 2H AD 2S"))] = 1
    assert NAMES.print_cards(spiral.cards(words(hand))[0, :4].tolist()) == "AD 2S 2H KS"
    assert (spiral.places, spiral.num_actions) == (13, 13)


@by_name(COVERED)
def test_actions_by_place_are_those_of_the_cards(rules: BaseRules) -> None:
    """Masks and actions, one to one, in random games of every variant; scores of networks, too."""
    padded = [False, True] if spec_of(rules).PaddedObserver else [False]
    observers = [make_observer(rules, padded=pad) for pad in padded]
    batch, rng = new_batch(rules, ROWS), random.Random(SEED)
    batch.reset(SEED)
    while not batch.over.all():
        live = ~batch.over
        for observer in observers:
            places, joint, mask = observer.places, observer.mask_batch(batch), observer.places.masks(batch)
            assert mask.shape == (ROWS, places.num_actions)
            assert (mask.any(axis=1) == live).all(), "a game in progress has a legal action"
            cards = places.cards(batch._legal_hands())
            same(places.of_joint_masks(batch.mask), mask)
            for row in np.flatnonzero(live).tolist():
                game = batch.to_game(row)
                same(places.mask(game).view(np.bool_), mask[row])
                legal, rows = np.flatnonzero(mask[row]), np.repeat(batch.mask[[row]], len(mask[row]) + 3, axis=0)
                actions = places.to_joint(legal, rows[: len(legal)])
                assert [places.joint_action(game, action) for action in legal.tolist()] == actions.tolist()
                shown = joint[row].copy()
                for card in set(game.hand(game.mover)) - set(cards[row].tolist()):  # beyond the last place
                    shown[card * places.cells : (card + 1) * places.cells] = False
                assert sorted(actions) == sorted(observer.joint.engine(np.flatnonzero(shown)))
                every = np.array([*range(places.num_actions), -1, places.num_actions, 2**40])
                found = places.to_joint(every, rows)
                assert (found[-3:] == -1).all()
                assert [places.joint_action(game, action) for action in every[:-3].tolist()] == found[:-3].tolist()
            scores = np.random.default_rng(SEED).random(mask.shape)
            best = np.where(mask, scores, -1).argmax(axis=1)
            chosen = np.where(batch.mask, places.to_joint_scores(scores, batch.mask), -np.inf).argmax(axis=1)
            assert (places.joint_actions(batch, best)[live] == chosen[live]).all()
        batch.step([0 if over else random_action(batch.to_game(row), rng) for row, over in enumerate(batch.over)])
