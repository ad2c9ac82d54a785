"""Encoding of observations, actions and masks at the boundary of an environment."""

from typing import Any

import numpy as np
from gymnasium import spaces

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.integers import as_array, as_integer
from quincunx_env.core.observation import Mask, Observation, ordered_dict, with_mask
from quincunx_env.core.rules import BaseRules, SeveralRules
from quincunx_env.envs.options import check_option
from quincunx_env.registry import make_observer

Info = dict[str, Any]
Batch = BaseBatch[Any, Any]


class Codec:
    """Encoding of observations and masks, and decoding of actions.

    Engines use joint actions of the unpadded game; an environment may offer padded ones, or places of the hand.

    Args:
        rules: rules of the game.
        observation: ``"pieces"`` or ``"vector"``.
        preview: add the points and draws of every legal play to the observation; in the spiral game the points that
            each legal card makes for the observer and for the other player.
        actions: ``"joint"`` or ``"hand"``.
        mask_in: ``"info"`` or ``"obs"``.
        illegal: ``"raise"`` or ``"next"``.
        padded: observations and actions have the same shape under all rules of the game.

    Attributes:
        options: the options that shape observations and actions, by name.
        observer: the observer of games with these rules.
        by_place: whether actions name places of the hand.
        num_actions: number of actions, the length of a mask.
        mask_in_obs: whether observations hold the mask; otherwise infos do.
        play_next: whether the next legal action takes the place of an illegal one.

    Raises:
        ValueError: for any other value of an option.
    """

    def __init__(
        self,
        rules: BaseRules,
        observation: str,
        preview: bool = False,
        actions: str = "joint",
        mask_in: str = "info",
        illegal: str = "raise",
        padded: bool = False,
    ) -> None:
        check_option("observation", observation, "pieces", "vector")
        check_option("preview", preview, False, True)
        check_option("actions", actions, "joint", "hand")
        check_option("mask_in", mask_in, "info", "obs")
        check_option("illegal", illegal, "raise", "next")
        self.options: dict[str, Any] = {"observation": observation, "actions": actions, "preview": preview}
        self.options |= {"padded": padded, "mask_in": mask_in}
        self.observer = make_observer(rules, preview, padded)
        self.by_place = actions == "hand"
        self.num_actions = self.observer.places.num_actions if self.by_place else self.observer.num_actions
        self.mask_in_obs = mask_in == "obs"
        self.play_next = illegal == "next"
        self._encoder = self.observer.encoder(self.by_place) if observation == "vector" else None
        self._padded = padded

    # --- Spaces ------------------------------------------------------------------------------------------------------

    def observation_space(self) -> spaces.Space[Any]:
        """Return the space of one observation."""
        space: spaces.Space[Any] = self._encoder.space() if self._encoder else self.observer.dict_space()
        if not self.mask_in_obs:
            return space
        pieces = space.spaces if isinstance(space, spaces.Dict) else {"observation": space}
        return ordered_dict([*pieces.items(), ("action_mask", spaces.Box(0, 1, (self.num_actions,), np.int8))])

    def action_space(self) -> spaces.Discrete:
        """Return the space of one action."""
        return spaces.Discrete(self.num_actions)

    def with_mask(self, observation: Observation, mask: Mask) -> Observation:
        """Return observations, of one game or many, with the mask if ``mask_in="obs"``."""
        return with_mask(observation, mask) if self.mask_in_obs else observation

    # --- One game ----------------------------------------------------------------------------------------------------

    def observe(self, game: SomeGame, seat: int = 0) -> Observation:
        """Return the observation of a seat of a game."""
        return self.observer.vector(game, seat, self.by_place) if self._encoder else self.observer.observe(game, seat)

    def mask(self, game: SomeGame) -> Mask:
        """Return the mask of the seat to move, int8 [num_actions]."""
        return self.observer.place_mask(game) if self.by_place else self.observer.mask(game)

    def decode_action(self, action: Any, game: SomeGame) -> int:
        """Return the engine's number of an action in a game.

        With ``illegal="next"`` the next legal action takes the place of an illegal one.

        Raises:
            IllegalAction: if it is not an action of the space.
        """
        try:
            number = as_integer(action)
        except TypeError:
            raise IllegalAction(f"an action of {self.action_space()} is needed, got {action!r}") from None
        if self.play_next:
            number, mask = number % self.num_actions, self.mask(game).tobytes()
            if not mask[number]:
                later = mask.find(1, number)
                number = later if later >= 0 else mask.find(1)
        if not self.by_place and not self._padded:
            return number  # the game itself refuses other numbers
        if not 0 <= number < self.num_actions:
            joint = -1
        else:
            joint = self.observer.joint_action(game, number) if self.by_place else number
        if self._padded:
            joint = int(self.observer.to_engine(np.array([joint]))[0])
        if joint < 0:
            raise IllegalAction(self._refusal(number))
        return joint

    # --- Many games --------------------------------------------------------------------------------------------------

    def observe_batch(self, batch: Batch, seats: Ints | None = None, copy: bool = True) -> Observation:
        """Return observations of one seat of each game, [B, ...]; see `BaseObserver.observe_batch`."""
        if self._encoder:
            return self.observer.vector_batch(batch, seats, self.by_place)
        return self.observer.observe_batch(batch, seats, copy)

    def mask_batch(self, batch: Batch, out: Bools | None = None) -> Bools:
        """Return the masks of the seats to move, bool [B, num_actions]. ``out`` may be overwritten and returned."""
        return self.observer.place_masks(batch) if self.by_place else self.observer.mask_batch(batch, out)

    def decode_actions(self, actions: Any, live: Bools, batch: Batch) -> Ints:
        """Return the engine's numbers of actions, int64 [n].

        With ``illegal="next"`` the actions of games in progress are legal ones.

        Args:
            actions: integers [n].
            batch: the games.
            live: bool [n], the games in progress; actions of others are not checked.

        Raises:
            IllegalAction: if the array has another shape or kind, or if the action of a game in progress is out of
                range.
        """
        array = actions if isinstance(actions, np.ndarray) else as_array(actions)
        if array.shape != live.shape or array.dtype.kind not in "iu":
            raise IllegalAction(
                f"integer actions of shape {live.shape} are needed, got {array.dtype} of shape {array.shape}"
            )
        array = array.astype(np.int64, copy=self.play_next)
        if self.play_next:
            array %= self.num_actions
        engine = self._to_engine(array, batch)
        if self.play_next:
            rows = np.flatnonzero(live & ~batch._is_legal(batch._all, engine))
            if len(rows):
                array[rows] = _next_legal(array[rows], self.mask_batch(batch)[rows])
                engine = self._to_engine(array, batch)
        elif (self.by_place or self._padded) and (wrong := live & (engine < 0)).any():
            row = int(wrong.argmax())
            raise IllegalAction(f"game {row}: {self._refusal(array[row].item())}")
        return engine

    def _to_engine(self, actions: Ints, batch: Batch) -> Ints:
        """Return the engine's numbers of actions, int64 [n]. Unknown actions are -1."""
        joint = self.observer.joint_actions(batch, actions) if self.by_place else actions
        return self.observer.to_engine(joint) if self._padded else joint

    # --- Errors ------------------------------------------------------------------------------------------------------

    def _refusal(self, action: int) -> str:
        """Return what is wrong with an action unknown to the engine."""
        if self.by_place and 0 <= action < self.num_actions:
            place = action // self.observer.places.cells
            return f"action {action} plays place {place} of the hand, which holds no card to play"
        return f"action {action!r} is out of range: an action of {self.action_space()} is needed"

    def with_remedy(self, error: IllegalAction) -> IllegalAction:
        """Return the error of an illegal action, with ways to avoid it."""
        place = "observation" if self.mask_in_obs else "info"
        return IllegalAction(
            f"{error}; choose among the actions of {place}['action_mask'] (quincunx_env.sample_action samples one; "
            "train with MaskablePPO of sb3-contrib instead of PPO), or make the environment with illegal='next'"
        )


def make_codecs(rules: BaseRules | SeveralRules, **options: Any) -> tuple[Codec, ...]:
    """Return a codec for each rules, from the keywords of `Codec`.

    Observations and actions of a list of rules, even of one, are padded: all codecs have the same spaces.

    Raises:
        ValueError: for the value of an option.
    """
    several = isinstance(rules, SeveralRules)
    each: Any = rules if several else (rules,)
    return tuple(Codec(one, padded=several, **options) for one in each)


def one_rules(rules: BaseRules | SeveralRules) -> BaseRules | SeveralRules:
    """Return the rules of an environment whose games have the same ones.

    Raises:
        ValueError: if they are several.
    """
    if isinstance(rules, SeveralRules) and len(rules) > 1:
        raise ValueError(
            f"one set of rules is needed here, got {len(rules)}: make an environment for each, or one by "
            "gymnasium.make_vec, whose rows have different rules"
        )
    return rules


def _next_legal(actions: Ints, masks: Bools) -> Ints:
    """Return the next higher legal action of each row, int64 [n].

    After the last action it starts again from 0. Masks are [n, actions].
    """
    later = masks & (np.arange(masks.shape[1]) >= actions[:, None])
    found: Ints = np.where(later.any(axis=1), later.argmax(axis=1), masks.argmax(axis=1))
    return found
