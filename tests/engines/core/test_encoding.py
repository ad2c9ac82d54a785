"""The encoding for networks loses nothing; an action by place plays the card at that place."""

import random
from typing import Any

import numpy as np
import pytest

from quincunx_env import Rules, make_observer
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.cards import card_name, parse_cards, print_cards
from quincunx_env.quincunx.padded import PaddedObserver
from quincunx_env.registry import spec_of
from quincunx_env.spiral.cards import NAMES
from tests.variants import BASES, COVERING, EVERY_GAME, by_name, new_batch, random_action, same, slow_unless_covering

SEED, ROWS = 30, 2

COVERED = {name: rules for name, rules in EVERY_GAME.items() if name in {*BASES, *COVERING}}
SPIRAL = next(rules for rules in EVERY_GAME.values() if rules.num_cards == 52)


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
            pieces = observer.observe_batch(batch, seats)
            vectors = encoder.encode(pieces)
            assert vectors.shape == (ROWS, encoder.size)
            assert all(map(space.contains, vectors))
            same(encoder.encode({name: piece[0] for name, piece in pieces.items()}), vectors[0])
            expected = dict(pieces)
            if by_place and observer.preview:  # cards beyond the last place cannot be played
                cards, number = observer.places.cards(pieces["hand"]), np.arange(pieces["hand"].shape[1])
                beyond = ~(number[None, None] == cards[:, :, None]).any(axis=1)
                expected["preview"] = pieces["preview"].copy()
                if "pending" in pieces:  # its points are to be announced
                    row = (pieces["pending"][:, 0] >= 0).nonzero()[0]
                    beyond[row, pieces["pending"][row, 0]] = False
                expected["preview"][beyond] = 0
            same(encoder.decode(vectors), expected)
        for _ in range(5):
            batch.step([0 if over else random_action(batch.to_game(row), rng) for row, over in enumerate(batch.over)])


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


# --- Places of the hand ----------------------------------------------------------------------------------------------


def test_a_hand_is_sorted_by_rank_and_then_by_id() -> None:
    places = make_observer(Rules(excuse=True, pawns=True)).places
    assert places.places == Rules().hand_size + 2
    hand = np.zeros((1, 41), np.int8)
    hand[0, list(parse_cards("X CM PVLY 9MS 2VL 2MK AK"))] = 1
    assert print_cards(places.cards(hand)[0, :7].tolist()) == "AK 2MK 2VL 9MS PVLY CM X"
    hand[0, :12] = 1
    assert places.cards(hand).tolist() == [[*range(10)]], "cards beyond the last place wait"
    spiral = make_observer(SPIRAL).places
    hand = np.zeros((1, 52), np.int8)
    hand[0, list(NAMES.parse_cards("KS 2H AD 2S"))] = 1
    assert NAMES.print_cards(spiral.cards(hand)[0, :4].tolist()) == "AD 2S 2H KS"
    assert (spiral.places, spiral.num_actions) == (13, 13)


@by_name(COVERED)
def test_actions_by_place_are_those_of_the_cards(rules: BaseRules) -> None:
    """Masks and actions, one to one, in random games of every variant; scores of networks, too."""
    padded = [False, True] if spec_of(rules).PaddedObserver else [False]
    observers = [make_observer(rules, padded=pad) for pad in padded]
    batch, rng = new_batch(rules, ROWS), random.Random(SEED)
    batch.reset(SEED)
    while not batch.over.all():
        hands = make_observer(rules).observe_batch(batch)["hand"]
        for observer in observers:
            places, joint = observer.places, observer.mask_batch(batch)
            mask = places.mask(joint)
            assert mask.shape == (ROWS, places.num_actions)
            assert (mask.any(axis=1) == ~batch.over).all(), "a game in progress has a legal action"
            for row in np.flatnonzero(~batch.over):
                legal = np.flatnonzero(mask[row])
                actions = places.to_joint(legal, np.repeat(joint[[row]], len(legal), axis=0))
                shown = joint[row].copy()
                cards = places.cards(observer.observe_batch(batch)["hand"])[row]
                beyond = set(np.flatnonzero(hands[row]).tolist()) - set(cards.tolist())
                for card in beyond:
                    shown[card * places.cells : (card + 1) * places.cells] = False
                assert sorted(actions) == np.flatnonzero(shown).tolist()
                outside = np.array([-1, places.num_actions, 2**40])
                assert (places.to_joint(outside, np.repeat(joint[[row]], 3, axis=0)) == -1).all()
            scores = np.random.default_rng(SEED).random(mask.shape)
            best = np.where(mask, scores, -1).argmax(axis=1)
            chosen = np.where(joint, places.by_card(scores, joint), -np.inf).argmax(axis=1)
            live = ~batch.over
            assert (places.to_joint(best, joint)[live] == chosen[live]).all()
        batch.step([0 if over else random_action(batch.to_game(row), rng) for row, over in enumerate(batch.over)])
