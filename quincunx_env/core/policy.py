"""What a policy is, to everything that plays or measures one."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces


class Policy(Protocol):
    """Chooses a joint action in each of n positions."""

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Choose legal actions.

        Args:
            observation: pieces [n, ...] from the seats to move, the preview among them.
            mask: bool [n, actions], True = legal; never empty.
            rng: the only source of randomness.

        Returns:
            int64 [n].
        """
        ...
