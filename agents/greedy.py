"""The play that scores most at once."""

import numpy as np
import numpy.typing as npt

from quincunx_env.observation import Pieces


def greedy(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Choose the legal play with most points, ties by the lowest action; see `quincunx_env.arena.Policy`."""
    points = observation["preview"][..., 0].reshape(len(mask), -1)
    best: npt.NDArray[np.int64] = np.where(mask, points, np.iinfo(points.dtype).min).argmax(axis=1)
    return best
