"""What the tests share: every variant of both games by name, random play, and equality to the last bit."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from quincunx_env import spiral
from quincunx_env.core.arrays import Ints
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.rules import BaseRules, accepts
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import ANNOUNCE_MIN, Rules
from quincunx_env.registry import spec_of

# --- The games -------------------------------------------------------------------------------------------------------

BASES: dict[str, Rules] = {
    "solitaire": Rules(),
    "solitaire-contact": Rules(edge_contact=True),
    "corners-2": Rules(num_players=2),
    "corners-3": Rules(num_players=3),
    "corners-4": Rules(num_players=4),
    "open-2": Rules(num_players=2, start="open"),
    "open-3": Rules(num_players=3, start="open"),
    "open-4": Rules(num_players=4, start="open"),
}
"""The games without any variant, by readable names."""

MULTIPLAYER = {name: rules for name, rules in BASES.items() if rules.num_players > 1}


def _combinations(rules: BaseRules, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Every combination of values of these options that these rules can have."""
    options = {option.name: option.meanings for option in rules.options if option.name in names}
    for values in itertools.product(*options.values()):
        chosen = dict(zip(options, values, strict=True))
        if can_have(rules, chosen):
            yield chosen


def can_have(rules: BaseRules, options: Mapping[str, Any]) -> bool:
    """Whether these options go together with the others of these rules."""
    return accepts(type(rules), **asdict(rules) | options)  # type: ignore[call-overload]


def _name(base: str, options: Mapping[str, Any]) -> str:
    """The name of a base with options: ``corners-2+flush``."""
    words = (f"+{name}" * value if isinstance(value, bool) else f"-{value}" for name, value in options.items())
    return "".join((base, *words))


COMMON = [
    option.name
    for option in Rules.options
    if all(can_have(rules, {option.name: value}) for rules in BASES.values() for value in option.values)
]
"""Excuse, Pawns, flush bonus: the options that every base can have."""

COMBINATIONS: dict[str, Rules] = {
    _name(base, options): replace(rules, **options)
    for base, rules in BASES.items()
    for options in _combinations(rules, COMMON)
}
"""Every base with every combination of `COMMON`."""


def _with_further_options() -> dict[str, Rules]:
    games = {rules: name for name, rules in COMBINATIONS.items()}
    for base, rules in BASES.items():
        further = [
            (option.name, value)
            for option in rules.options
            if option.name not in (*COMMON, "num_players", "start", "mini")
            for value in option.values[1:]
        ]
        plain, *_, full = _combinations(rules, COMMON)
        for common, size in itertools.product((plain, full), range(1, len(further) + 1)):
            for options in map(dict, itertools.combinations(further, size)):
                if can_have(rules, options):
                    games.setdefault(replace(rules, **common | options), _name(base, common | options))
    return {name: rules for rules, name in games.items() if name not in COMBINATIONS}


WITH_FURTHER_OPTIONS = _with_further_options()
"""Simpleton and match: the bases with every combination of options that only some can have, each with none and with all
of `COMMON`."""

MINI = {
    "mini": Rules(mini=True),
    "mini-contact+flush": Rules(mini=True, edge_contact=True, flush=True),
    "mini-2": Rules(num_players=2, mini=True),
    "mini-2+simpleton": Rules(num_players=2, mini=True, simpleton=True),
    "mini-2+flush+match": Rules(num_players=2, mini=True, flush=True, match=True),
}
"""The mini variant (R16)."""


class Variants(dict[str, Any]):
    """Games by name. A name that is not listed is read: a listed one, then options that are on."""

    def __missing__(self, name: str) -> Any:
        base, *options = name.split("+")
        if base == name:
            raise KeyError(name)
        return replace(self[base], **dict.fromkeys(options, True))


VARIANTS: dict[str, Rules] = Variants(COMBINATIONS | WITH_FURTHER_OPTIONS | MINI)
"""Every variant of Quincunx."""

SPIRAL: dict[str, spiral.Rules] = {
    _name("spiral", options): spiral.Rules(**options)
    for options in _combinations(spiral.Rules(), [option.name for option in spiral.Rules.options])
}
"""Every variant of the spiral game."""

EVERY_GAME: dict[str, BaseRules] = Variants({**VARIANTS, **SPIRAL})


FEW = {name: rules for name, rules in COMBINATIONS.items() if name in BASES or name.endswith("+excuse+pawns+flush")}
"""Each base with the basic and with the full deck."""

MIXED = FEW | {
    name: VARIANTS[name]
    for name in (f"{base}+excuse+pawns+flush+simpleton+match" for base in ("open-2", "corners-3", "corners-4"))
}
"""The same, and games for each number of players with everything there is."""

SOME_SPIRAL = {name: SPIRAL[name] for name in ("spiral-play-2", "spiral-end+fifteens-4")}
ONE_OF_EACH = {name: EVERY_GAME[name] for name in ("solitaire", "corners-2", "spiral-play-1")}
"""Single rounds, of either game."""


def _covering(games: Mapping[str, BaseRules], strength: int = 2) -> frozenset[str]:
    """Few of these games in which any two options meet that meet in one of them, chosen greedily (pairwise testing)."""
    meetings = {name: {*itertools.combinations(vars(rules).items(), strength)} for name, rules in games.items()}
    missing, chosen = set().union(*meetings.values()), set()
    while missing:
        best = max(meetings, key=lambda name: len(meetings[name] & missing))
        chosen.add(best)
        missing -= meetings[best]
    return frozenset(chosen)


COVERING = _covering(VARIANTS) | _covering(SPIRAL)
"""Names of the games of which expensive tests are not marked ``slow``."""


Marks = Callable[[str], list[pytest.MarkDecorator]]
"""Marks of a test by the name of its game."""


def slow_unless_covering(name: str) -> list[pytest.MarkDecorator]:
    """The marks of an expensive test of this game: `COVERING` in every run of the tests, the others in slow ones."""
    return [] if name in COVERING else [pytest.mark.slow]


def by_name(variants: Mapping[str, BaseRules], marks: Marks = lambda name: []) -> pytest.MarkDecorator:
    """One test for each of these games, with marks by their names."""
    params = [pytest.param(rules, id=name, marks=marks(name)) for name, rules in variants.items()]
    return pytest.mark.parametrize("rules", params)


def new_game(rules: BaseRules, seed: int, number: int = 0) -> Any:
    """A seeded game in plain Python, of either game."""
    return spec_of(rules).Game.from_seed(rules, seed, number)


def new_batch(rules: BaseRules, num_games: int) -> Any:
    """A batch of finished games, likewise."""
    return spec_of(rules).Batch(rules, num_games)


# --- Play ------------------------------------------------------------------------------------------------------------


def random_action(game: Game | spiral.Game, rng: random.Random) -> int:
    """A legal action; what is announced is near the true points more often than not."""
    if isinstance(game, spiral.Game):
        return rng.choice(game.legal_cards())
    rules = game.rules
    if game.pending:
        points, _ = game.value(*game.pending)
        announced = rng.choice((points, points + rng.randint(-5, 5), rng.randint(-64, 319)))
        return rules.num_plays_encoded + 64 + announced
    return rng.choice(game.legal_cards()) * rules.num_cells + rng.choice(game.legal_cells())


def same(one: Any, other: Any, where: str = "") -> None:
    """Assert that two values are the same to the last bit: types, keys, dtypes, shapes and entries."""
    assert type(one) is type(other), f"{where}: {type(one)} against {type(other)}"
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple) or (isinstance(one, np.ndarray) and one.dtype.hasobject):
        assert len(one) == len(other), where
        for index, (mine, its) in enumerate(zip(one, other, strict=True)):
            same(mine, its, f"{where}/{index}")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, f"{where}: {one.dtype} against {other.dtype}"
        assert one.shape == other.shape, f"{where}: {one.shape} against {other.shape}"
        assert np.array_equal(one, other), f"{where}: {one} against {other}"
    else:
        assert one == other, f"{where}: {one} against {other}"


def legal_actions(batch: BaseBatch[Any, Any], rng: np.random.Generator) -> Ints:
    """A random legal action for every row, 0 where a game is over."""
    mask = batch.mask
    actions: Ints = np.where(mask, rng.random(mask.shape), -1).argmax(axis=1)
    return actions


def in_the_middle(rules: BaseRules, num_games: int = 5, steps: int = 9, seed: int = 11) -> Any:
    """A batch after some random steps."""
    batch, rng = new_batch(rules, num_games), np.random.default_rng(seed)
    batch.reset(seed=seed)
    for _ in range(steps):
        batch.step(legal_actions(batch, rng))
    return batch


def play_on(batch: BaseBatch[Any, Any], seed: int = 4) -> list[list[list[int]]]:
    """Random steps to the end of all games; returns the gains."""
    rng = np.random.default_rng(seed)
    gains = []
    while not batch.over.all():
        gains.append(batch.step(legal_actions(batch, rng)).tolist())
    return gains


def announcement(rules: Rules, points: int) -> int:
    """The joint action that announces these points."""
    return rules.num_plays_encoded + points - ANNOUNCE_MIN


def positions(rules: BaseRules, seed: int) -> Iterator[Any]:
    """The positions of a random game, from the deal to the end."""
    game, rng = new_game(rules, seed), random.Random(seed)
    yield game
    while not game.over:
        game.step(random_action(game, rng))
        yield game
