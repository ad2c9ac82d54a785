"""Vector environments for stable-baselines3: many games in one process, with action masks.

>>> from sb3_contrib import MaskablePPO
>>> model = MaskablePPO("MlpPolicy", SolitaireVecEnv(64, observation="vector", preview=True))

`save` writes a model as a file that is a policy: `quincunx_env.policies.PolicyFile`.
`LearningCurve` stores and draws what an agent scores while it learns, with any environment.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from quincunx_env.utils.extras import needs_extra

with needs_extra("sb3", __name__):
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.arena.statistics import Estimate
from quincunx_env.codec import Codec
from quincunx_env.core.batch_state import check_limits, state_entry
from quincunx_env.core.deal import MAX_SEED, check_seed
from quincunx_env.core.integers import check_integer
from quincunx_env.envs.options import reset_options
from quincunx_env.envs.side_by_side import SideBySideVectorEnv
from quincunx_env.envs.solitaire import make_solitaire_vec
from quincunx_env.envs.vector import GamesVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv, make_vs_opponents_vec
from quincunx_env.render import Frame
from quincunx_env.utils.files import write_atomically


class GamesVecEnv(VecEnv):
    """A Gymnasium vector environment of this package as a stable-baselines3 ``VecEnv``.

    ## Action Space
    The actions of the environment, joint or by place of the hand.

    ## Observation Space
    The observations of the environment. ``print(env.envs.observer.table())`` lists the pieces, and
    ``env.envs.observer.encoder().table()`` the slices of the vector.

    ## Action Mask
    ``env_method("action_masks")``: bool [num_envs, actions]. sb3-contrib calls it during training; ``predict`` and
    evaluations take the mask as ``action_masks=``.

    ## Rewards
    As in the environment, but float32; ``infos[i]["value"]`` at the end of a game is the exact return.

    ## Starting State
    ``seed(s)`` before ``reset()`` seeds row i with s + i, and random opponents with s. ``set_options``, too, applies to
    the next ``reset()``: ``{"deal": ...}``, or a list of one for each row. The step that ends a game deals the next.

    ## Information
    ``infos[i]`` is empty, except where a game ended: there it holds the last info of the environment,
    ``terminal_observation``, ``TimeLimit.truncated`` (False), ``is_success``, which training and ``EvalCallback`` log
    as ``success_rate``, and ``episode``. A success is a round of the solitaire that is not lost, or a game that is won;
    a shared win counts as its share. ``episode`` has the statistics of a ``Monitor``: leave out ``Monitor`` and
    ``VecMonitor``.

    Args:
        envs: the vector environment, with ``autoreset_mode`` ``SAME_STEP`` and ``copy=True``, because stable-baselines3
            keeps an observation beyond the next step.

    Raises:
        ValueError: if ``envs`` was made with other options.
    """

    def __init__(self, envs: GamesVectorEnv | SideBySideVectorEnv) -> None:
        if envs.autoreset_mode != AutoresetMode.SAME_STEP or not envs.copy:
            raise ValueError(
                "stable-baselines3 needs an environment made with autoreset_mode=SAME_STEP and copy=True, got "
                f"{envs.autoreset_mode.name} and copy={envs.copy}"
            )
        self.envs = envs
        num_envs = envs.num_envs
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)
        self.metadata["render_fps"] = envs.metadata["render_fps"]
        self._actions: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._episode_steps = np.zeros(num_envs, np.int64)
        self._started = time.monotonic()

    def reset(self) -> VecEnvObs:
        """Deal new games with the seeds and options of ``seed()`` and ``set_options()`` since the previous reset.

        Raises:
            ValueError: if a seed, a deal or an option is invalid; nothing has changed then.
        """
        # VecEnv.seed spreads a seed as seed + i over the rows; without one it leaves None for each.
        seeds = [seed for seed in self._seeds if seed is not None]
        deals = [reset_options(options, "deal").get("deal") for options in self._options]
        given = {"deal": deals} if any(deal is not None for deal in deals) else {}
        observation, _ = self.envs.reset(seed=seeds or None, options=given)
        self._reset_seeds()
        self._reset_options()
        self._episode_steps[:] = 0
        return observation

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set and return the seeds of the next ``reset()``: row i gets ``seed`` + i.

        Raises:
            ValueError: if a seed is invalid; nothing has changed then.
        """
        if seed is not None:
            seed = check_seed(seed)
            check_seed(seed + self.num_envs - 1)
        seeds: Sequence[int | None] = super().seed(seed)
        return seeds

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step with the stored actions.

        Returns:
            Observations, rewards (float32), dones (bool), and one info for each row.
        """
        rewards, dones, batched = self.envs._advance(self._actions)
        observation, _ = self.envs._show({}, without_mask=True)  # `action_masks` makes them
        self._episode_steps += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if dones.any():
            rows = np.flatnonzero(dones)
            final: dict[str, Any] = {
                name: values[rows].tolist()
                for name, values in batched["final_info"].items()
                if not name.startswith("_") and name != "action_mask"
            }
            final["terminal_observation"] = batched["final_obs"][rows]
            final["TimeLimit.truncated"] = [False] * len(rows)
            final["is_success"] = final["win"] if "win" in final else [not lost for lost in final["lost"]]
            seconds, lengths = round(time.monotonic() - self._started, 6), self._episode_steps[rows].tolist()
            final["episode"] = [
                {"r": value, "l": length, "t": seconds} for value, length in zip(final["value"], lengths, strict=True)
            ]
            ended = [infos[row] for row in rows.tolist()]
            for name, values in final.items():  # faster than row by row
                for info, value in zip(ended, values, strict=True):
                    info[name] = value
            self._episode_steps[rows] = 0
        return observation, rewards.astype(np.float32), dones, infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions, bool [num_envs, actions]."""
        return self.envs.action_masks()

    def get_images(self) -> Sequence[Frame | None]:
        """Return the picture of each game, uint8 [height, width, 3]; None without ``render_mode="rgb_array"``."""
        return self.env_method("render") if self.render_mode == "rgb_array" else [None] * self.num_envs

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> Any:
        """Call a batched method once, and return the results of ``indices``.

        The method is one of this environment, or of the vector environment inside, such as ``set_pool``.
        ``env_method("render")`` returns the text or the picture of each game.
        """
        if method_name == "render":  # `VecEnv.render` calls it
            shown = self.envs.render() or [None] * self.num_envs
            return [shown[row] for row in self._get_indices(indices)]
        result = self._attribute(method_name)(*args, **kwargs)
        return result if indices is None else result[self._get_indices(indices)]

    def _attribute(self, name: str) -> Any:
        """Return an attribute of this environment, or of the vector environment inside."""
        return getattr(self if hasattr(self, name) else self.envs, name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return the attribute, which all games share, once for each of ``indices``."""
        value = self._attribute(attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Raise `AttributeError`: attributes follow from the options of the environment."""
        raise AttributeError(f"{attr_name} cannot be set here: pass the option when making the environment")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Return for each row whether it does what a wrapper would: True for ``Monitor`` alone."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return a snapshot of all games and counters for `set_state`, as arrays by name."""
        return self.envs.get_state() | {"episode_steps": self._episode_steps.copy()}

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> VecEnvObs:
        """Restore a snapshot and return its observations.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        if not isinstance(state, Mapping):
            raise ValueError(f"a state must be the mapping that get_state() returns, got {state!r:.60}")
        steps = state_entry(state, "episode_steps", self._episode_steps).copy()
        check_limits("episode_steps", steps, 0, MAX_SEED - 1)
        observation, _ = self.envs.set_state(state)
        self._episode_steps = steps
        return observation

    def close(self) -> None:
        """Close the vector environment."""
        self.envs.close()


class SolitaireVecEnv(GamesVecEnv):
    """Quincunx solitaire for stable-baselines3: ``num_envs`` games, stepped together by the batch engine.

    ## Description
    `SolitaireVecEnv` is the solitaire, `VsOpponentsVecEnv` one seat of a game for several players, with the options,
    actions and observations of the Gymnasium environments. One batch engine steps all games; there are no subprocesses.
    Row i seeded s plays the deals of `SolitaireEnv` seeded s + i.

    Args:
        num_envs: games played side by side.
        options: options of `SolitaireVectorEnv`, except ``autoreset_mode`` and ``copy``.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        super().__init__(make_solitaire_vec(num_envs, **{"autoreset_mode": AutoresetMode.SAME_STEP} | options))


class VsOpponentsVecEnv(GamesVecEnv):
    """One seat of ``num_envs`` games for several players, for stable-baselines3.

    Policies play the other seats. ``envs.set_pool(...)`` replaces the pool of opponents during training.

    Args:
        num_envs: games played side by side.
        options: options of `VsOpponentsVectorEnv`, except ``autoreset_mode`` and ``copy``.
    """

    envs: VsOpponentsVectorEnv | SideBySideVectorEnv

    def __init__(self, num_envs: int, **options: Any) -> None:
        super().__init__(make_vs_opponents_vec(num_envs, **{"autoreset_mode": AutoresetMode.SAME_STEP} | options))


def save(model: BaseAlgorithm, path: Path | str) -> None:
    """Save a model, and the options of its environment beside it.

    ``model.zip`` is what ``model.save`` writes. ``model.json`` has the algorithm, the rules and the options by which
    `quincunx_env.policies.PolicyFile` plays the model.

    Args:
        model: with an environment of this package, in wrappers or not.
        path: of the model, ``*.zip``.

    Raises:
        ValueError: if it has no such environment, if a wrapper changes the observations, or for another suffix.
        OSError: if a file cannot be written.
    """
    path = Path(path)
    if path.suffix != ".zip":
        raise ValueError(f"a model is saved as *.zip, got {path.name!r}")
    env = model.get_env()
    try:
        codec: Codec = env.get_attr("codec", 0)[0]  # type: ignore[union-attr]
    except AttributeError:
        raise ValueError(
            "the model needs an environment of this package to be saved with its options: use model.set_env(env), or "
            "model.save(path)"
        ) from None
    normalised = model.get_vec_normalize_env()
    if (normalised and normalised.norm_obs) or codec.observation_space() != model.observation_space:
        raise ValueError(
            "a wrapper changes the observations, and the file has no place for that: use model.save(path), and write a "
            "function as a policy"
        )
    write_atomically(path, model.save)
    codec.write(path, type(model).__name__)


class LearningCurve(BaseCallback):
    """Callback of stable-baselines3 that writes the learning curve of a training.

    A point is the mean return of the games that ended since the previous point, with its 95 % interval over games. The
    agent plays them as it learns, and therefore still explores. A point waits until twice as many games have ended as
    are played side by side. Games begin together, and the first to end are the short ones. Needs the extra ``arena``.

    Args:
        path: the picture, written at the end of the training; the table beside it has the suffix ``.csv``.
        every: least number of environment steps between two points.
        verbose: 1 prints each point.

    Attributes:
        points: steps, and the estimate of the mean return, of each point so far.
    """

    def __init__(self, path: Path | str = "learning_curve.png", every: int = 10_000, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.path = Path(path)
        self.every = check_integer("every", every, 1, MAX_SEED)
        self.points: list[tuple[int, Estimate]] = []
        self._returns: list[float] = []
        self._due = 0

    def _on_training_start(self) -> None:
        self._returns, self._due = [], self.num_timesteps + self.every

    def _on_step(self) -> bool:
        self._returns += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        if self.num_timesteps >= self._due and len(self._returns) >= 2 * self.training_env.num_envs:
            self._due = self.num_timesteps + self.every
            self._add_point()
        return True

    def _add_point(self) -> None:
        estimate = Estimate.of_mean(np.array(self._returns))
        self.points.append((self.num_timesteps, estimate))
        if self.verbose:
            mean, interval = estimate.cells(".1f")
            print(f"{self.num_timesteps:>9,} steps: mean return {mean} ({interval}) of {len(self._returns):,} games")
        self._returns = []

    def _on_training_end(self) -> None:
        if len(self._returns) >= (2 * self.training_env.num_envs if self.points else 2):
            self._add_point()
        steps = [steps for steps, _ in self.points]
        estimate, low, high = zip(*(estimate for _, estimate in self.points), strict=True) if steps else ((), (), ())
        draw_learning_curves(
            self.path,
            {"training": Curve(steps, estimate, low, high)},
            ylabel="mean return of the games since the previous point",
            title=type(self.model).__name__,
        )
