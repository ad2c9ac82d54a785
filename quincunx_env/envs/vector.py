"""Many games as a Gymnasium ``VectorEnv``: shared resets, masks and infos."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from quincunx_env.codec import Codec
from quincunx_env.core.arrays import Bools, Frame, Ints
from quincunx_env.core.batch import SomeBatch
from quincunx_env.core.batch_state import check_limits, state_entry
from quincunx_env.core.deal import MAX_SEED, BaseDeal, check_seed
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.integers import as_array, check_integer, check_option
from quincunx_env.core.observation import Observation, ordered_dict
from quincunx_env.envs.deals import parse_deals
from quincunx_env.envs.generator import GymnasiumEnv
from quincunx_env.envs.options import Info, reset_options
from quincunx_env.envs.renderer import METADATA, Renderer
from quincunx_env.registry import spec_of

SHOWN = 4
"""Games that notebooks show."""


def batched(space: spaces.Space[Any], num_envs: int) -> spaces.Space[Any]:
    """Return the space of observations of many games. Gymnasium before 1.4 would sort the keys of dictionaries."""
    if isinstance(space, spaces.Dict):
        return ordered_dict((name, batch_space(part, num_envs)) for name, part in space.items())
    return batch_space(space, num_envs)


def check_mask(mask: Any, num_envs: int) -> Bools:
    """Return a ``reset_mask``, bool [num_envs]; None selects all rows.

    Raises:
        ValueError: if it is anything else, or selects no row.
    """
    array = np.ones(num_envs, np.bool_) if mask is None else as_array(mask)
    if array.shape != (num_envs,) or array.dtype != np.bool_ or not array.any():
        raise ValueError(f"reset_mask must be a bool array of shape ({num_envs},) with at least one True")
    return array


def check_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> int | list[int | None] | None:
    """Return the seed of row 0, or one for each row.

    Raises:
        ValueError: if a seed is invalid, or if there are not as many as rows.
    """
    if seed is None:
        return None
    if not isinstance(seed, Sequence | np.ndarray) or as_array(seed).ndim == 0:
        first = check_seed(seed)  # type: ignore[arg-type]
        check_seed(first + num_envs - 1)
        return first
    if len(seed) != num_envs:
        raise ValueError(f"{num_envs} seeds are needed, got {len(seed)}")
    seeds = [None if each is None else check_seed(each) for each in seed]
    return seeds if any(each is not None for each in seeds) else None


def rows_need_reset(over: Bools) -> ResetNeeded:
    """Return the error of a step after the end of games, bool [num_envs]."""
    return ResetNeeded(
        f"the games of rows {np.flatnonzero(over).tolist()} are over: reset them with "
        "reset(options={'reset_mask': ...}) before the next step()"
    )


GivenDeals = Sequence[BaseDeal | str | Sequence[BaseDeal | str]]
"""Deals of several games: each a deal or its text, or a list of one for each round."""


class GamesVectorEnv(GymnasiumEnv, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """A batch of games, one seat of each played through the environment.

    Subclasses implement ``_apply_actions``, ``_on_deal`` and ``_final_values``, and may override ``_observing_seats``.
    They name Gymnasium's ``VectorEnv`` as a base, too: skrl looks for it among the direct bases of a class.

    ## Action Mask
    ``info["action_mask"]``: int8 [num_envs, actions], 1 = legal; with ``mask_in="obs"`` in the observation instead.
    ``action_masks()`` returns the same as a bool array. The mask of a row whose game is over depends on the autoreset
    mode (see Starting State).

    ## Starting State
    ``reset(seed=s)`` seeds row i with s + i; a sequence gives the seed of each row. Without any seed the first reset
    draws s, which ``np_random_seed`` reports. ``options={"deal": [...]}`` gives a deal for each row that is reset,
    ``options={"reset_mask": bool [num_envs]}`` selects the rows. ``autoreset_mode`` decides when the next game of a row
    is dealt:

    - ``NEXT_STEP`` (default): the next `step` ignores the row's action, which may be anything (its mask is all 1), and
      deals; the reward is 0.
    - ``SAME_STEP``: the same `step` deals; the last observation and info are in ``info["final_obs"]`` and
      ``info["final_info"]``.
    - ``DISABLED``: the row needs ``reset(options={"reset_mask": ...})`` before the next `step`; its mask is all 0.

    With ``given_deals``, a list of N deals, row i plays the deals i, i + num_envs, i + 2 num_envs and so on, modulo N.
    The first ``ceil(N / num_envs)`` games of every row play each deal at least once. A reset with a seed starts again.

    With a list of k rules row i plays rules i mod k (`quincunx_env.envs.side_by_side.SideBySideVectorEnv`).

    ## Information
    ``action_mask`` in every info, unless ``mask_in="obs"``. With a list of rules every info has ``rules``, the index of
    each game's rules. The entries of the last info of a game are arrays [num_envs, ...] with a bool array ``_<name>``
    beside each that marks the rows it applies to, as in Gymnasium's own vector environments. Other infos do not have
    them.

    Args:
        batch: the games.
        codec: encoding of observations, actions and masks.
        illegal: ``"raise"`` or ``"next"``.
        autoreset_mode: when the next game is dealt: a ``gymnasium.vector.AutoresetMode`` or its value.
        copy: False returns arrays that the next step overwrites, which saves copying them.
        render_mode: ``"ansi"`` (text), ``"rgb_array"`` (pictures) or None: result of `render` for each game.
        given_deals: deals to play instead of seeded ones, each a deal or its text, or a list of one for each round.
    """

    metadata: dict[str, Any] = METADATA | {"render_modes": ["ansi", "rgb_array"]}

    def __init__(
        self,
        num_envs: int,
        codec: Codec,
        illegal: str,
        autoreset_mode: AutoresetMode | str,
        copy: bool,
        render_mode: str | None,
        given_deals: GivenDeals | None = None,
    ) -> None:
        check_option("render_mode", render_mode, None, *self.metadata["render_modes"])
        check_option("copy", copy, False, True)
        check_option("illegal", illegal, "raise", "next")
        self.num_envs = check_integer("num_envs", num_envs, 1, MAX_SEED - 1)
        self.codec, self.illegal = codec, illegal
        self.batch: SomeBatch = codec.observer.make_batch(self.num_envs)
        self.rules = self.batch.rules
        self.observer = codec.observer
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space = codec.observation_space()
        self.single_action_space = codec.action_space()
        self.observation_space = batched(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, "")
        self.copy = copy
        self._mask_buffer: Bools | None = None
        self._has_reset = False
        self._decks = None if given_deals is None else self._decks_of("given_deals", given_deals)

    # --- Abstract interface ------------------------------------------------------------------------------------------

    def _apply_actions(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        """Step games in progress up to the next decision.

        Return the rewards, float64 [num_envs].

        Args:
            actions: int64 [num_envs], as the engine numbers them, -1 where out of range.
            ended: bool [num_envs], games that were over before; their actions are ignored.
        """
        raise NotImplementedError

    def _on_seed(self, seed: int | None) -> None:
        """Seed what draws random numbers besides ``np_random``. None changes nothing."""

    def _on_deal(self, rows: Ints) -> None:
        """Initialise the state of the rows in which games have been dealt."""
        raise NotImplementedError

    def _final_values(self, rows: Ints) -> dict[str, npt.NDArray[Any]]:
        """Return the entries of the last infos of these rows. They are arrays [len(rows), ...] by name."""
        raise NotImplementedError

    def _observing_seats(self) -> Ints | None:
        """Return the seats that observe, int64 [num_envs]. None stands for the seats to move."""
        return None

    # --- Shared implementation ---------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Deal new games in all rows, or in ``options["reset_mask"]``.

        Args:
            seed: a number, for ``seed + i`` in row i, or one for each row, whether or not it is reset. None deals the
                next game of every row, or of this one. ``np_random`` gets the number, or the seed of the first row that
                is reset.
            options: ``deal``: a deal, or a list of one for each round, for each row that is reset; ``reset_mask``: bool
                [num_envs].

        Returns:
            The observations of all rows, and the info with all masks.

        Raises:
            ValueError: if a seed, a deal or an option is invalid; nothing has changed then.
            ResetNeeded: if the first reset leaves rows out.
        """
        chosen = reset_options(options, "deal", "reset_mask")
        mask = check_mask(chosen.get("reset_mask"), self.num_envs)
        if not self._has_reset and not mask.all():
            raise ResetNeeded("no games are in progress: reset() needs all rows")
        rows = np.flatnonzero(mask)
        given = chosen.get("deal")
        decks = None if given is None else self._decks_of("options['deal']", given)
        if decks is not None and len(decks) != len(rows):
            raise ValueError(f"{len(rows)} games are reset and need a deal each, got {len(decks)}")
        seeds = check_seeds(seed, self.num_envs)
        if seeds is None:
            seeds = check_seeds(self._next_seed(bool(self.batch.resets[0] >= 0)), self.num_envs)
        if isinstance(seeds, list):
            self._deal_seeded(rows, [seeds[row] for row in rows.tolist()], decks)
        else:
            self._deal(rows, seeds, decks)
        first = seeds[int(rows[0])] if isinstance(seeds, list) else seeds
        super().reset(seed=first)
        self._on_seed(first)
        self._has_reset = True
        self._on_deal(rows)
        return self._show({})

    def step(self, actions: Any) -> tuple[Observation, npt.NDArray[np.float64], Bools, Bools, Info]:
        """Take an action in every row.

        Args:
            actions: integers [num_envs].

        Returns:
            Observations, rewards (float64), terminated, truncated (bool, [num_envs] each) and info.

        Raises:
            IllegalAction: if an action is illegal; nothing has changed then.
            ResetNeeded: before the first reset and, without automatic reset, for rows that have ended.
        """
        rewards, terminated, info = self._advance(actions)
        truncated = np.zeros(self.num_envs, np.bool_)
        observation, info = self._show(info)
        return observation, rewards, terminated, truncated, info

    def _advance(self, actions: Any) -> tuple[npt.NDArray[np.float64], Bools, Info]:
        """Step all games; return rewards, terminations and final infos."""
        batch, engine_actions = self.batch, self._engine_actions(actions)
        ended_before = batch.over.copy()
        rewards = self._apply_actions(engine_actions, ended_before)
        terminated = batch.over & ~ended_before
        info = self._final_info(terminated) if terminated.any() else {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            to_deal = terminated
            if terminated.any():
                if not self.codec.mask_in_obs:
                    nothing_legal = np.zeros((self.num_envs, self.codec.num_actions), np.int8)
                    info |= {"action_mask": nothing_legal, "_action_mask": terminated.copy()}
                info = {"final_info": info, "_final_info": terminated.copy()}
                info |= {"final_obs": self._final_observation(terminated), "_final_obs": terminated.copy()}
        else:
            to_deal = ended_before
        if to_deal.any():
            rows = np.flatnonzero(to_deal)
            self._deal(rows)
            self._on_deal(rows)
        return rewards, terminated, info

    def _engine_actions(self, actions: Any) -> Ints:
        """Return the engine's numbers of actions, int64 [num_envs], checked.

        Raises:
            IllegalAction: if an action is illegal.
            ResetNeeded: before the first reset and, without automatic reset, for rows that have ended.
        """
        if not self._has_reset:
            raise ResetNeeded("no games are in progress: call reset() first")
        batch, live = self.batch, ~self.batch.over
        if self.autoreset_mode == AutoresetMode.DISABLED and not live.all():
            raise rows_need_reset(~live)
        try:
            engine = self.codec.decode_actions(actions, live, batch, self.illegal)
            if self.illegal == "raise":
                batch._require_legal(batch._all, engine)
        except IllegalAction as error:
            raise self.codec.with_remedy(error) from None
        return engine

    def _decks_of(self, name: str, deals: GivenDeals) -> Any:
        """Return given deals as decks, int8 [deals, rounds, cards]. Errors use ``name``."""
        if isinstance(deals, BaseDeal | str) or not isinstance(deals, Sequence) or not deals:
            raise ValueError(f"{name} must be a sequence of deals, one for each game, got {deals!r:.60}")
        parsed = [parse_deals(spec_of(self.rules).Deal, each) for each in deals]
        return self.batch._decks_of(parsed, len(parsed))

    def _deal_seeded(self, rows: Ints, seeds: list[int | None], decks: Any) -> None:
        """Deal new games in `rows`: seeded ones, or the row's next."""
        for some in (True, False):
            at = [index for index, seed in enumerate(seeds) if (seed is not None) == some]
            if at:
                own = [seeds[index] for index in at] if some else None
                self._deal(rows[at], own, None if decks is None else decks[at])

    def _deal(self, rows: Ints, seed: Any = None, decks: Any = None) -> None:
        """Deal the next games of `rows`. They come from ``decks``, from the list of given deals, or from seeds."""
        if decks is not None or self._decks is None:
            self.batch._reset(rows, seed, decks)
            return
        games = 0 if seed is not None else self.batch.resets[rows] + 1
        numbers = (rows + games * self.num_envs) % len(self._decks)
        self.batch._reset(rows, seed, self._decks[numbers])
        self.batch.game[rows] = numbers

    def _final_info(self, ended: Bools) -> Info:
        """Return the last infos of the rows that ended, 0 elsewhere."""
        rows = np.flatnonzero(ended)
        info: Info = {}
        for name, values in self._final_values(rows).items():
            info[name] = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
            info[name][rows] = values
            info[f"_{name}"] = ended.copy()
        return info

    def _final_observation(self, ended: Bools) -> npt.NDArray[np.object_]:
        """Return the observations of these rows, None elsewhere. Gymnasium's own vector environments do the same."""
        rows, seats = np.flatnonzero(ended), self._observing_seats()
        games = self.batch.fork(rows)
        now = self.codec.of_batch(games, None if seats is None else seats[rows])
        now = self.codec.with_mask(now, np.zeros((len(rows), self.codec.num_actions), np.int8))
        shown: list[Any] = list(now) if isinstance(now, np.ndarray) else [{} for _ in rows]
        if isinstance(now, dict):
            for name, pieces in now.items():  # faster than row by row
                for one, piece in zip(shown, pieces, strict=True):
                    one[name] = piece
        final = np.full(self.num_envs, None, np.object_)
        for row, observation in zip(rows.tolist(), shown, strict=True):
            final[row] = observation
        return final

    def _show(self, info: Info, without_mask: bool = False) -> tuple[Observation, Info]:
        """Return observations and info, with masks where ``mask_in`` says.

        Args:
            info: the info so far.
            without_mask: leave the masks out of the info, which saves making them if observations do not have them.
        """
        observation = self.codec.of_batch(self.batch, self._observing_seats(), self.copy)
        if without_mask and not self.codec.mask_in_obs:
            return observation, info
        mask = self._masks(self._mask_buffer)
        if not self.copy:
            self._mask_buffer = mask
        if self.codec.mask_in_obs:
            return self.codec.with_mask(observation, mask.view(np.int8)), info
        info["action_mask"] = mask.view(np.int8)
        info["_action_mask"] = np.ones(self.num_envs, np.bool_)
        return observation, info

    def action_masks(self) -> Bools:
        """Return the mask of ``info["action_mask"]`` as bool [num_envs, actions] (a new array).

        Where a game is over it is all True with ``NEXT_STEP``, because the next step ignores the action, and all False
        with ``DISABLED``. Before the first reset it is all False.
        """
        return self._masks()

    def _masks(self, out: Bools | None = None) -> Bools:
        mask = self.codec.masks(self.batch, out)
        if self.autoreset_mode == AutoresetMode.NEXT_STEP and self._has_reset:
            mask[self.batch.over] = True
        return mask

    def render(self) -> tuple[str | Frame, ...] | None:
        """Return the text or the picture of each game.

        ``render_mode`` selects which. A picture is uint8 [height, width, 3].
        """
        if self.render_mode is None:
            return None
        shown: list[Any] = [self._renderer.render(self.to_game(row)) for row in range(self.num_envs)]
        return tuple(shown)

    def _repr_html_(self) -> str | None:
        """Draw the first games, for notebooks; None before the first reset."""
        from quincunx_env.render.notebook import gallery

        return gallery(map(self.to_game, range(self.num_envs)[:SHOWN])) if self._has_reset else None

    def to_game(self, row: int) -> SomeGame:
        """Copy a row's game into a game of the plain engine.

        Raises:
            ResetNeeded: before the first reset.
        """
        if not self._has_reset:
            raise ResetNeeded("no games are in progress: call reset() first")
        game: SomeGame = self.batch.to_game(row)
        return game

    # --- State -------------------------------------------------------------------------------------------------------

    STATE_ARRAYS: tuple[str, ...] = ()
    """Names of the arrays [num_envs, ...] that a subclass adds to the state of the games."""

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return a snapshot of all games for `set_state`.

        It holds games, counters and the generator, as arrays by name.
        """
        own = {name: getattr(self, name).copy() for name in self.STATE_ARRAYS}
        return self.batch.get_state() | own | {"has_reset": np.array(self._has_reset)} | self._generator_arrays()

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> tuple[Observation, Info]:
        """Restore a snapshot of this or another environment.

        Rules and size must be the same. The snapshot stays usable.

        Returns:
            The observation and info of the restored games.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        games = self.batch._with_state(state)
        own = {name: state_entry(state, name, getattr(self, name)).copy() for name in self.STATE_ARRAYS}
        for name, array in own.items():
            check_limits(name, array, *self._limits().get(name, (0, 1)))
        has_reset = bool(state_entry(state, "has_reset", np.array(False)))
        self._set_generator(state)
        self.batch._copy_from(games)
        for name, array in own.items():
            setattr(self, name, array)
        self._has_reset = has_reset
        return self._show({})

    def _limits(self) -> dict[str, tuple[Any, Any]]:
        """Return the limits of integers in `STATE_ARRAYS` by name, see `check_limits`."""
        return {}
