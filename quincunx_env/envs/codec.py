"""Encoding of observations, actions and masks at the boundary of an environment."""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.game import Game, IllegalAction
from quincunx_env.core.integers import as_array, as_integer
from quincunx_env.core.observation import Flat, Mask, Observer, Pieces, ordered_dict
from quincunx_env.core.rules import BaseRules, SeveralRules
from quincunx_env.envs.mixed import MixedBatch, split
from quincunx_env.envs.options import check_option
from quincunx_env.registry import make_observer, spec_of

Info = dict[str, Any]
Batch = BaseBatch[Any, Any]


class EnvCodec:
    """Encoding of observations and masks, and decoding of actions.

    Engines use joint actions of the unpadded game; an environment may offer factored or padded ones.

    Args:
        rules: rules of the game, or several: observations and actions are then padded.
        observation: ``"pieces"``, ``"flat"`` or ``"float32"``, the encoding for networks.
        preview: add the points and draws of every legal play to the observation; in the spiral game the points that
            each legal card makes for the observer and for the other player.
        actions: ``"joint"``, ``"hand"`` or ``"factored"``.
        illegal: ``"raise"``, ``"lose"`` or ``"next"``.
        padded: observations and actions have the same shape in all variants of the game.
        mask_in: ``"obs"``, ``"info"`` or ``"both"``.
        rules_in_obs: False leaves the piece ``form`` out of padded observations.

    Attributes:
        observers: the observer of games with each of the rules; all have the same layout.
        observer: the first of them.
        encoder: encoder of the observations, or None.
        options: the options that shape observations and actions, by name.
        flat: whether observations are one vector.
        num_actions: number of actions that are integers.
        hand: places of the hand that actions name, or None.
        factored: whether an action is a pair (card, cell).
        factor_sizes: number of cards and of cells of a factored action.
        lose_on_illegal: whether an illegal action ends the game instead of raising.
        play_next: whether the next legal action takes the place of an illegal one.
        mask_size: length of a mask.
        mask_in_obs: whether observations are dictionaries that hold the mask.
        mask_in_info: whether infos hold the mask.

    Raises:
        ValueError: for any other value of an option.
    """

    def __init__(
        self,
        rules: BaseRules | SeveralRules,
        observation: str,
        preview: bool,
        actions: str = "joint",
        illegal: str = "raise",
        padded: bool = False,
        mask_in: str = "info",
        rules_in_obs: bool = True,
    ) -> None:
        check_option("observation", observation, "pieces", "flat", "float32")
        check_option("preview", preview, False, True)
        check_option("actions", actions, "joint", "hand", "factored")
        check_option("illegal", illegal, "raise", "lose", "next")
        check_option("padded", padded, False, True)
        check_option("mask_in", mask_in, "obs", "info", "both")
        check_option("rules_in_obs", rules_in_obs, False, True)
        self.rules: Any = rules
        several = isinstance(rules, SeveralRules)
        self.options: dict[str, Any] = {"observation": observation, "actions": actions, "preview": preview}
        self.options |= {"padded": padded or several, "mask_in": mask_in}
        if several and not spec_of(rules).PaddedObserver:
            raise ValueError(f"{spec_of(rules).name!r} has no padded observations: make an environment for each rules")
        each = rules if isinstance(rules, SeveralRules) else (rules,)
        self.observers = [make_observer(one, preview, padded or several, rules_in_obs) for one in each]
        self.observer = self.observers[0]
        if actions == "factored" and not all(observer.factors for observer in self.observers):
            raise ValueError("actions='factored' has no announcements and needs a choice of cells: use 'joint' here")
        self.flat = observation != "pieces"
        self.encoder = self.observer.encoder(by_place=actions == "hand") if observation == "float32" else None
        self.hand = self.observer.places if actions == "hand" else None
        self.num_actions = self.hand.num_actions if self.hand else self.observer.num_actions
        self.mask_in_obs = mask_in in ("obs", "both")
        self.mask_in_info = mask_in in ("info", "both")
        self.factored = actions == "factored"
        self._renumbered = any(
            one.num_actions != observer.num_actions for one, observer in zip(each, self.observers, strict=True)
        )
        self.lose_on_illegal = illegal == "lose"
        self.play_next = illegal == "next"
        self.factor_sizes = self.observer.factors or (0, 0)
        self.mask_size = sum(self.factor_sizes) if self.factored else self.num_actions

    def observation_space(self) -> spaces.Space[Any]:
        """Return the space of one observation."""
        space: spaces.Space[Any] = self.vector_space() if self.flat else self.observer.dict_space()
        if not self.mask_in_obs:
            return space
        pieces = space.spaces if isinstance(space, spaces.Dict) else {"observation": space}
        return ordered_dict([*pieces.items(), ("action_mask", spaces.Box(0, 1, (self.mask_size,), np.int8))])

    def vector_space(self) -> spaces.Box:
        """Return the space of one observation as a vector."""
        return self.encoder.space() if self.encoder else self.observer.flat_space()

    def action_space(self) -> spaces.Space[Any]:
        """Return the space of one action."""
        if self.factored:
            return spaces.MultiDiscrete(list(self.factor_sizes))
        return spaces.Discrete(self.num_actions)

    def with_mask(self, observation: Pieces | Flat, mask: Mask) -> Pieces | Flat:
        """Return an observation, with its mask if ``mask_in`` places it there.

        The observation is of one game or of a batch.
        """
        if not self.mask_in_obs:
            return observation
        if self.mask_in_info:
            mask = mask.copy()  # the info has the mask itself
        pieces: dict[str, Any] = observation if isinstance(observation, dict) else {"observation": observation}
        return pieces | {"action_mask": mask}

    def encode(self, pieces: Pieces) -> Pieces | Flat:
        """Encode pieces as observations of the environment. The pieces are of one game or of a batch."""
        if self.encoder:
            return self.encoder.encode(pieces)
        return self.observer.flatten(pieces) if self.flat else pieces

    def make_batch(self, num_games: int) -> Batch:
        """Make a batch of ``num_games`` games with these rules. `BaseBatch.reset` deals them."""
        several = isinstance(self.rules, SeveralRules)
        return MixedBatch(self.rules, num_games) if several else self.observer.make_batch(num_games)

    def _observer_of(self, game: Game) -> Observer:
        return self.observers[self.rules.index(game.rules)] if isinstance(self.rules, SeveralRules) else self.observer

    def observe(self, game: Game, seat: int = 0) -> Pieces | Flat:
        """Return the observation of a seat of a game."""
        return self.encode(self._observer_of(game).observe(game, seat))

    def mask(self, game: Game) -> Mask:
        """Return the mask of the seat to move, int8 [mask_size]."""
        observer = self._observer_of(game)
        mask = observer.factored_mask(game) if self.factored else observer.mask(game)
        return self.hand.mask(mask[None].view(np.bool_))[0].view(np.int8) if self.hand else mask

    def _gather(self, batch: Batch, function: Callable[[Observer, Batch, Any], Any]) -> Any:
        """Return the results of a function for all games.

        Args:
            batch: the games.
            function: from the observer of n games, the games and their rows to arrays [n, ...], one or by name.
        """
        gathered: dict[str, Any] = {}
        for index, rows, part, _ in split(batch, batch._all):
            found = function(self.observers[index], part, rows)
            if part is batch or part.num_games == batch.num_games:
                return found
            for name, values in (found if isinstance(found, dict) else {"": found}).items():
                if name not in gathered:
                    gathered[name] = np.empty((batch.num_games, *values.shape[1:]), values.dtype)
                gathered[name][rows] = values
        return gathered.get("", gathered)

    def observe_batch(self, batch: Batch, seats: Ints | None = None, copy: bool = True) -> Pieces | Flat:
        """Return observations of one seat of each game, [B, ...]; see `BaseObserver.observe_batch`."""

        def observe(observer: Observer, games: Batch, rows: Any) -> Pieces | Flat:
            return self.encode(observer.observe_batch(games, None if seats is None else seats[rows], copy))

        observation: Pieces | Flat = self._gather(batch, observe)
        return observation

    def mask_batch(self, batch: Batch, out: Bools | None = None) -> Bools:
        """Return the masks of the seats to move, bool [B, mask_size]. ``out`` is overwritten and returned if given."""

        def masks(observer: Observer, games: Batch, rows: Any) -> Bools:
            if self.factored:
                return observer.factored_mask_batch(games)
            if self.hand:
                return self.hand.mask(observer.mask_batch(games))
            return observer.mask_batch(games, out if games is batch else None)

        mask: Bools = self._gather(batch, masks)
        return mask

    def _next_legal(self, actions: Ints, masks: Bools) -> Ints:
        """Replace illegal actions by the next legal ones.

        An illegal number becomes the next higher legal one, from 0 on after the last. Pairs are replaced part by part.

        Args:
            actions: int64 [n] or, factored, [n, 2].
            masks: bool [n, mask_size].
        """
        parts = np.split(masks, [self.factor_sizes[0]], axis=1) if self.factored else [masks]
        found = []
        for numbers, legal in zip(actions.reshape(len(masks), -1).T, parts, strict=True):
            size = legal.shape[1]
            numbers = numbers % size
            rows = np.flatnonzero(~legal[np.arange(len(legal)), numbers])
            later = legal[rows] & (np.arange(size) >= numbers[rows, None])
            numbers[rows] = np.where(later.any(axis=1), later.argmax(axis=1), legal[rows].argmax(axis=1))
            found.append(numbers)
        return np.stack(found, axis=-1).reshape(actions.shape)

    def decode_action(self, action: Any, game: Game) -> int:
        """Return the engine's number of an action in a game.

        With ``illegal="next"`` the next legal action takes the place of an illegal one.

        Raises:
            IllegalAction: if it is not an action of the space.
        """
        try:
            if self.play_next:
                sizes, given = (self.factor_sizes, action) if self.factored else ((self.mask_size,), [action])
                numbers = [as_integer(each) % size for each, size in zip(given, sizes, strict=True)]
                [action] = self._next_legal(np.array([numbers]), self.mask(game)[None].view(np.bool_)).tolist()
                action = action if self.factored else action[0]
            if not self.factored:
                number = as_integer(action)
            else:
                (card, cell), (cards, cells) = map(as_integer, action), self.factor_sizes
                number = card * cells + cell if 0 <= card < cards and 0 <= cell < cells else -1
        except (TypeError, ValueError):
            raise IllegalAction(f"an action of {self.action_space()} is needed, got {action!r}") from None
        observer = self._observer_of(game)
        if self.hand or self._renumbered:
            joint = np.array([number if 0 <= number < self.num_actions else -1])
            if self.hand:
                joint = self.hand.to_joint(joint, observer.mask(game)[None].view(np.bool_))
            number = int(observer.to_engine(joint)[0])
        if number < 0 and (self.factored or self.hand or self._renumbered):  # the game itself refuses other numbers
            raise IllegalAction(self._refusal(action))
        return number

    def _refusal(self, action: Any) -> str:
        """Return what is wrong with an action unknown to the engine."""
        if self.hand and isinstance(action, int | np.integer) and 0 <= action < self.num_actions:
            return f"action {action} plays place {action // self.hand.cells} of the hand, which holds no card to play"
        return f"action {action!r} is out of range: an action of {self.action_space()} is needed"

    def with_remedy(self, error: IllegalAction) -> IllegalAction:
        """Return the error of an illegal action, with ways to avoid it."""
        place = "info" if self.mask_in_info else "observation"
        return IllegalAction(
            f"{error}; choose among the actions of {place}['action_mask'] (quincunx_env.sample_action samples one; "
            "train with MaskablePPO of sb3-contrib instead of PPO), or make the environment with illegal='lose' or "
            "'next'"
        )

    def decode_actions(self, actions: Any, live: Bools, batch: Batch) -> Ints:
        """Return the engine's numbers of actions, int64 [n]; -1 where out of range.

        With ``illegal="next"`` the actions of games in progress are legal ones.

        Args:
            actions: integers [n] or, factored, [n, 2].
            batch: the games.
            live: bool [n], the games in progress; actions of others are not checked.

        Raises:
            IllegalAction: if the array has another shape or kind or, unless ``illegal`` is ``"lose"``, if the action of
                a game in progress is out of range.
        """
        array = as_array(actions)
        shape = (len(live), 2) if self.factored else (len(live),)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise IllegalAction(
                f"integer actions of shape {shape} are needed, got {array.dtype} of shape {array.shape}"
            )
        if self.play_next:
            array = self._next_legal(array.astype(np.int64), self.mask_batch(batch))
        joint = array.astype(np.int64, copy=False)
        if self.factored:
            (card, cell), (cards, cells) = joint.T, self.factor_sizes
            outside = (card < 0) | (card >= cards) | (cell < 0) | (cell >= cells)
            joint = np.where(outside, -1, card * cells + cell)

        def to_engine(observer: Observer, games: Batch, rows: Any) -> Ints:
            own = self.hand.to_joint(joint[rows], observer.mask_batch(games)) if self.hand else joint[rows]
            return observer.to_engine(own)

        engine: Ints = self._gather(batch, to_engine)
        if not self.lose_on_illegal and (wrong := live & (engine < 0)).any():
            row = int(wrong.argmax())
            raise IllegalAction(f"game {row}: {self._refusal(array[row].tolist())}")
        return engine
