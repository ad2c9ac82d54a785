"""The solitaire as Gymnasium environments: one game, and many at once over the batch engine."""

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import index
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from quincunx_env import scoring
from quincunx_env.batch import Batch, Bools, Ints
from quincunx_env.deal import MAX_SEED
from quincunx_env.envs.common import DealSequence, as_deals, check_option, reset_options
from quincunx_env.game import Game, IllegalAction
from quincunx_env.observation import Flat, Observer, Pieces
from quincunx_env.render import ansi
from quincunx_env.rules import Rules

Info = dict[str, Any]
Mask = npt.NDArray[np.int8]

_FINAL = ("score", "value", "lost", "rating", "penalty", "seed", "game")


class _Doors:
    """What one game and many have in common: options, spaces, and how actions and masks are spelled."""

    def _set_options(
        self,
        rules: Rules,
        observation: str,
        preview: bool,
        actions: str,
        illegal: str,
        reward: str,
        lost_value: float,
        render_mode: str | None,
    ) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        """Check and keep the options; returns the spaces of one observation and of one action."""
        for name, value, allowed in (
            ("observation", observation, ("pieces", "flat")),
            ("preview", preview, (False, True)),
            ("actions", actions, ("joint", "factored")),
            ("illegal", illegal, ("raise", "lose")),
            ("reward", reward, ("points",)),
            ("render_mode", render_mode, (None, "ansi")),
        ):
            check_option(name, value, *allowed)
        self.rules = rules
        self.observer = Observer(rules, preview)
        if not isinstance(lost_value, int | float) or not math.isfinite(lost_value):
            raise ValueError(f"lost_value must be a finite number, got {lost_value!r}")
        self.lost_value = float(lost_value)
        self._flat = observation == "flat"
        self._factored = actions == "factored"
        self._lenient = illegal == "lose"
        self._mask_size = rules.num_cards + rules.num_cells if self._factored else rules.num_plays_encoded
        return (
            self.observer.flat_space() if self._flat else self.observer.dict_space(),
            spaces.MultiDiscrete([rules.num_cards, rules.num_cells])
            if self._factored
            else spaces.Discrete(rules.num_plays_encoded),
        )

    def _spell(self, pieces: Pieces) -> Pieces | Flat:
        return self.observer.flatten(pieces) if self._flat else pieces


class SolitaireEnv(_Doors, gymnasium.Env[Any, Any]):
    """Quincunx solitaire: one game.

    ## Description
    Sixteen cells, four of them filled, eight cards in hand. Each play scores points with the cards around it and may
    draw cards; a hand that runs out before the grid is full loses the round. RULES.md tells the rules (Part 1, with
    ``num_players`` 1); the game is by Chris DeLeo, the solitaire by Jack Neal, the Decktet by P.D. Magnus.

    ## Actions
    ``actions="joint"`` (default): ``Discrete(cards * cells)``, action = ``card * cells + cell``.
    ``actions="factored"``: ``MultiDiscrete([cards, cells])``. Cards are ids (36, or 41 with the extended deck), cells
    count from the top left, row by row (16).

    ## Mask
    ``info["action_mask"]``: int8, 1 = legal; [cards * cells] or, factored, [cards + cells], cards first. Every legal
    card may go into every legal cell. `action_masks` gives the same as bool, as sb3-contrib asks for it. When a round
    has ended nothing is legal.

    ## Observation
    ``observation="pieces"`` (default): a dictionary of integer arrays; ``"flat"``: the same in one int16 vector. The
    table of names, slices, meanings and ranges is ``print(env.unwrapped.observer.table())``. ``preview=True`` adds the
    points and draws of every legal play.

    ## Rewards
    The points of each play; the last play of a finished round also loses the penalty for the cards left in hand. A
    lost round is worth ``lost_value`` in all, whatever was scored before: its last reward makes up the difference.
    The default 0 is a convention of our tables: the rules rank a lost round below every finished one.

    ## End
    A round terminates when the grid is full or the hand is empty; it is never truncated. The last ``info`` holds
    ``score`` (the points really scored, penalty deducted), ``value`` (what the rewards added up to), ``lost``,
    ``rating`` (index into `quincunx_env.RATINGS`), ``penalty``, and ``seed`` and ``game``, which name the deal (-1 if
    it was handed in).

    ## Reset
    ``seed`` s starts the deals ``Deal.from_seed(rules, s, game)`` with game 0; each reset without a seed goes on to the
    next game. ``options={"deal": deal}`` plays a `Deal`, or the text of one.

    Args:
        edge_contact: a card must share an edge with a card in play (ruling R1).
        excuse: add the Excuse to the deck.
        pawns: add the four Pawns to the deck.
        flush: play with the flush bonus.
        observation: ``"pieces"`` or ``"flat"``.
        preview: observe the points and draws of every legal play.
        actions: ``"joint"`` or ``"factored"``.
        illegal: what an illegal action does: ``"raise"`` raises `IllegalAction` and changes nothing; ``"lose"`` ends
            the round as lost.
        reward: ``"points"``, the only one the solitaire knows.
        lost_value: what a lost round is worth.
        render_mode: ``"ansi"`` or None.

    ## Version History
    v0: first release.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 2}  # noqa: RUF012  as in gymnasium.Env

    def __init__(
        self,
        *,
        edge_contact: bool = False,
        excuse: bool = False,
        pawns: bool = False,
        flush: bool = False,
        observation: Literal["pieces", "flat"] = "pieces",
        preview: bool = False,
        actions: Literal["joint", "factored"] = "joint",
        illegal: Literal["raise", "lose"] = "raise",
        reward: Literal["points"] = "points",
        lost_value: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        rules = Rules(edge_contact=edge_contact, excuse=excuse, pawns=pawns, flush=flush)
        self.observation_space, self.action_space = self._set_options(
            rules, observation, preview, actions, illegal, reward, lost_value, render_mode
        )
        self.render_mode = render_mode
        # A dictionary of its own: Gymnasium's vector environments before 1.4 write into it.
        self.metadata = dict(self.metadata)
        self._game: Game | None = None
        self._deals = DealSequence()
        self._value = 0.0

    @property
    def game(self) -> Game:
        """The game in progress.

        Raises:
            ResetNeeded: if there is none yet.
        """
        if self._game is None:
            raise ResetNeeded("no game has been dealt yet: call reset() first")
        return self._game

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Pieces | Flat, Info]:
        """Deal a new game. See the class for ``seed`` and ``options``.

        Raises:
            ValueError: for a seed, a deal or an option that cannot be used; nothing has changed then.
        """
        self._game = self._deals.deal(self.rules, seed, reset_options(options, "deal").get("deal"))
        super().reset(seed=None if seed is None else int(seed))
        self._value = 0.0
        return self._observe(), {"action_mask": self._mask()}

    def step(self, action: Any) -> tuple[Pieces | Flat, SupportsFloat, bool, bool, Info]:
        """Play a card.

        Raises:
            IllegalAction: if the action is illegal, unless ``illegal="lose"``; nothing has changed then.
            ResetNeeded: before the first reset and after the end of a round.
        """
        game = self.game
        if game.over:
            raise ResetNeeded("the round is over: call reset() before the next step()")
        try:
            reward = float(game.step(self._joint(action))[0])
        except IllegalAction:
            if not self._lenient:
                raise
            reward, game.over, game.lost = 0.0, True, True
        info: Info = {}
        if game.over:
            if game.lost:
                reward = self.lost_value - self._value
            info = self._final(game, self._value + reward)
        self._value += reward
        info["action_mask"] = self._mask()
        return self._observe(), reward, game.over, False, info

    def _joint(self, action: Any) -> int:
        """An action of either space as a joint one, -1 where it lies outside of the space."""
        try:
            if not self._factored:
                return index(action)
            card, cell = map(index, action)
        except (TypeError, ValueError):
            raise IllegalAction(f"an action of {self.action_space} is needed, got {action!r}") from None
        if 0 <= card < self.rules.num_cards and 0 <= cell < self.rules.num_cells:
            return card * self.rules.num_cells + cell
        raise IllegalAction(f"action {action!r} is out of range: an action of {self.action_space} is needed")

    def _observe(self) -> Pieces | Flat:
        return self.observer.observe_flat(self.game) if self._flat else self.observer.observe(self.game)

    def _mask(self) -> Mask:
        game = self.game
        cards, cells = np.frombuffer(game.hands[0], np.int8), np.frombuffer(game.legal, np.int8)
        mask = np.concatenate([cards, cells]) if self._factored else np.multiply.outer(cards, cells).ravel()
        if game.over:
            mask[:] = 0
        return mask

    def _final(self, game: Game, value: float) -> Info:
        penalty = 0 if game.lost else game.penalties[0]
        rating = scoring.rating(game.totals[0], game.lost)
        return dict(zip(_FINAL, (game.totals[0], value, game.lost, rating, penalty, *self._deals.name), strict=True))

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The mask of ``info["action_mask"]`` as bool."""
        return self._mask().view(np.bool_)

    def render(self) -> str | None:
        """The game as text, if ``render_mode`` is ``"ansi"``."""
        return ansi(self.game) if self.render_mode == "ansi" else None

    def get_state(self) -> dict[str, Any]:
        """A snapshot of the game, its place among the seeded deals and the generator, for `set_state`."""
        return {
            "game": self.game.copy(),
            "deals": replace(self._deals),
            "value": self._value,
            "np_random": self.np_random.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot, in this or another environment of the same rules; the snapshot stays usable.

        Raises:
            ValueError: if the snapshot is of other rules.
        """
        if state["game"].rules != self.rules:
            raise ValueError(f"this environment plays {self.rules}, the snapshot is of {state['game'].rules}")
        self._game = state["game"].copy()
        self._deals, self._value = replace(state["deals"]), state["value"]
        self.np_random.bit_generator.state = state["np_random"]


class SolitaireVectorEnv(_Doors, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Quincunx solitaire: many games at once, over the batch engine.

    Row i of an environment seeded s plays the deals of `SolitaireEnv` seeded s + i. Options, spaces, masks, rewards and
    infos are those of `SolitaireEnv`, batched; what ``info`` holds at the end of a round comes as arrays with a bool
    array ``_<name>`` beside each, as in Gymnasium's own vector environments.

    The mode of automatic reset says what follows the end of a round:

    - ``NEXT_STEP`` (default): the next `step` ignores that row's action, which may be anything (its mask is all 1), and
      deals; reward 0.
    - ``SAME_STEP``: the same `step` deals; the last observation and info stand in ``info["final_obs"]`` and
      ``info["final_info"]``.
    - ``DISABLED``: the row waits for ``reset(options={"reset_mask": bool [num_envs]})``.

    Args:
        num_envs: games side by side.
        autoreset_mode: an `AutoresetMode` or its value.
        copy: False returns arrays that the next step overwrites, which saves copying them.
        max_episode_steps: rounds end by themselves; only None is accepted.
        edge_contact, excuse, pawns, flush, observation, preview, actions, illegal, reward, lost_value, render_mode: as
            in `SolitaireEnv`. In ``reset``'s options ``"deal"`` is a sequence with a deal for each row (for each row of
            ``reset_mask``).
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        max_episode_steps: None = None,
        edge_contact: bool = False,
        excuse: bool = False,
        pawns: bool = False,
        flush: bool = False,
        observation: Literal["pieces", "flat"] = "pieces",
        preview: bool = False,
        actions: Literal["joint", "factored"] = "joint",
        illegal: Literal["raise", "lose"] = "raise",
        reward: Literal["points"] = "points",
        lost_value: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        if max_episode_steps is not None:
            raise ValueError("max_episode_steps must be None: a round ends by itself within 12 plays")
        rules = Rules(edge_contact=edge_contact, excuse=excuse, pawns=pawns, flush=flush)
        self.single_observation_space, self.single_action_space = self._set_options(
            rules, observation, preview, actions, illegal, reward, lost_value, render_mode
        )
        self.mode = AutoresetMode(autoreset_mode)
        self.metadata = SolitaireEnv.metadata | {"autoreset_mode": self.mode}
        self.batch = Batch(rules, num_envs)
        self.num_envs = num_envs
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = render_mode
        self._copy = copy
        self._mask_buffer: Bools | None = None
        self._dealt = False
        self._value = np.zeros(num_envs)

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
        if not self._dealt and not mask.all():
            raise ResetNeeded("no games have been dealt yet: the first reset() needs all rows")
        rows = np.flatnonzero(mask)
        if seed is None and not self._dealt:
            seed = self.np_random.integers(MAX_SEED, size=self.num_envs).tolist()
        if isinstance(seed, Sequence | np.ndarray):
            if len(seed) != self.num_envs:
                raise ValueError(f"{self.num_envs} seeds are needed, got {len(seed)}")
            seed = [seed[int(row)] for row in rows]
        deals = None if chosen.get("deal") is None else as_deals(chosen["deal"])
        self.batch.reset(seed, rows, deals)
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._dealt = True
        self._value[rows] = 0.0
        return self._observe(), self._with_mask({})

    def step(self, actions: Any) -> tuple[Pieces | Flat, npt.NDArray[np.float64], Bools, Bools, Info]:
        """Play a card in every row.

        Raises:
            IllegalAction: if an action is illegal, unless ``illegal="lose"``; nothing has changed then.
            ResetNeeded: before the first reset and, without automatic reset, for rows that have ended.
        """
        batch = self.batch
        if not self._dealt:
            raise ResetNeeded("no games have been dealt yet: call reset() first")
        ended_before = batch.over.copy()
        if self.mode == AutoresetMode.DISABLED and ended_before.any():
            raise ResetNeeded(
                f"the rounds of rows {np.flatnonzero(ended_before).tolist()} are over: reset them with "
                "reset(options={'reset_mask': ...}) before the next step()"
            )
        rewards = self._play(self._joint(actions), ended_before)
        terminated = batch.over & ~ended_before
        lost = terminated & batch.lost
        rewards[lost] = self.lost_value - self._value[lost]
        self._value += rewards
        info = self._final(terminated) if terminated.any() else {}
        if self.mode == AutoresetMode.SAME_STEP:
            to_deal = terminated
            if terminated.any():
                nothing_legal = np.zeros((self.num_envs, self._mask_size), np.int8)
                info |= {"action_mask": nothing_legal, "_action_mask": terminated.copy()}
                info = {"final_info": info, "_final_info": terminated.copy()}
                info |= {"final_obs": self._final_observation(terminated), "_final_obs": terminated.copy()}
        else:
            to_deal = ended_before
        if to_deal.any():
            batch.reset(rows=np.flatnonzero(to_deal))
            self._value[to_deal] = 0.0
        truncated = np.zeros(self.num_envs, np.bool_)
        return self._observe(), rewards, terminated, truncated, self._with_mask(info)

    def _joint(self, actions: Any) -> Ints:
        """Actions of either space as joint ones, -1 where they lie outside of the space."""
        array = np.asarray(actions)
        shape = (self.num_envs, 2) if self._factored else (self.num_envs,)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise IllegalAction(
                f"integer actions of shape {shape} are needed, got {array.dtype} of shape {array.shape}"
            )
        array = array.astype(np.int64, copy=False)
        if not self._factored:
            return array
        cards, cells = array.T
        outside = (cards < 0) | (cards >= self.rules.num_cards) | (cells < 0) | (cells >= self.rules.num_cells)
        if not self._lenient and (outside & ~self.batch.over).any():
            row = int((outside & ~self.batch.over).argmax())
            raise IllegalAction(
                f"game {row}: action {array[row].tolist()} is out of range: "
                f"an action of {self.single_action_space} is needed"
            )
        return np.where(outside, -1, cards * self.rules.num_cells + cells)

    def _play(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        """Play in every row that has not ended; returns the points."""
        batch = self.batch
        if self._lenient:
            illegal = ~ended & ~batch.is_legal(actions)
            batch.over |= illegal
            batch.lost |= illegal
        return batch.step(actions)[:, 0].astype(np.float64)

    def _final(self, ended: Bools) -> Info:
        """What the last info of a round holds, for these rows; 0 elsewhere."""
        batch, rows = self.batch, np.flatnonzero(ended)
        score, lost = batch.scores[rows, 0], batch.lost[rows]
        penalty = np.where(lost, 0, batch.penalties(rows)[:, 0])
        rating = np.where(lost, 0, 1 + np.searchsorted(scoring.RATING_STEPS, score, side="right"))
        values = score, self._value[rows], lost, rating, penalty, batch.seed[rows], batch.game[rows]
        info: Info = {}
        for name, value in zip(_FINAL, values, strict=True):
            info[name] = np.zeros(self.num_envs, value.dtype)
            info[name][rows] = value
            info[f"_{name}"] = ended.copy()
        return info

    def _final_observation(self, ended: Bools) -> npt.NDArray[np.object_]:
        """The observation of each of these rows, None elsewhere, as Gymnasium's own vector environments have it."""
        now = self._spell(self.observer.observe_batch(self.batch))
        final = np.full(self.num_envs, None, np.object_)
        for row in np.flatnonzero(ended):
            final[row] = now[row] if isinstance(now, np.ndarray) else {name: piece[row] for name, piece in now.items()}
        return final

    def _observe(self) -> Pieces | Flat:
        return self._spell(self.observer.observe_batch(self.batch, copy=self._copy and not self._flat))

    def _with_mask(self, info: Info) -> Info:
        if self._copy or self._factored:
            mask = self.action_masks()
        else:
            mask = self._mask_buffer = self.batch.mask(out=self._mask_buffer)
        if self.mode == AutoresetMode.NEXT_STEP:
            mask[self.batch.over] = True
        info["action_mask"] = mask.view(np.int8)
        info["_action_mask"] = np.ones(self.num_envs, np.bool_)
        return info

    def action_masks(self) -> Bools:
        """The mask of every row as bool, [num_envs, ...] (a new array); all False where a round is over."""
        if self._factored:
            return np.concatenate([self.batch.card_mask(), self.batch.cell_mask()], axis=1)
        return self.batch.mask()

    def render(self) -> tuple[str, ...] | None:
        """The games as text, if ``render_mode`` is ``"ansi"``."""
        if self.render_mode != "ansi":
            return None
        if not self._dealt:
            raise ResetNeeded("no games have been dealt yet: call reset() first")
        return tuple(ansi(self.batch.to_game(row)) for row in range(self.num_envs))

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """A snapshot of all games and counters as arrays by name, for `set_state`."""
        arrays = self.batch.state_arrays() | {"value": self._value, "dealt": np.array(self._dealt)}
        return {name: array.copy() for name, array in arrays.items()}

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> tuple[Pieces | Flat, Info]:
        """Go on from a snapshot, in this or another environment of the same rules and size.

        Returns:
            The observation and info of the restored games.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        value, dealt = state.get("value"), state.get("dealt")
        if value is None or dealt is None or value.shape != self._value.shape:
            raise ValueError(f"this is no snapshot of an environment of {self.num_envs} games")
        self.batch.load_state_arrays(state)
        self._value, self._dealt = value.copy(), bool(dealt)
        return self._observe(), self._with_mask({})
