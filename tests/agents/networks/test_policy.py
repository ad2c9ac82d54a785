"""Policy networks: inference in NumPy equals PyTorch, and their weights files."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import quincunx_agents  # noqa: E402
from quincunx_agents.networks import weights_io  # noqa: E402
from quincunx_agents.networks.policy import PolicyNetworkAgent, PolicyWeights, load_weights, logits, save_weights  # noqa: E402
from quincunx_agents.networks.value import WEIGHTS, ValueAgent, WeightsError  # noqa: E402
from quincunx_agents.quincunx.symmetries import symmetries  # noqa: E402
from quincunx_agents.torch import GreedyPolicy  # noqa: E402
from quincunx_agents.torch.networks import PolicyNetwork  # noqa: E402
from quincunx_env.arena import compare  # noqa: E402
from quincunx_env.quincunx.batch import Batch  # noqa: E402
from quincunx_env.quincunx.rules import Rules, multiplayer_rules  # noqa: E402
from quincunx_env.registry import make_observer  # noqa: E402
from quincunx_env.spiral import Rules as SpiralRules  # noqa: E402
from tests.agents.positions import positions, seen  # noqa: E402

RNG = np.random.default_rng(0)

GAMES = [Rules(), Rules(pawns=True, flush=True), multiplayer_rules(2), multiplayer_rules(4, start="open", match=True)]


def trained(rules: Rules) -> PolicyNetwork:
    """A network with weights as if it had learned something."""
    torch.manual_seed(3)
    network = PolicyNetwork(make_observer(rules, preview=True), width=24, depth=8)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return network


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_it_plays_the_same_without_torch(rules: Rules) -> None:
    network = trained(rules)
    observation, mask = seen(positions(rules, 4, 20))
    flat = torch.from_numpy(make_observer(rules, preview=True).flatten(observation).astype(np.float32))
    with torch.no_grad():
        wanted = network.forward_actor(flat).numpy()
    found = logits(network.trained(), observation)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    rng = np.random.default_rng()
    played = PolicyNetworkAgent(network.trained()).for_rules(rules)(observation, mask, rng)
    assert mask[np.arange(len(mask)), played].all()
    greedy = GreedyPolicy(network.forward_actor, make_observer(rules, preview=True), symmetric=True)
    assert played.tolist() == greedy(observation, mask, rng).tolist()


def turned(batch: Batch, cells: np.ndarray) -> Batch:
    """The same games, in their first round, with the content of ``cells`` on the cells of the grid."""
    found, rows = batch.fork(np.arange(batch.num_games)), np.arange(batch.num_games)
    state = found.get_state()
    for name in ("board", "order"):
        state[name][:, : len(cells)] = state[name][:, cells]
    for cell in batch.rules.face_up_cells:
        is_dealt_there = batch.decks[:, 0] == batch.board[:, cell, None]
        state["decks"][rows, 0, is_dealt_there.argmax(axis=1)] = state["board"][:, cell]
    state["seed"][:] = state["game"][:] = -1  # the decks are no longer those of a seed
    found.set_state(state)
    return found


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_it_plays_the_same_on_a_turned_or_reflected_grid(rules: Rules) -> None:
    rng, batch, weights = np.random.default_rng(8), positions(rules, 3), trained(rules).trained()
    policy = PolicyNetworkAgent(weights).for_rules(rules)
    chosen, alone = set[tuple[int, ...]](), set[tuple[int, ...]]()
    for cells in symmetries(rules.num_cells):
        observation, mask = seen(turned(batch, cells))
        actions = policy(observation, mask, rng), np.where(mask, logits(weights, observation), -np.inf).argmax(axis=1)
        for found, views in zip(actions, (chosen, alone), strict=True):
            card, cell = np.divmod(found, rules.num_cells)
            views.add(tuple(card * rules.num_cells + cells[cell]))
    assert len(chosen) == 1
    assert len(alone) > 1, "the logits of one view depend on it"


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_a_file_of_it_is_loaded_by_its_name(rules: Rules, tmp_path: Path) -> None:
    path, network = tmp_path / "mine.safetensors", trained(rules).trained()
    save_weights(path, network)
    agent = quincunx_agents.load(path)
    assert isinstance(agent, PolicyNetworkAgent)
    assert agent.weights.rules == rules
    assert all((agent.weights.tensors[name] == array).all() for name, array in network.tensors.items())
    plays = [each.for_rules(rules)(*seen(positions(rules, 4)), RNG) for each in (agent, PolicyNetworkAgent(network))]
    assert plays[0].tolist() == plays[1].tolist()


def test_files_from_before_an_option_was_added_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, network = tmp_path / "mine.safetensors", trained(Rules(flush=True)).trained()
    older = dataclasses.asdict(network.rules)
    del older["mini"]
    with monkeypatch.context() as patched:
        patched.setattr(dataclasses, "asdict", lambda rules: older)
        save_weights(path, network)
    assert load_weights(path).rules == network.rules


def test_files_of_both_kinds_are_told_apart(tmp_path: Path) -> None:
    shipped = quincunx_agents.load(str(WEIGHTS / "two-players.safetensors"))
    assert isinstance(shipped, ValueAgent)
    save_weights(tmp_path / "mine.safetensors", trained(multiplayer_rules(2)).trained())
    game = compare([quincunx_agents.load(tmp_path / "mine.safetensors"), shipped], deals=2, names=["mine", "shipped"])
    assert game.win_rate().value < 1
    with pytest.raises(WeightsError, match="its metadata lacks network, rules"):
        load_weights(WEIGHTS / "two-players.safetensors")
    with pytest.raises(ValueError, match="no network 'mine'"):
        quincunx_agents.load("mine")


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path, network = tmp_path / "mine.safetensors", trained(Rules()).trained()
    save_weights(path, network)
    path.write_bytes(path.read_bytes()[:-7] + bytes(7))
    with pytest.raises(WeightsError, match="checksum"):
        quincunx_agents.load(path)
    cut = dict(network.tensors) | {"cell_queries.bias": network.tensors["cell_queries.bias"][:-1]}
    for strange in (dataclasses.replace(network, tensors=cut), dataclasses.replace(network, rules=Rules(pawns=True))):
        save_weights(path, strange)
        with pytest.raises(WeightsError, match="another version"):
            quincunx_agents.load(path)
    missing = {name: array for name, array in network.tensors.items() if name != "trunk.0.bias"}
    wrong: tuple[object, ...] = (
        {"players": 5},
        {"num_players": "2"},
        {"start": []},
        [],
        3,
        None,
        {"num_players": 2, "simpleton": True},
    )
    for rules in wrong:
        weights_io.write(path, missing, {"network": "policy", "rules": rules}, "")
        with pytest.raises(WeightsError, match="another version"):
            quincunx_agents.load(path)


def test_other_games_than_the_learned_one_are_refused() -> None:
    agent = PolicyNetworkAgent(trained(Rules()).trained())
    for rules in (multiplayer_rules(2), Rules(pawns=True), SpiralRules()):
        with pytest.raises(ValueError, match="the network has not learned"):
            agent.for_rules(rules)
    for observer in (
        make_observer(Rules()),
        make_observer(multiplayer_rules(2, simpleton=True), preview=True),
        make_observer(SpiralRules(), preview=True),
    ):
        with pytest.raises(ValueError, match="the network needs"):
            PolicyNetwork(observer)


def test_a_network_of_padded_observations_is_not_written() -> None:
    with pytest.raises(ValueError, match="a network of padded observations cannot be written"):
        PolicyNetwork(make_observer(Rules(), preview=True, padded=True)).trained()


def test_a_network_of_other_sizes_is_a_network(tmp_path: Path) -> None:
    network = PolicyNetwork(make_observer(Rules(), preview=True), width=7, depth=3).trained()
    save_weights(tmp_path / "small.safetensors", network)
    assert isinstance(load_weights(tmp_path / "small.safetensors"), PolicyWeights)
