"""Uniformly random agent."""

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces


def uniform(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Choose uniformly among the legal actions; see `quincunx_env.core.policy.Policy`."""
    counts = np.count_nonzero(mask, axis=1)
    ranks = rng.integers(counts)
    legal = np.flatnonzero(mask)  # of all rows, one after the other
    chosen: npt.NDArray[np.int64] = legal[counts.cumsum() - counts + ranks] % mask.shape[1]
    return chosen


uniform.preview = False  # type: ignore[attr-defined]  # a function, to be called by its name in tables
