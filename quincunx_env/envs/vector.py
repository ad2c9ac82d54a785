"""Many games behind Gymnasium's VectorEnv: automatic resets, masks and infos, whoever plays."""

import json
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from quincunx_env.core.batch import Bools, Ints
from quincunx_env.core.deal import MAX_SEED, BaseDeal
from quincunx_env.core.observation import Flat, Pieces
from quincunx_env.envs.codec import EnvCodec
from quincunx_env.envs.common import METADATA, Batch, Game, Info, as_deals, check_option, reset_options
from quincunx_env.registry import spec_of
from quincunx_env.render import Frame, Renderer


class GamesVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Games of a batch, one seat of each of which is played from outside.

    A subclass says what an action does (``_play``), what follows a deal (``_dealt``), what the last info of a game
    holds (``_final``), and which seats observe (``_seats``).

    ## Mask
    ``info["action_mask"]``: int8 [num_envs, actions], 1 = legal; of a row that waits for its reset see below.
    `action_masks` gives bool, and nothing legal where a game is over.

    ## Reset
    The mode of automatic reset says what follows the end of a game:

    - ``NEXT_STEP`` (default): the next `step` ignores that row's action, which may be anything (its mask is all 1), and
      deals; reward 0.
    - ``SAME_STEP``: the same `step` deals; the last observation and info stand in ``info["final_obs"]`` and
      ``info["final_info"]``.
    - ``DISABLED``: the row waits for ``reset(options={"reset_mask": bool [num_envs]})``; its mask is all 0.

    What an info holds at the end of a game comes as arrays with a bool array ``_<name>`` beside each, which says for
    which rows, as in Gymnasium's own vector environments. ``reset(seed=s)`` seeds row i with s + i; a sequence names
    the seed of each row. ``options={"deal": [...]}`` hands in a deal for each row that is dealt.

    Args:
        batch: the games.
        codec: of observations, actions and masks.
        autoreset_mode: a ``gymnasium.vector.AutoresetMode`` or its value.
        copy: False returns arrays that the next step overwrites, which saves copying them.
        render_mode: ``"ansi"``, ``"rgb_array"`` or None: what `render` returns of each game.
    """

    metadata: dict[str, Any] = METADATA | {"render_modes": ["ansi", "rgb_array"]}

    def __init__(
        self, batch: Batch, codec: EnvCodec, autoreset_mode: AutoresetMode | str, copy: bool, render_mode: str | None
    ) -> None:
        check_option("render_mode", render_mode, None, *self.metadata["render_modes"])
        self.batch = batch
        self.codec = codec
        self.rules = batch.rules
        self.observer = codec.observer
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}
        self.num_envs = batch.num_games
        self.single_observation_space = codec.observation_space()
        self.single_action_space = codec.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, "", METADATA["render_fps"])
        self._copy = copy
        self._mask_buffer: Bools | None = None
        self._dealt_once = False

    # --- What a subclass says ----------------------------------------------------------------------------------------

    def _play(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        """Play in every row that has not ended, up to the next decision; returns the rewards, [num_envs]."""
        raise NotImplementedError

    def _dealt(self, rows: Ints) -> None:
        """New games have been dealt in these rows."""
        raise NotImplementedError

    def _final(self, rows: Ints) -> dict[str, npt.NDArray[Any]]:
        """What the last infos of these rows hold, [len(rows)] each."""
        raise NotImplementedError

    def _seats(self) -> Ints | None:
        """The seats that observe, [num_envs]; None for the seats to move."""
        return None

    # --- Gymnasium ---------------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Pieces | Flat, Info]:
        """Deal new games, in all rows or in those of ``options["reset_mask"]``.

        ``seed`` is a number, from which row i takes ``seed + i``, or holds one for each row, also for those that are
        not reset. The masks in ``info`` are those of all rows.

        Raises:
            ValueError: for seeds, deals or options that cannot be used; nothing has changed then.
        """
        chosen = reset_options(options, "deal", "reset_mask")
        mask = np.asarray(chosen.get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ValueError(f"reset_mask must be a bool array of shape ({self.num_envs},) that names at least one row")
        if not self._dealt_once and not mask.all():
            raise ResetNeeded("no games have been dealt yet: the first reset() needs all rows")
        rows = np.flatnonzero(mask)
        if seed is None and not self._dealt_once:
            seed = self.np_random.integers(MAX_SEED, size=self.num_envs).tolist()
        if isinstance(seed, Sequence | np.ndarray):
            if len(seed) != self.num_envs:
                raise ValueError(f"{self.num_envs} seeds are needed, got {len(seed)}")
            seed = [seed[int(row)] for row in rows]
        handed_in = chosen.get("deal")
        if isinstance(handed_in, BaseDeal | str) or not isinstance(handed_in, Sequence | None):
            raise ValueError(f"a deal for each of {len(rows)} rows is needed, got {handed_in!r}")
        deals = None if handed_in is None else [as_deals(spec_of(self.rules).Deal, each) for each in handed_in]
        self.batch.reset(seed, rows, deals)
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._dealt_once = True
        self._dealt(rows)
        return self._observe(), self._with_mask({})

    def step(self, actions: Any) -> tuple[Pieces | Flat, npt.NDArray[np.float64], Bools, Bools, Info]:
        """Take an action in every row.

        Raises:
            IllegalAction: if an action is illegal, unless ``illegal="lose"``; nothing has changed then.
            ResetNeeded: before the first reset and, without automatic reset, for rows that have ended.
        """
        batch = self.batch
        if not self._dealt_once:
            raise ResetNeeded("no games have been dealt yet: call reset() first")
        ended_before = batch.over.copy()
        if self.autoreset_mode == AutoresetMode.DISABLED and ended_before.any():
            raise ResetNeeded(
                f"the games of rows {np.flatnonzero(ended_before).tolist()} are over: reset them with "
                "reset(options={'reset_mask': ...}) before the next step()"
            )
        rewards = self._play(self.codec.decode_actions(actions, ~ended_before), ended_before)
        terminated = batch.over & ~ended_before
        info = self._final_info(terminated) if terminated.any() else {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            to_deal = terminated
            if terminated.any():
                nothing_legal = np.zeros((self.num_envs, self.codec.mask_size), np.int8)
                info |= {"action_mask": nothing_legal, "_action_mask": terminated.copy()}
                info = {"final_info": info, "_final_info": terminated.copy()}
                info |= {"final_obs": self._final_observation(terminated), "_final_obs": terminated.copy()}
        else:
            to_deal = ended_before
        if to_deal.any():
            batch.reset(rows=to_deal)
            self._dealt(np.flatnonzero(to_deal))
        truncated = np.zeros(self.num_envs, np.bool_)
        return self._observe(), rewards, terminated, truncated, self._with_mask(info)

    def _final_info(self, ended: Bools) -> Info:
        """The last infos of the rows that ended; 0 elsewhere."""
        rows = np.flatnonzero(ended)
        info: Info = {}
        for name, values in self._final(rows).items():
            info[name] = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
            info[name][rows] = values
            info[f"_{name}"] = ended.copy()
        return info

    def _final_observation(self, ended: Bools) -> npt.NDArray[np.object_]:
        """The observation of each of these rows, None elsewhere, as Gymnasium's own vector environments have it."""
        now = self.codec.encode(self.observer.observe_batch(self.batch, self._seats()))
        final = np.full(self.num_envs, None, np.object_)
        for row in np.flatnonzero(ended):
            final[row] = now[row] if isinstance(now, np.ndarray) else {name: piece[row] for name, piece in now.items()}
        return final

    def _observe(self) -> Pieces | Flat:
        copy = self._copy and not self.codec.flat
        return self.codec.encode(self.observer.observe_batch(self.batch, self._seats(), copy))

    def _with_mask(self, info: Info) -> Info:
        mask = self.codec.mask_batch(self.batch, out=self._mask_buffer)
        if not self._copy:
            self._mask_buffer = mask
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            mask[self.batch.over] = True
        info["action_mask"] = mask.view(np.int8)
        info["_action_mask"] = np.ones(self.num_envs, np.bool_)
        return info

    def action_masks(self) -> Bools:
        """The mask of every row as bool, [num_envs, ...] (a new array); all False where a game is over."""
        return self.codec.mask_batch(self.batch)

    def render(self) -> tuple[str | Frame, ...] | None:
        """Each game as ``render_mode`` says: its text, or its picture (uint8 [height, width, 3])."""
        if self.render_mode is None:
            return None
        shown: list[Any] = [self._renderer.render(self.to_game(row)) for row in range(self.num_envs)]
        return tuple(shown)

    def to_game(self, row: int) -> Game:
        """A plain copy of the game of a row.

        Raises:
            ResetNeeded: before the first reset.
        """
        if not self._dealt_once:
            raise ResetNeeded("no games have been dealt yet: call reset() first")
        game: Game = self.batch.to_game(row)
        return game

    # --- State -------------------------------------------------------------------------------------------------------

    STATE: tuple[str, ...] = ()
    """Names of the arrays, [num_envs, ...] each, that a subclass adds to the state of the games."""

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """A snapshot of all games, counters and the generator as arrays by name, for `set_state`."""
        generator = json.dumps(self.np_random.bit_generator.state).encode()
        own = {name: getattr(self, name).copy() for name in self.STATE}
        own |= {"dealt": np.array(self._dealt_once), "generator": np.frombuffer(generator, np.uint8).copy()}
        return self.batch.get_state() | own

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> tuple[Pieces | Flat, Info]:
        """Go on from a snapshot, in this or another environment of the same rules and size.

        Returns:
            The observation and info of the restored games.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        for name in self.STATE:
            if name not in state or state[name].shape != getattr(self, name).shape:
                raise ValueError(f"this is no snapshot of an environment of {self.num_envs} games")
        if not {"dealt", "generator"} <= state.keys():
            raise ValueError("this is no snapshot of a vector environment")
        self.batch.set_state(state)
        for name in self.STATE:
            setattr(self, name, state[name].copy())
        self._dealt_once = bool(state["dealt"])
        self.np_random.bit_generator.state = json.loads(state["generator"].tobytes())
        return self._observe(), self._with_mask({})
