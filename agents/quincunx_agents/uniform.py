"""Uniformly random agent."""

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces


def uniform(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Choose uniformly among the legal actions; see `quincunx_env.core.policy.Policy`."""
    # The legal action of a random rank: where the running count of legal actions first exceeds it.
    counts = mask.cumsum(axis=1)
    ranks = rng.integers(counts[:, -1])
    chosen: npt.NDArray[np.int64] = (counts > ranks[:, None]).argmax(axis=1)
    return chosen
