"""Networks that play at first sight: the same without torch, and files of them."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import agents  # noqa: E402
from agents import files  # noqa: E402
from agents.first_sight import Network, PlayAgent, load_weights, logits, save_weights  # noqa: E402
from agents.network import PlayNetwork  # noqa: E402
from agents.value import WEIGHTS, ValueAgent, WeightsError  # noqa: E402
from quincunx_env.arena import compare  # noqa: E402
from quincunx_env.core.observation import Pieces  # noqa: E402
from quincunx_env.games import observer_of  # noqa: E402
from quincunx_env.quincunx.batch import Batch  # noqa: E402
from quincunx_env.quincunx.rules import Rules, multiplayer_rules  # noqa: E402
from quincunx_env.spiral import Rules as SpiralRules  # noqa: E402

GAMES = [Rules(), Rules(pawns=True, flush=True), multiplayer_rules(2), multiplayer_rules(4, start="open", match=True)]


def trained(rules: Rules) -> PlayNetwork:
    """A network with weights as if it had learned something."""
    torch.manual_seed(3)
    network = PlayNetwork(observer_of(rules, preview=True), width=24, depth=8)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return network


def positions(rules: Rules) -> tuple[Pieces, np.ndarray]:
    """What is observed in the middle of some games, with the mask."""
    batch, rng = Batch(rules, 20), np.random.default_rng(3)
    batch.reset(seed=5)
    for _ in range(4):
        batch.step(np.array([rng.choice(np.flatnonzero(row)) for row in batch.mask()]))
    return observer_of(rules, preview=True).observe_batch(batch), batch.mask()


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_it_plays_the_same_without_torch(rules: Rules) -> None:
    network = trained(rules)
    observation, mask = positions(rules)
    flat = torch.from_numpy(observer_of(rules, preview=True).flatten(observation).astype(np.float32))
    with torch.no_grad():
        wanted = network.forward_actor(flat).numpy()
    found = logits(network.trained(), observation)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    played = PlayAgent(network.trained())(observation, mask, np.random.default_rng())
    assert mask[np.arange(len(mask)), played].all()
    assert (played == np.where(mask, wanted, -np.inf).argmax(axis=1)).all()


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_a_file_of_it_is_loaded_by_its_name(rules: Rules, tmp_path: Path) -> None:
    path, network = tmp_path / "mine.safetensors", trained(rules).trained()
    save_weights(path, network)
    agent = agents.load(path)
    assert isinstance(agent, PlayAgent)
    assert agent.network.rules == rules
    assert all((agent.network.weights[name] == array).all() for name, array in network.weights.items())
    observation, mask = positions(rules)
    rng = np.random.default_rng()
    assert (agent(observation, mask, rng) == PlayAgent(network)(observation, mask, rng)).all()


def test_files_of_both_kinds_are_told_apart(tmp_path: Path) -> None:
    shipped = agents.load(str(WEIGHTS / "players-v0.safetensors"))
    assert isinstance(shipped, ValueAgent)
    save_weights(tmp_path / "mine.safetensors", trained(multiplayer_rules(2)).trained())
    game = compare([agents.load(tmp_path / "mine.safetensors"), shipped], deals=2, names=["mine", "shipped"])
    assert game.win_rate().value < 1
    with pytest.raises(WeightsError, match="does not tell what they have learned"):
        load_weights(WEIGHTS / "players-v0.safetensors")
    with pytest.raises(ValueError, match="no network 'mine'"):
        agents.load("mine")


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path, network = tmp_path / "mine.safetensors", trained(Rules()).trained()
    with pytest.raises(WeightsError, match="missing"):
        agents.load(path)
    save_weights(path, network)
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with pytest.raises(WeightsError, match="damaged"):
        agents.load(path)
    path.write_bytes(whole[:-7] + bytes(7))
    with pytest.raises(WeightsError, match="checksum"):
        agents.load(path)
    cut = dict(network.weights) | {"wanted.bias": network.weights["wanted.bias"][:-1]}
    for strange in (dataclasses.replace(network, weights=cut), dataclasses.replace(network, rules=Rules(pawns=True))):
        save_weights(path, strange)
        with pytest.raises(WeightsError, match="another version"):
            agents.load(path)
    missing = {name: array for name, array in network.weights.items() if name != "trunk.0.bias"}
    files.write(path, missing, {"network": "play", "rules": {"players": 5}}, "")
    with pytest.raises(WeightsError, match="another version"):
        agents.load(path)


def test_other_games_than_the_learned_one_are_refused() -> None:
    agent = PlayAgent(trained(Rules()).trained())
    observation, mask = positions(multiplayer_rules(2))
    with pytest.raises(ValueError, match="the observation is of another game"):
        agent(observation, mask, np.random.default_rng())
    for observer in (
        observer_of(Rules()),
        observer_of(multiplayer_rules(2, simpleton=True), preview=True),
        observer_of(SpiralRules(), preview=True),
    ):
        with pytest.raises(ValueError, match="this network needs"):
            PlayNetwork(observer)


def test_a_network_that_reads_fixed_width_is_not_written() -> None:
    with pytest.raises(ValueError, match="this one reads observations of fixed width"):
        PlayNetwork(observer_of(Rules(), preview=True, fixed_width=True)).trained()


def test_a_network_of_other_sizes_is_a_network(tmp_path: Path) -> None:
    network = PlayNetwork(observer_of(Rules(), preview=True), width=7, depth=3).trained()
    save_weights(tmp_path / "small.safetensors", network)
    assert isinstance(load_weights(tmp_path / "small.safetensors"), Network)
