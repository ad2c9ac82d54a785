"""Checks of options, given deals, and sequences of seeded games."""

import sys
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding

from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import MAX_SEED, BaseDeal, check_seed
from quincunx_env.core.game import Game
from quincunx_env.core.integers import as_plain
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of
from quincunx_env.render import Frame, Renderer, to_svg

Info = dict[str, Any]
Batch = BaseBatch[Any, Any]
AnyGame = TypeVar("AnyGame", bound=Game)

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 2}
"""Metadata of the environments of one game."""


def check_option(name: str, value: Any, *allowed: Any) -> None:
    """Check that the value of an option is allowed.

    Raises:
        ValueError: naming the option and its allowed values.
    """
    # True and 1.0 are equal to 1, but no number of a seat.
    if not any(type(value) is type(each) and value == each for each in allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_finite(name: str, value: Any) -> None:
    """Check that the value of an option is a finite number.

    Raises:
        ValueError: naming the option.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name} must be a finite number, got {value!r}")


def reset_options(options: Mapping[str, Any] | None, *known: str) -> Mapping[str, Any]:
    """Return the options of ``reset`` after checking their names.

    Raises:
        ValueError: if they are not a mapping, or naming unknown options.
    """
    names = ", ".join(map(repr, known))
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"the options of reset() must be a mapping with the keys {names}, got {options!r}")
    if unknown := [name for name in options if name not in known]:
        raise ValueError(f"reset() has the options {names}, got {', '.join(map(repr, unknown))}")
    return options


def as_deals(cls: type[BaseDeal], deal: BaseDeal | str | Sequence[BaseDeal | str]) -> list[BaseDeal]:
    """Return one or several given deals as a list.

    Each is a deal of this class or the text of one.

    Raises:
        ValueError: if one is of another type, or its text cannot be parsed.
    """
    several = [deal] if isinstance(deal, BaseDeal | str) or not isinstance(deal, Sequence) else list(deal)
    for each in several:
        if not isinstance(each, cls | str):
            raise ValueError(f"a deal is a Deal or its text, got {each!r}")
    return [cls.parse(each) if isinstance(each, str) else each for each in several]


def given_game(rules: BaseRules, deals: BaseDeal | str | Sequence[BaseDeal | str] | None) -> Game | None:
    """Return a new game of given deals, one for each round.

    The result is None without deals.

    Raises:
        ValueError: if a deal is invalid.
    """
    spec = spec_of(rules)
    return None if deals is None else spec.Game(rules, as_deals(spec.Deal, deals))


def drawn_seed(rng: np.random.Generator | None = None) -> int:
    """Draw a seed that leaves room for the seeds of further rows. It comes from the system's entropy by default."""
    return int((rng or np.random.default_rng()).integers(MAX_SEED // 2))


class GymnasiumEnv:
    """The generator and the specification of every Gymnasium environment of this package.

    Without a seed, the first ``reset`` draws one, and is the same as ``reset(seed=env.np_random_seed)``. A generator
    that is assigned to ``np_random`` draws the seed of the next ``reset`` without one.
    """

    _np_random: np.random.Generator | None
    _np_random_seed: int | None
    _made_by: EnvSpec | None = None

    @property
    def np_random(self) -> np.random.Generator:
        """The generator, seeded with ``np_random_seed``."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = seeding.np_random(drawn_seed())
        return self._np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self._np_random, self._np_random_seed = generator, -1

    @property
    def np_random_seed(self) -> int:
        """The seed of the generator and of the games. It is -1 from the assignment of a generator to the next reset."""
        _ = self.np_random
        return -1 if self._np_random_seed is None else self._np_random_seed

    def _next_seed(self, started: bool) -> int | None:
        """Return the seed for a reset without one. None continues the sequence of games that has ``started``."""
        if self.np_random_seed < 0:
            return drawn_seed(self.np_random)
        return None if started else self.np_random_seed

    @property
    def spec(self) -> EnvSpec | None:
        """The specification that Gymnasium made the environment from. Its options are plain Python values."""
        return self._made_by

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None:
            spec.kwargs = as_plain(spec.kwargs)  # NumPy's values cannot be written as JSON
        self._made_by = spec


class OneGame(Generic[AnyGame]):
    """An environment of one game, and its pictures.

    Subclasses set ``render_mode`` and ``_renderer``, and ``_game`` once it is dealt.
    """

    render_mode: str | None
    _renderer: Renderer
    _game: AnyGame | None = None

    @property
    def game(self) -> AnyGame:
        """The game in progress.

        Read or copy it, but do not change it.

        Raises:
            ResetNeeded: before the first reset.
        """
        if self._game is None:
            raise ResetNeeded("no game has been dealt yet: call reset() first")
        return self._game

    def render(self) -> str | Frame | None:
        """Return text, a picture or None, depending on ``render_mode``.

        A picture is uint8 [height, width, 3]. All hands are shown.
        """
        return self._renderer.render(self.game) if self.render_mode else None

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    def _repr_svg_(self) -> str | None:
        """Draw the game as SVG, for notebooks, with all hands. The result is None before the first reset."""
        try:
            return to_svg(self.game)
        except ResetNeeded:
            return None


def notebook_gallery(games: Iterable[Game]) -> str:
    """Draw the grids of games side by side, as HTML for notebooks. The points stand below each."""
    figures = []
    for game in games:
        # An element of its own: the parts of inline pictures would share their ids.
        grid = b64encode(to_svg(game, portion="grid", scale=0.5).encode()).decode()
        image = f'<img src="data:image/svg+xml;base64,{grid}" alt="grid of a game">'
        points = " : ".join(map(str, game.totals))
        figures.append(f'<figure style="display: inline-block; margin: 4px">{image}<br>{points}</figure>')
    return "".join(figures)


@dataclass
class DealSequence:
    """The sequence of games of a seed.

    Given deals may replace single games of it.

    Attributes:
        seed: of the sequence; -1 before the first reset.
        resets: index of the current game in the sequence.
        given: whether the current game has given deals.
    """

    seed: int = -1
    resets: int = -1
    given: bool = False

    def deal(self, rules: BaseRules, seed: int | None, given: Game | None) -> Any:
        """Return the next game.

        Args:
            rules: rules of the game.
            seed: starts a new sequence; None continues the current one, or starts one with a random seed.
            given: the game to play instead, see `given_game`.

        Raises:
            ValueError: if the seed is invalid; nothing has changed then.
        """
        if seed is not None:
            self.seed, self.resets = check_seed(seed), -1
        elif self.seed < 0:
            self.seed = drawn_seed()
        self.resets += 1
        self.given = given is not None
        return given or spec_of(rules).Game.from_seed(rules, self.seed, self.resets)

    @property
    def name(self) -> tuple[int, int]:
        """(seed, game) of the current deal; (-1, -1) if it was given."""
        return (-1, -1) if self.given else (self.seed, self.resets)

    def is_possible(self) -> bool:
        """Return whether the attributes have their types and ranges."""
        numbers = (self.seed, self.resets)
        return type(self.given) is bool and all(type(each) is int and -1 <= each < MAX_SEED for each in numbers)


# --- Snapshots -------------------------------------------------------------------------------------------------------


def check_snapshot(state: Any, rules: BaseRules, *names: str) -> None:
    """Check the entries, the game and the deals of a snapshot.

    Args:
        state: the snapshot.
        rules: rules of the environment.
        names: entries besides ``game`` and ``deals``.

    Raises:
        ValueError: naming what is wrong.
    """
    missing = [name for name in ("game", "deals", *names) if not isinstance(state, Mapping) or name not in state]
    if missing:
        raise ValueError(
            f"a snapshot must be what get_state() of this environment returned: {', '.join(missing)} missing"
        )
    game, deals = state["game"], state["deals"]
    if not isinstance(game, spec_of(rules).Game):
        raise ValueError(f"the game of the snapshot is not of this environment, which plays {rules}: {game!r}")
    if game.rules != rules:
        raise ValueError(f"this environment plays {rules}, the snapshot is of {game.rules}")
    try:
        possible = _is_possible(game)
    except (AttributeError, LookupError, TypeError, ValueError):  # of values of other types
        possible = False
    if not possible:
        raise ValueError("invalid snapshot: the game was modified after get_state()")
    if not isinstance(deals, DealSequence) or not deals.is_possible():
        raise ValueError(f"the deals of the snapshot are not a sequence of deals: {deals!r}")


def _is_possible(game: Game) -> bool:
    """Return whether cards are in one place each, and numbers in range."""
    rules = game.rules
    deal, players = game.deals[game.round], rules.num_players
    laid = [card for card in game.board if card != EMPTY]
    cards = [*laid, *getattr(game, "pile", ())]
    for seat in range(players):
        cards += game.hand(seat)
    if pending := getattr(game, "pending", None):
        cards.append(pending.card)
    face_up = len(deal.parts[0][0])
    return (
        sorted(cards) == sorted(deal.cards)
        and len(game.deals) <= rules.num_rounds
        and all(type(value) is int for value in (game.round, game.ply, game.mover, *game.scores, *game.totals))
        and len(game.hands) == len(game.scores) == len(game.totals) == players
        and game.round >= 0
        and 0 <= game.mover < players
        and game.ply == len(laid) - face_up
        and type(game.over) is type(getattr(game, "lost", False)) is bool
    )


def attribute_of(inner: str, name: str) -> Any:
    """Return a property that is an attribute of another object.

    This is ``name`` of the object that the attribute ``inner`` holds.
    """
    return property(
        lambda self: getattr(getattr(self, inner), name),
        lambda self, value: setattr(getattr(self, inner), name, value),
    )


def set_generator(generator: np.random.Generator, state: Any) -> None:
    """Set a generator to a state.

    Raises:
        ValueError: if it is not a state of such a generator; the generator is unchanged.
    """
    before = generator.bit_generator.state
    try:
        generator.bit_generator.state = state
        if generator.bit_generator.state != state:  # NumPy takes 1.5 as 1
            raise ValueError("its numbers are integers")
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        generator.bit_generator.state = before
        raise ValueError(f"the snapshot has no state of the generator: {error}") from None
