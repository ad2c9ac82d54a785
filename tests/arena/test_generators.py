"""A policy cannot compute the hidden cards from its arguments."""

import itertools
from typing import Any

import gymnasium
import numpy as np
import pytest

from quincunx_env.arena import Deals, timing
from quincunx_env.arena.matches import MatchConfig, play_matches
from quincunx_env.arena.runner import Run
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.envs.vs_opponents import make_vs_opponents_vec
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer, make_rules, spec_of
from quincunx_env.testing import _random_positions

RULES = Rules(num_players=2)
SEED = 61803


class Spy:
    """A policy that plays the first legal action, and collects the numbers from which its generators were made."""

    def __init__(self) -> None:
        self.numbers = set[int]()
        self.generators = list[np.random.Generator]()

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Play the first legal action."""
        sequence: Any = rng.bit_generator.seed_seq
        self.numbers |= {*map(int, np.ravel(sequence.entropy)), *map(int, sequence.spawn_key)}
        self.generators += [rng] if all(rng is not each for each in self.generators) else []
        actions: Ints = mask.argmax(axis=1)
        return actions


def _told(spy: Spy, seeds: set[int]) -> set[int]:
    """Return the seeds among the numbers of the spy's generators, or of sums with small offsets."""
    assert spy.generators
    return {seed for seed, offset in itertools.product(seeds, range(-4, 5)) if seed + offset in spy.numbers}


def test_a_generator_of_the_arena_tells_neither_seed_nor_chunk_nor_policy() -> None:
    spies = [Spy(), Spy()]
    config = MatchConfig(RULES, Deals(4, "validation"), seed=SEED, chunk=1)
    for chunk in config.chunks:
        play_matches(spies, np.array([[0, 1]]), config, chunk)
    for spy in spies:
        assert not _told(spy, {SEED, *range(4)})
    assert len({rng.random() for spy in spies for rng in spy.generators}) == 8, "each chunk and policy has its own"


def test_a_generator_tells_no_seed_when_policies_are_timed_and_tested() -> None:
    spy = Spy()
    timing.seconds_per_action({"spy": spy}, Deals(2, "validation"), run=Run(seed=SEED))
    for game, _, rng in _random_positions(RULES, 3, SEED):
        spy(*_seen(game, RULES), rng)
    assert not _told(spy, {SEED, *range(3)})


def _seen(game: Any, rules: BaseRules) -> tuple[Pieces, Bools]:
    observer = make_observer(rules)
    return observer.observe(game, game.mover), observer.mask(game)[None].astype(np.bool_)


@pytest.mark.parametrize(
    ("game", "kind"),
    [(game, kind) for game in ("quincunx", "spiral") for kind in ("single", "vector")] + [("quincunx", "side by side")],
)
def test_the_generator_of_an_opponent_does_not_tell_the_seed_of_the_deal(game: str, kind: str) -> None:
    spy = Spy()
    env = _make(game, kind, spy)
    env.reset(seed=SEED)
    _play(env)
    assert not _told(spy, {SEED})
    rules = make_rules(game)
    deal = spec_of(rules).Game.from_seed(rules, SEED).deals
    rebuilt = [spec_of(rules).Game.from_seed(rules, number % 2**31).deals for number in spy.numbers]
    assert deal not in rebuilt
    assert all(rng is not env.unwrapped.np_random for rng in spy.generators)


def _make(game: str, kind: str, opponent: Any) -> Any:
    several = [{}, {"start": "open"}]
    if kind == "single":
        return gymnasium.make("Quincunx/VsOpponents-v0", game=game, opponents=opponent)
    return make_vs_opponents_vec(2, game=game, opponents=opponent, rules=None if kind == "vector" else several)


def _play(env: Any, steps: int = 3) -> list[Any]:
    seen = []
    for _ in range(steps):
        masks = env.unwrapped.action_masks()
        observation, *_ = env.step(masks.argmax(axis=-1))
        seen.append({name: np.array(piece) for name, piece in observation.items()})
    return seen


@pytest.mark.parametrize("kind", ["single", "vector", "side by side"])
def test_a_seed_and_a_snapshot_determine_the_choices_of_random_opponents(kind: str) -> None:
    env, other = _make("quincunx", kind, "uniform"), _make("quincunx", kind, "uniform")
    first, found = (each.reset(seed=SEED) and _play(each) for each in (env, other))
    np.testing.assert_equal(found, first)
    state = env.unwrapped.get_state()
    first = _play(env)
    for each in (env, other):
        each.unwrapped.set_state(state)
        np.testing.assert_equal(_play(each), first)
