"""Options of the rules: each has words and an effect."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, Literal, get_args, get_type_hints

import pytest

from quincunx_env.core.rules import BaseRules, Option, accepts, check_options, chosen_options, option_sentences
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.registry import GAMES
from tests.variants import EVERY_GAME, can_have, new_game, random_action

EACH = [
    pytest.param(name, option.name, value, id=f"{name}-{option.name}-{value}")
    for name, spec in GAMES.items()
    for option in spec.Rules.options
    for value in option.values[1:]
]
"""Every value of every option that is not its default."""


@pytest.mark.parametrize("game", GAMES)
def test_every_field_is_an_option_with_words(game: str) -> None:
    rules = GAMES[game].Rules
    hints = get_type_hints(rules)
    assert [field.name for field in fields(rules)] == [option.name for option in rules.options]
    for option in rules.options:
        assert option.default == getattr(rules(), option.name) == option.values[0]
        assert f"    {option.name}: {option.described()}\n" in f"{rules.__doc__}\n"
        allowed = {bool: (False, True)}.get(hints[option.name]) or get_args(hints[option.name])
        assert tuple(option.meanings) == (allowed or (1, 2, 3, 4))
        assert option.title
        assert all(option.sentence(value).endswith(".") for value, meaning in option.meanings.items() if meaning)
        assert not option.is_switch or option.meanings[True]


@pytest.mark.parametrize(("game", "name", "value"), EACH)
def test_each_option_changes_a_score_a_legal_action_or_a_deal(game: str, name: str, value: Any) -> None:
    plain, rules = pair(game, name, value)
    for seed in range(40):
        for one, other in zip(moments(plain, seed), moments(rules, seed), strict=False):
            if one != other:
                return
    raise AssertionError(f"{rules} are played as {plain}")


@pytest.mark.parametrize(("game", "name", "value"), EACH)
def test_each_option_shows_on_the_rules_card(game: str, name: str, value: Any) -> None:
    plain, rules = pair(game, name, value)
    assert rules_card(rules) != rules_card(plain)


def pair(game: str, name: str, value: Any) -> tuple[BaseRules, BaseRules]:
    """Rules with the default of an option, and the same ones with this value."""
    for rules in EVERY_GAME.values():
        if rules.game == game and name not in dict(named(rules)) and can_have(rules, {name: value}):
            return rules, replace(rules, **{name: value})  # type: ignore[type-var]
    raise AssertionError(f"no game of {game} can have {name}={value!r}")


def named(rules: BaseRules) -> Iterator[tuple[str, Any]]:
    """The options that differ from their defaults, by name."""
    return ((option.name, value) for option, value in chosen_options(rules))


def moments(rules: BaseRules, seed: int) -> Iterator[Any]:
    """The deals of a game, then legal actions and gains of random play."""
    game, rng = new_game(rules, seed), random.Random(seed)
    yield game.deals
    while not game.over:
        yield game.legal_actions()
        yield game.step(random_action(game, rng))


SHARE: Option = Option("share", "no", "share", {"no": "", "yes": "all is shared", "half": ""}, "Read on.")


def test_words_of_options() -> None:
    flush = next(option for option in GAMES["quincunx"].Rules.options if option.name == "flush")
    assert (flush.label(True), flush.number(True), flush.allowed) == ("flush bonus", 1, "True or False")
    assert flush.sentence(True) == f"Flush bonus: {flush.meanings[True]}."
    assert flush.sentence(False) == ""
    assert (SHARE.label("yes"), SHARE.number("half")) == ("yes share", 2)
    assert SHARE.sentence("yes") == "Yes share: all is shared."
    assert SHARE.allowed == "'no', 'yes' or 'half'"
    assert SHARE.described() == "``'yes'``: all is shared. Read on."
    assert SHARE._replace(default="half").values == ("half", "no", "yes")
    assert SHARE._replace(meanings={1: "", 2: ""}, note="").described() == "1 or 2."


def test_sentences_of_options_that_differ() -> None:
    rules = GAMES["quincunx"].Rules(2, "open", flush=True)
    assert [option.label(value) for option, value in chosen_options(rules)] == [
        "2 players",
        "open start",
        "flush bonus",
    ]
    assert [sentence.partition(":")[0] for sentence in option_sentences(rules)] == ["Open start", "Flush bonus"]
    assert len(option_sentences(rules, without=["start"])) == 1


def test_options_that_go_together() -> None:
    rules = GAMES["quincunx"].Rules
    assert accepts(rules, flush=True)
    assert not accepts(rules, simpleton=True)
    with pytest.raises(TypeError):
        accepts(rules, rainbows=True)


def test_each_option_is_checked_by_itself() -> None:
    class Shared:
        options = (SHARE,)
        share: Literal["no", "yes"] | str = "most"

    with pytest.raises(ValueError, match=r"share must be 'no', 'yes' or 'half', got 'most'"):
        check_options(Shared())
