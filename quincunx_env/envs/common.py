"""What the environments have in common: options, the sequence of deals, and rewards by name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.batch import BaseBatch, Bools, Ints
from quincunx_env.core.deal import MAX_SEED, BaseDeal, check_seed
from quincunx_env.core.game import BaseGame, IllegalAction
from quincunx_env.core.observation import Flat, Mask, Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of

Info = dict[str, Any]
Game = BaseGame[Any, Any]
Batch = BaseBatch[Any, Any]

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 2}
"""Of every environment of one game here."""

Number = TypeVar("Number", int, float, np.ndarray[Any, Any])


def check_option(name: str, value: Any, *allowed: Any) -> None:
    """Refuse what is not among the allowed values of an option.

    Raises:
        ValueError: naming the option and what is allowed.
    """
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def reset_options(options: dict[str, Any] | None, *known: str) -> dict[str, Any]:
    """The options of ``reset``, none of them unknown.

    Raises:
        ValueError: naming those that are.
    """
    unknown = set(options or {}) - set(known)
    if unknown:
        raise ValueError(f"reset() has the options {', '.join(map(repr, known))}, got {', '.join(map(repr, unknown))}")
    return options or {}


def as_deals(cls: type[BaseDeal], deal: BaseDeal | str | Sequence[BaseDeal | str]) -> list[BaseDeal]:
    """Deals handed in: one or several, each a deal of this class or the text of one.

    Raises:
        ValueError: if something else is among them, or a text is no deal.
    """
    several = [deal] if isinstance(deal, BaseDeal | str) or not isinstance(deal, Iterable) else list(deal)
    for each in several:
        if not isinstance(each, cls | str):
            raise ValueError(f"a deal is a Deal or its text, got {each!r}")
    return [cls.parse(each) if isinstance(each, str) else each for each in several]


class EnvCodec:
    """How an environment spells observations, actions and masks.

    Args:
        rules: which game.
        observation: ``"pieces"`` or ``"flat"``.
        preview: observe what every legal play would bring.
        actions: ``"joint"`` or ``"factored"``.
        illegal: ``"raise"`` or ``"lose"``.
        padded: observations and actions have one layout under all rules of the game.

    Raises:
        ValueError: for any other.
    """

    def __init__(
        self,
        rules: BaseRules,
        observation: str,
        preview: bool,
        actions: str = "joint",
        illegal: str = "raise",
        padded: bool = False,
    ) -> None:
        check_option("observation", observation, "pieces", "flat")
        check_option("preview", preview, False, True)
        check_option("actions", actions, "joint", "factored")
        check_option("illegal", illegal, "raise", "lose")
        check_option("padded", padded, False, True)
        self.rules = rules
        self.observer = make_observer(rules, preview, padded)
        if actions == "factored" and not self.observer.factors:
            raise ValueError("actions='factored' has no announcements, and needs a cell to choose: use 'joint' here")
        self.flat = observation == "flat"
        self.factored = actions == "factored"
        self.renumbers = self.observer.num_actions != rules.num_actions
        self.lose_on_illegal = illegal == "lose"
        self.factors = self.observer.factors or (0, 0)
        self.mask_size = sum(self.factors) if self.factored else self.observer.num_actions

    def observation_space(self) -> spaces.Space[Any]:
        """Space of one observation."""
        return self.observer.flat_space() if self.flat else self.observer.dict_space()

    def action_space(self) -> spaces.Space[Any]:
        """Space of one action."""
        return spaces.MultiDiscrete(list(self.factors)) if self.factored else spaces.Discrete(self.observer.num_actions)

    def encode(self, pieces: Pieces) -> Pieces | Flat:
        """Pieces as the environment shows them."""
        return self.observer.flatten(pieces) if self.flat else pieces

    def observe(self, game: Game, seat: int = 0) -> Pieces | Flat:
        """What a seat of a game observes."""
        return self.observer.observe_flat(game, seat) if self.flat else self.observer.observe(game, seat)

    def mask(self, game: Game) -> Mask:
        """The mask of the seat to move, int8 [mask_size]."""
        return self.observer.factored_mask(game) if self.factored else self.observer.mask(game)

    def mask_batch(self, batch: Batch, out: Bools | None = None) -> Bools:
        """The masks of the seats to move, bool [B, mask_size]."""
        return self.observer.factored_mask_batch(batch) if self.factored else self.observer.mask_batch(batch, out)

    def decode_action(self, action: Any) -> int:
        """An action as the engines number it.

        Raises:
            IllegalAction: if it is not an action of the space; nothing has changed then.
        """
        try:
            if not self.factored:
                number = index(action)
            else:
                (card, cell), (cards, cells) = map(index, action), self.factors
                number = card * cells + cell if 0 <= card < cards and 0 <= cell < cells else -1
        except (TypeError, ValueError):
            raise IllegalAction(f"an action of {self.action_space()} is needed, got {action!r}") from None
        if self.renumbers:
            known = 0 <= number < self.observer.num_actions
            number = int(self.observer.to_engine(np.array([number]))[0]) if known else -1
        if number < 0 and (self.factored or self.renumbers):  # other numbers are the game's to refuse
            raise IllegalAction(f"action {action!r} is out of range: an action of {self.action_space()} is needed")
        return number

    def decode_actions(self, actions: Any, live: Bools) -> Ints:
        """Actions as the engines number them, int64 [n]; -1 where they have none.

        Args:
            actions: integers [n] or, factored, [n, 2].
            live: bool [n], where an action is needed.

        Raises:
            IllegalAction: if they are of another shape or kind or, unless ``illegal`` is ``"lose"``, if one is
                out of range.
        """
        array = np.asarray(actions)
        shape = (len(live), 2) if self.factored else (len(live),)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise IllegalAction(
                f"integer actions of shape {shape} are needed, got {array.dtype} of shape {array.shape}"
            )
        joint = array.astype(np.int64, copy=False)
        if self.factored:
            (card, cell), (cards, cells) = joint.T, self.factors
            outside = (card < 0) | (card >= cards) | (cell < 0) | (cell >= cells)
            joint = np.where(outside, -1, card * cells + cell)
        engine = self.observer.to_engine(joint)
        if not self.lose_on_illegal and (wrong := live & (engine < 0)).any():
            row = int(wrong.argmax())
            raise IllegalAction(
                f"game {row}: action {array[row].tolist()} is out of range: "
                f"an action of {self.action_space()} is needed"
            )
        return engine


@dataclass
class DealSequence:
    """Which game is dealt next: the seeded ones in order, or one handed in.

    Attributes:
        seed: names the sequence; -1 before there is one.
        resets: games since it was seeded, less one.
        handed_in: whether the present game was handed in.
    """

    seed: int = -1
    resets: int = -1
    handed_in: bool = False

    def deal(
        self,
        rules: BaseRules,
        seed: int | None,
        handed_in: BaseDeal | str | Sequence[BaseDeal | str] | None,
    ) -> Any:
        """The next game.

        Args:
            rules: which game.
            seed: begins a new sequence; None goes on, from a random seed if there is none yet.
            handed_in: the deal to play instead, or one for each round.

        Raises:
            ValueError: for a seed or a deal that cannot be used; nothing has changed then.
        """
        spec = spec_of(rules)
        game = None if handed_in is None else spec.Game(rules, as_deals(spec.Deal, handed_in))
        if seed is not None:
            self.seed, self.resets = check_seed(seed), -1
        elif self.seed < 0:
            self.seed = int(np.random.default_rng().integers(MAX_SEED))
        self.resets += 1
        self.handed_in = game is not None
        return game or spec.Game.from_seed(rules, self.seed, self.resets)

    @property
    def name(self) -> tuple[int, int]:
        """(seed, game) of the present deal, -1 both if it was handed in."""
        return (-1, -1) if self.handed_in else (self.seed, self.resets)


REWARDS = ("points", "margin", "outcome")
"""``points``: what the seat scored. ``margin``: its points less the mean of the others'. ``outcome``: at the end,
(P * share - 1) / (P - 1) with share = 1/W for each of W winners and 0 for the others; +1, 0, -1 for two. The last two
sum to zero over the P seats."""


def step_rewards(reward: str, gains: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Rewards of a step in many games: int64 [n, P] -> float64 [n, P]; those of ``outcome`` come at the end."""
    if reward == "points":
        return gains.astype(np.float64)
    return np.stack(margin(list(gains.T)), axis=1) if reward == "margin" else np.zeros(gains.shape)


def end_rewards(totals: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """``outcome`` rewards of many games that have ended: int64 [n, P] -> float64 [n, P]."""
    return np.stack(outcome(list(totals.T)), axis=1)


def margin(gains: Sequence[Number]) -> list[Any]:
    """``margin`` rewards from the gains of each seat: numbers, or arrays of many games."""
    players, total = len(gains), sum(gains)
    return [(players * gain - total) / (players - 1) for gain in gains]


def outcome(totals: Sequence[Number]) -> list[Any]:
    """``outcome`` rewards from the totals of each seat at the end: numbers, or arrays of many games."""
    players = len(totals)
    wins = np.asarray(totals) == np.max(totals, axis=0)
    shares = wins / wins.sum(axis=0)
    return list((players * shares - 1) / (players - 1))
