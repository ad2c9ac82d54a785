"""Expert iteration: files of positions, what is learned from them, resumption."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from quincunx_agents.afterstates import FeatureLayout
from quincunx_agents.agent_specs import agent_spec_of, rules_of, with_options
from quincunx_agents.networks import value
from quincunx_agents.networks.value import load_weights
from quincunx_agents.torch import ValueNetwork
from train.common.checkpoint import CheckpointError
from train.common.options import OptionError
from train.expert_iteration import training as expert_iteration
from train.expert_iteration.search_targets import (
    SearchTargets,
    outputs_of_plays,
    policy_loss,
    predicted_values,
    search_loss,
)
from train.expert_iteration.training import Arguments, file_of, learn, main, read, variant_of, write
from train.td_lambda.workers import GameShare

TINY = Arguments(
    name="tiny", teacher="spiral", variants=("spiral",), files=3, games=4, opponent="greedy", opponent_share=0.5,
    search_share=0.3, search_plays=3, search_depth=1, shortlist=0, workers=0, epochs=1, batch_size=8, against="greedy",
    eval_deals=2, test_deals=2, progress=False, options_share=0.5,
)  # fmt: skip

FEATURES = agent_spec_of(rules_of("2-corners")).features.LAYOUT


def positions(count: int, cells: int, cards: int, seed: int = 0) -> SearchTargets:
    """Positions with three plays each, whose sets have so many elements."""
    rng, parts = np.random.default_rng(seed), []
    for (most, size), number in zip(FEATURES.sets, (cells, cards), strict=True):
        elements = np.zeros((count, 3, most, size), np.float16)
        elements[:, :, :number] = rng.random((count, 3, number, size))
        elements[:, :, :number, 0] = 1
        parts.append(elements.reshape(count, 3, -1))
    context = rng.random((count, 3, FEATURES.context)).astype(np.float16)
    points, values = rng.integers(-20, 20, (2, count, 3)).astype(np.float32)
    return SearchTargets(np.concatenate([*parts, context], axis=2), points, values, np.full(count, 2))


def outputs(network: ValueNetwork, layout: FeatureLayout, found: SearchTargets) -> Any:
    network.layout = layout
    with torch.no_grad():
        return outputs_of_plays(network, torch.from_numpy(found.features).float()).numpy()


def test_files_are_read_without_padding(tmp_path: Path) -> None:
    """Which makes no difference to a network."""
    parts = [positions(5, 3, 6), positions(4, 7, 2, seed=1)]
    for number, part in enumerate(parts):
        write(tmp_path / f"{number}.npz", part, FEATURES, 1.5)
    found, layout, seconds = read([tmp_path / "0.npz", tmp_path / "1.npz"], FEATURES)
    assert seconds == 3.0
    assert [most for most, _ in layout.sets] == [7, 6]
    assert found.features.shape == (9, 3, layout.size)
    torch.manual_seed(0)
    network = ValueNetwork(FEATURES, 8, 16)
    expected = np.concatenate([outputs(network, FEATURES, part) for part in parts])
    assert outputs(network, layout, found) == pytest.approx(expected, abs=1e-3)
    for name in ("points", "values", "seats"):
        assert (getattr(found, name) == np.concatenate([getattr(part, name) for part in parts])).all()


def no_loss(outputs: torch.Tensor, *_: Any) -> torch.Tensor:
    return 0 * outputs.sum()


def test_differences_are_learned_and_values_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert_iteration, "LEARNING_RATE", 3e-3)
    monkeypatch.setattr(expert_iteration, "policy_loss", no_loss)
    found = positions(64, 3, 3)
    torch.manual_seed(0)
    network = ValueNetwork(FEATURES, 32, 64)
    rest = [torch.from_numpy(part) for part in found[1:]]

    def loss(outputs: Any) -> float:
        return search_loss(torch.from_numpy(outputs), *rest).item()

    before = outputs(network, FEATURES, found)
    learn(replace(TINY, epochs=60, batch_size=16), network, found)
    after = outputs(network, FEATURES, found)
    assert loss(after) < 0.5 * loss(before)
    moved = np.abs(after - before).mean(axis=(0, 1))
    assert moved[:2].max() < 0.5 * moved[4], "the preference learns"


def test_the_better_plays_are_preferred_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy loss raises the differences between plays beyond those of the search."""
    monkeypatch.setattr(expert_iteration, "LEARNING_RATE", 3e-3)
    found, spread = positions(64, 3, 3), list[float]()
    points, _, seats = (torch.from_numpy(part) for part in found[1:])
    for loss in (policy_loss, no_loss):
        monkeypatch.setattr(expert_iteration, "policy_loss", loss)
        torch.manual_seed(0)
        network = ValueNetwork(FEATURES, 32, 64)
        learn(replace(TINY, epochs=60, batch_size=16), network, found)
        after = torch.from_numpy(outputs(network, FEATURES, found))
        spread.append(float(predicted_values(after, points, seats).std(dim=1).mean()))
    assert spread[0] > spread[1]


def test_the_members_of_an_ensemble_stay_apart() -> None:
    network = ValueNetwork(FEATURES, 8, 16)
    weight = network.get_parameter("trunk.2.weight")
    with torch.no_grad():
        weight[:4, 8:] = 0
        before = weight.clone()
    learn(TINY, network, positions(64, 3, 3))
    after = network.get_parameter("trunk.2.weight")
    assert (after == 0).equal(before == 0)
    assert not after.equal(before)


@pytest.mark.slow
def test_a_run_that_is_resumed_ends_as_an_uninterrupted_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    card = main(TINY)
    assert card["steps"] == 3 * 4 * 24
    assert card["positions"] > 10
    assert {*card["benchmark"]} == {"spiral"}
    weights = load_weights(Path("runs/tiny/tiny.safetensors"))
    files = sorted(Path("runs/tiny/positions").iterdir())
    assert len(files) == 3
    before = [path.read_bytes() for path in files]
    initial = value.load("spiral").weights
    assert weights.candidates == initial.candidates
    assert not (weights.tensors["trunk.4.weight"] == initial.tensors["trunk.4.weight"]).all()

    files[1].unlink()
    Path("runs/tiny/tiny.safetensors").unlink()
    main(replace(TINY, resume=True, workers=2))
    again = load_weights(Path("runs/tiny/tiny.safetensors"))
    assert all((again.tensors[name] == array).all() for name, array in weights.tensors.items())
    parts = [dict(np.load(path)) for path in files]
    for path, earlier, part in zip(files, before, parts, strict=True):
        path.write_bytes(earlier)
        assert all((part[name] == array).all() for name, array in np.load(path).items() if name != "seconds")

    with pytest.raises(CheckpointError, match=r"started with temperature=0\.5"):
        main(replace(TINY, resume=True, temperature=1.0))
    assert main(replace(TINY, resume=True, files=2))["steps"] == 2 * 4 * 24, "with fewer files"
    main(TINY)
    assert Path("runs/tiny-1").is_dir(), "the earlier run is kept"


def test_too_few_positions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="--batch-size must be at most the number of positions"):
        main(replace(TINY, files=1, games=2, batch_size=10_000))
    with pytest.raises(OptionError, match="--search-share or --games must be larger"):
        main(replace(TINY, files=1, games=2, search_share=0.0))


def test_a_share_of_the_files_has_options() -> None:
    arguments = replace(TINY, teacher="two-players", variants=("2-corners",), options_share=0.25, opponent="greedy")
    played = [variant_of(arguments, "2-corners", 0, number) for number in range(400)]
    assert 60 < sum(variant != "2-corners" for variant in played) < 140
    assert {*played} == {"2-corners", *with_options("2-corners")}
    assert {variant_of(replace(arguments, options_share=0.0), "2-corners", 0, n) for n in range(50)} == {"2-corners"}


def test_files_follow_from_their_numbers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is played on other deals."""
    monkeypatch.chdir(tmp_path)
    seeds = list[int]()

    def share(variant: str, games: int, seed: int, randomness: tuple[int, ...]) -> GameShare:
        seeds.extend(range(seed, seed + games))
        return GameShare(variant, games, seed, randomness)

    monkeypatch.setattr("train.expert_iteration.training.GameShare", share)
    main(replace(TINY, games=2, search_share=0.5, search_plays=2))
    assert len({*seeds}) == len(seeds) == 6
    assert file_of(TINY, "spiral", 2).name == "spiral-00002.npz"
