"""Environments and modules for Ray RLlib's new API stack.

The solitaire is a vector environment, the games for several players are multi-agent environments. Observations are
dictionaries as in RLlib's action-masking example module: ``observations``, the vector, and ``action_mask``, both
float32. Importing this module registers
`SolitaireRLlibVectorEnv` as ``quincunx-solitaire`` and `CardGameMultiAgentEnv` as ``quincunx-players``; the latter
needs ``disable_env_checking``, because RLlib's check takes random actions.

    config = PPOConfig()
    config.environment("quincunx-solitaire", env_config={"flush": True})
    config.env_runners(gym_env_vectorize_mode="vector_entry_point", num_envs_per_env_runner=128)
    config.rl_module(rl_module_spec=RLModuleSpec(ActionMaskingTorchRLModule))

``train/rllib.py`` trains both with the policy network of this project.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from quincunx_env.utils.extras import needs_extra

with needs_extra("rllib", __name__):
    import torch
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
    from ray.rllib.utils.torch_utils import FLOAT_MIN
    from ray.tune.registry import register_env

from quincunx_env.codec import Codec
from quincunx_env.core.integers import check_option
from quincunx_env.core.observation import ordered_dict
from quincunx_env.envs.aec import CardGameAEC
from quincunx_env.envs.options import Info
from quincunx_env.envs.solitaire import SolitaireVectorEnv
from quincunx_env.envs.vector import batched
from quincunx_env.registry import GAMES

SEED_STRIDE = 10**7
"""Distance between the seeds of rows and env runners. RLlib seeds env runner w with s + w, and evaluation runners with
1,000,000 more, so that their deals would overlap."""

FINAL_INFO = ("score", "seed", "game")
"""Entries of the last info of an agent."""

Masked = dict[str, npt.NDArray[np.float32]]
"""An observation with its mask: ``observations`` and ``action_mask``."""


def masked_space(codec: Codec) -> spaces.Dict:
    """Return the space of an observation with its mask, from a codec with ``mask_in="obs"``."""
    space: Any = codec.observation_space()
    mask = spaces.Box(0.0, 1.0, (codec.num_actions,), np.float32)
    return ordered_dict([("observations", space["observation"]), ("action_mask", mask)])


def _masked(seen: Any) -> Masked:
    return {"observations": seen["observation"], "action_mask": seen["action_mask"].astype(np.float32)}


class SolitaireRLlibVectorEnv(SolitaireVectorEnv):
    """Quincunx solitaire, many games at once, for ``gym_env_vectorize_mode="vector_entry_point"``.

    `quincunx_env.envs.vector.GamesVectorEnv` documents masks and infos. Row i seeded s plays the deals of
    `quincunx_env.envs.solitaire.SolitaireEnv` seeded s + i * `SEED_STRIDE`, so that no two env runners share a deal.

    Args:
        config: ``num_envs``, which RLlib adds, and options of `SolitaireVectorEnv`, ``rules`` included; ``preview`` is
            True by default.

    Raises:
        ValueError: for options that RLlib does not support.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        options = {"preview": True} | dict(config or {})
        if AutoresetMode(options.get("autoreset_mode", AutoresetMode.NEXT_STEP)) != AutoresetMode.NEXT_STEP:
            raise ValueError(
                "RLlib needs autoreset_mode=NEXT_STEP, since it takes the step after an episode for a reset: "
                "leave out autoreset_mode"
            )
        check_option("observation", options.setdefault("observation", "vector"), "vector")
        check_option("mask_in", options.setdefault("mask_in", "obs"), "obs")
        super().__init__(**options)
        self.single_observation_space = masked_space(self.codec)
        self.observation_space = batched(self.single_observation_space, self.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Deal new games, see `GamesVectorEnv.reset`. A single seed s seeds row i with s + i * `SEED_STRIDE`."""
        if isinstance(seed, int | np.integer):
            seed = [int(seed) + row * SEED_STRIDE for row in range(self.num_envs)]
        return super().reset(seed=seed, options=options)

    def _show(self, info: Info, without_mask: bool = False) -> tuple[Any, Info]:
        shown: Any
        shown, info = super()._show(info, without_mask)
        return _masked(shown), info


class CardGameMultiAgentEnv(MultiAgentEnv):  # type: ignore[misc]  # Ray comes without types
    """A game for several players as an RLlib multi-agent environment.

    Agents take turns.

    ## Agents
    ``player_0``, ``player_1`` ..., as in `quincunx_env.envs.aec.CardGameAEC`, which also defines actions and rewards.

    ## Observation Space
    Only the agent to move gets an observation; at the end of the game all agents do, with a mask of ones, because no
    action follows.

    ## Rewards
    With its next observation an agent gets the sum of its rewards since its previous action. Rewards from before its
    first action are part of its first reward.

    ## Starting State
    An environment seeded s in env runner w plays the games seeded s + w * `SEED_STRIDE`. RLlib seeds environment i of
    runner w with s + w + i, which would give neighbouring runners the same deals.

    ## Episode End
    All agents terminate together.

    ## Information
    The last infos hold the entries `FINAL_INFO`, as in `CardGameAEC`.

    Args:
        config: ``game``, ``"quincunx"`` (default) or ``"spiral"``, and options of `quincunx_env.quincunx_v0.raw_env` or
            `quincunx_env.spiral_v0.raw_env`, ``rules`` included; ``preview`` is True and ``reward`` ``"margin"`` by
            default.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        options: dict[str, Any] = {"preview": True, "reward": "margin", "game": "quincunx"} | dict(config or {})
        check_option("game", game := options.pop("game"), *GAMES)
        raw_env = import_module(f"quincunx_env.{game}_v0").raw_env
        check_option("mask_in", options.pop("mask_in", "obs"), "obs")
        self.aec: CardGameAEC = raw_env(**options)
        self.agents = self.possible_agents = list(self.aec.possible_agents)
        self.observation_spaces = {agent: masked_space(self.aec.codec) for agent in self.agents}
        self.action_spaces = {agent: self.aec.action_space(agent) for agent in self.agents}
        self.render_mode = self.aec.render_mode
        self.metadata = dict(self.aec.metadata)
        self._seed_offset = (getattr(config, "worker_index", None) or 0) * SEED_STRIDE
        self._pending_rewards: dict[str, float] = {}
        self._have_acted: set[str] = set()
        super().__init__()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Masked], dict[str, Info]]:
        """Deal a game, see `CardGameAEC.reset`."""
        super().reset(seed=seed)
        self.aec.reset(None if seed is None else seed + self._seed_offset, options)
        self.agents = self.possible_agents[:]
        self._pending_rewards = dict.fromkeys(self.agents, 0.0)
        self._have_acted = set()
        mover = self.aec.agent_selection
        return {mover: self._observe(mover)}, {mover: {}}

    def step(
        self, action_dict: dict[str, Any]
    ) -> tuple[dict[str, Masked], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Take the action of the agent to move.

        Raises:
            IllegalAction: if the action is illegal.
            ValueError: if there is no action of the agent to move, or one of another agent.
        """
        aec = self.aec
        if set(action_dict) != {aec.agent_selection}:
            raise ValueError(f"{aec.agent_selection} is to move, got actions of {', '.join(action_dict) or 'no agent'}")
        aec.step(action_dict[aec.agent_selection])
        self._have_acted |= set(action_dict)
        for agent, reward in aec.rewards.items():
            self._pending_rewards[agent] += reward
        over: bool = aec.game.over
        observing = self.possible_agents if over else [aec.agent_selection]
        # RLlib attributes a reward to the agent's previous action: before its first action it cannot be returned.
        rewards = {agent: self._pending_rewards.pop(agent) for agent in observing if agent in self._have_acted}
        self._pending_rewards |= dict.fromkeys(rewards, 0.0)
        infos = {agent: {name: aec.infos[agent][name] for name in FINAL_INFO if over} for agent in observing}
        ended = dict.fromkeys([*self.possible_agents, "__all__"] if over else ["__all__"], over)
        if over:
            self.agents = []
        return {agent: self._observe(agent) for agent in observing}, rewards, ended, {"__all__": False}, infos

    def _observe(self, agent: str) -> Masked:
        seen = _masked(self.aec.observe(agent))
        if self.aec.game.over:
            seen["action_mask"][:] = 1
        return seen

    def render(self) -> Any:
        """Return the game as text or as a picture, see `CardGameAEC.render`."""
        return self.aec.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.aec.close()


class MaskedPPOModule(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]  # Ray comes without types
    """An RLModule for PPO around a policy-value network.

    Illegal actions have probability 0. Subclasses return the network in `make_network`. It maps observations float32
    [B, size] to logits [B, actions] and values [B] or [B, 1].
    """

    network: torch.nn.Module

    def make_network(self) -> torch.nn.Module:
        """Return the network, from ``observation_space``, ``action_space`` and ``model_config``."""
        raise NotImplementedError

    def setup(self) -> None:
        """Make the network; called by RLlib."""
        self.network = self.make_network()

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        observation = batch[Columns.OBS]
        logits, value = self.network(observation["observations"])
        illegal = observation["action_mask"] == 0
        return {
            Columns.ACTION_DIST_INPUTS: logits.masked_fill(illegal, FLOAT_MIN),
            Columns.EMBEDDINGS: value.flatten(),  # RLlib passes it to `compute_values` in training
        }

    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        with torch.no_grad():
            return {Columns.ACTION_DIST_INPUTS: self._forward(batch)[Columns.ACTION_DIST_INPUTS]}

    _forward_exploration = _forward_inference

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """Return the values of the observations, float32 [B]; called by RLlib."""
        return self.network(batch[Columns.OBS]["observations"])[1].flatten() if embeddings is None else embeddings


register_env("quincunx-solitaire", SolitaireRLlibVectorEnv)
register_env("quincunx-players", CardGameMultiAgentEnv)
