"""Encoding of observations, actions and masks, for environments and for the policies that were trained on them.

Engines and policies of the arena use pieces with the preview, and joint actions of the unpadded game. A `Codec`
converts them to what an environment shows, and back. Its options stand in the JSON file beside a saved model, too.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.batch import SomeBatch
from quincunx_env.core.encoding import Encoder
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.hand import Actions, Mask
from quincunx_env.core.integers import as_array, as_integer, check_option
from quincunx_env.core.observation import Observation, Observer, Pieces, ordered_dict
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import GAMES, make_observer, spec_of


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """Options of an environment that shape its observations and actions.

    All but ``observation`` have the environments' defaults.

    Raises:
        ValueError: for any other value of an option.
    """

    observation: Literal["pieces", "vector"] | None = None
    """what a policy named ``module:attribute`` observes, or the environment in which a model without a JSON file beside
    it was trained"""
    actions: Literal["joint", "hand"] = "joint"
    """its actions; these and the next three options are as of an environment"""
    preview: bool = False
    """whether it observes the preview"""
    padded: bool = False
    """whether its observations and actions have one shape under all rules"""
    mask_in: Literal["info", "obs"] = "info"
    """place of the mask"""

    def __post_init__(self) -> None:
        check_option("observation", self.observation, None, "pieces", "vector")
        check_option("actions", self.actions, "joint", "hand")
        check_option("preview", self.preview, False, True)
        check_option("padded", self.padded, False, True)
        check_option("mask_in", self.mask_in, "info", "obs")

    @property
    def options(self) -> dict[str, Any]:
        """These options by name."""
        return {option.name: getattr(self, option.name) for option in fields(Encoding)}


@dataclass(frozen=True, kw_only=True)
class Codec(Encoding):
    """Observations, masks and actions of games with some rules, as an environment with these options has them.

    ``of_game``, ``of_batch`` and ``decode_action`` are for environments; ``of_pieces``, ``to_joint`` and
    ``to_joint_scores`` are for policies.

    Args:
        rules: rules of the game.
        observation: ``"pieces"`` or ``"vector"``.
        actions: ``"joint"``: card and cell; ``"hand"``: place in the sorted hand and cell.
        preview: add the points and draws of every legal play to the observation; in the spiral game the points that
            each legal card makes for the observer and for the other player.
        padded: observations and actions have the same shape under all rules of the game.
        mask_in: ``"info"`` or ``"obs"``.

    Raises:
        ValueError: for any other value of an option, and if the game has no padded observations.
    """

    rules: BaseRules = field(kw_only=False)
    observation: Literal["pieces", "vector"] = "pieces"

    def __post_init__(self) -> None:
        check_option("observation", self.observation, "pieces", "vector")
        super().__post_init__()
        _ = self.observer  # refuses a game without padded observations

    @cached_property
    def observer(self) -> Observer:
        """The observer of games with these rules."""
        return make_observer(self.rules, self.preview, self.padded)

    @cached_property
    def by_place(self) -> bool:
        """Whether actions name places of the hand."""
        return self.actions == "hand"

    @cached_property
    def numbering(self) -> Actions:
        """The actions of the environment."""
        return self.observer.places if self.by_place else self.observer.joint

    @cached_property
    def num_actions(self) -> int:
        """Number of actions, the length of a mask."""
        return self.numbering.num_actions

    @cached_property
    def mask_in_obs(self) -> bool:
        """Whether observations hold the mask; otherwise infos do."""
        return self.mask_in == "obs"

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of vectors."""
        return self.observer.encoder(self.by_place)

    # --- Spaces ------------------------------------------------------------------------------------------------------

    def observation_space(self) -> spaces.Space[Any]:
        """Return the space of one observation."""
        space: spaces.Space[Any]
        space = self.encoder.space() if self.observation == "vector" else self.observer.dict_space()
        if not self.mask_in_obs:
            return space
        pieces = space.spaces if isinstance(space, spaces.Dict) else {"observation": space}
        return ordered_dict([*pieces.items(), ("action_mask", spaces.Box(0, 1, (self.num_actions,), np.int8))])

    def action_space(self) -> spaces.Discrete:
        """Return the space of one action."""
        return spaces.Discrete(self.num_actions)

    def with_mask(self, observation: Observation, mask: Mask) -> Observation:
        """Return observations, of one game or many, with the mask if ``mask_in="obs"``."""
        if not self.mask_in_obs:
            return observation
        pieces: dict[str, Any] = observation if isinstance(observation, dict) else {"observation": observation}
        return pieces | {"action_mask": mask}

    # --- Environments of one game ------------------------------------------------------------------------------------

    def of_game(self, game: SomeGame, seat: int = 0) -> Observation:
        """Return the observation of a seat of a game, without the mask."""
        if self.observation == "vector":
            return self.encoder.encode_row(self.observer.parts(game, seat, self.by_place))
        return self.observer.observe(game, seat)

    @cached_property
    def mask(self) -> Callable[[SomeGame], Mask]:
        """Function from a game to the mask of the seat to move, int8 [A]."""
        return self.numbering.mask

    def decode_action(self, action: Any, game: SomeGame, illegal: str = "raise") -> int:
        """Return the engine's number of an action in a game.

        With ``illegal="next"`` the next legal action takes the place of an illegal one.

        Raises:
            IllegalAction: if it is not an action of the space.
        """
        try:
            number = as_integer(action)
        except TypeError:
            raise IllegalAction(f"an action of {self.action_space()} is needed, got {action!r}") from None
        if illegal == "next":
            number, mask = number % self.num_actions, self.mask(game).tobytes()
            if not mask[number]:
                later = mask.find(1, number)
                number = later if later >= 0 else mask.find(1)
        if self.numbering.is_joint:
            return number  # the game itself refuses other numbers
        joint = self.numbering.joint_action(game, number) if 0 <= number < self.num_actions else -1
        if joint < 0:
            raise IllegalAction(self._refusal(number))
        return joint

    # --- Environments of many games ----------------------------------------------------------------------------------

    def of_batch(self, batch: SomeBatch, seats: Ints | None = None, copy: bool = True) -> Observation:
        """Return observations of one seat of each game, [B, ...], without masks; see `BaseObserver.observe_batch`."""
        if self.observation == "vector":
            return self.encoder.encode_parts(self.observer.parts_batch(batch, seats, self.by_place))
        return self.observer.observe_batch(batch, seats, copy)

    @cached_property
    def masks(self) -> Callable[..., Bools]:
        """Function from a batch, and an array to overwrite or None, to the masks of the seats to move, bool [B, A]."""
        return self.numbering.masks

    def decode_actions(self, actions: Any, live: Bools, batch: SomeBatch, illegal: str = "raise") -> Ints:
        """Return the engine's numbers of actions, int64 [B].

        With ``illegal="next"`` the actions of games in progress are legal ones.

        Args:
            actions: integers [B].
            live: bool [B], the games in progress; actions of others are not checked.
            batch: the games.
            illegal: ``"raise"`` or ``"next"``.

        Raises:
            IllegalAction: if the array has another shape or kind, or if the action of a game in progress is out of
                range.
        """
        array = actions if isinstance(actions, np.ndarray) else as_array(actions)
        if array.shape != live.shape or array.dtype.kind not in "iu":
            raise IllegalAction(
                f"integer actions of shape {live.shape} are needed, got {array.dtype} of shape {array.shape}"
            )
        play_next = illegal == "next"
        array = array.astype(np.int64, copy=play_next)
        if play_next:
            array %= self.num_actions
        joint = self.numbering.is_joint
        engine = array if joint else self.numbering.joint_actions(batch, array)
        if play_next:
            rows = np.flatnonzero(live & ~batch._is_legal(batch._all, engine))
            if len(rows):
                array[rows] = _next_legal(array[rows], self.masks(batch)[rows])
                engine = array if joint else self.numbering.joint_actions(batch, array)
        elif not joint and (wrong := live & (engine < 0)).any():
            row = int(wrong.argmax())
            raise IllegalAction(f"game {row}: {self._refusal(array[row].item())}")
        return engine

    # --- Policies ----------------------------------------------------------------------------------------------------

    def of_pieces(self, pieces: Pieces, joint: Bools) -> tuple[Observation, Bools]:
        """Return observations and masks bool [n, A] of the environment.

        Args:
            pieces: [n, ...], of the unpadded game, with the preview if this codec has it.
            joint: masks of the engine's actions, bool [n, J].
        """
        mask, seen = self.numbering.of_joint_masks(joint), self.observer.pad(pieces)
        shown: Observation = self.encoder.encode(seen) if self.observation == "vector" else seen
        return self.with_mask(shown, mask.view(np.int8)), mask

    def to_joint(self, actions: Ints, joint: Bools) -> Ints:
        """Return the engine's numbers of a policy's actions, int64 [n] -> int64 [n]. Unknown actions become -1."""
        return self.numbering.to_joint(actions, joint)

    def to_joint_scores(self, scores: npt.NDArray[Any], joint: Bools) -> npt.NDArray[Any]:
        """Return scores of the engine's actions, [n, J], from a policy's scores of its actions, [n, A]."""
        return self.numbering.to_joint_scores(scores, joint)

    # --- Files of models ---------------------------------------------------------------------------------------------

    @staticmethod
    def path(model: Path) -> Path:
        """Return the path of the JSON file beside a model."""
        return model.with_suffix(".json")

    def write(self, model: Path, algorithm: str) -> None:
        """Write the algorithm, the rules and the options as JSON beside a model, atomically."""
        from quincunx_env.utils.files import write_text  # environments do without

        rules: Any = self.rules
        content = {"algorithm": algorithm, "game": spec_of(rules).name, "rules": asdict(rules), **self.options}
        write_text(self.path(model), json.dumps(content, indent=2) + "\n")

    @classmethod
    def read(cls, model: Path) -> tuple[Self, str]:
        """Read what `write` wrote: the codec and the algorithm. Missing options have their defaults.

        Raises:
            ValueError: if the file cannot be read, or holds anything else.
        """
        from quincunx_env.utils.files import read_text

        path = cls.path(model)
        try:
            content = json.loads(read_text(path))
            rules = GAMES[content.pop("game")].Rules(**content.pop("rules"))
            algorithm = str(content.pop("algorithm"))
            return cls(rules, observation=content.pop("observation"), **content), algorithm
        except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path.name} beside it does not hold the options of its environment ({type(error).__name__}: "
                f"{error}): write it again, or delete it and name the options"
            ) from error

    # --- Errors ------------------------------------------------------------------------------------------------------

    def _refusal(self, action: int) -> str:
        """Return what is wrong with an action unknown to the engine."""
        if self.by_place and 0 <= action < self.num_actions:
            place = action // self.numbering.cells
            return f"action {action} plays place {place} of the hand, which holds no card to play"
        return f"action {action!r} is out of range: an action of {self.action_space()} is needed"

    def with_remedy(self, error: IllegalAction) -> IllegalAction:
        """Return the error of an illegal action, with ways to avoid it."""
        place = "observation" if self.mask_in_obs else "info"
        return IllegalAction(
            f"{error}; choose among the actions of {place}['action_mask'] (quincunx_env.sample_action samples one; "
            "train with MaskablePPO of sb3-contrib instead of PPO), or make the environment with illegal='next'"
        )


def _next_legal(actions: Ints, masks: Bools) -> Ints:
    """Return the next higher legal action of each position, int64 [n].

    After the last action it starts again from 0. Masks are [n, A].
    """
    later = masks & (np.arange(masks.shape[1]) >= actions[:, None])
    found: Ints = np.where(later.any(axis=1), later.argmax(axis=1), masks.argmax(axis=1))
    return found
