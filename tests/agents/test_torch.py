"""`quincunx_agents.torch`: what it exports, and greedy policies of torch modules."""

import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from quincunx_agents.torch import NetworkPolicy, PlayNetwork  # noqa: E402
from quincunx_env.codec import Codec  # noqa: E402
from quincunx_env.envs.vector import GamesVectorEnv  # noqa: E402
from quincunx_env.quincunx.game import Game  # noqa: E402
from quincunx_env.quincunx.observation import Observer  # noqa: E402
from quincunx_env.quincunx.rules import Rules  # noqa: E402
from quincunx_env.render import to_svg  # noqa: E402
from tests.agents.positions import dealt, seen  # noqa: E402

OBSERVER = Observer(Rules(), preview=True)
CODEC = Codec(Rules(), observation="vector", preview=True)


def test_greedy_policy_takes_the_first_of_the_highest_legal_logits() -> None:
    observation, mask = seen(dealt(Rules(), 3))
    logits = torch.zeros(mask.shape)
    logits[torch.from_numpy(~mask)] = 9.0
    best = mask.nonzero()[1].max()
    logits[:, best] = 1.0
    policy = NetworkPolicy(lambda vector: logits[: len(vector)], CODEC)
    assert policy(observation, mask, np.random.default_rng(0))[mask[:, best]].tolist() == [best] * mask[:, best].sum()
    level = NetworkPolicy(lambda vector: torch.zeros(len(vector), mask.shape[1]), CODEC)
    assert level(observation, mask, np.random.default_rng(0)).tolist() == mask.argmax(axis=1).tolist()


def test_a_pickled_policy_plays_the_same() -> None:
    """Other processes get it so, also after it has encoded a game."""
    (observation, mask), layer = seen(dealt(Rules(), 5)), torch.nn.Linear(CODEC.encoder.size, Rules().num_actions)
    policy = NetworkPolicy(layer, CODEC)
    policy.codec.of_game(Game.from_seed(Rules(), 0))
    again = pickle.loads(pickle.dumps(policy))
    rng = np.random.default_rng(0)
    assert again(observation, mask, rng).tolist() == policy(observation, mask, rng).tolist()


def test_probabilities_of_plays_are_those_of_the_logits() -> None:
    """In percent, as a table that a picture shows; illegal plays have none."""
    logits = torch.arange(float(Rules().num_actions))[None] / 100
    policy, game = NetworkPolicy(lambda vector: logits, CODEC), Game.from_seed(Rules(), 3)
    table, legal = policy.probabilities(game), OBSERVER.mask(game).astype(bool)
    assert (~np.isnan(table)).ravel().tolist() == legal.tolist()
    expected = torch.softmax(logits[0][torch.from_numpy(legal)], 0).numpy() * 100
    np.testing.assert_allclose(table.ravel()[legal], expected, rtol=1e-5)
    assert "<svg" in to_svg(game, values=table)


@pytest.mark.parametrize("shared", [True, False])
def test_the_policy_of_stable_baselines3_has_the_logits_and_values_of_the_network(shared: bool) -> None:
    """In points, and for predictions, learning and agents alike."""
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import MaskablePPO

    from quincunx_agents.torch import QuincunxMaskablePolicy, sb3_agent
    from quincunx_env.adapters.sb3 import SolitaireVecEnv

    env = SolitaireVecEnv(20, observation="vector", preview=True, actions="hand")
    own = {"observer": OBSERVER, "width": 24, "share_features_extractor": shared}
    policy = MaskablePPO(QuincunxMaskablePolicy, env, policy_kwargs=own, device="cpu", seed=0).policy
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    network = PlayNetwork(OBSERVER, width=24, unit=50)
    network.load_state_dict(policy.mlp_extractor.state_dict())
    vectors, mask = torch.from_numpy(env.reset()), env.envs.action_masks()
    with torch.no_grad():
        logits, values = network(vectors)
        logits[torch.from_numpy(mask == 0)] = -torch.inf
        actions, found, log_prob = policy(vectors, deterministic=True, action_masks=mask)
        again, log_prob_again, entropy = policy.evaluate_actions(vectors, actions, torch.from_numpy(mask))
    assert actions.tolist() == logits.argmax(1).tolist()
    assert len(set(actions.tolist())) > 1
    expected = torch.distributions.Categorical(logits=logits)
    for got in (found, again, policy.predict_values(vectors)):
        torch.testing.assert_close(got, values[:, None])
    for got in (log_prob, log_prob_again):
        torch.testing.assert_close(got, expected.log_prob(actions), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(entropy, -(expected.probs * expected.probs.clamp(1e-30).log()).sum(1), atol=1e-4, rtol=0)
    assert isinstance(env.envs, GamesVectorEnv)
    batch: Any = env.envs.batch
    played = OBSERVER.places.joint_actions(batch, actions.numpy())
    agent = sb3_agent(policy, env.envs.codec)
    assert agent(OBSERVER.observe_batch(batch), batch.mask, np.random.default_rng(0)).tolist() == played.tolist()


@pytest.mark.parametrize("padded", [False, True])
def test_the_policy_of_stable_baselines3_needs_actions_by_place(padded: bool) -> None:
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import MaskablePPO

    from quincunx_agents.torch import QuincunxMaskablePolicy
    from quincunx_env.adapters.sb3 import SolitaireVecEnv

    env = SolitaireVecEnv(2, observation="vector", preview=True, padded=padded)
    with pytest.raises(ValueError, match=r'^[^\n]* needs Discrete\(\d+\), got .*with actions="hand"[^\n]*again$'):
        MaskablePPO(QuincunxMaskablePolicy, env, policy_kwargs={"observer": env.envs.observer}, device="cpu")


@pytest.mark.parametrize("actions", ["joint", "hand"])
def test_an_agent_encodes_observations_as_in_training(actions: str) -> None:
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import MaskablePPO

    from quincunx_agents.torch import sb3_agent
    from quincunx_env.adapters.sb3 import SolitaireVecEnv

    env = SolitaireVecEnv(20, observation="vector", preview=True, actions=actions)
    model = MaskablePPO("MlpPolicy", env, device="cpu", seed=0)
    for parameter in model.policy.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    shown, masks = env.reset(), env.envs.action_masks()
    assert isinstance(shown, np.ndarray)
    expected, _ = model.predict(shown, action_masks=masks, deterministic=True)
    assert isinstance(env.envs, GamesVectorEnv)
    observer, batch = env.envs.observer, env.envs.batch
    agent = sb3_agent(model.policy, env.envs.codec)
    chosen = agent(observer.observe_batch(batch), observer.mask_batch(batch), np.random.default_rng(0))
    played = observer.places.joint_actions(batch, expected) if actions == "hand" else expected
    assert chosen.tolist() == played.tolist()
