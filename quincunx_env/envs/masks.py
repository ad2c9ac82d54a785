"""Sampling of legal actions from the action spaces of environments."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.observation import Mask


def sampling_mask(space: spaces.Space[Any], mask: npt.ArrayLike) -> Any:
    """Return a mask in the form that ``space.sample(mask=...)`` of Gymnasium takes.

    Args:
        space: the action space of an environment of this package, of one game or of many.
        mask: its mask: ``info["action_mask"]``, or ``action_masks()``.

    Returns:
        int8 [actions] for ``Discrete``, a tuple of int8 [cards] and int8 [cells] for factored actions; for the action
        space of a vector environment a tuple of one of these for each row. Gymnasium's space of many factored actions
        is a ``Box``, which takes no mask: `sample_action` samples from it, too.

    Raises:
        ValueError: if the mask does not fit the space.
    """
    space, array = _discrete(space), np.asarray(mask)
    rows, sizes = 0, [space.n] if isinstance(space, spaces.Discrete) else space.nvec
    if isinstance(space, spaces.MultiDiscrete) and (space.nvec.ndim == 2 or array.ndim == 2):  # of many games
        rows, sizes = len(space.nvec), np.atleast_1d(space.nvec[0])
    length = int(sum(sizes))
    shape = (rows, length) if rows else (length,)
    if array.shape != shape:
        raise ValueError(f"a mask of shape {shape} is needed for {space}, got shape {array.shape}")
    array = array.astype(np.int8)

    def one(row: Mask) -> Any:
        return tuple(np.split(row, np.cumsum(sizes)[:-1])) if len(sizes) > 1 else row

    return tuple(map(one, array)) if rows else one(array)


def sample_action(space: spaces.Space[Any], mask: npt.ArrayLike) -> Any:
    """Sample a legal action uniformly, for every row of a vector environment.

    See `sampling_mask` for the arguments. The generator is the space's own: ``space.seed(...)`` seeds it. Where nothing
    is legal the action is 0.
    """
    return _discrete(space).sample(mask=sampling_mask(space, mask))


def _discrete(space: spaces.Space[Any]) -> spaces.Discrete | spaces.MultiDiscrete:
    """Return an action space as one that samples by a mask.

    The generator stays the same.

    Raises:
        ValueError: if it is not an action space of an environment of this package.
    """
    if isinstance(space, spaces.Box) and space.dtype == np.int64 and not space.low.any():
        return spaces.MultiDiscrete(space.high + 1, seed=space.np_random)  # factored actions of many games
    if not isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        raise ValueError(f"the action space of an environment of this package is needed, got {space!r}")
    return space
