"""The games for Ray RLlib, on its new API stack: the solitaire as a vector environment, the others for several agents.

Observations are dictionaries as RLlib's own action-masking module expects them: ``observations``, the flat vector, and
``action_mask``, both float32. Importing this module registers `SolitaireRLlibVectorEnv` as ``quincunx-solitaire`` and
`CardGameMultiAgentEnv` as ``quincunx-players``; the latter needs ``disable_env_checking``, because RLlib's check plays at random.

    config = PPOConfig()
    config.environment("quincunx-solitaire", env_config={"flush": True})
    config.env_runners(gym_env_vectorize_mode="vector_entry_point", num_envs_per_env_runner=128)
    config.rl_module(rl_module_spec=RLModuleSpec(ActionMaskingTorchRLModule))

``train/rllib.py`` trains both with a network of this project.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from ray.rllib.algorithms.dqn.default_dqn_rl_module import QF_PREDS
from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import DefaultDQNTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.utils import make_target_network
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.utils.schedules.scheduler import Scheduler
from ray.rllib.utils.torch_utils import FLOAT_MIN
from ray.tune.registry import register_env

from quincunx_env import quincunx_v0, spiral_v0
from quincunx_env.core.observation import Observer
from quincunx_env.envs.aec import CardGameAEC
from quincunx_env.envs.common import Info, check_option
from quincunx_env.envs.solitaire import SolitaireVectorEnv

APART = 10**7
"""Distance of seeds. RLlib seeds env runner number w with s + w, and those that evaluate with 1,000,000 more."""

FINAL = ("score", "seed", "game")
"""What the last infos of an agent hold."""

Masked = dict[str, npt.NDArray[np.float32]]
"""``observations`` and ``action_mask``."""


def masked_space(observer: Observer) -> spaces.Dict:
    """Space of an observation with its mask."""
    flat = observer.flat_space()
    low, high = flat.low.astype(np.float32), flat.high.astype(np.float32)
    mask = spaces.Box(0.0, 1.0, (observer.num_actions,), np.float32)
    return spaces.Dict({"observations": spaces.Box(low, high), "action_mask": mask})


class SolitaireRLlibVectorEnv(SolitaireVectorEnv):
    """Quincunx solitaire, many games at once, for ``gym_env_vectorize_mode="vector_entry_point"``.

    `quincunx_env.envs.vector.GamesVectorEnv` tells of masks, ends and resets. Row i seeded s plays the deals of
    `quincunx_env.envs.solitaire.SolitaireEnv` seeded s + i * `APART`, so that no two env runners share a deal.

    Args:
        config: ``num_envs``, which RLlib adds, and the options of `SolitaireVectorEnv`; the preview is on unless
            ``preview`` is False.

    Raises:
        ValueError: for options that RLlib cannot use.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        options = {"preview": True} | dict(config or {})
        if AutoresetMode(options.get("autoreset_mode", AutoresetMode.NEXT_STEP)) != AutoresetMode.NEXT_STEP:
            raise ValueError(
                "RLlib takes the step after the end of an episode for its reset and would lose a step of every round "
                "without a word: leave out autoreset_mode, which is NEXT_STEP then"
            )
        check_option("observation", options.pop("observation", "flat"), "flat")
        check_option("actions", options.get("actions", "joint"), "joint")
        super().__init__(observation="flat", **options)
        self.single_observation_space = masked_space(self.observer)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """See `GamesVectorEnv.reset`; a single seed is spread as the class says."""
        if isinstance(seed, int):
            seed = [seed + row * APART for row in range(self.num_envs)]
        return super().reset(seed=seed, options=options)

    def _observe(self) -> Any:
        mask = super()._with_mask({})["action_mask"]
        return {"observations": super()._observe().astype(np.float32), "action_mask": mask.astype(np.float32)}  # type: ignore[union-attr]

    def _with_mask(self, info: Info) -> Info:
        return info  # it is in the observation


class CardGameMultiAgentEnv(MultiAgentEnv):  # type: ignore[misc]  # Ray comes without types
    """A game for several players as RLlib's environment for several agents: they take turns.

    ## Agents
    ``player_0``, ``player_1`` ..., as in `quincunx_env.envs.aec.CardGameAEC`, whose actions and rewards these are. The
    agent to move observes, nobody else; at the end all do, with a mask that is all 1, because no action follows.

    ## Rewards
    An agent gets what its play and those of the others since then brought it together with its next observation. What
    others do before its first play arrives with its first reward.

    ## End
    All agents terminate together. The last infos hold what `FINAL` names, as in `CardGameAEC`.

    ## Reset
    An environment seeded s in env runner w plays the games seeded s + w * `APART`: RLlib seeds them s + w + i, which
    would give neighbours the same deals.

    Args:
        config: ``game``, ``"quincunx"`` (default) or ``"spiral"``, and the options of
            `quincunx_env.quincunx_v0.raw_env` or `quincunx_env.spiral_v0.raw_env`; the preview is on unless ``preview``
            is False.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        options: dict[str, Any] = {"preview": True, "game": "quincunx"} | dict(config or {})
        games: dict[str, Callable[..., CardGameAEC]]
        games = {"quincunx": quincunx_v0.raw_env, "spiral": spiral_v0.raw_env}
        check_option("game", game := options.pop("game"), *games)
        self.aec = games[game](**options, mask_in="info")
        self.agents = self.possible_agents = list(self.aec.possible_agents)
        self.observation_spaces = {agent: masked_space(self.aec.observer) for agent in self.agents}
        self.action_spaces = {agent: self.aec.action_space(agent) for agent in self.agents}
        self.render_mode = self.aec.render_mode
        self.metadata = dict(self.aec.metadata)
        self._first_seed = (getattr(config, "worker_index", None) or 0) * APART
        self._owed: dict[str, float] = {}
        self._played: set[str] = set()
        super().__init__()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Masked], dict[str, Info]]:
        """Deal; ``options`` are those of `CardGameAEC.reset`."""
        super().reset(seed=seed)
        self.aec.reset(None if seed is None else seed + self._first_seed, options)
        self.agents = self.possible_agents[:]
        self._owed = dict.fromkeys(self.agents, 0.0)
        self._played = set()
        mover = self.aec.agent_selection
        return {mover: self._observe(mover)}, {mover: {}}

    def step(
        self, action_dict: dict[str, Any]
    ) -> tuple[dict[str, Masked], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Play for the agent to move.

        Raises:
            IllegalAction: as `CardGameAEC.step` does.
            ValueError: if other agents than the one to move are to act.
        """
        aec = self.aec
        if set(action_dict) != {aec.agent_selection}:
            raise ValueError(f"{aec.agent_selection} is to move, got actions of {', '.join(action_dict) or 'nobody'}")
        aec.step(action_dict[aec.agent_selection])
        self._played |= set(action_dict)
        for agent, reward in aec.rewards.items():
            self._owed[agent] += reward
        over: bool = aec.game.over
        seeing = self.possible_agents if over else [aec.agent_selection]
        # A reward belongs to a play: before the first one there is none to give it to.
        rewards = {agent: self._owed.pop(agent) for agent in seeing if agent in self._played}
        self._owed |= dict.fromkeys(rewards, 0.0)
        infos = {agent: {name: aec.infos[agent][name] for name in FINAL if over} for agent in seeing}
        ended = dict.fromkeys([*self.possible_agents, "__all__"] if over else ["__all__"], over)
        if over:
            self.agents = []
        return {agent: self._observe(agent) for agent in seeing}, rewards, ended, {"__all__": False}, infos

    def _observe(self, agent: str) -> Masked:
        observer, game = self.aec.observer, self.aec.game
        flat: npt.NDArray[np.int16] = self.aec.observe(agent)
        mask = np.ones(observer.num_actions, np.float32) if game.over else observer.mask(game).astype(np.float32)
        return {"observations": flat.astype(np.float32), "action_mask": mask}

    def render(self) -> Any:
        """See `CardGameAEC.render`."""
        return self.aec.render()

    def close(self) -> None:
        """See `CardGameAEC.close`."""
        self.aec.close()


class MaskedPPOModule(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]  # Ray comes without types
    """A network that says logits and value at once, for PPO; actions that the mask forbids have no probability.

    A subclass says which, in `make_network`. It reads observations float32 [B, size] and returns logits [B, actions]
    and values [B, 1].
    """

    network: torch.nn.Module

    def make_network(self) -> torch.nn.Module:
        """The network, from ``observation_space``, ``action_space`` and ``model_config``."""
        raise NotImplementedError

    def setup(self) -> None:
        """Called by RLlib."""
        self.network = self.make_network()

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        observation = batch[Columns.OBS]
        logits, value = self.network(observation["observations"])
        forbidden = observation["action_mask"] == 0
        return {
            Columns.ACTION_DIST_INPUTS: logits.masked_fill(forbidden, FLOAT_MIN),
            Columns.EMBEDDINGS: value[:, 0],  # `compute_values` gets it back while learning
        }

    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        with torch.no_grad():
            return {Columns.ACTION_DIST_INPUTS: self._forward(batch)[Columns.ACTION_DIST_INPUTS]}

    _forward_exploration = _forward_inference

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """Called by RLlib: float32 [B]."""
        return self.network(batch[Columns.OBS]["observations"])[1][:, 0] if embeddings is None else embeddings


class MaskedDQNModule(DefaultDQNTorchRLModule):  # type: ignore[misc]  # Ray comes without types
    """A network that says logits and value at once, for DQN; actions that the mask forbids are worth -inf.

    RLlib draws no such action at random, plays none, and no target rests on one. As in every dueling network, an action
    is worth the value and what its logit exceeds the mean of all allowed ones by.

    A subclass says which network, in `make_network`; see `MaskedPPOModule`.
    """

    network: torch.nn.Module

    def make_network(self) -> torch.nn.Module:
        """See `MaskedPPOModule`."""
        raise NotImplementedError

    def setup(self) -> None:
        """Called by RLlib, which adds to ``model_config`` what is read here.

        Raises:
            ValueError: for a configuration that asks for another form of DQN.
        """
        self.num_atoms: int = self.model_config["num_atoms"]
        if self.num_atoms != 1 or not self.model_config["dueling"]:
            raise ValueError("this module is a dueling network of expected values: set num_atoms=1 and dueling=True")
        self.uses_double_q: bool = self.model_config["double_q"]
        self.epsilon_schedule = Scheduler(self.model_config["epsilon"], framework=self.framework)
        self.network = self.make_network()

    def get_initial_state(self) -> dict[str, Any]:
        """There is none to remember."""
        return {}

    def make_target_networks(self) -> None:
        """Called by RLlib where the module learns."""
        self._target_network = make_target_network(self.network)

    def get_target_network_pairs(self) -> list[tuple[torch.nn.Module, torch.nn.Module]]:
        """The network and the copy that follows it."""
        return [(self.network, self._target_network)]

    def get_non_inference_attributes(self) -> list[str]:
        """What env runners do without."""
        return ["_target_network"]

    def compute_q_values(self, batch: dict[str, Any]) -> dict[str, Any]:
        """What all actions are worth, float32 [B, actions], by RLlib's name for it."""
        return self._worth(self.network, batch)

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The same, as the copy sees it."""
        return self._worth(self._target_network, batch)

    def _worth(self, network: torch.nn.Module, batch: dict[str, Any]) -> dict[str, Any]:
        observation = batch[Columns.OBS]
        logits, value = network(observation["observations"])
        allowed = observation["action_mask"] != 0
        mean = (logits * allowed).sum(dim=1, keepdim=True) / allowed.sum(dim=1, keepdim=True)
        return {QF_PREDS: (value + logits - mean).masked_fill(~allowed, -torch.inf)}


register_env("quincunx-solitaire", SolitaireRLlibVectorEnv)
register_env("quincunx-players", CardGameMultiAgentEnv)
