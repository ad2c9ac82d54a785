"""Networks merged into one that computes the mean of their outputs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from quincunx_agents.afterstates import AfterstateFeatures, Floats
from quincunx_agents.networks import value
from quincunx_agents.networks.value import (
    VARIANTS,
    ValueWeights,
    feature_module_of,
    load_weights,
    save_weights,
    value_and_preference,
)
from quincunx_agents.torch import ValueNetwork
from quincunx_env.registry import make_observer, spec_of
from train import selfplay
from train.common.model_card import model_card
from train.common.options import OptionError
from train.ensemble import Arguments, main, merge, summary


def network(variant: str, seed: int, *, layout: int = -1, set_width: int = 8, width: int = 16) -> ValueWeights:
    torch.manual_seed(seed)
    made = ValueNetwork(feature_module_of(VARIANTS[variant]).LAYOUTS[layout], set_width, width)
    for parameter in made.parameters():  # biases are not 0, and outputs differ
        torch.nn.init.normal_(parameter, std=0.2)
    return ValueWeights(made.weights(), (variant,), candidates=4 + seed)


@pytest.mark.parametrize("variant", ["solitaire", "3-open", "spiral"])
@pytest.mark.parametrize("layout", [0, -1])
def test_outputs_are_the_mean_of_those_of_the_members(variant: str, layout: int) -> None:
    rules = VARIANTS[variant]
    members = [
        network(variant, 0, layout=layout),
        network(variant, 1, layout=layout, set_width=4, width=10),
        network(variant, 2, layout=layout),
    ]
    merged = merge(members)
    batch = spec_of(rules).Batch(rules, 5)
    batch.reset(seed=0)
    module = feature_module_of(rules)
    afterstates = module.afterstates_of(
        rules, make_observer(rules, preview=True).observe_batch(batch), batch.mask(), layout=module.LAYOUTS[layout]
    )
    for _, features in afterstates.chunks:
        values, preferences = value_and_preference(merged.tensors, features)
        expected = [value_and_preference(each.tensors, features) for each in members]
        assert values == pytest.approx(np.mean([each for each, _ in expected], axis=0), rel=1e-4, abs=1e-3)
        assert preferences == pytest.approx(np.mean([each for _, each in expected], axis=0), rel=1e-4, abs=1e-3)
        assert np.std([each for each, _ in expected], axis=0).mean() > 1, "the members differ"


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_members_are_multiplied_apart_from_each_other(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is that of the whole weights, most of which are 0."""
    members = [network("2-open", seed) for seed in range(count)]
    merged = merge(members).tensors
    layout = feature_module_of(VARIANTS["2-open"]).LAYOUTS[-1]
    rng = np.random.default_rng(0)
    sets = tuple(rng.random((6, 3, size), np.float32) for _, size in layout.sets)
    features = AfterstateFeatures(sets, rng.random((6, layout.context), np.float32))
    apart, product, shapes = value_and_preference(merged, features)[0], value._product, list[tuple[int, ...]]()

    def recorded(inputs: Floats, weight: Floats, xp: Any) -> Floats:
        shapes.append(weight.shape)
        return product(inputs, weight, xp)

    monkeypatch.setattr(value, "_product", recorded)
    value_and_preference(merged, features)
    assert (8, 8) in shapes, "a member's second layer of a set"
    monkeypatch.setattr(value, "_product", lambda inputs, weight, _: inputs @ weight.T)
    assert value_and_preference(merged, features)[0] == pytest.approx(apart, rel=1e-4, abs=1e-3)


def test_it_evaluates_the_most_candidates_of_a_member() -> None:
    members = [network("mini-2", seed) for seed in range(2)]
    assert merge(members).candidates == 5
    assert merge([*members, members[0]._replace(candidates=0)]).candidates == 0, "0 is all"


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (network("4-open", 1), "the same variants"),
        (network("2-open", 1, layout=0), "--card-set and --replies"),
        (network("2-open", 1, width=11), "an even --width"),
    ],
)
def test_networks_that_do_not_fit_are_refused(other: ValueWeights, complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        merge([network("2-open", 0, width=11 if "width" in complaint else 16), other])


def test_one_network_is_refused() -> None:
    with pytest.raises(OptionError, match="--members must be two or more files"):
        Arguments((Path("a.safetensors"),), "merged")


def test_the_script_writes_weights_and_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths, cards = [], []
    for seed in range(2):
        options = selfplay.Arguments(
            name=f"run-{seed}", seed=seed, variants=("mini-2",), iterations=1, games=4, updates=1, candidates=3,
            shortlist=3, workers=0, set_width=8, width=16, eval_deals=2, test_deals=2, against="greedy",
            progress=False,
        )  # fmt: skip
        cards.append(selfplay.main(options))
        paths.append(options.folder / f"{options.name}.safetensors")
    card = main(Arguments(tuple(paths), "merged", against="uniform", test_deals=2))
    assert card["steps"] == sum(each["steps"] for each in cards)
    assert card["members"] == [each["command"] for each in cards]
    assert card["arguments"]["against"] == "uniform"
    assert "seed" not in card["arguments"], "it differs"
    written = load_weights(Path("runs/merged/merged.safetensors"))
    assert written.variants == ("mini-2",)
    assert {name: tensor.tolist() for name, tensor in written.tensors.items()} == {
        name: tensor.tolist() for name, tensor in merge([load_weights(path) for path in paths]).tensors.items()
    }
    assert "The mean of 2 networks, one training run each" in model_card(card, "merged").text

    main(Arguments(tuple(paths), "merged", candidates=0, test_deals=2))
    assert load_weights(Path("runs/merged/merged.safetensors")).candidates == 0
    assert Path("runs/merged-1/merged.safetensors").exists(), "the earlier one is kept"


def test_cards_of_other_runs_are_refused() -> None:
    with pytest.raises(OptionError, match="no entry 'arguments'"):
        summary([{"command": "python -m train.selfplay"}] * 2)


def test_an_untrained_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its model card nothing says how a member was trained."""
    monkeypatch.chdir(tmp_path)
    for seed in range(2):
        save_weights(Path(f"{seed}.safetensors"), network("mini-2", seed))
    with pytest.raises(OSError, match=r"0\.json"):
        main(Arguments((Path("0.safetensors"), Path("1.safetensors")), "merged"))
    assert not Path("runs").exists()
