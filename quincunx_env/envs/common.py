"""What the environments have in common: options, the sequence of deals, and rewards by name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.deal import MAX_SEED, Deal, check_seed
from quincunx_env.game import Game
from quincunx_env.observation import Flat, Observer, Pieces
from quincunx_env.rules import Rules, Start

Info = dict[str, Any]

METADATA: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 2}
"""Of every Gymnasium environment here."""

Number = TypeVar("Number", int, float, np.ndarray[Any, Any])


def check_option(name: str, value: Any, *allowed: Any) -> None:
    """Refuse what is not among the allowed values of an option.

    Raises:
        ValueError: naming the option and what is allowed.
    """
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def multiplayer_rules(
    num_players: int, start: Start, excuse: bool, pawns: bool, flush: bool, simpleton: bool, match: bool
) -> Rules:
    """The rules of a game for two to four players.

    Raises:
        ValueError: naming the option and what is allowed.
    """
    check_option("num_players", num_players, 2, 3, 4)
    return Rules(num_players, start, False, excuse, pawns, flush, simpleton, match)


def legal_actions(game: Game) -> npt.NDArray[np.int8]:
    """Joint actions that are legal for the seat to move, int8 [actions]; all 0 when the game is over."""
    rules = game.rules
    mask = np.zeros(rules.num_actions, np.int8)
    if game.over:
        return mask
    if game.pending:
        mask[rules.num_plays_encoded :] = 1
    else:
        cards, cells = np.frombuffer(game.hands[game.mover], np.int8), np.frombuffer(game.legal, np.int8)
        np.multiply.outer(cards, cells, out=mask[: rules.num_plays_encoded].reshape(len(cards), len(cells)))
    return mask


def reset_options(options: dict[str, Any] | None, *known: str) -> dict[str, Any]:
    """The options of ``reset``, none of them unknown.

    Raises:
        ValueError: naming those that are.
    """
    unknown = set(options or {}) - set(known)
    if unknown:
        raise ValueError(f"reset() has the options {', '.join(map(repr, known))}, got {', '.join(map(repr, unknown))}")
    return options or {}


def as_deals(deal: Deal | str | Sequence[Deal | str]) -> list[Deal]:
    """Deals handed in: one or several, each a `Deal` or the text of one.

    Raises:
        ValueError: if something else is among them, or a text is no deal.
    """
    several = [deal] if isinstance(deal, Deal | str) or not isinstance(deal, Iterable) else list(deal)
    for each in several:
        if not isinstance(each, Deal | str):
            raise ValueError(f"a deal is a Deal or its text, got {each!r}")
    return [Deal.parse(each) if isinstance(each, str) else each for each in several]


class Spelling:
    """How an environment spells observations, actions and masks.

    Args:
        rules: which game.
        observation: ``"pieces"`` or ``"flat"``.
        preview: observe the points and draws of every legal play.
        actions: ``"joint"`` or ``"factored"``.
        illegal: ``"raise"`` or ``"lose"``.

    Raises:
        ValueError: for any other.
    """

    def __init__(self, rules: Rules, observation: str, preview: bool, actions: str, illegal: str) -> None:
        check_option("observation", observation, "pieces", "flat")
        check_option("preview", preview, False, True)
        check_option("actions", actions, "joint", "factored")
        check_option("illegal", illegal, "raise", "lose")
        if actions == "factored" and rules.simpleton:
            raise ValueError("actions='factored' has no announcements: use 'joint' with simpleton=True")
        self.rules = rules
        self.observer = Observer(rules, preview)
        self.flat = observation == "flat"
        self.factored = actions == "factored"
        self.lenient = illegal == "lose"
        self.mask_size = rules.num_cards + rules.num_cells if self.factored else rules.num_actions

    def observation_space(self) -> spaces.Space[Any]:
        """Space of one observation."""
        return self.observer.flat_space() if self.flat else self.observer.dict_space()

    def action_space(self) -> spaces.Space[Any]:
        """Space of one action."""
        if self.factored:
            return spaces.MultiDiscrete([self.rules.num_cards, self.rules.num_cells])
        return spaces.Discrete(self.rules.num_actions)

    def spell(self, pieces: Pieces) -> Pieces | Flat:
        """Pieces as the environment shows them."""
        return self.observer.flatten(pieces) if self.flat else pieces


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

    def deal(self, rules: Rules, seed: int | None, handed_in: Deal | str | Sequence[Deal | str] | None) -> Game:
        """The next game.

        Args:
            rules: which game.
            seed: begins a new sequence; None goes on, from a random seed if there is none yet.
            handed_in: the deal to play instead, or one for each round of a match.

        Raises:
            ValueError: for a seed or a deal that cannot be used; nothing has changed then.
        """
        game = None if handed_in is None else Game(rules, as_deals(handed_in))
        if seed is not None:
            self.seed, self.resets = check_seed(seed), -1
        elif self.seed < 0:
            self.seed = int(np.random.default_rng().integers(MAX_SEED))
        self.resets += 1
        self.handed_in = game is not None
        return game or Game.from_seed(rules, self.seed, self.resets)

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
