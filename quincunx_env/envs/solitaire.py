"""The solitaire as Gymnasium environments: one game, and many at once over the batch engine."""

import math
from dataclasses import replace
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from quincunx_env.core.batch import Bools, Ints
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.observation import Flat, Pieces
from quincunx_env.envs.codec import EnvCodec
from quincunx_env.envs.common import METADATA, DealSequence, Info, check_option, reset_options
from quincunx_env.envs.vector import GamesVectorEnv
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.batch import Batch, ratings
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.render import Frame, Renderer

_FINAL = ("score", "value", "lost", "rating", "penalty", "seed", "game")


class SolitaireEnv(gymnasium.Env[Any, Any]):
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
    ``rating`` (index into `quincunx_env.quincunx.scoring.RATINGS`), ``penalty``, and ``seed`` and ``game``, which name
    the deal (-1 if it was handed in).

    ## Reset
    ``seed`` s starts the deals ``Deal.from_seed(rules, s, game)`` with game 0; each reset without a seed goes on to the
    next game. ``options={"deal": deal}`` plays a `quincunx_env.quincunx.deal.Deal`, or the text of one.

    ## Version History
    v0: first release.

    Args:
        edge_contact: a card must share an edge with a card in play (ruling R1).
        excuse: add the Excuse to the deck.
        pawns: add the four Pawns to the deck.
        flush: play with the flush bonus.
        observation: ``"pieces"`` or ``"flat"``.
        preview: observe the points and draws of every legal play.
        actions: ``"joint"`` or ``"factored"``.
        padded: observations and actions have the one layout of all forms of the game
            (`quincunx_env.quincunx.padded`).
        illegal: what an illegal action does: ``"raise"`` raises `IllegalAction` and changes nothing; ``"lose"`` ends
            the round as lost.
        lost_value: what a lost round is worth.
        render_mode: ``"ansi"``: `render` returns text, ``"rgb_array"``: a picture (`quincunx_env.render.frame`),
            ``"human"``: a window shows the game whenever it changes. The last two need pygame.
    """

    metadata: dict[str, Any] = METADATA

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
        padded: bool = False,
        illegal: Literal["raise", "lose"] = "raise",
        lost_value: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        check_lost_value(lost_value)
        check_option("render_mode", render_mode, None, *METADATA["render_modes"])
        self.rules = Rules(edge_contact=edge_contact, excuse=excuse, pawns=pawns, flush=flush)
        self.codec = EnvCodec(self.rules, observation, preview, actions, illegal, padded)
        self.observer = self.codec.observer
        self.observation_space = self.codec.observation_space()
        self.action_space = self.codec.action_space()
        self.lost_value = float(lost_value)
        self.render_mode = render_mode
        # A dictionary of its own: Gymnasium's vector environments before 1.4 write into it.
        self.metadata = dict(self.metadata)
        self._renderer = Renderer(render_mode, "Quincunx", METADATA["render_fps"])
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
        self._renderer.moved(self.game)
        return self.codec.observe(self.game), {"action_mask": self.codec.mask(self.game)}

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
            reward = float(game.step(self.codec.decode_action(action))[0])
        except IllegalAction:
            if not self.codec.lose_on_illegal:
                raise
            game.forfeit()
            reward = 0.0
        info: Info = {}
        if game.over:
            if game.lost:
                reward = self.lost_value - self._value
            info = self._final(game, self._value + reward)
        self._value += reward
        info["action_mask"] = self.codec.mask(self.game)
        self._renderer.moved(game)
        return self.codec.observe(self.game), reward, game.over, False, info

    def _final(self, game: Game, value: float) -> Info:
        penalty = 0 if game.lost else game.penalties[0]
        rating = scoring.rating(game.totals[0], game.lost)
        return dict(zip(_FINAL, (game.totals[0], value, game.lost, rating, penalty, *self._deals.name), strict=True))

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The mask of ``info["action_mask"]`` as bool."""
        return self.codec.mask(self.game).view(np.bool_)

    def render(self) -> str | Frame | None:
        """The game as ``render_mode`` says: text, a picture (uint8 [height, width, 3]), or None."""
        return self._renderer.render(self.game) if self.render_mode else None

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

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


class SolitaireVectorEnv(GamesVectorEnv):
    """Quincunx solitaire: many games at once, over the batch engine.

    ## Description
    The game, its options, actions and rewards are those of `SolitaireEnv`; spaces, masks and infos are batched. Row i
    of an environment seeded s plays the deals of `SolitaireEnv` seeded s + i, with the same actions to the same
    result. See `GamesVectorEnv` for masks, ends and resets, which all vector environments here have in common.

    ## End
    A round terminates as in `SolitaireEnv`, and its last info holds what it holds there.

    ## Version History
    v0: first release.

    Args:
        num_envs: games side by side.
        max_episode_steps: rounds end by themselves; only None is accepted.
        render_mode: ``"ansi"``, ``"rgb_array"`` or None: what `render` returns of each game.
        options: `GamesVectorEnv` explains ``autoreset_mode`` and ``copy``, `SolitaireEnv` all others.
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
        padded: bool = False,
        illegal: Literal["raise", "lose"] = "raise",
        lost_value: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        if max_episode_steps is not None:
            raise ValueError("max_episode_steps must be None: a round ends by itself within 12 plays")
        check_lost_value(lost_value)
        rules = Rules(edge_contact=edge_contact, excuse=excuse, pawns=pawns, flush=flush)
        codec = EnvCodec(rules, observation, preview, actions, illegal, padded)
        super().__init__(Batch(rules, num_envs), codec, autoreset_mode, copy, render_mode)
        self.lost_value = float(lost_value)
        self.value = np.zeros(num_envs)

    STATE = ("value",)
    batch: Batch

    def _play(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        batch = self.batch
        if self.codec.lose_on_illegal:
            illegal = ~ended & ~batch.is_legal(actions)
            batch.forfeit(illegal)
        rewards = batch.step(actions)[:, 0].astype(np.float64)
        lost = batch.lost & ~ended
        rewards[lost] = self.lost_value - self.value[lost]
        self.value += rewards
        return rewards

    def _dealt(self, rows: Ints) -> None:
        self.value[rows] = 0.0

    def _final(self, rows: Ints) -> dict[str, npt.NDArray[Any]]:
        batch = self.batch
        score, lost = batch.scores[rows, 0], batch.lost[rows]
        penalty = np.where(lost, 0, batch.penalties(rows)[:, 0])
        values = score, self.value[rows], lost, ratings(score, lost), penalty, batch.seed[rows], batch.game[rows]
        return dict(zip(_FINAL, values, strict=True))


def check_lost_value(lost_value: float) -> None:
    """Check the option ``lost_value``.

    Raises:
        ValueError: if it is not a finite number.
    """
    if not isinstance(lost_value, int | float) or not math.isfinite(lost_value):
        raise ValueError(f"lost_value must be a finite number, got {lost_value!r}")
