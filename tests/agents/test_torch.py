"""`quincunx_agents.torch`: what it exports, and greedy policies of torch modules."""

import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from quincunx_agents.torch import NetworkPolicy, PolicyNetwork  # noqa: E402
from quincunx_agents.torch.networks import POINTS_UNIT, near_cells  # noqa: E402
from quincunx_env.codec import Codec  # noqa: E402
from quincunx_env.envs.vector import GamesVectorEnv  # noqa: E402
from quincunx_env.quincunx.game import Game  # noqa: E402
from quincunx_env.quincunx.observation import Observer  # noqa: E402
from quincunx_env.quincunx.rules import Rules, multiplayer_rules  # noqa: E402
from quincunx_env.registry import make_observer  # noqa: E402
from quincunx_env.render import to_svg  # noqa: E402
from quincunx_env.spiral import Rules as SpiralRules  # noqa: E402
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
    network, (observation, mask) = PolicyNetwork(OBSERVER), seen(dealt(Rules(), 5))
    torch.nn.init.normal_(network.cell_queries.weight)
    policy = NetworkPolicy(network.forward_actor, CODEC)
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


def test_logits_rise_with_the_bias_of_cards_and_with_points_and_draws() -> None:
    """In the network's units of points and draws; the last plays compared are the best others of card and cell."""
    observation, mask = seen(dealt(Rules(), 10))
    vector, legal = torch.from_numpy(OBSERVER.encoder().encode(observation)), torch.from_numpy(mask)
    network = PolicyNetwork(OBSERVER)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)

    def raised(layer: str, output: int) -> Any:
        """Return how the logits of legal plays change if the bias of an output rises by 1."""
        bias = getattr(network, layer).bias
        with torch.no_grad():
            before = network.forward_actor(vector)[legal]
            bias[output] += 1
            after = network.forward_actor(vector)[legal]
            bias[output] -= 1
        return after - before

    points, draws = np.moveaxis(observation["preview"].reshape(*mask.shape, 2)[mask] / [POINTS_UNIT, 1], -1, 0)
    np.testing.assert_allclose(raised("card_bias", 0), 1, atol=1e-4)
    np.testing.assert_allclose(raised("preview_gain", 0), points, atol=1e-4)
    np.testing.assert_allclose(raised("preview_gain", 1), draws, atol=1e-4)
    table = observation["preview"][..., 0] / POINTS_UNIT
    for output, axis in ((2, 1), (3, 2)):  # over the other cards of the cell, and over the other cells of the card
        top = -np.sort(-table, axis=axis)
        best, second = np.take(top, [0], axis), np.take(top, [1], axis)
        others = np.where(table == best, second, best)
        np.testing.assert_allclose(
            raised("preview_gain", output), (table - others).reshape(mask.shape)[mask], atol=1e-4
        )


def test_sb3_policy_agent_agrees_with_the_prediction_of_stable_baselines3() -> None:
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import MaskablePPO

    from quincunx_agents.torch import QuincunxMaskablePolicy, sb3_agent
    from quincunx_env.adapters.sb3 import SolitaireVecEnv

    env = SolitaireVecEnv(2, observation="vector", preview=True)
    model = MaskablePPO(QuincunxMaskablePolicy, env, policy_kwargs={"observer": OBSERVER}, device="cpu", seed=0)
    for parameter in model.policy.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    observation, mask = seen(dealt(Rules(), 20))
    expected, _ = model.predict(OBSERVER.encoder().encode(observation), action_masks=mask, deterministic=True)
    agent = sb3_agent(model.policy, CODEC)
    assert agent(observation, mask, np.random.default_rng(0)).tolist() == expected.tolist()
    network = model.policy.mlp_extractor
    assert isinstance(network, PolicyNetwork)
    greedy = NetworkPolicy(network.forward_actor, CODEC)
    assert greedy(observation, mask, np.random.default_rng(0)).tolist() == expected.tolist()


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


def test_the_network_needs_the_preview_and_pairs_of_a_card_and_a_cell() -> None:
    for observer in (
        make_observer(Rules()),
        make_observer(multiplayer_rules(2, simpleton=True), preview=True),
        make_observer(SpiralRules(), preview=True),
    ):
        with pytest.raises(ValueError, match="the network needs"):
            PolicyNetwork(observer)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("options", [{}, {"pawns": True}, {"excuse": True}, {"pawns": True, "excuse": True}], ids=str)
def test_the_network_recognises_every_card_by_its_features(options: dict[str, Any], padded: bool) -> None:
    """An empty cell, too, and a place off the grid."""
    observer = make_observer(Rules(**options), preview=True, padded=padded)
    network = PolicyNetwork(observer)
    board = next(piece for piece in observer.pieces if piece.name == "board")
    cards = np.arange(board.limits.min(), board.limits.max() + 1)
    boards = np.resize(cards, (len(cards), *board.shape))
    vectors: Any = np.zeros((len(cards), observer.encoder().size), np.float32)
    board.encoding.encode(boards, vectors[:, observer.encoder().slices["board"]])
    faces = network._faces(torch.from_numpy(vectors))
    assert network.card_of_code[(faces @ network.code_weights).long()].tolist() == boards.tolist()


def test_near_cells_are_one_and_two_away_in_row_and_column() -> None:
    """Of cell 5, in row 1 and column 1 of a grid of 4 rows."""
    assert near_cells(16)[5].tolist() == [16, 4, 6, 7, 16, 1, 9, 13]


def policy_and_positions(rules: Rules, padded: bool, shared: bool) -> tuple[Any, Any, np.ndarray]:
    """A policy of random weights; observations after four random plays and their masks."""
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import MaskablePPO

    from quincunx_agents.torch import QuincunxMaskablePolicy
    from quincunx_env.adapters.sb3 import SolitaireVecEnv

    env = SolitaireVecEnv(30, observation="vector", preview=True, rules=rules, padded=padded)
    own = {"observer": env.envs.observer, "width": 24, "depth": 8, "code": 16, "share_features_extractor": shared}
    policy = MaskablePPO(QuincunxMaskablePolicy, env, policy_kwargs=own, device="cpu", seed=0).policy
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    observation, rng = env.reset(), np.random.default_rng(0)
    for _ in range(4):
        mask = np.stack(env.env_method("action_masks"))
        observation, *_ = env.step(np.array([rng.choice(np.flatnonzero(row)) for row in mask]))
    assert isinstance(observation, np.ndarray)
    return policy, torch.from_numpy(observation), np.stack(env.env_method("action_masks"))


FORMS = pytest.mark.parametrize(
    ("rules", "padded", "shared"),
    [
        (rules, *form)
        for rules in (Rules(), Rules(edge_contact=True, pawns=True))
        for form in ((False, True), (True, True), (False, False))
    ],
    ids=str,
)


@FORMS
def test_actions_are_evaluated_as_by_sb3_contrib(rules: Rules, padded: bool, shared: bool) -> None:
    """Log-probabilities, entropies and their gradients, of the plays alone and of all actions."""
    policy, observation, mask = policy_and_positions(rules, padded, shared)
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

    rng, found = np.random.default_rng(0), []
    actions = torch.from_numpy(np.array([rng.choice(np.flatnonzero(row)) for row in mask]))
    for evaluate in (type(policy).evaluate_actions, MaskableActorCriticPolicy.evaluate_actions):
        values, log_prob, entropy = evaluate(policy, observation, actions, torch.from_numpy(mask))
        policy.zero_grad()
        assert entropy is not None
        (values.sum() + (2 * log_prob + entropy).sum()).backward()
        gradients = [parameter.grad for parameter in policy.parameters()]
        found.append([values[:, 0], log_prob, entropy, *(each for each in gradients if each is not None)])
    assert len(found[0]) == len(found[1]) == 3 + len([*policy.parameters()])
    for ours, wanted in zip(*found, strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-3, atol=1e-3)


@FORMS
def test_actions_are_chosen_as_by_sb3_contrib(rules: Rules, padded: bool, shared: bool) -> None:
    """The most probable action, and the shares of sampled ones within five standard errors."""
    policy, observation, mask = policy_and_positions(rules, padded, shared)
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

    with torch.no_grad():
        ours, wanted = (
            forward(policy, observation, deterministic=True, action_masks=mask)
            for forward in (type(policy).forward, MaskableActorCriticPolicy.forward)
        )
        assert ours[0].tolist() == wanted[0].tolist()
        torch.testing.assert_close(ours[1:], wanted[1:], rtol=1e-3, atol=1e-3)
        assert len(set(ours[0].tolist())) > 1
        probabilities = policy.get_distribution(observation, mask).distribution.probs.numpy()
        row, times = probabilities.max(axis=1).argmin(), 5000  # the least certain of the positions
        torch.manual_seed(0)
        actions, _, log_prob = policy(observation[row].repeat(times, 1), action_masks=mask[row][None].repeat(times, 0))
    expected = probabilities[row]
    np.testing.assert_allclose(log_prob.exp(), expected[actions], rtol=1e-3)
    shares = np.bincount(actions, minlength=len(expected)) / times
    assert (np.abs(shares - expected) <= 5 * np.sqrt(expected * (1 - expected) / times) + 1e-9).all()
    assert (shares > 0.05).sum() > 1
