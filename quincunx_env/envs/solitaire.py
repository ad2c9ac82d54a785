"""Quincunx solitaire as Gymnasium environments: one game, and many games."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from quincunx_env.codec import Codec
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.observation import Observation
from quincunx_env.core.rules import RulesLike, choose_rules
from quincunx_env.envs.one_game import GymnasiumGame
from quincunx_env.envs.options import Info, check_finite, check_step_limit, options_of, with_options
from quincunx_env.envs.renderer import METADATA
from quincunx_env.envs.side_by_side import make_vector_env
from quincunx_env.envs.vector import GamesVectorEnv, GivenDeals
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.batch import Batch, ratings
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules, solitaire_rules

RULES_OPTIONS = options_of(Rules, without=("num_players", "start", "simpleton", "match"))
"""Options of `Rules` that apply to the solitaire."""

_FINAL = ("score", "value", "lost", "rating", "penalty", "seed", "game")
"""Keys of the last info of a round, besides the mask."""


def _choose_rules(rules: RulesLike | None, options: Mapping[str, Any]) -> Any:
    return choose_rules(Rules, solitaire_rules, rules, options)


class SolitaireEnv(GymnasiumGame[Game], gymnasium.Env[Any, Any]):
    """Quincunx solitaire: one game.

    ## Description
    The grid has 4x4 cells, and a card lies in each of its corners. The player starts with eight cards in hand. Each
    play lays a card from the hand in an empty cell, scores points with the cards around it and may draw cards. A hand
    that is empty before the grid is full loses the round. RULES.md has the complete rules (Part 1, with ``num_players``
    1); the game is by Chris DeLeo, the solitaire by Jack Neal, the Decktet by P.D. Magnus.

    ## Action Space
    ``actions="joint"`` (default): ``Discrete(cards * cells)``, where action = ``card * cells + cell``.
    ``actions="hand"``: ``Discrete(places * cells)``, where action = ``place * cells + cell``: ten places of the hand,
    sorted by rank; cards beyond wait for a place. Cards are ids (36, or 41 with the extended deck), cells count from
    the top left, row by row (16).

    ## Observation Space
    ``observation="pieces"`` (default): a dictionary of integer arrays; ``print(env.unwrapped.observer.table())`` lists
    names, meanings and ranges. ``observation="vector"``: one float32 vector for neural networks, with cards as rank and
    suits and scaled numbers (`quincunx_env.core.encoding`); ``observer.encoder().table()`` lists its slices,
    ``encoder(by_place=True)`` is for ``actions="hand"``. ``preview=True`` adds the points and draws of every legal
    play. With ``mask_in="obs"`` the mask is one more entry of the dictionary, ``action_mask``; a vector is then its
    entry ``observation``.

    ## Action Mask
    ``info["action_mask"]``: int8 [actions], 1 = legal. Every legal card may go into every legal cell. ``mask_in``
    selects where it is: in the info (default) or in the observation. ``action_masks()`` returns the same as bool, the
    interface of sb3-contrib. After the end of a round it is all 0.

    ## Rewards
    The points of each play; the last play of a complete round also loses the penalty for the cards left in hand. The
    return of a lost round is ``lost_value``, whatever was scored before: its last reward makes up the difference. The
    default of 0 is a convention of this project: the rules rank a lost round below every complete one.

    ## Starting State
    A shuffled deck: four cards on the grid, eight in hand, the others in the draw pile. ``reset(seed=s)`` starts the
    sequence of deals ``Deal.from_seed(rules, s, game)`` with game 0; each reset without a seed deals the next game.
    Without any seed the first reset draws one, which ``np_random_seed`` reports. A generator that is assigned to
    ``np_random`` draws the seed of the next reset without one.
    ``options={"deal": deal}`` plays a given `quincunx_env.quincunx.deal.Deal`, or the text of one.

    ## Episode End
    A round terminates when the grid is full or the hand is empty, after at most 12 steps. It is never truncated.

    ## Information
    ``action_mask`` in every info, unless ``mask_in="obs"``. The last info of a round adds ``score`` (points scored,
    penalty deducted), ``value`` (the return: the sum of the rewards), ``lost``, ``rating`` (index into
    `quincunx_env.quincunx.scoring.RATINGS`), ``penalty``, and ``seed`` and ``game``, which identify the deal (-1 if it
    was given). Other infos do not have these entries. A recorder that needs the same entries at every step keeps
    ``action_mask`` alone.

    ## Version History
    v0: first release.

    Args:
        options: ``edge_contact``, ``excuse``, ``pawns``, ``flush`` and ``mini``, see
            `quincunx_env.quincunx.rules.Rules`.
        rules: the options of the rules together, instead of one by one: a `quincunx_env.quincunx.rules.Rules` or a
            mapping of its fields.
        observation: ``"pieces"`` or ``"vector"``.
        preview: add the points and draws of every legal play to the observation.
        actions: ``"joint"``: card and cell; ``"hand"``: place in the sorted hand and cell.
        mask_in: ``"info"`` or ``"obs"``.
        padded: observations and actions have the same shape under all rules of the game
            (`quincunx_env.quincunx.padded`).
        illegal: ``"raise"``: an illegal action raises `IllegalAction` and changes nothing; ``"next"``: the legal action
            with the next higher number is played, from 0 on after the last.
        lost_value: the return of a lost round.
        render_mode: ``"ansi"``: `render` returns text, ``"rgb_array"``: a picture (`quincunx_env.render.frame`),
            ``"human"``: a window shows the game whenever it changes. The last two need the extra ``render``.
    """

    metadata: dict[str, Any] = METADATA

    @with_options(*RULES_OPTIONS)
    def __init__(
        self,
        *,
        rules: RulesLike | None = None,
        observation: Literal["pieces", "vector"] = "pieces",
        preview: bool = False,
        actions: Literal["joint", "hand"] = "joint",
        mask_in: Literal["info", "obs"] = "info",
        padded: bool = False,
        illegal: Literal["raise", "next"] = "raise",
        lost_value: float = 0.0,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        check_finite("lost_value", lost_value)
        encoding: Any = {"observation": observation, "preview": preview, "actions": actions, "mask_in": mask_in}
        self._set_up(Codec(_choose_rules(rules, options), **encoding, padded=padded), illegal, render_mode)
        self.lost_value = float(lost_value)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Deal a game.

        Args:
            seed: starts the sequence of deals of this seed; None deals the next game of the sequence.
            options: ``{"deal": ...}``: the deal to play, or its text.

        Returns:
            The observation and the info.

        Raises:
            ValueError: if the seed, the deal or an option is invalid; nothing has changed then.
        """
        game, seed = self._next_game(seed, options)
        super().reset(seed=seed)
        self._game = game
        self._value = 0.0
        self._renderer.moved(game)
        return self._show(game, {})

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Lay a card.

        Returns:
            Observation, reward, terminated, truncated (always False) and info.

        Raises:
            IllegalAction: if the action is illegal; nothing has changed then.
            ResetNeeded: before the first reset and after the end of a round.
        """
        game = self.game
        reward = float(self._play(game, action)[0])
        info: Info = {}
        if game.over:
            reward, info = self._end(game, reward)
        return self._stepped(game, reward, info)

    def _end(self, game: Game, reward: float) -> tuple[float, Info]:
        """Return last reward and last info of a round."""
        if game.lost:
            reward = self.lost_value - self._value
        return reward, self._final_values(game, self._value + reward)

    def forfeit(self) -> tuple[float, Info]:
        """Lose the round; return last reward and last info."""
        self.game.forfeit()
        reward, info = self._end(self.game, 0.0)
        self._value += reward
        return reward, info

    def _final_values(self, game: Game, value: float) -> Info:
        penalty = 0 if game.lost else game.penalties[0]
        rating = scoring.rating(game.totals[0], game.lost)
        return dict(zip(_FINAL, (game.totals[0], value, game.lost, rating, penalty, *self._deals.name), strict=True))


class SolitaireVectorEnv(GamesVectorEnv, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Quincunx solitaire: many games, stepped together by the batch engine.

    ## Description
    The game of `SolitaireEnv`, with the same options, actions and rewards; spaces, masks and infos are batched. Row i
    of an environment seeded s plays the deals of `SolitaireEnv` seeded s + i: the same actions give the same
    observations and rewards. `GamesVectorEnv` documents masks, infos and resets, which all vector environments of this
    package share.

    ## Action Space
    An action of `SolitaireEnv` for each game.

    ## Observation Space
    The observations of `SolitaireEnv`, arrays [num_envs, ...]. ``print(env.unwrapped.observer.table())`` lists the
    pieces.

    ## Episode End
    A round terminates when the grid is full or the hand is empty, after at most 12 steps. It is never truncated.

    ## Information
    ``action_mask`` in every info, unless ``mask_in="obs"``. For rounds that end, the entries of the last info of
    `SolitaireEnv`: ``score``, ``value``, ``lost``, ``rating``, ``penalty``, ``seed`` and ``game``, as arrays [num_envs]
    with a bool array ``_<name>`` beside each that marks the rows it applies to. With ``given_deals`` ``game`` is the
    index of the deal in the list, and ``seed`` -1.

    ## Version History
    v0: first release.

    Args:
        num_envs: games played side by side.
        autoreset_mode: when the next game is dealt: a ``gymnasium.vector.AutoresetMode`` or its value.
        copy: False returns arrays that the next step overwrites, which saves copying them.
        max_episode_steps: None, or more steps than a round has.
        render_mode: ``"ansi"`` (text), ``"rgb_array"`` (pictures) or None: result of `render` for each game.
        given_deals: deals to play instead of seeded ones, each a deal or its text; Starting State says which row plays
            which.
        options: as in `SolitaireEnv`, which documents all other options, too.
    """

    @with_options(*RULES_OPTIONS)
    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: RulesLike | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        max_episode_steps: int | None = None,
        observation: Literal["pieces", "vector"] = "pieces",
        preview: bool = False,
        actions: Literal["joint", "hand"] = "joint",
        mask_in: Literal["info", "obs"] = "info",
        padded: bool = False,
        illegal: Literal["raise", "next"] = "raise",
        lost_value: float = 0.0,
        render_mode: str | None = None,
        given_deals: GivenDeals | None = None,
        **options: Any,
    ) -> None:
        check_finite("lost_value", lost_value)
        encoding: Any = {"observation": observation, "preview": preview, "actions": actions, "mask_in": mask_in}
        codec = Codec(_choose_rules(rules, options), **encoding, padded=padded)
        check_step_limit(max_episode_steps, codec.rules)
        super().__init__(num_envs, codec, illegal, autoreset_mode, copy, render_mode, given_deals)
        self.lost_value = float(lost_value)
        self.value = np.zeros(num_envs)

    STATE_ARRAYS = ("value",)
    batch: Batch

    def _apply_actions(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        batch = self.batch
        rewards = batch._play_live(batch._all, actions)[:, 0].astype(np.float64)
        lost = batch.lost & ~ended
        rewards[lost] = self.lost_value - self.value[lost]
        self.value += rewards
        return rewards

    def _on_deal(self, rows: Ints) -> None:
        self.value[rows] = 0.0

    def _final_values(self, rows: Ints) -> dict[str, npt.NDArray[Any]]:
        batch = self.batch
        score, lost = batch.scores[rows, 0], batch.lost[rows]
        penalty = np.where(lost, 0, batch.penalties(rows)[:, 0])
        values = score, self.value[rows], lost, ratings(score, lost), penalty, batch.seed[rows], batch.game[rows]
        return dict(zip(_FINAL, values, strict=True))


make_solitaire_vec = partial(make_vector_env, SolitaireVectorEnv)
"""Make a `SolitaireVectorEnv`, or one for each of a list of rules side by side."""
