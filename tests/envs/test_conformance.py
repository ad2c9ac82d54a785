"""All interfaces play the same games: the same deals and actions give the same observations, masks, rewards and ends.

An interface is a function that plays a script and returns what it observed; a new one needs a line in `ALONE`,
`TOGETHER` or `LEARNING`, and a new game one in `tests.variants.EVERY_GAME`.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env import quincunx_v0, spiral_v0
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.observation import Observer, Pieces, Vector
from quincunx_env.core.policy import Policy
from quincunx_env.envs.batched import BatchedGames
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsEnv, VsOpponentsVectorEnv
from quincunx_env.registry import make_observer, spec_of
from tests.variants import EVERY_GAME, new_batch, new_game, slow_unless_covering

SEED = 11
NEIGHBOURS = 3
"""Interfaces to many games play the script in the first row, and anything legal in as many others."""


@dataclass
class Moment:
    """Observation and mask at a decision, and the result of the action."""

    mover: int
    observation: Vector
    mask: npt.NDArray[np.bool_]
    gains: list[float]
    over: bool


@dataclass(frozen=True)
class Variant:
    """The rules of a game and the layout of its observations."""

    rules: Any
    padded: bool = False

    @cached_property
    def observer(self) -> Observer:
        """Observes games of these rules in this layout."""
        return make_observer(self.rules, preview=True, padded=self.padded)

    @property
    def learner(self) -> int:
        """The seat of a learner: the last one, which has the most to wait for."""
        return int(self.rules.num_players) - 1

    @property
    def game(self) -> str:
        """The name of the game."""
        return spec_of(self.rules).name

    @property
    def options(self) -> dict[str, Any]:
        """The rules and the layout as options of an environment."""
        foreign = ("num_players", "start", "simpleton", "match") if self.rules.num_players == 1 else ("edge_contact",)
        own = {field.name for field in fields(self.rules)}.difference(foreign)
        options = {option: getattr(self.rules, option) for option in own}
        return options | {"padded": self.padded}

    def to_engine(self, action: int) -> int:
        """The engine's number of an interface's action."""
        return int(self.observer.joint.engine(np.array([action]))[0])


Interface = Callable[[Variant, list[int]], list[Moment]]


def others(mask: npt.NDArray[Any], first: int) -> npt.NDArray[np.int64]:
    """The script's action for the first row, the last legal one for its neighbours."""
    actions: npt.NDArray[np.int64] = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
    actions[0] = first
    return actions


# --- The reference ---------------------------------------------------------------------------------------------------


def plain_game(variant: Variant, script: list[int]) -> list[Moment]:
    game = new_game(variant.rules, SEED)
    moments = []
    for action in script:
        mover, mask = game.mover, variant.observer.mask(game).view(np.bool_)
        seen = variant.observer.vector(game, mover, by_place=False)
        gains = [float(gain) for gain in game.step(variant.to_engine(action))]
        moments.append(Moment(mover, seen, mask, gains, game.over))
    return moments


@lru_cache(maxsize=4)
def reference(variant: Variant) -> tuple[list[int], list[Moment]]:
    """Random legal actions from the first deal of the seed to the end, with the moments of the plain game."""
    game, rng = new_game(variant.rules, SEED), np.random.default_rng(SEED)
    script: list[int] = []
    while not game.over:
        if game.decision == "announce":  # an announcement near the truth
            announced = game.value(*game.pending)[0] + int(rng.integers(-2, 3))
            action = game.rules.num_plays_encoded + announced + 64
        else:
            action = int(rng.choice(np.flatnonzero(make_observer(variant.rules).mask(game))))
        game.step(action)
        script.append(action)
    engine = variant.observer.joint.engine(np.arange(variant.observer.joint.num_actions)).tolist()
    script = [engine.index(action) for action in script]
    return script, plain_game(variant, script)


def part_of(script: list[int], moments: list[Moment], seat: int) -> tuple[list[int], list[Moment]]:
    """Part of a game that a learner sees: its own decisions, and with each all that it gains up to its next one.

    What it gains before its first decision comes with that.
    """
    own = [action for action, moment in zip(script, moments, strict=True) if moment.mover == seat]
    part: list[Moment] = []
    waiting = 0.0
    for moment in moments:
        if moment.mover == seat:
            part.append(Moment(seat, moment.observation, moment.mask, [waiting], False))
            waiting = 0.0
        if part:
            part[-1].gains[0] += moment.gains[seat]
        else:
            waiting += moment.gains[seat]
    part[-1].over = moments[-1].over
    return own, part


# --- Any game --------------------------------------------------------------------------------------------------------


def batch_engine(variant: Variant, script: list[int]) -> list[Moment]:
    batch, observer = new_batch(variant.rules, 1 + NEIGHBOURS), variant.observer
    batch.reset(seed=SEED)
    moments = []
    for action in script:
        mover, mask = int(batch.mover[0]), observer.mask_batch(batch)
        seen = observer.encoder().encode(observer.observe_batch(batch))[0]
        gains = batch.step(observer.joint.engine(others(mask, action)))[0].astype(float).tolist()
        moments.append(Moment(mover, seen, mask[0], gains, bool(batch.over[0])))
    return moments


# --- Solitaire -------------------------------------------------------------------------------------------------------


def gymnasium_single(variant: Variant, script: list[int]) -> list[Moment]:
    env = SolitaireEnv(observation="vector", preview=True, **variant.options)
    seen, info = env.reset(seed=SEED)
    moments = []
    for action in script:
        before, mask = seen, info["action_mask"].view(np.bool_)
        seen, reward, over, _, info = env.step(action)
        moments.append(Moment(0, np.asarray(before), mask, [float(reward)], over))
    return without_lost_value(moments, info)


def gymnasium_vector(variant: Variant, script: list[int]) -> list[Moment]:
    env = SolitaireVectorEnv(1 + NEIGHBOURS, observation="vector", preview=True, **variant.options)
    seen, info = env.reset(seed=SEED)
    moments = []
    for action in script:
        before, mask = np.asarray(seen)[0], info["action_mask"]
        seen, rewards, over, _, info = env.step(others(mask, action))
        moments.append(Moment(0, before, mask[0].view(np.bool_), [float(rewards[0])], bool(over[0])))
    return without_lost_value(moments, {name: values[0] for name, values in info.items()})


def stable_baselines3(variant: Variant, script: list[int]) -> list[Moment]:
    pytest.importorskip("stable_baselines3")
    from quincunx_env.adapters.sb3 import SolitaireVecEnv

    env = SolitaireVecEnv(1 + NEIGHBOURS, observation="vector", preview=True, **variant.options)
    env.seed(SEED)
    seen = env.reset()
    moments = []
    for action in script:
        before, mask = np.asarray(seen)[0], env.env_method("action_masks")
        seen, rewards, over, infos = env.step(others(mask, action))
        moments.append(Moment(0, before, mask[0], [float(rewards[0])], bool(over[0])))
    return without_lost_value(moments, infos[0])


def without_lost_value(moments: list[Moment], last_info: dict[str, Any]) -> list[Moment]:
    """Put the points of the last play of a lost round back, where the environment made up for all before it."""
    if last_info["lost"]:
        assert sum(moment.gains[0] for moment in moments) == 0, "the rewards of a lost round sum to lost_value"
        moments[-1].gains = [float(last_info["score"]) - sum(moment.gains[0] for moment in moments[:-1])]
    return moments


# --- All seats -------------------------------------------------------------------------------------------------------


def pettingzoo_aec(variant: Variant, script: list[int]) -> list[Moment]:
    module = {"quincunx": quincunx_v0, "spiral": spiral_v0}[variant.game]
    env = module.env(reward="points", preview=True, **variant.options)
    env.reset(seed=SEED)
    moments = []
    for action in script:
        agent = env.agent_selection
        seen, _, _, _, _ = env.last()
        env.step(action)
        gains = [env.rewards[player] for player in env.possible_agents]
        over = all(env.terminations.values())
        mover = env.possible_agents.index(agent)
        moments.append(Moment(mover, seen["observation"], seen["action_mask"].view(np.bool_), gains, over))
    return moments


def batched(variant: Variant, script: list[int]) -> list[Moment]:
    games = BatchedGames(1 + NEIGHBOURS, variant.game, reward="points", preview=True, **variant.options)
    turn = games.reset(seed=SEED)
    moments = []
    for action in script:
        before = turn
        rewards, ended, _, turn = games.step(others(turn.mask, action))
        seen = np.asarray(before.observation)[0]
        moments.append(Moment(int(before.mover[0]), seen, before.mask[0], rewards[0].tolist(), bool(ended[0])))
    return moments


# --- One seat among opponents ----------------------------------------------------------------------------------------


def learner_options(variant: Variant) -> dict[str, Any]:
    learning = {"game": variant.game, "opponents": replaying(variant), "seat": variant.learner, "reward": "points"}
    return variant.options | learning | {"observation": "vector", "preview": True}


def learner(variant: Variant, script: list[int]) -> list[Moment]:
    env = VsOpponentsEnv(**learner_options(variant))
    seen, info = env.reset(seed=SEED)
    moments = []
    for action in script:
        before, mask = np.asarray(seen), info["action_mask"].view(np.bool_)
        seen, reward, over, _, info = env.step(action)
        moments.append(Moment(variant.learner, before, mask, [reward], over))
    return moments


def learner_vector(variant: Variant, script: list[int]) -> list[Moment]:
    envs = VsOpponentsVectorEnv(1 + NEIGHBOURS, **learner_options(variant))
    seen, info = envs.reset(seed=SEED)
    moments = []
    for action in script:
        before, mask = np.asarray(seen)[0], info["action_mask"]
        seen, rewards, over, _, info = envs.step(others(mask, action))
        moments.append(Moment(variant.learner, before, mask[0].view(np.bool_), [float(rewards[0])], bool(over[0])))
    return moments


def learner_stable_baselines3(variant: Variant, script: list[int]) -> list[Moment]:
    pytest.importorskip("stable_baselines3")
    from quincunx_env.adapters.sb3 import VsOpponentsVecEnv

    env = VsOpponentsVecEnv(1 + NEIGHBOURS, **learner_options(variant))
    env.seed(SEED)
    seen = env.reset()
    moments = []
    for action in script:
        before, mask = np.asarray(seen)[0], env.env_method("action_masks")
        seen, rewards, over, _ = env.step(others(mask, action))
        moments.append(Moment(variant.learner, before, mask[0], [float(rewards[0])], bool(over[0])))
    return moments


def replaying(variant: Variant) -> Policy:
    """Plays what the script plays in the positions that it leads to, and the last legal action anywhere else."""
    own = make_observer(variant.rules, preview=True)
    script, moments = reference(Variant(variant.rules))  # opponents see the game's own layout
    known = {moment.observation.tobytes(): action for action, moment in zip(script, moments, strict=True)}

    def replay(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        last = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
        vectors = own.encoder().encode(observation)
        return np.array([known.get(seen.tobytes(), other) for seen, other in zip(vectors, last, strict=True)])

    return replay


# --- The comparison --------------------------------------------------------------------------------------------------

ALONE: list[Interface] = [batch_engine, gymnasium_single, gymnasium_vector, stable_baselines3]
TOGETHER: list[Interface] = [batch_engine, pettingzoo_aec, batched]
LEARNING: list[Interface] = [learner, learner_vector, learner_stable_baselines3]

VARIANTS = {
    name + "-padded" * padded: Variant(rules, padded)
    for name, rules in EVERY_GAME.items()
    for padded in ([False, True] if spec_of(rules).PaddedObserver else [False])
}
CASES = [
    pytest.param(
        variant,
        interface,
        id=f"{name}-{interface.__name__}",
        marks=slow_unless_covering(name.removesuffix("-padded")),
    )
    for name, variant in VARIANTS.items()
    for interface in (ALONE if variant.rules.num_players == 1 else TOGETHER + LEARNING)
]


@pytest.mark.parametrize(("variant", "interface"), CASES)
def test_every_interface_agrees_with_the_plain_game(variant: Variant, interface: Interface) -> None:
    """Interfaces of one agent agree with its seat's part of the game."""
    script, moments = reference(variant)
    if interface in LEARNING:
        script, moments = part_of(script, moments, variant.learner)
    found = interface(variant, script)
    assert [moment.mover for moment in found] == [moment.mover for moment in moments]
    for own, other in zip(found, moments, strict=True):
        assert own.observation.dtype == other.observation.dtype
        assert own.observation.tobytes() == other.observation.tobytes()
        assert own.mask.dtype == np.bool_
        assert own.mask.tobytes() == other.mask.tobytes()
        assert own.gains == other.gains
    assert [moment.over for moment in found] == [moment.over for moment in moments]
    assert moments[-1].over
