"""Sampling of legal actions from the action spaces of environments."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces


def sampling_mask(space: spaces.Space[Any], mask: npt.ArrayLike) -> Any:
    """Return a mask in the form that ``space.sample(mask=...)`` of Gymnasium takes.

    Args:
        space: the action space of an environment of this package, of one game or of many.
        mask: its mask: ``info["action_mask"]``, or ``action_masks()``.

    Returns:
        int8 [actions]; for the action space of a vector environment a tuple of one for each row.

    Raises:
        ValueError: if it is not such a space, or if the mask does not fit it.
    """
    array = np.asarray(mask)
    match space:
        case spaces.Discrete():
            shape: tuple[int, ...] = (int(space.n),)
        case spaces.MultiDiscrete():
            shape = (len(space.nvec), int(space.nvec[0]))
        case _:
            raise ValueError(f"the action space of an environment of this package is needed, got {space!r}")
    if array.shape != shape:
        raise ValueError(f"a mask of shape {shape} is needed for {space}, got shape {array.shape}")
    array = array.astype(np.int8)
    return tuple(array) if array.ndim == 2 else array


def sample_action(space: spaces.Space[Any], mask: npt.ArrayLike) -> Any:
    """Sample a legal action uniformly, for every row of a vector environment.

    See `sampling_mask` for the arguments. The generator is the space's own: ``space.seed(...)`` seeds it. Where nothing
    is legal the action is 0.
    """
    return space.sample(mask=sampling_mask(space, mask))
