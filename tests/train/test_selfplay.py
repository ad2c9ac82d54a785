"""Training by self-play: what is learned from, what the pool does, files, going on after a stop."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch
from quincunx_agents.greedy import greedy
from quincunx_agents.networks.value import (
    VARIANTS,
    evaluate_afterstates,
    feature_module_of,
    load_weights,
    value_and_preference,
)
from quincunx_agents.torch import ValueNetwork as Network

from quincunx_env.registry import make_observer, spec_of
from train import selfplay
from train.common import checkpoint
from train.common.opponents import Member, Pool
from train.selfplay import Arguments, Clock, Decisions, Lessons, Opponents, learn, main, play, ppo

TINY = Arguments(
    name="tiny", variants=("2-corners", "3-open"), iterations=4, games=6, updates=2, batch_size=32, candidates=4, replay=2,
    set_width=8, width=16, snapshot_every=1, eval_every=4, eval_deals=2, test_deals=2, policy_weight=0.1,
    policy_batch=8, pool_share=0.5, baselines=("greedy",), progress=False,
)  # fmt: skip


def network_for(form: str, seed: int = 0) -> Network:
    torch.manual_seed(seed)
    return Network(feature_module_of(VARIANTS[form]).LAYOUT, 8, 16)


def lessons_of(form: str, games: int = 2, pool: Opponents | None = None, **options: Any) -> Any:
    arguments = replace(TINY, **options)
    weights, nobody = network_for(form).weights(), Pool[Any]("uniform")
    return play(arguments, VARIANTS[form], games, weights, pool or nobody, 7, np.random.default_rng(0), Clock())


@pytest.mark.parametrize("form", VARIANTS)
def test_the_network_of_the_training_is_the_same(form: str) -> None:
    rules, network = VARIANTS[form], network_for(form)
    observer, game = make_observer(rules, preview=True), feature_module_of(VARIANTS[form])
    batch = spec_of(rules).Batch(rules, 3)
    batch.reset(seed=0)
    torch.nn.init.normal_(next(network.trunk[-1].parameters()))
    plays = game.afterstates_of(rules, observer.observe_batch(batch), batch.mask())
    with torch.no_grad():
        expected = network(torch.from_numpy(plays.features(game.LAYOUT)).float()).numpy()
    for at, described in plays.chunks:
        said = np.column_stack(value_and_preference(network.weights(), described))
        assert said == pytest.approx(expected[at], rel=1e-2, abs=0.05), "up to half precision"


@pytest.mark.parametrize("form", VARIANTS)
def test_with_all_of_the_truth_targets_are_what_was_scored(form: str) -> None:
    """With lambda 1 what is still to come for each seat falls from play to play by what was scored."""
    rules = VARIANTS[form]
    players = rules.num_players
    lessons, _ = lessons_of(form, games=1, td_lambda=1.0, policy_weight=0.0)
    assert (lessons.seats == players).all()
    assert not lessons.target[:, players:].any()
    assert lessons.target == pytest.approx(np.round(lessons.target), abs=1e-3), "points are whole"
    # Lessons run from the last play to the first, seats are counted from each play's mover.
    for later, earlier in zip(lessons.target, lessons.target[1:], strict=False):
        turned = np.roll(later[:players], 1) if players > 1 else later[:players]
        fallen = earlier[:players] - turned
        mover = 1 % players  # as seen from the earlier play, the later one's mover sits next
        assert not np.delete(fallen, mover).any(), "only the mover scores"


def test_targets_mix_truth_and_thought() -> None:
    """With lambda 0 a target is what the next play scored and what the network then thought."""
    form = "2-corners"
    lessons, _ = lessons_of(form, games=1, td_lambda=0.0, policy_weight=0.0)
    whole, _ = lessons_of(form, games=1, td_lambda=1.0, policy_weight=0.0)
    with torch.no_grad():
        said = network_for(form)(torch.from_numpy(lessons.told).float()).numpy()
    for number in range(2, len(said)):
        scored = whole.target[number, :2] - whole.target[number - 1, 1::-1]
        assert lessons.target[number, :2] == pytest.approx(scored + said[number - 1, 1::-1], abs=0.2)


def test_outcome_rewards_come_at_the_end() -> None:
    lessons, _ = lessons_of("3-corners", games=4, td_lambda=1.0, reward="outcome", policy_weight=0.0)
    assert lessons.target[:, :3].sum(axis=1) == pytest.approx(0, abs=1e-4)
    assert {*np.round(lessons.target[:, :3] / 30, 3).ravel()} <= {1.0, -0.5, 0.25}
    assert len(lessons.target) == 4 * VARIANTS["3-corners"].num_rounds * 21, "nothing is known before the end"


def test_decisions_are_the_learners_own() -> None:
    pool: Opponents = Pool("prioritised", [Member("greedy", greedy)])
    lessons, alone = lessons_of("2-corners", games=8, pool_share=0.0, pool=pool)
    assert pool.members[0].games == 0
    _, mixed = lessons_of("2-corners", games=8, pool_share=1.0, pool=pool)
    assert pool.members[0].games == 8
    assert 0 <= pool.members[0].won <= 8
    assert len(alone.chosen) == 8 * 20
    assert len(mixed.chosen) == 8 * 10
    assert len(lessons.seats) == 8 * 19, "the last play leaves nothing to judge"
    assert (alone.chance <= 0).all()
    assert (alone.chosen < TINY.candidates).all()
    assert np.isfinite(alone.known[np.arange(len(alone.chosen)), alone.chosen]).all()


@pytest.mark.parametrize(("sampling", "expected"), [("latest", 2), ("prioritised", 1)])
def test_the_pool_is_drawn_from(sampling: Any, expected: int) -> None:
    pool: Opponents = Pool(sampling, [Member("a", {}, 99, 100), Member("b", {}, 1, 100), Member("c", {}, 95, 100)])
    who = selfplay.draw_players(pool, 400, 3, 1.0, np.random.default_rng(0))
    assert ((who == -1).sum(axis=1) == 1).all()
    drawn = np.bincount(who.max(axis=1), minlength=3)
    assert drawn.argmax() == expected
    if sampling == "latest":
        assert drawn[expected] == 400
    assert {*np.flatnonzero((who == -1).any(axis=0))} == {0, 1, 2}, "the learner takes every seat"


def test_ppo_never_gives_a_masked_play_a_chance() -> None:
    _, decisions = lessons_of("2-corners", games=4)
    network = network_for("2-corners")
    known = decisions.known.copy()
    known[:, 1:] = -np.inf  # a single play is left
    one = decisions._replace(known=known, chosen=np.zeros_like(decisions.chosen))
    tensors = [torch.from_numpy(part) for part in one]
    tensors = [part.float() if part.dtype == torch.float16 else part for part in tensors]
    terms = ppo(TINY, network, tensors)
    assert terms["entropy"].item() == pytest.approx(0, abs=1e-6)
    assert torch.isfinite(terms["policy"])


def test_ppo_prefers_what_came_off_better() -> None:
    """Only a preference can tell plays apart here, and it does after some steps."""
    generator = np.random.default_rng(0)
    count, plays, size = 256, 3, feature_module_of(VARIANTS["2-corners"]).LAYOUT.size
    told = np.zeros((count, plays, size), np.float16)
    told[:, np.arange(plays), -1 - np.arange(plays)] = 1
    chosen = generator.integers(plays, size=count)
    decisions = Decisions(
        told, np.zeros((count, plays), np.float32), np.ones((count, plays), np.bool_),
        np.tile(np.array([1, -1, 0, 0], np.float32), (count, 1)), chosen,
        np.full(count, np.log(1 / plays), np.float32), np.where(chosen == 1, 1, -1).astype(np.float32),
    )  # fmt: skip
    target = np.zeros((count, 4), np.float32)
    lessons = Lessons(told[:, 0], target, np.full(count, 2))
    network = network_for("2-corners")
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    arguments = replace(TINY, updates=60, policy_weight=1.0, policy_batch=128, clip_range=10.0)
    learn(arguments, network, optimizer, lessons, decisions, generator)
    with torch.no_grad():
        said = network(torch.from_numpy(told).float())[..., 4].mean(dim=0)
    assert said.argmax() == 1


@pytest.mark.parametrize("forms", [("solitaire",), ("2-corners", "4-open"), ("spiral",)])
def test_training_writes_weights_and_card(
    forms: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    against = "spiral-heuristic-v0" if forms == ("spiral",) else "heuristic-v0"
    arguments = replace(TINY, variants=forms, iterations=2, eval_every=1, against=against)
    card = main(arguments)
    folder = tmp_path / "runs/tiny"
    network = load_weights(folder / "tiny.safetensors")
    assert network.variants == forms
    assert network.candidates == 4
    assert [entry["iteration"] for entry in card["validation"]] == [1, 2]
    assert card["plays"] > 0
    assert 0 < card["environment's share"] < 1
    assert {*card["benchmark"]} == {*forms}
    assert json.loads((folder / "tiny.json").read_text())["benchmark"] == card["benchmark"]
    assert (folder / "learning_curve.png").stat().st_size > 1000
    assert list((folder / "tensorboard").iterdir())


def test_a_run_that_goes_on_is_the_run_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    straight = main(replace(TINY, name="straight"))
    stopped = replace(TINY, name="stopped", checkpoint_every=2)
    real, calls = selfplay.learn, iter(range(100))

    def stop(*arguments: Any) -> Any:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(selfplay, "learn", stop)
    with pytest.raises(KeyboardInterrupt):
        main(stopped)
    monkeypatch.setattr(selfplay, "learn", real)
    resumed = main(replace(stopped, resume=True))
    files = [tmp_path / f"runs/{name}/{name}.safetensors" for name in ("straight", "stopped")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert resumed["benchmark"] == straight["benchmark"]
    assert resumed["pool"] == straight["pool"]
    with pytest.raises(SystemExit, match="candidates=4"):
        main(replace(stopped, resume=True, candidates=5))


def test_starts_from_a_shipped_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A best response: all the other seats are the shipped network's, and learning begins with its weights."""
    monkeypatch.chdir(tmp_path)
    response = replace(
        TINY, init_from="players-v0", baselines=("value",), against="value", pool_share=1.0, snapshot_every=99,
        iterations=1, learning_rate=0.0, set_width=48, width=128, candidates=12, eval_deals=4, policy_weight=0.0,
    )  # fmt: skip
    card = main(response)
    assert {*card["pool"]} == {"value"}
    won = [numbers["won"] / numbers["even"] for numbers in card["validation"][-1]["forms"].values()]
    assert won == [1.0, 1.0], "against itself it is even"


def test_refuses_what_it_cannot_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="one game"):
        main(replace(TINY, variants=("2-corners", "spiral")))
    with pytest.raises(checkpoint.CheckpointError, match="no checkpoint"):
        main(replace(TINY, resume=True))
    main(replace(TINY, iterations=1))
    file = tmp_path / "runs/tiny/checkpoint.pt"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(checkpoint.CheckpointError, match="damaged"):
        main(replace(TINY, resume=True))


def test_onnx_plays_as_the_network_does(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from quincunx_agents.networks.value import WEIGHTS, margin_weights

    from train.export import Arguments as Export
    from train.export import main as export

    rules = VARIANTS["3-open"]
    path = export(Export("players-v0", players=3, output=tmp_path / "network.onnx"))
    network = load_weights(WEIGHTS / "players-v0.safetensors")
    observer, game = make_observer(rules, preview=True), feature_module_of(rules)
    batch = spec_of(rules).Batch(rules, 1)
    batch.reset(seed=3)
    plays = game.afterstates_of(rules, observer.observe_batch(batch), batch.mask())
    mask = np.random.default_rng(0).random((1, len(plays.rows))) < 0.5
    told = {"told": plays.features(game.LAYOUT)[None].astype(np.float32), "points": plays.points[None], "mask": mask}
    worth, choice = onnxruntime.InferenceSession(path).run(None, told)
    to_come, preferred = evaluate_afterstates(network.tensors, plays)
    expected = np.where(mask[0], plays.points + to_come @ margin_weights(3) + preferred, -np.inf)
    assert worth[0] == pytest.approx(expected, rel=1e-2, abs=0.05), "up to half precision"
    assert expected[choice[0]] == pytest.approx(expected.max(), abs=0.05), "mirrored cells are worth the same"
    with pytest.raises(SystemExit, match="--players"):
        export(Export("players-v0"))
