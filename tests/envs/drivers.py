"""Every environment behind one interface, for the contract tests: `DRIVERS` lists them with options to try.

What is particular to one environment is tested in a file of its own.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode

from quincunx_agents.greedy import greedy
from quincunx_env import (
    BatchedGames,
    SolitaireEnv,
    SolitaireVectorEnv,
    VsOpponentsEnv,
    VsOpponentsVectorEnv,
    quincunx_v0,
    spiral_v0,
)
from quincunx_env.core.game import BaseGame
from quincunx_env.envs.solitaire import make_solitaire_vec
from quincunx_env.envs.vs_opponents import make_vs_opponents_vec
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from tests.envs.agents import view
from tests.variants import new_game, random_action, same

Options = dict[str, Any]
Mask = npt.NDArray[np.bool_]

SEED = 2_000
ROWS = 3


class Driver(ABC):
    """An environment under test.

    Args:
        build: makes the environment.
        options: given to ``build``.

    Attributes:
        env: the environment.
        shown: what its last call returned, or what it shows now.
    """

    rows = 1
    """Games side by side."""
    row = 0
    """The row under test: the last one."""
    takes_deals = True
    """Whether deals can be handed in."""

    def __init__(self, build: Callable[..., Any], options: Options) -> None:
        self.build = build
        self.options = options
        self.env: Any = build(**options)
        self.shown: Any = None

    def new(self, **more: Any) -> Self:
        """A driver of a new environment with the same options, and more."""
        return type(self)(self.build, self.options | more)

    def started(self, steps: int = 0, seed: int = SEED) -> Self:
        """The same environment, seeded and after some random legal steps."""
        self.reset(seed)
        self.walk(steps, seed)
        return self

    def walk(self, steps: int, seed: int = 0) -> list[Any]:
        """Random legal steps, with the same choices in the same positions; what the environment shows after each."""
        rng, shown = np.random.default_rng(seed), []
        for _ in range(steps):
            self.advance(rng)
            shown.append(self.shown if self.options.get("copy", True) else deepcopy(self.shown))
        return shown

    @property
    def inner(self) -> Any:
        """The environment that knows the rules: itself, or what it wraps."""
        return self.env if hasattr(self.env, "rules") else self.env.envs

    @property
    def rules(self) -> Any:
        """The rules of its games."""
        return self.inner.rules

    def rules_of(self, row: int) -> Any:
        """The rules of the games of a row."""
        return self.rules

    @property
    def observer(self) -> Any:
        """The observer of its games."""
        return self.inner.observer

    def observer_of(self, game: Any) -> Any:
        """The observer of one of its games."""
        return self.observer

    @abstractmethod
    def reset(self, seed: Any = None, deals: Any = None) -> None:
        """Reset; ``deals``: for each row the deals of its rounds."""

    @abstractmethod
    def games(self) -> list[Any]:
        """The game of each row in plain Python."""

    @abstractmethod
    def advance(self, rng: np.random.Generator) -> None:
        """One random legal step in every row, with the resets that it needs."""

    @abstractmethod
    def advance_as(self, kind: Callable[[Any], Any]) -> None:
        """A legal step, the actions converted from an array, or from an integer, by ``kind``."""

    @abstractmethod
    def step(self, action: Any) -> None:
        """Take an action in `row`; legal ones in the others."""

    def mask(self) -> Mask:
        """The mask of `row`, [A]."""
        mask: Mask = np.asarray(self.raw_masks())[self.row].astype(np.bool_)
        return mask

    @abstractmethod
    def raw_masks(self) -> Any:
        """The mask of every row as the environment has it."""

    def number(self, action: int) -> int:
        """The environment's number of one of the engine's joint actions."""
        return self.numbers(self.games()[self.row]).index(action)

    def numbers(self, game: Any) -> list[int]:
        """The engine's action of each number, -1 if it has none, in one of its games."""
        observer = self.observer_of(game)
        if self.options.get("actions") == "hand":
            return [observer.places.joint_action(game, number) for number in range(observer.places.num_actions)]
        return [observer.joint.joint_action(game, number) for number in range(observer.joint.num_actions)]

    def current(self) -> Any:
        """What the environment shows without a step."""
        return self.raw_masks()

    def play_on(self, steps: int = 15) -> list[Any]:
        """What a copy of the environment shows now and in the next steps, and its generator after them."""
        twin = deepcopy(self)
        shown = [twin.current(), *twin.walk(steps)]
        generator = getattr(twin.inner, "_np_random", None)  # none until there was a seed
        return [*shown, generator and generator.bit_generator.state]

    def state(self) -> Any:
        """A snapshot that can be compared: games are dictionaries."""
        return plain(self.env.get_state())

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """After what happens inside the environment continues as if nothing had happened."""
        before = self.state(), self.play_on(4)
        yield
        same((self.state(), self.play_on(4)), before)

    @contextmanager
    def refused(self, error: type[Exception], match: str | None = None) -> Iterator[pytest.ExceptionInfo[Exception]]:
        """What happens inside raises this error, and changes nothing."""
        with self.unchanged(), pytest.raises(error, match=match) as raised:
            yield raised

    def moments(self) -> list[int]:
        """Numbers of steps: to the start, the middle and around the end of the first game, and into the next one."""
        twin = deepcopy(self).started()
        first, rng, numbers = twin.games()[0].deals, np.random.default_rng(SEED), [0, 3]
        over = False
        for step in range(1, 1000):
            twin.advance(rng)
            [game, *_] = twin.games()
            if not over and (game.over or game.deals != first):
                over = True
                numbers += [step - 1, step, step + 1]
            if game.deals != first:
                return sorted({*numbers, step + 1})
        raise AssertionError("the game does not end")

    def with_env(self, env: Any) -> Self:
        """A driver of an environment like this one."""
        twin = object.__new__(type(self))
        twin.__dict__ |= self.__dict__ | {"env": env}
        return twin

    def _choose(self, masks: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """A random legal action for every row, 0 where none is legal; [rows]."""
        chosen = []
        for mask in np.atleast_2d(masks).astype(np.bool_):
            legal, draw = np.flatnonzero(mask), rng.random()  # one number in every position
            chosen.append(int(legal[int(draw * len(legal))]) if len(legal) else 0)
        return np.array(chosen)


class Single(Driver):
    """A Gymnasium environment of one game."""

    def reset(self, seed: Any = None, deals: Any = None) -> None:
        """See `Driver.reset`."""
        self.shown = self.env.reset(seed=seed, options=None if deals is None else {"deal": _bare(deals[0])})

    def games(self) -> list[Any]:
        """See `Driver.games`."""
        return [self.env.game]

    def advance(self, rng: np.random.Generator) -> None:
        """See `Driver.advance`."""
        if self.env.game.over:
            self.reset()
        else:
            self.shown = self.env.step(self._choose(self.raw_masks(), rng)[0])

    def advance_as(self, kind: Callable[[Any], Any]) -> None:
        """See `Driver.advance_as`."""
        self.shown = self.env.step(kind(self._choose(self.raw_masks(), np.random.default_rng(0))[0]))

    def step(self, action: Any) -> None:
        """See `Driver.step`."""
        self.shown = self.env.step(action)

    def raw_masks(self) -> Any:
        """See `Driver.raw_masks`."""
        return self.env.action_masks()[None]


class Many(Driver):
    """An environment of several games."""

    def advance_as(self, kind: Callable[[Any], Any]) -> None:
        """See `Driver.advance_as`."""
        self.shown = self.env.step(kind(self._choose(self.raw_masks(), np.random.default_rng(0))))

    def step(self, action: Any) -> None:
        """See `Driver.step`."""
        actions = self._choose(self.raw_masks(), np.random.default_rng(0))
        actions[self.row] = action
        self.shown = self.env.step(actions)


class Vector(Many):
    """A Gymnasium vector environment."""

    rows = ROWS
    row = ROWS - 1

    def __init__(self, build: Callable[..., Any], options: Options) -> None:
        super().__init__(build, {"num_envs": ROWS} | options)

    def reset(self, seed: Any = None, deals: Any = None) -> None:
        """See `Driver.reset`."""
        options = None if deals is None else {"deal": [_bare(rounds) for rounds in deals]}
        self.shown = self.env.reset(seed=seed, options=options)

    def games(self) -> list[Any]:
        """See `Driver.games`."""
        return [self.env.to_game(row) for row in range(self.rows)]

    def advance(self, rng: np.random.Generator) -> None:
        """See `Driver.advance`."""
        over = np.array([game.over for game in self.games()])
        if self.env.autoreset_mode == AutoresetMode.DISABLED and over.any():
            self.shown = self.env.reset(options={"reset_mask": over})
        else:
            self.shown = self.env.step(self._choose(self.raw_masks(), rng))

    def raw_masks(self) -> Any:
        """See `Driver.raw_masks`."""
        return self.env.action_masks()


class SideBySide(Vector):
    """A Gymnasium vector environment with several rules."""

    def rules_of(self, row: int) -> Any:
        """See `Driver.rules_of`."""
        return self.rules[row % len(self.rules)]

    def observer_of(self, game: Any) -> Any:
        """See `Driver.observer_of`."""
        return make_observer(game.rules, padded=True)


class Stable(Vector):
    """A ``VecEnv`` of stable-baselines3."""

    takes_deals = False

    def reset(self, seed: Any = None, deals: Any = None) -> None:
        """See `Driver.reset`."""
        assert deals is None
        if seed is not None:
            self.env.seed(seed)
        self.shown = self.env.reset()

    def games(self) -> list[Any]:
        """See `Driver.games`."""
        return [self.env.envs.to_game(row) for row in range(self.rows)]

    def advance(self, rng: np.random.Generator) -> None:
        """See `Driver.advance`."""
        self.shown = self._without_time(self.env.step(self._choose(self.raw_masks(), rng)))

    def advance_as(self, kind: Callable[[Any], Any]) -> None:
        """See `Driver.advance_as`."""
        super().advance_as(kind)
        self.shown = self._without_time(self.shown)

    def step(self, action: Any) -> None:
        """See `Driver.step`."""
        super().step(action)
        self.shown = self._without_time(self.shown)

    @staticmethod
    def _without_time(shown: Any) -> Any:
        """What a step returned without the seconds that an episode took."""
        for info in shown[-1]:
            if "episode" in info:
                assert info["episode"].pop("t") >= 0
        return shown


class Batched(Many):
    """`BatchedGames`."""

    rows = ROWS
    row = ROWS - 1

    def __init__(self, build: Callable[..., Any], options: Options) -> None:
        super().__init__(build, {"num_games": ROWS} | options)

    def reset(self, seed: Any = None, deals: Any = None) -> None:
        """See `Driver.reset`."""
        self.shown = self.env.reset(seed, deals=deals)

    def games(self) -> list[Any]:
        """See `Driver.games`."""
        return [self.env.batch.to_game(row) for row in range(self.rows)]

    def advance(self, rng: np.random.Generator) -> None:
        """See `Driver.advance`."""
        self.shown = self.env.step(self._choose(self.raw_masks(), rng))

    def raw_masks(self) -> Any:
        """See `Driver.raw_masks`."""
        return self.env.position().mask


class Agents(Driver):
    """A PettingZoo environment, raw or wrapped."""

    @property
    def inner(self) -> Any:
        """See `Driver.inner`."""
        return self.env.unwrapped

    @property
    def shown(self) -> Any:
        """Everything that the environment shows now."""
        return self.view()

    @shown.setter
    def shown(self, value: Any) -> None:
        """Nothing is kept."""

    def reset(self, seed: Any = None, deals: Any = None) -> None:
        """See `Driver.reset`."""
        assert self.env.reset(seed=seed, options=None if deals is None else {"deal": _bare(deals[0])}) is None

    def games(self) -> list[Any]:
        """See `Driver.games`."""
        return [self.env.unwrapped.game]

    def advance(self, rng: np.random.Generator) -> None:
        """A legal action, None for an agent that has terminated, a reset when all agents have left."""
        if not self.env.agents:
            self.env.reset()
        elif self.env.terminations[self.env.agent_selection]:
            self.env.step(None)
        else:
            self.env.step(self._choose_action(rng))

    def _choose_action(self, rng: np.random.Generator) -> int:
        return self.number(random_action(self.games()[0], random.Random(int(rng.integers(2**32)))))

    def advance_as(self, kind: Callable[[Any], Any]) -> None:
        """See `Driver.advance_as`."""
        self.env.step(kind(self._choose_action(np.random.default_rng(0))))

    def step(self, action: Any) -> None:
        """See `Driver.step`."""
        assert self.env.step(action) is None

    def raw_masks(self) -> Any:
        """See `Driver.raw_masks`."""
        agent = self.env.agent_selection
        observation = self.env.observe(agent)
        return [(observation if isinstance(observation, dict) else self.env.infos[agent])["action_mask"]]

    def current(self) -> Any:
        """See `Driver.current`."""
        return self.view()

    def view(self) -> dict[str, Any]:
        """Everything that the environment shows now."""
        return view(self.env)


def plain(state: Any) -> Any:
    """A snapshot with games as dictionaries."""
    if isinstance(state, BaseGame):
        return plain(state.__getstate__())
    return {name: plain(value) for name, value in state.items()} if isinstance(state, dict) else state


def _bare(rounds: Any) -> Any:
    """The deal of a single round by itself; the deals of several as a list."""
    return rounds[0] if isinstance(rounds, list | tuple) and len(rounds) == 1 else rounds


def solitaire_vec_env(num_envs: int, **options: Any) -> Any:
    """`SolitaireVecEnv`, which needs stable-baselines3."""
    return pytest.importorskip("quincunx_env.adapters.sb3").SolitaireVecEnv(num_envs, **options)


def vs_opponents_vec_env(num_envs: int, **options: Any) -> Any:
    """`VsOpponentsVecEnv`, which needs stable-baselines3."""
    return pytest.importorskip("quincunx_env.adapters.sb3").VsOpponentsVecEnv(num_envs, **options)


def _paired(one: list[Options], other: list[Options]) -> list[Options]:
    """Each of these options with one of the others in turn."""
    return [options | other[number % len(other)] for number, options in enumerate(one)]


SEVERAL_ALONE: list[Rules] = [Rules(), Rules(edge_contact=True, pawns=True), Rules(excuse=True, flush=True)]
SEVERAL: list[Rules] = [Rules(2, flush=True), Rules(3, "open", excuse=True), Rules(4, pawns=True, match=True)]
"""Rules that are side by side."""
SOLITAIRE: list[Options] = [
    {},
    {"observation": "vector", "preview": True, "actions": "hand", "lost_value": -10},
    {"edge_contact": True, "excuse": True, "pawns": True, "flush": True, "preview": True},
    {"rules": Rules(flush=True), "padded": True, "observation": "vector", "mask_in": "obs"},
]
SOLITAIRES: list[Options] = [
    {"rules": SEVERAL_ALONE, "preview": True},
    {"rules": SEVERAL_ALONE, "actions": "hand", "observation": "vector"},
]
MULTIPLAYER: list[Options] = [
    {},
    {"num_players": 3, "start": "open", "excuse": True, "preview": True, "actions": "hand"},
    {"num_players": 4, "start": "open", "pawns": True, "flush": True, "reward": "points"},
    {"num_players": 2, "simpleton": True, "match": True, "reward": "outcome"},
    {"rules": Rules(3, pawns=True), "padded": True},
]
SPIRAL: list[Options] = [
    {},
    {"scoring": "end", "fifteens": True, "deals": 4, "preview": True},
]
VS_OPPONENTS: list[Options] = [
    *({"opponents": greedy} | options for options in MULTIPLAYER),
    {"opponents": greedy, "game": "spiral", "deals": 1, "seat": 1},
    {"pool": ["uniform", "greedy"], "num_players": 3, "observation": "vector", "mask_in": "obs"},
]
VS_OPPONENTS_OF_SEVERAL: list[Options] = [
    {"opponents": greedy, "rules": SEVERAL, "observation": "vector"},
    {"pool": ["greedy", "uniform"], "rules": SEVERAL, "preview": True, "actions": "hand"},
]
MODES: list[Options] = [{"autoreset_mode": mode} for mode in AutoresetMode]
MASKS_IN: list[Options] = [{"mask_in": where} for where in ("obs", "info")]
SOLITAIRE_VECTOR = [*MODES, {"copy": False}, *_paired(SOLITAIRE[1:], MODES)]


Case = tuple[type[Driver], Callable[..., Any], Options]


def _cases() -> Iterator[tuple[str, Case]]:
    """Every environment with each of its options."""
    every: Sequence[tuple[str, type[Driver], Callable[..., Any], list[Options]]] = (
        ("SolitaireEnv", Single, SolitaireEnv, SOLITAIRE),
        ("SolitaireVectorEnv", Vector, SolitaireVectorEnv, SOLITAIRE_VECTOR),
        ("make_solitaire_vec", SideBySide, make_solitaire_vec, _paired(SOLITAIRES * 2, MODES)),
        ("SolitaireVecEnv", Stable, solitaire_vec_env, SOLITAIRE[:2]),
        ("VsOpponentsEnv", Single, VsOpponentsEnv, VS_OPPONENTS),
        ("VsOpponentsVectorEnv", Vector, VsOpponentsVectorEnv, _paired(VS_OPPONENTS, MODES)),
        ("make_vs_opponents_vec", SideBySide, make_vs_opponents_vec, _paired(VS_OPPONENTS_OF_SEVERAL, MODES[1:])),
        ("VsOpponentsVecEnv", Stable, vs_opponents_vec_env, VS_OPPONENTS[-1:]),
        ("quincunx_v0.raw_env", Agents, quincunx_v0.raw_env, _paired(MULTIPLAYER, MASKS_IN)),
        ("quincunx_v0.env", Agents, quincunx_v0.env, _paired(MULTIPLAYER, MASKS_IN)[::3]),
        ("spiral_v0.raw_env", Agents, spiral_v0.raw_env, _paired(SPIRAL, MASKS_IN)),
        ("spiral_v0.env", Agents, spiral_v0.env, SPIRAL[1:]),
        ("BatchedGames", Batched, BatchedGames, [*MULTIPLAYER, {"observation": "pieces", "preview": True}]),
        (
            "BatchedGames",
            Batched,
            BatchedGames,
            [{"game": "spiral"} | options for options in [*SPIRAL, {"actions": "hand"}]],
        ),
    )
    for name, driver, build, several in every:
        for options in several:
            yield f"{name}-{_words(options)}", (driver, build, options)


def _words(options: Options) -> str:
    """Options as a short text."""
    words = [
        name if value is True or name == "rules" else str(getattr(value, "__name__", value))
        for name, value in options.items()
    ]
    return "-".join(words).replace(" ", "") or "default"


DRIVERS: dict[str, Case] = dict(_cases())
"""Every environment with options that between them cover every one of them, by the name of a test's case."""


def drive(case: Case, **more: Any) -> Driver:
    """The driver of a new environment."""
    driver, build, options = case
    return driver(build, options | more)


def every_environment(which: Callable[[Case], bool] = lambda case: True) -> pytest.MarkDecorator:
    """Run a test with every environment, or with those of which ``which`` is true."""
    chosen = [pytest.param(case, id=name) for name, case in DRIVERS.items() if which(case)]
    return pytest.mark.parametrize("case", chosen)


def takes_deals(case: Case) -> bool:
    """Whether deals can be handed in to an environment."""
    return case[0].takes_deals


def seeded(driver: Driver, number: int, seed: int = SEED) -> list[Any]:
    """The deals of game ``number`` of every row."""
    return [new_game(driver.rules_of(row), seed + row, number).deals for row in range(driver.rows)]


def dealt(driver: Driver) -> list[Any]:
    """The deals that every row plays."""
    return [game.deals for game in driver.games()]


def identified(driver: Driver) -> list[tuple[int, int]]:
    """(seed, game) of the present deals, as the environment reports them."""
    if isinstance(driver, SideBySide):
        count, envs = len(driver.rules), driver.env.envs
        parts = [(envs[row % count].batch, row // count) for row in range(driver.rows)]
        return [(int(batch.seed[row]), int(batch.game[row])) for batch, row in parts]
    batch = getattr(getattr(driver.env, "envs", driver.env), "batch", None)
    if batch is not None:
        return list(zip(batch.seed.tolist(), batch.game.tolist(), strict=True))
    twin, rng = deepcopy(driver), np.random.default_rng(0)
    while not twin.games()[0].over:
        twin.advance(rng)
    infos = [twin.shown[-1]] if isinstance(twin, Single) else list(twin.shown["infos"].values())
    [name] = {(info["seed"], info["game"]) for info in infos}
    return [name]
