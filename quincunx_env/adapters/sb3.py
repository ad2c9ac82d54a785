"""The games as ``VecEnv`` of stable-baselines3: many in one process, masks included.

>>> from sb3_contrib import MaskablePPO
>>> model = MaskablePPO("MlpPolicy", SolitaireVecEnv(64, observation="flat"))
"""

import time
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from quincunx_env.envs.solitaire import SolitaireVectorEnv
from quincunx_env.envs.vector import GamesVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv


class GamesVecEnv(VecEnv):
    """Games behind a Gymnasium ``VectorEnv``, with stable-baselines3's conventions.

    ## Mask
    ``env_method("action_masks")``, bool [num_envs, actions], which sb3-contrib calls by itself while it trains.
    ``predict`` and evaluations do not: pass them ``action_masks=``.

    ## Rewards
    Those of the environment, as float32; ``infos[i]["value"]`` at the end of a game is exact.

    ## End
    A game that ends is followed by the next in the same step; ``infos[i]`` then holds ``terminal_observation``, what
    the environment reports of a finished game, and the ``episode`` statistics that a monitor would add; otherwise it is
    empty.

    ## Reset
    ``seed(s)`` before ``reset()`` seeds row i with s + i.

    Args:
        envs: with ``autoreset_mode`` ``SAME_STEP``, and with ``copy=True``: stable-baselines3 keeps an observation
            beyond the next step.
    """

    def __init__(self, envs: GamesVectorEnv) -> None:
        self.envs = envs
        self.render_mode = None
        num_envs = envs.num_envs
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)
        self._actions: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._plays = np.zeros(num_envs, np.int64)
        self._started = time.monotonic()

    def reset(self) -> VecEnvObs:
        """Deal new games, from the seed given to ``seed()`` if there is a new one."""
        # VecEnv.seed spreads a seed as seed + i over the rows; without one it leaves None for each.
        seeds = [seed for seed in self._seeds if seed is not None]
        observation, _ = self.envs.reset(seed=seeds or None)
        self._reset_seeds()
        self._plays[:] = 0
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return observation

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Play them."""
        observation, rewards, dones, _, batched = self.envs.step(self._actions)
        self._plays += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if dones.any():
            final = batched["final_info"]
            names = [name for name in final if not name.startswith("_") and name != "action_mask"]
            for row in np.flatnonzero(dones):
                infos[row] = {name: final[name][row].tolist() for name in names}
                infos[row]["terminal_observation"] = batched["final_obs"][row]
                infos[row]["TimeLimit.truncated"] = False
                infos[row]["episode"] = {
                    "r": infos[row]["value"],
                    "l": int(self._plays[row]),
                    "t": round(time.monotonic() - self._started, 6),
                }
            self._plays[dones] = 0
        return observation, rewards.astype(np.float32), dones, infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal actions, bool [num_envs, actions]."""
        return self.envs.action_masks()

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> Any:
        """Call a batched method of this environment once; of what it returns, the rows in ``indices``."""
        result = getattr(self, method_name)(*args, **kwargs)
        return result if indices is None else result[self._get_indices(indices)]

    def has_attr(self, attr_name: str) -> bool:
        """Whether there is such an attribute, here or in the vector environment below."""
        return hasattr(self, attr_name) or hasattr(self.envs, attr_name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The attribute, once for each of ``indices``: the games have them in common."""
        value = getattr(self if hasattr(self, attr_name) else self.envs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refused: the games have their attributes in common, and those follow from the options."""
        raise AttributeError(f"{attr_name} cannot be set here: give the option when making the environment")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """False: there are no environments inside that could be wrapped."""
        return [False for _ in self._get_indices(indices)]

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """A snapshot of all games and counters as arrays by name, for `set_state`."""
        return self.envs.get_state() | {"plays": self._plays.copy()}

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> VecEnvObs:
        """Go on from a snapshot; returns the observation.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        observation, _ = self.envs.set_state(state)
        self._plays = state["plays"].copy()
        return observation

    def close(self) -> None:
        """Nothing to release."""
        self.envs.close()


class SolitaireVecEnv(GamesVecEnv):
    """Quincunx solitaire, ``num_envs`` games over the batch engine.

    ## Description
    `SolitaireVecEnv` plays the solitaire and `VsOpponentsVecEnv` one seat of a game for several players, with the options,
    actions and observations of the Gymnasium environments. One batch engine plays all games; no subprocess is needed.

    Args:
        num_envs: games side by side.
        options: those of `SolitaireEnv`, except ``render_mode``. Row i seeded s is `SolitaireEnv` seeded s + i.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        super().__init__(SolitaireVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, copy=True, **options))


class VsOpponentsVecEnv(GamesVecEnv):
    """A game for several players, one seat of ``num_envs`` games played from outside.

    ``envs.set_pool(...)`` changes whom the learner meets while it learns.

    Args:
        num_envs: games side by side.
        options: those of `VsOpponentsVectorEnv`, except ``autoreset_mode``, ``copy`` and ``render_mode``.
    """

    envs: VsOpponentsVectorEnv

    def __init__(self, num_envs: int, **options: Any) -> None:
        super().__init__(VsOpponentsVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, copy=True, **options))
