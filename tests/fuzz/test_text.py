"""Parsers and printers of text: what they accept they print again, and the rest they refuse."""

import json

import pytest
from hypothesis import strategies as st

from quincunx_env import parse_action, print_action, to_text
from quincunx_env.notation.record import Record, RecordError, Seeded
from quincunx_env.notation.text import to_json
from quincunx_env.registry import GAMES, spec_of
from tests.fuzz.games import Played, by_position
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import as_integer, numbers, texts


@pytest.mark.parametrize("name", GAMES)
def test_names_of_cards(name: str, fuzz: Fuzz) -> None:
    names = GAMES[name].Deal.NAMES

    def check(data: st.DataObject) -> None:
        text = data.draw(texts(names.card_name(data.draw(st.integers(0, len(names) - 1)))))
        card, error = fuzz.attempt(lambda: names.parse_card(text))
        assert error or names.card_name(card) == text
        number = data.draw(numbers(range(len(names))))
        printed, error = fuzz.attempt(lambda: names.card_name(number))
        assert error or as_integer(number) == (-1 if printed == ".." else names.parse_card(printed))

    fuzz(check, 50)


@by_position
def test_deals(played: Played, fuzz: Fuzz) -> None:
    game = played.game
    cls = spec_of(game.rules).Deal

    def check(data: st.DataObject) -> None:
        text = data.draw(texts(str(game.deals[0])))
        deal, error = fuzz.attempt(lambda: cls.parse(text))
        if not error:
            assert cls.parse(str(deal)) == deal
            fuzz.attempt(lambda: deal.check(game.rules))

    fuzz(check, 10)


@by_position
def test_actions(played: Played, fuzz: Fuzz) -> None:
    game = played.game
    notation = spec_of(game.rules).notation
    legal = [*notation.legal_plays(game)] or [0]

    def check(data: st.DataObject) -> None:
        text = data.draw(texts(print_action(game, data.draw(st.sampled_from(legal)))))
        action, error = fuzz.attempt(lambda: parse_action(game, text))
        if not error:
            assert parse_action(game, print_action(game, action)) == action
            game.copy().step(action)
        number = data.draw(numbers(range(game.rules.num_actions)))
        printed, error = fuzz.attempt(lambda: print_action(game, number))
        assert error or as_integer(number) == notation.read_action(game.rules, printed)

    fuzz(check, 20)


@by_position
def test_positions(played: Played, fuzz: Fuzz) -> None:
    game = played.game
    seats = range(game.rules.num_players)

    def check(data: st.DataObject) -> None:
        seat, legal = data.draw(numbers(seats)), data.draw(st.booleans())
        text, refused = fuzz.attempt(lambda: to_text(game, seat, legal))
        position, error = fuzz.attempt(lambda: to_json(game, seat, legal))
        assert (refused is None) == (error is None)
        if not error:
            assert seat is None or as_integer(seat) in seats
            plain = None if seat is None else as_integer(seat)
            assert text == to_text(game, plain, legal)
            assert json.loads(json.dumps(position, allow_nan=False)) == json.loads(
                json.dumps(to_json(game, plain, legal))
            )

    fuzz(check, 10)


@by_position
def test_records(played: Played, fuzz: Fuzz) -> None:
    names = tuple(f"player {seat}" for seat in range(played.game.rules.num_players))
    record = str(Record(played.game.rules, Seeded(played.seed), played.actions, names))

    def check(data: st.DataObject) -> None:
        text = data.draw(texts(record))
        read, error = fuzz.attempt(lambda: Record.parse(text))
        assert error is None or type(error) is RecordError
        assert error or Record.parse(str(read)) == read

    fuzz(check, 10)
