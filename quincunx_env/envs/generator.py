"""The random generator of Gymnasium environments, and the seeds that it draws."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import seeding

from quincunx_env.core.batch_state import state_entry
from quincunx_env.core.deal import MAX_SEED
from quincunx_env.core.integers import as_plain


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

    def _generator_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the generator and its seed as arrays by name, for snapshots."""
        return {"np_random_seed": np.array(self.np_random_seed), "generator": generator_array(self.np_random)}

    def _set_generator(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Set the generator and its seed to those in a snapshot.

        Raises:
            ValueError: if they do not fit; nothing has changed then.
        """
        if (seed := int(state_entry(state, "np_random_seed", np.array(0)))) < -1:
            raise ValueError("state array 'np_random_seed' must be a seed, or -1")
        set_generator(self.np_random, generator_state(state, "generator"))
        self._np_random_seed = seed

    @property
    def spec(self) -> EnvSpec | None:
        """The specification that Gymnasium made the environment from. Its options are plain Python values."""
        return self._made_by

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None:
            spec.kwargs = as_plain(spec.kwargs)  # NumPy's values cannot be written as JSON
        self._made_by = spec


def delegate(inner: str, name: str) -> Any:
    """Return a property that is an attribute of another object.

    This is ``name`` of the object that the attribute ``inner`` holds.
    """
    return property(
        lambda self: getattr(getattr(self, inner), name),
        lambda self, value: setattr(getattr(self, inner), name, value),
    )


def generator_array(generator: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return a generator as JSON in an array."""
    return np.frombuffer(json.dumps(generator.bit_generator.state).encode(), np.uint8).copy()


def generator_state(state: Mapping[str, npt.NDArray[Any]], name: str) -> Any:
    """Return the state in an array of a snapshot.

    Raises:
        ValueError: if it is not JSON in an array.
    """
    text = np.asarray(state.get(name))
    try:
        found = json.loads(text.tobytes()) if text.dtype == np.uint8 and text.ndim == 1 else None
    except (RecursionError, ValueError):
        found = None
    if found is None:
        raise ValueError(f"state array {name!r} must hold JSON as uint8")
    return found


def generator_of(state: Any) -> np.random.Generator:
    """Return a generator in a state.

    Raises:
        ValueError: if it is not a state of such a generator.
    """
    generator = np.random.default_rng()
    set_generator(generator, state)
    return generator


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
