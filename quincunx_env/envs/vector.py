"""Many games as a Gymnasium ``VectorEnv``: shared resets, masks and infos."""

import json
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.batch_state import check_limits, state_entry
from quincunx_env.core.deal import MAX_SEED, BaseDeal, check_seed
from quincunx_env.core.game import Game, IllegalAction
from quincunx_env.core.integers import as_array, check_integer
from quincunx_env.core.observation import Flat, Pieces, ordered_dict
from quincunx_env.envs.codec import Batch, EnvCodec, Info
from quincunx_env.envs.deals import parse_deals
from quincunx_env.envs.generator import GymnasiumEnv, set_generator
from quincunx_env.envs.mixed import MixedBatch
from quincunx_env.envs.one_game import METADATA
from quincunx_env.envs.options import check_option, reset_options
from quincunx_env.registry import spec_of
from quincunx_env.render import Frame, Renderer
from quincunx_env.render.notebook import gallery

SHOWN = 4
"""Games that notebooks show."""


def batched(space: spaces.Space[Any], num_envs: int) -> spaces.Space[Any]:
    """Return the space of observations of many games. Gymnasium before 1.4 would sort the keys of dictionaries."""
    if isinstance(space, spaces.Dict):
        return ordered_dict((name, batch_space(part, num_envs)) for name, part in space.items())
    return batch_space(space, num_envs)


GivenDeals = Sequence[BaseDeal | str | Sequence[BaseDeal | str]]
"""Deals of several games: each a deal or its text, or a list of one for each round."""


class GamesVectorEnv(GymnasiumEnv, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """A batch of games, one seat of each played through the environment.

    Subclasses implement ``_apply_actions``, ``_on_deal`` and ``_final_values``, and may override ``_observing_seats``.
    They name Gymnasium's ``VectorEnv`` as a base, too: skrl looks for it among the direct bases of a class.

    ## Action Mask
    ``info["action_mask"]``: int8 [num_envs, actions], 1 = legal; with ``mask_in`` in the observation instead, or in
    both. ``action_masks()`` returns the same as a bool array. The mask of a row whose game is over depends on the
    autoreset mode (see Starting State).

    ## Starting State
    ``reset(seed=s)`` seeds row i with s + i; a sequence gives the seed of each row. Without any seed the first reset
    draws s, which ``np_random_seed`` reports. ``options={"deal": [...]}`` gives a deal for each row that is reset,
    ``options={"reset_mask": bool [num_envs]}`` selects the rows. ``autoreset_mode`` decides when the next game of a row
    is dealt:

    - ``NEXT_STEP`` (default): the next `step` ignores the row's action, which may be anything (its mask is all 1), and
      deals; the reward is 0.
    - ``SAME_STEP``: the same `step` deals; the last observation and info are in ``info["final_obs"]`` and
      ``info["final_info"]``.
    - ``DISABLED``: the row waits for ``reset(options={"reset_mask": ...})``; its mask is all 0.

    With ``given_deals``, a list of N deals, row i plays the deals i, i + num_envs, i + 2 num_envs and so on, modulo N.
    The first ``ceil(N / num_envs)`` games of every row play each deal at least once, whatever the lengths of the
    games. A reset with a seed starts again, ``options={"deal": [...]}`` replaces single games, and a snapshot
    continues in an environment with the same list.

    With a list of rules each game draws its own by its seed, the same in every environment. ``options={"rules": ...}``
    chooses them, for all rows that are reset or a list of one for each. Given deals need their rules.

    ## Information
    ``action_mask`` in every info, unless ``mask_in="obs"``. With a list of rules every info has ``rules``, the index of
    each game's rules. The entries of the last info of a game are arrays [num_envs, ...] with a bool array ``_<name>``
    beside each that marks the rows it applies to, as in Gymnasium's own vector environments. Other infos do not have
    them.

    Args:
        batch: the games.
        codec: encoding of observations, actions and masks.
        autoreset_mode: when the next game is dealt: a ``gymnasium.vector.AutoresetMode`` or its value.
        copy: False returns arrays that the next step overwrites, which saves copying them.
        render_mode: ``"ansi"`` (text), ``"rgb_array"`` (pictures) or None: result of `render` for each game.
        given_deals: deals to play instead of seeded ones, each a deal or its text, or a list of one for each round.
    """

    metadata: dict[str, Any] = METADATA | {"render_modes": ["ansi", "rgb_array"]}

    def __init__(
        self,
        num_envs: int,
        codec: EnvCodec,
        autoreset_mode: AutoresetMode | str,
        copy: bool,
        render_mode: str | None,
        given_deals: GivenDeals | None = None,
    ) -> None:
        check_option("render_mode", render_mode, None, *self.metadata["render_modes"])
        check_option("copy", copy, False, True)
        self.num_envs = check_integer("num_envs", num_envs, 1, MAX_SEED - 1)
        self.codec = codec
        self.batch: Batch = codec.make_batch(self.num_envs)
        self.rules = self.batch.rules
        self.observer = codec.observer
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space = codec.observation_space()
        self.single_action_space = codec.action_space()
        self.observation_space = batched(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, "", METADATA["render_fps"])
        self._copy = copy
        self._mask_buffer: Bools | None = None
        self._has_reset = False
        if given_deals is not None and isinstance(self.batch, MixedBatch):
            raise ValueError("given_deals are of one set of rules: give these, or the deals and their rules to reset()")
        self._decks = None if given_deals is None else self._decks_of("given_deals", given_deals)

    # --- Abstract interface ------------------------------------------------------------------------------------------

    def _apply_actions(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        """Step games in progress up to the next decision.

        Return the rewards, float64 [num_envs].

        Args:
            actions: int64 [num_envs], as the engine numbers them, -1 where out of range.
            ended: bool [num_envs], games that were over before; their actions are ignored. Other games that are over
                were just lost by an illegal action.
        """
        raise NotImplementedError

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
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Pieces | Flat, Info]:
        """Deal new games in all rows, or in ``options["reset_mask"]``.

        Args:
            seed: a number, for ``seed + i`` in row i, or one for each row, whether or not it is reset. None deals the
                next game of every row. ``np_random`` gets the number, or the seed of the first row that is reset.
            options: ``deal``: a deal, or a list of one for each round, for each row that is reset; ``reset_mask``: bool
                [num_envs]; ``rules``: which of several rules to play, for all rows that are reset or for each.

        Returns:
            The observations of all rows, and the info with all masks.

        Raises:
            ValueError: if a seed, a deal or an option is invalid; nothing has changed then.
            ResetNeeded: if the first reset leaves rows out.
        """
        known = ("deal", "reset_mask", "rules") if isinstance(self.batch, MixedBatch) else ("deal", "reset_mask")
        chosen = reset_options(options, *known)
        mask = as_array(chosen.get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ValueError(f"reset_mask must be a bool array of shape ({self.num_envs},) with at least one True")
        if not self._has_reset and not mask.all():
            raise ResetNeeded("no games are in progress: reset() needs all rows")
        rows = np.flatnonzero(mask)
        given = chosen.get("deal")
        decks = None if given is None else self._decks_of("options['deal']", given)
        if decks is not None and len(decks) != len(rows):
            raise ValueError(f"{len(rows)} games are reset and need a deal each, got {len(decks)}")
        first = None
        if isinstance(seed, Sequence | np.ndarray) and as_array(seed).ndim:
            if len(seed) != self.num_envs:
                raise ValueError(f"{self.num_envs} seeds are needed, got {len(seed)}")
            seed = [check_seed(seed[int(row)]) for row in rows]
            first = seed[0]
        elif seed is not None:
            first = seed = check_seed(seed)  # type: ignore[arg-type]
        elif (drawn := self._next_seed(bool(self.batch.resets[0] >= 0))) is not None:
            return self.reset(seed=drawn, options=options)
        self._deal(rows, seed, decks, chosen.get("rules"))
        super().reset(seed=first)
        self._has_reset = True
        self._on_deal(rows)
        return self._show({})

    def step(self, actions: Any) -> tuple[Pieces | Flat, npt.NDArray[np.float64], Bools, Bools, Info]:
        """Take an action in every row.

        Args:
            actions: integers [num_envs] or, factored, [num_envs, 2].

        Returns:
            Observations, rewards (float64), terminated, truncated (bool, [num_envs] each) and info.

        Raises:
            IllegalAction: if an action is illegal, unless ``illegal="lose"``; nothing has changed then.
            ResetNeeded: before the first reset and, without automatic reset, for rows that have ended.
        """
        rewards, terminated, info = self._advance(actions)
        truncated = np.zeros(self.num_envs, np.bool_)
        observation, info = self._show(info)
        return observation, rewards, terminated, truncated, info

    def _advance(self, actions: Any) -> tuple[npt.NDArray[np.float64], Bools, Info]:
        """Step all games; return rewards, terminations and final infos."""
        batch = self.batch
        if not self._has_reset:
            raise ResetNeeded("no games are in progress: call reset() first")
        ended_before = batch.over.copy()
        if self.autoreset_mode == AutoresetMode.DISABLED and ended_before.any():
            raise ResetNeeded(
                f"the games of rows {np.flatnonzero(ended_before).tolist()} are over: reset them with "
                "reset(options={'reset_mask': ...}) before the next step()"
            )
        try:
            actions = self.codec.decode_actions(actions, ~ended_before, batch)
            if self.codec.lose_on_illegal:
                batch.forfeit(~ended_before & ~batch.is_legal(actions))
            rewards = self._apply_actions(actions, ended_before)
        except IllegalAction as error:
            if self.codec.lose_on_illegal:
                raise
            raise self.codec.with_remedy(error) from None
        terminated = batch.over & ~ended_before
        info = self._final_info(terminated) if terminated.any() else {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            to_deal = terminated
            if terminated.any():
                if self.codec.mask_in_info:
                    nothing_legal = np.zeros((self.num_envs, self.codec.mask_size), np.int8)
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

    def _decks_of(self, name: str, deals: GivenDeals) -> Any:
        """Return given deals as decks, int8 [deals, rounds, cards dealt], with several rules as a list.

        ``name`` is their name in error messages.
        """
        if isinstance(deals, BaseDeal | str) or not isinstance(deals, Sequence) or not deals:
            raise ValueError(f"{name} must be a sequence of deals, one for each game, got {deals!r:.60}")
        parsed = [parse_deals(spec_of(self.rules).Deal, each) for each in deals]
        return parsed if isinstance(self.batch, MixedBatch) else self.batch._decks_of(parsed, len(parsed))

    def _deal(self, rows: Ints, seed: int | Sequence[int] | None = None, decks: Any = None, rules: Any = None) -> None:
        """Deal the next games of `rows`. They come from ``decks``, from the list of given deals, or from seeds."""
        if isinstance(self.batch, MixedBatch):
            self.batch._reset(rows, seed, decks, rules)
            return
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
        if isinstance(self.batch, MixedBatch):
            info |= {"rules": np.where(ended, self.batch.rules_index, 0), "_rules": ended.copy()}
        return info

    def _final_observation(self, ended: Bools) -> npt.NDArray[np.object_]:
        """Return the observations of these rows, None elsewhere. Gymnasium's own vector environments do the same."""
        rows, seats = np.flatnonzero(ended), self._observing_seats()
        games = self.batch.fork(rows)
        now = self.codec.observe_batch(games, None if seats is None else seats[rows])
        now = self.codec.with_mask(now, np.zeros((len(rows), self.codec.mask_size), np.int8))
        shown: list[Any] = list(now) if isinstance(now, np.ndarray) else [{} for _ in rows]
        if isinstance(now, dict):
            for name, pieces in now.items():  # faster than row by row
                for one, piece in zip(shown, pieces, strict=True):
                    one[name] = piece
        final = np.full(self.num_envs, None, np.object_)
        for row, observation in zip(rows.tolist(), shown, strict=True):
            final[row] = observation
        return final

    def _show(self, info: Info, without_mask: bool = False) -> tuple[Pieces | Flat, Info]:
        """Return observations and info, with masks where ``mask_in`` says.

        Args:
            info: the info so far.
            without_mask: leave the masks out of the info, which saves making them if observations do not have them.
        """
        copy = self._copy and not self.codec.flat
        observation = self.codec.observe_batch(self.batch, self._observing_seats(), copy)
        if isinstance(self.batch, MixedBatch):
            info |= {"rules": self.batch.rules_index.copy(), "_rules": np.ones(self.num_envs, np.bool_)}
        if without_mask and not self.codec.mask_in_obs:
            return observation, info
        mask = self._masks(self._mask_buffer)
        if not self._copy:
            self._mask_buffer = mask
        if self.codec.mask_in_info:
            info["action_mask"] = mask.view(np.int8)
            info["_action_mask"] = np.ones(self.num_envs, np.bool_)
        return self.codec.with_mask(observation, mask.view(np.int8)), info

    def action_masks(self) -> Bools:
        """Return the mask of ``info["action_mask"]`` as bool [num_envs, actions] (a new array).

        Where a game is over it is all True with ``NEXT_STEP``, because the next step ignores the action, and all False
        with ``DISABLED``. Before the first reset it is all False.
        """
        return self._masks()

    def _masks(self, out: Bools | None = None) -> Bools:
        mask = self.codec.mask_batch(self.batch, out)
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
        return gallery(map(self.to_game, range(self.num_envs)[:SHOWN])) if self._has_reset else None

    def to_game(self, row: int) -> Game:
        """Copy a row's game into a game of the plain engine.

        Raises:
            ResetNeeded: before the first reset.
        """
        if not self._has_reset:
            raise ResetNeeded("no games are in progress: call reset() first")
        game: Game = self.batch.to_game(row)
        return game

    # --- State -------------------------------------------------------------------------------------------------------

    STATE_ARRAYS: tuple[str, ...] = ()
    """Names of the arrays [num_envs, ...] that a subclass adds to the state of the games."""

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return a snapshot of all games for `set_state`.

        It holds games, counters and the generator, as arrays by name.
        """
        generator = json.dumps(self.np_random.bit_generator.state).encode()
        seed = np.array(self.np_random_seed)
        own = {name: getattr(self, name).copy() for name in self.STATE_ARRAYS}
        own |= {"has_reset": np.array(self._has_reset), "np_random_seed": seed}
        own |= {"generator": np.frombuffer(generator, np.uint8).copy()}
        return self.batch.get_state() | own

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> tuple[Pieces | Flat, Info]:
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
            check_limits(name, array, *self._limits(games).get(name, (0, 1)))
        has_reset = bool(state_entry(state, "has_reset", np.array(False)))
        if (seed := int(state_entry(state, "np_random_seed", np.array(0)))) < -1:
            raise ValueError("state array 'np_random_seed' must be a seed, or -1")
        text = np.asarray(state.get("generator"))
        try:
            generator = json.loads(text.tobytes()) if text.dtype == np.uint8 and text.ndim == 1 else None
        except (RecursionError, ValueError):
            generator = None
        if generator is None:
            raise ValueError("state array 'generator' must hold JSON as uint8")
        set_generator(self.np_random, generator)
        self._np_random_seed = seed
        self.batch._copy_from(games)
        for name, array in own.items():
            setattr(self, name, array)
        self._has_reset = has_reset
        return self._show({})

    def _limits(self, games: Batch) -> dict[str, tuple[Any, Any]]:
        """Return the limits of integers in `STATE_ARRAYS` by name, see `check_limits`."""
        return {}
