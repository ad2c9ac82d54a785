"""Episodes and metrics of RLlib equal the games that were played."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import ray
import torch
import tree
from gymnasium.vector import AutoresetMode
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune.registry import register_env

from quincunx_agents.torch.rllib_module import PlayModule
from quincunx_env import quincunx_v0
from quincunx_env.adapters.rllib import SEED_STRIDE, CardGameMultiAgentEnv, MaskedPPOModule, SolitaireRLlibVectorEnv
from quincunx_env.envs.rewards import margin, outcome
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules, multiplayer_rules
from quincunx_env.registry import make_rules, spec_of

SEED = 17
RULES = multiplayer_rules(2)
PLAYERS: list[dict[str, Any]] = [
    {},
    {"num_players": 3, "reward": "points"},
    {"num_players": 4, "start": "open", "excuse": True, "pawns": True, "flush": True},
    {"num_players": 2, "simpleton": True, "match": True},
    {"num_players": 3, "reward": "outcome"},
    {"game": "spiral"},
    {"game": "spiral", "scoring": "end", "fifteens": True, "deals": 1, "reward": "points"},
]


class Uniform(MaskedPPOModule):
    """Every legal action is as likely."""

    def make_network(self) -> torch.nn.Module:
        """No weights that matter."""
        actions = int(self.action_space.n)

        class Constant(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.bias = torch.nn.Parameter(torch.zeros(1))

            def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
                return self.bias.expand(len(observation), actions), self.bias.expand(len(observation), 1)

        return Constant()


def solitaire_config(rows: int, **options: Any) -> PPOConfig:
    config = PPOConfig().environment("quincunx-solitaire", env_config=options)
    config.env_runners(num_env_runners=0, gym_env_vectorize_mode="vector_entry_point", num_envs_per_env_runner=rows)
    return config.rl_module(rl_module_spec=RLModuleSpec(Uniform)).debugging(seed=SEED)


def players_config(rows: int, options: dict[str, Any]) -> PPOConfig:
    config = PPOConfig().environment("quincunx-players", env_config=options, disable_env_checking=True)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=rows)
    config.multi_agent(policies={"main"}, policy_mapping_fn=lambda agent, episode, **kwargs: "main")
    return config.rl_module(rl_module_spec=RLModuleSpec(Uniform)).debugging(seed=SEED)


def reported(runner: Any) -> Any:
    """The metrics of an env runner as numbers."""
    return tree.map_structure(lambda stats: stats.peek(), runner.get_metrics())


def whole(runner: Any, steps: int, calls: int) -> Iterator[list[Any]]:
    """The finished episodes of several calls, each as the chunks that the calls cut it into."""
    chunks: dict[str, list[Any]] = {}
    for _ in range(calls):
        for episode in runner.sample(num_timesteps=steps):
            chunks.setdefault(episode.id_, []).append(episode)
    return (parts for parts in chunks.values() if parts[-1].is_done)


# --- The solitaire ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"edge_contact": True, "flush": True}, {"pawns": True, "lost_value": -50.0}])
def test_solitaire_lengths_and_returns_are_those_of_the_game(options: dict[str, Any]) -> None:
    runner = SingleAgentEnvRunner(config=solitaire_config(5, **options))
    rules = Rules(**{name: value for name, value in options.items() if name != "lost_value"})
    lengths, returns, lost = [], [], 0
    for chunks in whole(runner, steps=37, calls=8):
        final = chunks[-1].get_infos(-1)
        game = Game.from_seed(rules, int(final["seed"]), int(final["game"]))
        actions = [action for chunk in chunks for action in chunk.get_actions()]
        for action in actions:
            game.step(int(action))  # refuses what the mask should have forbidden
        assert game.over
        lost += game.lost
        value = options.get("lost_value", 0.0) if game.lost else game.totals[0]
        assert sum(chunk.get_return() for chunk in chunks) == value == final["value"]
        assert chunks[-1].is_terminated
        assert not chunks[-1].is_truncated
        lengths.append(len(actions))
        returns.append(value)
    assert 0 < lost < len(returns) < 100
    metrics = reported(runner)
    for name, values in (("len", lengths), ("return", returns)):
        assert metrics[f"episode_{name}_mean"] == pytest.approx(np.mean(values))
        assert metrics[f"episode_{name}_min"] == min(values)
        assert metrics[f"episode_{name}_max"] == max(values)


def test_same_step_would_lose_a_step_and_is_refused() -> None:
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED, "SameStep"):
        with pytest.raises(ValueError, match="needs autoreset_mode=NEXT_STEP"):
            SolitaireRLlibVectorEnv({"autoreset_mode": mode})
    runner = SingleAgentEnvRunner(config=solitaire_config(4))
    runner.env.unwrapped.autoreset_mode = AutoresetMode.SAME_STEP  # what would happen
    lengths: dict[bool, set[int]] = {True: set(), False: set()}
    for chunks in whole(runner, steps=400, calls=1):
        final = chunks[-1].get_infos(-1)["final_info"]
        if not final["lost"]:  # the four face-up cards leave twelve cells
            lengths[bool(final["game"] == 0)].add(sum(map(len, chunks)))
    assert lengths == {True: {12}, False: {11}}  # all but the first round of a row lose a step


def test_other_options_that_rllib_cannot_use_are_refused() -> None:
    with pytest.raises(ValueError, match="observation must be"):
        SolitaireRLlibVectorEnv({"observation": "pieces"})
    with pytest.raises(ValueError, match="actions must be"):
        SolitaireRLlibVectorEnv({"actions": "place"})
    for make in (SolitaireRLlibVectorEnv, CardGameMultiAgentEnv):
        with pytest.raises(ValueError, match="mask_in must be one of 'obs', got 'info'"):
            make({"mask_in": "info"})


def test_seeds_may_be_numbers_of_numpy() -> None:
    """They are spread over the rows like others."""
    env = SolitaireRLlibVectorEnv({"num_envs": 2})
    env.reset(seed=np.int64(SEED))
    assert env.batch.seed.tolist() == [SEED, SEED + SEED_STRIDE]


def test_no_two_runners_or_rows_share_a_deal() -> None:
    seeds = []
    for runner in range(3):  # as RLlib seeds them
        rows = SolitaireRLlibVectorEnv({"num_envs": 3})
        rows.reset(seed=SEED + runner)
        seeds += rows.batch.seed.tolist()
        for row in range(3):
            game = CardGameMultiAgentEnv(EnvContext({}, worker_index=runner))
            game.reset(seed=SEED + runner + row)
            assert game.aec.game.deals == Game.from_seed(RULES, SEED + runner * (SEED_STRIDE + 1) + row).deals
    assert len(set(seeds)) == 9


# --- Several players -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [lambda rules: rules, asdict], ids=["Rules", "mapping"])
def test_rules_are_given_together(form: Callable[[Any], Any]) -> None:
    """As an object or as a mapping of its fields, in either game and in the solitaire."""
    solitaire, quincunx, spiral = Rules(flush=True), multiplayer_rules(3, start="open"), make_rules("spiral", deals=1)
    assert SolitaireRLlibVectorEnv({"num_envs": 2, "rules": form(solitaire)}).rules == solitaire
    assert CardGameMultiAgentEnv({"rules": form(quincunx)}).aec.rules == quincunx
    assert CardGameMultiAgentEnv({"game": "spiral", "rules": form(spiral)}).aec.rules == spiral
    with pytest.raises(ValueError, match="give rules= or single options, not both"):
        CardGameMultiAgentEnv({"rules": form(quincunx), "num_players": 3})
    with pytest.raises(ValueError, match="num_players must be 1 in an environment of the solitaire, got 3"):
        SolitaireRLlibVectorEnv({"num_envs": 2, "rules": form(quincunx)})


@pytest.mark.parametrize("options", PLAYERS, ids=str)
def test_returns_of_all_seats_are_those_of_the_game(options: dict[str, Any]) -> None:
    runner = MultiAgentEnvRunner(config=players_config(3, options))
    rest = {name: value for name, value in options.items() if name not in ("game", "reward")}
    rules = make_rules(options.get("game", "quincunx"), **rest)
    sums: dict[str, list[float]] = {}
    lengths = []
    for chunks in whole(runner, steps=67, calls=7):
        final = chunks[-1].get_infos(-1)["player_0"]
        game: Any = spec_of(rules).Game
        game = game.from_seed(rules, int(final["seed"]), int(final["game"]))
        left = {agent: played(chunks, agent) for agent in runner.env.envs[0].unwrapped.possible_agents}
        lengths.append(sum(map(len, left.values())))
        while not game.over:
            game.step(left[f"player_{game.mover}"].pop(0))
        assert not any(left.values())
        by_reward = {"points": lambda totals: totals, "outcome": outcome, "margin": margin}
        expected = by_reward[options.get("reward", "margin")](game.totals)
        for agent, value in zip(left, expected, strict=True):
            seats = [chunk.agent_episodes[agent] for chunk in chunks if agent in chunk.agent_episodes]
            assert sum(seat.get_return() for seat in seats) == pytest.approx(value)
            assert seats[-1].is_terminated
            sums.setdefault(agent, []).append(value)
    assert len(lengths) > 1
    metrics = reported(runner)
    assert metrics["episode_len_mean"] == pytest.approx(np.mean(lengths))
    for agent, values in sums.items():
        assert metrics["agent_episode_returns_mean"][agent] == pytest.approx(np.mean(values))


def played(chunks: list[Any], agent: str) -> list[int]:
    """The actions of an agent, in order."""
    seats = [chunk.agent_episodes[agent] for chunk in chunks if agent in chunk.agent_episodes]
    return [int(action) for seat in seats for action in seat.get_actions()]


@pytest.mark.parametrize("options", PLAYERS, ids=str)
def test_only_the_mover_observes_and_all_get_rewards(options: dict[str, Any]) -> None:
    env, rng = CardGameMultiAgentEnv(options), np.random.default_rng(SEED)
    observations, infos = env.reset(seed=SEED)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        (agent,) = observations
        assert infos == {agent: {}}
        assert env.get_observation_space(agent).contains(observations[agent])
        legal = np.flatnonzero(observations[agent]["action_mask"])
        observations, rewards, ended, cut, infos = env.step({agent: rng.choice(legal)})
        assert set(rewards) <= set(observations)
        assert cut == {"__all__": False}
        for other, reward in rewards.items():
            returns[other] += reward
    assert ended == dict.fromkeys([*env.possible_agents, "__all__"], True)
    assert set(observations) == set(rewards) == set(infos) == set(env.possible_agents)
    totals = env.aec.game.totals
    by_reward = {"points": lambda totals: totals, "outcome": outcome, "margin": margin}
    assert list(returns.values()) == pytest.approx(by_reward[options.get("reward", "margin")](totals))
    assert [info["score"] for info in infos.values()] == totals
    assert all(observation["action_mask"].all() for observation in observations.values())


def test_acting_out_of_turn_is_refused() -> None:
    env = CardGameMultiAgentEnv()
    env.reset(seed=SEED)
    with pytest.raises(ValueError, match="player_0 is to move, got actions of player_1"):
        env.step({"player_1": 0})
    with pytest.raises(ValueError, match="game must be one of"):
        CardGameMultiAgentEnv({"game": "whist"})


# --- The modules -----------------------------------------------------------------------------------------------------


def module_of(rules: Rules, space: Any, actions: Any) -> PlayModule:
    spec = RLModuleSpec(PlayModule, observation_space=space, action_space=actions, model_config={"rules": rules})
    module: PlayModule = spec.build()
    for parameter in module.parameters():  # nothing is uniform any more
        torch.nn.init.normal_(parameter, std=2.0)
    return module


@pytest.mark.parametrize("players", [1, 2, 4])
def test_no_forward_pass_gives_an_illegal_action_a_positive_probability(players: int) -> None:
    torch.manual_seed(SEED)
    rows = SolitaireRLlibVectorEnv({"num_envs": 32, "actions": "hand"})
    observation = rows.reset(seed=SEED)[0]
    space, actions, rules = rows.single_observation_space, rows.single_action_space, rows.rules
    if players > 1:
        game = CardGameMultiAgentEnv({"num_players": players, "actions": "hand"})
        observed = game.reset(seed=SEED)[0]["player_0"]
        observation = {name: part[None] for name, part in observed.items()}
        space, actions, rules = game.observation_spaces["player_0"], game.action_spaces["player_0"], game.aec.rules
    module = module_of(rules, space, actions)
    batch = {Columns.OBS: {name: torch.from_numpy(part) for name, part in observation.items()}}
    legal = observation["action_mask"].astype(bool)
    for forward in (module.forward_inference, module.forward_exploration, module.forward_train):
        logits = forward(batch)[Columns.ACTION_DIST_INPUTS]
        probabilities = torch.softmax(logits, dim=1).detach().numpy()
        assert not probabilities[~legal].any()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
        drawn = module.get_exploration_action_dist_cls().from_logits(logits).sample()
        assert legal[np.arange(len(legal)), drawn.numpy()].all()
    trained = module.forward_train(batch)
    values = module.compute_values(batch)
    assert values.shape == (len(legal),)
    torch.testing.assert_close(module.compute_values(batch, trained[Columns.EMBEDDINGS]), values)


def test_rllibs_own_wrapper_and_default_module_take_vectors_of_float32() -> None:
    """Its module has no mask: the next legal action takes the place of an illegal one."""
    options: dict[str, Any] = {"mask_in": "info", "illegal": "next"}
    register_env("quincunx-pettingzoo", lambda _: PettingZooEnv(quincunx_v0.env(**options)))
    config = PPOConfig().environment("quincunx-pettingzoo").env_runners(num_env_runners=0)
    config.multi_agent(policies={"player_0", "player_1"}, policy_mapping_fn=lambda agent, *_, **__: agent)
    episodes = MultiAgentEnvRunner(config=config).sample(num_timesteps=60)
    assert sum(len(episode) for episode in episodes) >= 60


def test_the_small_network_learns_by_place_of_the_hand() -> None:
    spec = RLModuleSpec(PlayModule, model_config={"rules": Rules(), "width": 32})
    config = solitaire_config(8, actions="hand").rl_module(rl_module_spec=spec)
    config.training(train_batch_size_per_learner=96, minibatch_size=48, num_epochs=1)
    algorithm = config.build_algo()
    try:
        before = {name: weights.clone() for name, weights in algorithm.get_module().network.state_dict().items()}
        algorithm.train()
        after = algorithm.get_module().network.state_dict()
        assert all(weights.isfinite().all() and (weights != before[name]).any() for name, weights in after.items())
    finally:
        algorithm.stop()
        ray.shutdown()  # it forgets environments, and tests of other files have clusters of their own
