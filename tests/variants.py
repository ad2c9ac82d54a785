"""What the tests share: every variant of both games by name, random play, and equality to the last bit."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from quincunx_env import spiral
from quincunx_env.core.arrays import Ints
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.rules import BaseRules
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


def _combinations() -> dict[str, Rules]:
    combinations = {}
    for base, rules in BASES.items():
        for excuse, pawns, flush in itertools.product((False, True), repeat=3):
            name = base + "+excuse" * excuse + "+pawns" * pawns + "+flush" * flush
            combinations[name] = replace(rules, excuse=excuse, pawns=pawns, flush=flush)
    return combinations


COMBINATIONS = _combinations()
"""Every base with every combination of Excuse, Pawns and flush bonus: 64 games."""


def _with_simpleton_and_match() -> dict[str, Rules]:
    games = {}
    for base, rules in MULTIPLAYER.items():
        for full, extras in itertools.product((False, True), ("simpleton", "match", "simpleton+match")):
            games[f"{base}{'+excuse+pawns+flush' * full}+{extras}"] = replace(
                rules, excuse=full, pawns=full, flush=full, simpleton="simpleton" in extras, match="match" in extras
            )
    return games


SIMPLETON_AND_MATCH = _with_simpleton_and_match()
"""The games of several players with Simpleton, as matches, and both; each with the basic and with the full deck."""

MINI = {
    "mini": Rules(mini=True),
    "mini-contact+flush": Rules(mini=True, edge_contact=True, flush=True),
    "mini-2": Rules(num_players=2, mini=True),
    "mini-2+simpleton": Rules(num_players=2, mini=True, simpleton=True),
    "mini-2+flush+match": Rules(num_players=2, mini=True, flush=True, match=True),
}
"""The mini variant (R16)."""

VARIANTS = COMBINATIONS | SIMPLETON_AND_MATCH | MINI


def _spiral() -> dict[str, spiral.Rules]:
    scorings: tuple[Literal["play", "end"], ...] = ("play", "end")
    deals: tuple[Literal[1, 2, 4], ...] = (1, 2, 4)
    options = itertools.product(scorings, (False, True), deals)
    return {f"spiral-{chosen[0]}{'+fifteens' * chosen[1]}-{chosen[2]}": spiral.Rules(*chosen) for chosen in options}


SPIRAL = _spiral()
"""Every variant of the spiral game: 12 of them."""

EVERY_GAME: dict[str, BaseRules] = {**VARIANTS, **SPIRAL}


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
