"""Vector environments with different rules side by side."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from quincunx_env.core.arrays import Bools, Frame
from quincunx_env.core.deal import MAX_SEED
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.integers import as_array, check_integer
from quincunx_env.core.observation import Observation
from quincunx_env.envs.generator import GymnasiumEnv
from quincunx_env.envs.options import Info, reset_options
from quincunx_env.envs.vector import GamesVectorEnv, batched, check_mask, check_seeds, rows_need_reset


class SideBySideVectorEnv(GymnasiumEnv, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Vector environment of k rules: row i plays rules i mod k.

    Observations and actions are padded, so that all rows have one shape. Everything else is as in `GamesVectorEnv`.
    Every info has ``rules``, the index of the rules of each row. The same rules twice in the list have twice the rows.

    Args:
        make: makes the vector environment of the rows with the same rules.
        num_envs: number of rows, at least k.
        rules: k rules of the game, or mappings of their fields.
        options: further options of ``make``, except ``padded``.

    Raises:
        ValueError: for no rules, or fewer rows than rules.
    """

    def __init__(
        self, make: Callable[..., GamesVectorEnv], num_envs: int, rules: Sequence[Any], **options: Any
    ) -> None:
        if not rules:
            raise ValueError("a list of rules must have at least one")
        self.num_envs = check_integer("num_envs", num_envs, len(rules), MAX_SEED - 1)
        options |= {"padded": True}
        counts = [len(range(index, num_envs, len(rules))) for index in range(len(rules))]
        self.envs = [make(count, rules=each, **options) for count, each in zip(counts, rules, strict=True)]
        self.rules = [env.rules for env in self.envs]
        self._index = np.arange(num_envs) % len(rules)
        self._rows = [slice(index, None, len(rules)) for index in range(len(rules))]
        first = self.envs[0]
        self.codec, self.observer, self.autoreset_mode = first.codec, first.observer, first.autoreset_mode
        self.metadata, self.render_mode, self.copy = first.metadata, first.render_mode, first.copy
        self.single_observation_space, self.single_action_space = (
            first.single_observation_space,
            first.single_action_space,
        )
        self.observation_space: spaces.Space[Any] = batched(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    @property
    def _has_reset(self) -> bool:
        """Whether games are in progress in all rows."""
        return all(env._has_reset for env in self.envs)

    def _join(self, parts: Sequence[Any]) -> Any:
        """Return the rows of all parts: arrays, or dictionaries of them. What a part does not have is 0."""
        found = [part for part in parts if part is not None]
        if isinstance(found[0], dict):
            names = dict.fromkeys(name for part in found for name in part)
            return {name: self._join([None if part is None else part.get(name) for part in parts]) for name in names}
        shape = np.max([part.shape[1:] for part in found], axis=0)
        fill: Any = None if found[0].dtype == np.object_ else 0
        joined = np.full((self.num_envs, *shape.astype(np.int64).tolist()), fill, found[0].dtype)
        for rows, part in zip(self._rows, parts, strict=True):
            if part is not None:
                joined[rows, *map(slice, part.shape[1:])] = part
        return joined

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Deal new games in all rows, or in ``options["reset_mask"]``; see `GamesVectorEnv.reset`."""
        chosen = reset_options(options, "deal", "reset_mask")
        mask = check_mask(chosen.get("reset_mask"), self.num_envs)
        if not self._has_reset and not mask.all():
            raise ResetNeeded("no games are in progress: reset() needs all rows")
        at, deals = np.flatnonzero(mask), chosen.get("deal")
        if deals is not None and (not isinstance(deals, Sequence) or isinstance(deals, str) or len(deals) != len(at)):
            raise ValueError(f"{len(at)} games are reset and need a deal each, got {deals!r:.60}")
        resets: list[tuple[GamesVectorEnv, slice, dict[str, Any]]] = []
        for env, rows in zip(self.envs, self._rows, strict=True):
            own: dict[str, Any] = {"reset_mask": mask[rows]}
            if deals is not None:
                mine = np.flatnonzero(np.isin(at, np.arange(self.num_envs)[rows]))
                own["deal"] = [deals[index] for index in mine.tolist()]
                if own["deal"]:
                    env._decks_of("options['deal']", own["deal"])  # refused before anything has changed
            if own["reset_mask"].any():
                resets.append((env, rows, own))
        first = seeds = check_seeds(seed, self.num_envs)
        if seeds is None:
            first = seeds = check_seeds(self._next_seed(bool(self.envs[0].batch.resets[0] >= 0)), self.num_envs)
        if isinstance(seeds, int):
            seeds = list(range(seeds, seeds + self.num_envs))
        for env, rows, own in resets:
            env.reset(seed=None if seeds is None else seeds[rows], options=own)
        super().reset(seed=first[int(at[0])] if isinstance(first, list) else first)
        return self._show({})

    def step(self, actions: Any) -> tuple[Observation, npt.NDArray[np.float64], Bools, Bools, Info]:
        """Take an action in every row; see `GamesVectorEnv.step`."""
        rewards, terminated, info = self._advance(actions)
        observation, info = self._show(info)
        return observation, rewards, terminated, np.zeros(self.num_envs, np.bool_), info

    def _advance(self, actions: Any) -> tuple[npt.NDArray[np.float64], Bools, Info]:
        """Step all games; return rewards, terminations and final infos."""
        array = as_array(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            shape = f"integer actions of shape ({self.num_envs},) are needed"
            raise self.codec.with_remedy(IllegalAction(f"{shape}, got {array.dtype} of shape {array.shape}"))
        over = self._join([env.batch.over for env in self.envs])
        if self.autoreset_mode == AutoresetMode.DISABLED and self._has_reset and over.any():
            raise rows_need_reset(over)
        each = [(env, array[rows]) for env, rows in zip(self.envs, self._rows, strict=True)]
        for index, (env, own) in enumerate(each):
            try:
                env._engine_actions(own)  # refused before anything has changed
            except IllegalAction as error:
                raise self._renumbered(error, index) from None
        try:
            rewards, terminated, infos = zip(*(env._advance(own) for env, own in each), strict=True)
        except BaseException:
            for env in self.envs:
                env._has_reset = False  # some games have been stepped, and others have not
            raise
        info: Info = self._join(infos)
        if "final_info" in info:
            ended = info["_final_info"]
            info["final_info"] |= {"rules": np.where(ended, self._index, 0), "_rules": ended.copy()}
        return self._join(rewards), self._join(terminated), info

    def _renumbered(self, error: IllegalAction, index: int) -> IllegalAction:
        """Return an error of part ``index`` that names the row here."""
        return IllegalAction(
            re.sub(r"^game (\d+)", lambda found: f"game {int(found[1]) * len(self.envs) + index}", str(error))
        )

    def _show(self, info: Info, without_mask: bool = False) -> tuple[Observation, Info]:
        """Return observations and info; see `GamesVectorEnv._show`."""
        shown, infos = zip(*(env._show({}, without_mask) for env in self.envs), strict=True)
        info |= self._join(infos)
        info |= {"rules": self._index.copy(), "_rules": np.ones(self.num_envs, np.bool_)}
        observation: Observation = self._join(shown)
        return observation, info

    def action_masks(self) -> Bools:
        """Return the mask of ``info["action_mask"]`` as bool [num_envs, actions] (a new array)."""
        masks: Bools = self._join([env.action_masks() for env in self.envs])
        return masks

    def render(self) -> tuple[str | Frame, ...] | None:
        """Return the text or the picture of each game; see `GamesVectorEnv.render`."""
        shown = [env.render() for env in self.envs]
        if self.render_mode is None:
            return None
        return tuple((shown[row % len(shown)] or ())[row // len(shown)] for row in range(self.num_envs))

    def to_game(self, row: int) -> SomeGame:
        """Copy a row's game; see `quincunx_env.envs.vector.GamesVectorEnv.to_game`."""
        row = check_integer("row", row, 0, self.num_envs - 1)
        return self.envs[row % len(self.envs)].to_game(row // len(self.envs))

    def set_pool(self, *arguments: Any, **options: Any) -> None:
        """Replace the pool of opponents of all rows; see `VsOpponentsVectorEnv.set_pool`."""
        for env in self.envs:
            env.set_pool(*arguments, **options)  # type: ignore[attr-defined]

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return a snapshot for `set_state`. Names of games begin with the index of the rules."""
        states = [env.get_state() for env in self.envs]
        games = {f"{index}.{name}": array for index, state in enumerate(states) for name, array in state.items()}
        return games | self._generator_arrays()

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> tuple[Observation, Info]:
        """Restore a snapshot; see `GamesVectorEnv.set_state`."""
        if not isinstance(state, Mapping):
            raise ValueError(f"a state must be the mapping that get_state() returns, got {state!r:.60}")
        before = self.get_state()
        try:
            self._set_parts(state)
            self._set_generator(state)
        except ValueError:
            self._set_parts(before)
            raise
        return self._show({})

    def _set_parts(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        for index, env in enumerate(self.envs):
            first = f"{index}."
            env.set_state({name.removeprefix(first): state[name] for name in state if name.startswith(first)})


def make_vector_env(
    make: Callable[..., GamesVectorEnv], num_envs: int = 1, *, rules: Any = None, **options: Any
) -> GamesVectorEnv | SideBySideVectorEnv:
    """Make a vector environment; a list of rules gives a `SideBySideVectorEnv`.

    Args:
        make: class of the vector environment.
        num_envs: number of rows.
        rules: rules of the game, a mapping of their fields, or a list of these.
        options: further options of the environment.
    """
    if isinstance(rules, list | tuple):
        return SideBySideVectorEnv(make, num_envs, rules, **options)
    return make(num_envs, rules=rules, **options)
