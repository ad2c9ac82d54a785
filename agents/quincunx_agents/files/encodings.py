"""Observations as environments encode them, for networks of other libraries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_agents import ties
from quincunx_agents.afterstates import Bools, Ints
from quincunx_agents.agent_specs import agent_specs
from quincunx_env.core.encoding import Encoder
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of

Encoded = npt.NDArray[Any] | dict[str, npt.NDArray[Any]]
"""Observations [n, size], or by name [n, ...]."""

FORMS: tuple[Literal["flat", "float32", "pieces"], ...] = ("flat", "float32", "pieces")
"""Values of the option ``observation``."""


@dataclass(frozen=True)
class Encoding:
    """The observations and actions of an environment with some options."""

    observer: Observer
    form: Literal["pieces", "flat", "float32"] = "flat"
    """The option ``observation``."""
    mask: str = ""
    """Entry of the observation with the mask, or none."""
    vector: str = "observation"
    """Entry with the vector beside a mask."""
    by_place: bool = False
    """Whether actions name places of the hand."""

    def space(self) -> spaces.Space[Any]:
        """Return the space of an observation."""
        observer = self.observer
        space: spaces.Space[Any]
        if self.form == "pieces":
            space = observer.dict_space()
        else:
            space = self._encoder.space() if self.form == "float32" else observer.flat_space()
        if not self.mask:
            return space
        size = observer.places.num_actions if self.by_place else observer.num_actions
        pieces = space.spaces if isinstance(space, spaces.Dict) else {self.vector: space}
        return spaces.Dict({**pieces, self.mask: spaces.Box(0, 1, (size,), np.int8)})

    @property
    def size(self) -> int:
        """Length of the vector."""
        return self._encoder.size if self.form == "float32" else self.observer.size

    @property
    def _encoder(self) -> Encoder:
        return self.observer.encoder(self.by_place)

    def encode(self, observation: Pieces, mask: Bools) -> Encoded:
        """Encode pieces [n, ...] and their masks [n, A]."""
        pieces: dict[str, npt.NDArray[Any]] = {piece.name: observation[piece.name] for piece in self.observer.pieces}
        if self.form != "pieces":
            vector = self._encoder.encode(pieces) if self.form == "float32" else self.observer.flatten(pieces)
            if not self.mask:
                return vector
            pieces = {self.vector: vector}
        masks = self.observer.places.mask(mask) if self.by_place and self.mask else mask
        return pieces | ({self.mask: masks.astype(np.int8)} if self.mask else {})

    def is_own(self, observation: Encoded) -> bool:
        """Return whether observations [n, ...] are unchanged by wrappers such as ``VecNormalize``."""
        seen = observation if isinstance(observation, dict) else {self.vector: observation}
        if self.form == "float32":
            vector = seen[self.vector]
            return bool((self._encoder.encode(self._encoder.decode(vector)) == vector).all())
        return not any(piece.dtype.kind == "f" and (piece != np.floor(piece)).any() for piece in seen.values())

    def policy(self, scores: Callable[[Encoded, Bools], npt.NDArray[Any]]) -> Policy:
        """Return the greedy policy of a network.

        Args:
            scores: maps encoded observations and masks bool [n, A] to logits or Q-values, float [n, A], or, where
                actions are pairs, [n, cards + cells], or, where they name places of the hand, [n, their number].
        """
        greedy = GreedyScores(self, scores)
        padded = getattr(self.observer, "unpad_policy", None)
        return padded(greedy) if padded is not None else greedy


class GreedyScores:
    """Greedy policy of scores, a `quincunx_env.core.policy.ValuedPolicy`.

    It chooses the legal action of the highest score, the first of several. Unlike `quincunx_agents.ties.best` it
    distinguishes scores that differ by rounding, because their unit is unknown: it plays as the library does that
    trained the network.
    """

    def __init__(self, encoding: Encoding, scores: Callable[[Encoded, Bools], npt.NDArray[Any]]) -> None:
        self.encoding = encoding
        self.scores = scores

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n].

        Raises:
            ValueError: if the network computes something else than scores.
            NotFiniteError: if they are NaN or too large, or no legal action has a finite one.
        """
        # A network may itself give an illegal action -inf, or a legal one: the lowest number that is not masked.
        scores = np.maximum(self._checked(observation, mask), np.finfo(np.float64).min)
        chosen: Ints = np.where(mask, scores, -np.inf).argmax(axis=1)
        return chosen

    def action_values(
        self, observation: Pieces, mask: Bools, rng: np.random.Generator
    ) -> npt.NDArray[np.floating[Any]]:
        """Return scores (logits or Q-values) of legal actions, float64 [n, A].

        They are -inf for all others.

        Raises:
            ValueError: if the network computes something else than scores.
        """
        return np.where(mask, self._checked(observation, mask), -np.inf)

    def _checked(self, observation: Pieces, mask: Bools) -> npt.NDArray[np.float64]:
        """Return scores of all actions, [n, A]."""
        scores = self.scores(self.encoding.encode(observation, mask), mask)
        factors = self.encoding.observer.factors
        if factors and scores.shape == (len(mask), sum(factors)):  # the best pair is the best card and the best cell
            cards, cells = np.split(scores, [factors[0]], axis=1)
            pairs = (cards[:, :, None] + cells[:, None, :]).reshape(len(mask), -1)
            scores = np.pad(pairs, [(0, 0), (0, mask.shape[1] - pairs.shape[1])])
        places = self.encoding.observer.places
        if scores.shape == (len(mask), places.num_actions):
            scores = places.by_card(scores, mask)
        if scores.shape != mask.shape:
            raise ValueError(f"the network computes {list(scores.shape)} numbers, expected {list(mask.shape)}")
        scores = scores.astype(np.float64)
        ties.require_finite(np.where(mask, scores, -np.inf).max(axis=1))
        return scores


def observers(rules: BaseRules) -> Iterator[Observer]:
    """Yield observers of all encodings of games with these rules. They are with and without the preview, and padded."""
    for padded in (False, True) if spec_of(rules).PaddedObserver else (False,):
        for preview in (True, False):
            yield make_observer(rules, preview, padded)


def encodings(rules: BaseRules) -> Iterator[Encoding]:
    """Yield the environments' encodings of games with these rules.

    They differ in the options ``observation``, ``actions``, ``mask_in`` and ``padded``.
    """
    for observer, mask, by_place in product(observers(rules), ("", "action_mask"), (False, True)):
        for form in FORMS:
            yield Encoding(observer, form, mask, by_place=by_place)


def other_game(rules: BaseRules, fits: Callable[[Encoding], bool], observations: str) -> ValueError:
    """Return the error for a model of other observations, naming its game.

    Args:
        rules: of the game that the model cannot play.
        fits: whether the model takes observations of an encoding.
        observations: of the model, for the error if no game has them.
    """
    found = next((game for game in _games() if any(map(fits, encodings(game)))), None)
    if found is None:
        return ValueError(
            f"its observations ({observations}) fit no environment of this package, so that a function has to make "
            "them: name it as 'module:attribute'"
        )
    return ValueError(f"it was trained for {_written(found)}, got {_written(rules)}: play the game that it has learned")


def encoding_of(space: spaces.Space[Any]) -> Encoding:
    """Return an environment's encoding with this space.

    Raises:
        ValueError: if there is none.
    """
    for encoding in (encoding for rules in _games() for encoding in encodings(rules)):
        if encoding.space() == space:
            return encoding
    raise ValueError(f"its observations ({space.dtype} {space.shape}) fit no environment of this package")


def _games() -> Iterator[Any]:
    """Yield rules with different observations, few options first."""
    yield from (rules for spec in agent_specs() for rules in spec.variants.values())
    for spec in agent_specs():
        for name, value in spec.single_round.items():
            for rules in spec.variants.values():
                other = True if value is False else getattr(type(rules)(), name)
                try:
                    yield replace(rules, **{name: other})  # type: ignore[type-var]
                except ValueError:  # the option is not for every game
                    continue


def _written(rules: Any) -> str:
    """Return rules with the options that are not the default."""
    changed = {each.name: getattr(rules, each.name) for each in fields(rules)}
    options = [f"{name}={value!r}" for name, value in changed.items() if value != getattr(type(rules)(), name)]
    return f"{spec_of(rules).name}.Rules({', '.join(options)})"
