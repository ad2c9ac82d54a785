"""TD(lambda): targets, the pool, settings, files, resumption."""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from docs.models import model_card
from quincunx_agents.afterstates import Bools
from quincunx_agents.agent_specs import agent_spec_of, rules_of
from quincunx_agents.heuristic import heuristic
from quincunx_agents.networks.value import (
    VALUE_SCALE,
    WEIGHTS,
    load_weights,
    shipped,
    values_of,
)
from quincunx_agents.quincunx.variants import BASE_VARIANTS
from quincunx_agents.torch import ValueNetwork
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of
from train.common import checkpoint
from train.common.options import read_options
from train.common.timer import PhaseTimer
from train.td_lambda import training
from train.td_lambda.learning import learn, value_loss
from train.td_lambda.pool import Member, Pool
from train.td_lambda.results import expected_minutes, minutes, stored_runs
from train.td_lambda.rollout import (
    Result,
    ValueTargets,
    play_games,
    results,
    sample_opponents,
)
from train.td_lambda.settings import SETTINGS, Arguments
from train.td_lambda.training import Learner, main
from train.td_lambda.workers import GameShare, Job, play, workers

TINY = Arguments(
    name="tiny", variants=("2-corners", "3-open"), iterations=4, games=6, updates=2, batch_size=32, candidates=4,
    shortlist=4, workers=0, averaging=0.5, replay=2, set_width=8, width=16, snapshot_every=1, eval_every=4,
    eval_deals=2, test_deals=2, pool_share=0.5, progress=False,
)  # fmt: skip


def network_for(variant: str, seed: int = 0) -> ValueNetwork:
    torch.manual_seed(seed)
    return ValueNetwork(agent_spec_of(rules_of(variant)).features.LAYOUT, 8, 16)


def played(variant: str, games: int = 2, pool: Pool | None = None, **options: Any) -> tuple[ValueTargets, list[Result]]:
    arguments, pool = replace(TINY, **options), pool or Pool()
    weights, rng = network_for(variant).weights(), np.random.default_rng(0)
    return play_games(arguments, rules_of(variant), games, weights, pool, 7, rng, PhaseTimer())


def targets_of(variant: str, games: int = 2, **options: Any) -> ValueTargets:
    return played(variant, games, **options)[0]


EACH = *BASE_VARIANTS, "mini", "mini-2", "solitaire-excuse-pawns-flush", "3-corners-pawns", "2-open-excuse", "spiral"


@pytest.mark.parametrize("variant", EACH)
def test_both_implementations_of_the_value_network_agree(variant: str) -> None:
    rules, network = rules_of(variant), network_for(variant)
    observer, module = make_observer(rules, preview=True), agent_spec_of(rules_of(variant)).features
    batch = spec_of(rules).Batch(rules, 3)
    batch.reset(seed=0)
    torch.nn.init.normal_(next(network.trunk[-1].parameters()))
    afterstates = module.afterstates_of(rules, observer.observe_batch(batch), batch.mask)
    with torch.no_grad():
        expected = network(torch.from_numpy(afterstates.features(network.layout)).float()).numpy()
    for at, described in afterstates.chunks:
        outputs = values_of([network.weights()], described)
        assert outputs == pytest.approx(expected[at], rel=1e-2, abs=0.05), "up to half precision"
    chosen = np.arange(len(afterstates.rows))[::-3].copy()
    features = afterstates.features(network.layout, chosen)
    assert (features == afterstates.features(network.layout)[chosen]).all()


@pytest.mark.parametrize("variant", EACH)
def test_with_lambda_1_targets_are_what_was_scored(variant: str) -> None:
    """The targets of each seat fall from play to play by what was scored."""
    rules = rules_of(variant)
    players = rules.num_players
    targets = targets_of(variant, games=1, td_lambda=1.0, greedy_targets=False)
    assert (targets.seats == players).all()
    assert not targets.targets[:, players:].any()
    assert targets.targets == pytest.approx(np.round(targets.targets), abs=1e-3), "points are whole"
    # They run from the last play to the first, seats are counted from each play's mover.
    for later, earlier in zip(targets.targets, targets.targets[1:], strict=False):
        turned = np.roll(later[:players], 1) if players > 1 else later[:players]
        fallen = earlier[:players] - turned
        mover = 1 % players  # as seen from the earlier play, the later one's mover sits next
        assert np.delete(fallen, mover) == pytest.approx(0, abs=1e-3), "only the mover scores"


def test_with_lambda_0_targets_bootstrap() -> None:
    """A target is the score of the next play and the value that the network predicted there."""
    variant = "2-corners"
    targets = targets_of(variant, games=1, td_lambda=0.0, greedy_targets=False)
    returns = targets_of(variant, games=1, td_lambda=1.0, greedy_targets=False)
    with torch.no_grad():
        predicted = network_for(variant)(torch.from_numpy(targets.features).float()).numpy()
    for number in range(2, len(predicted)):
        scored = returns.targets[number, :2] - returns.targets[number - 1, 1::-1]
        assert targets.targets[number, :2] == pytest.approx(scored + predicted[number - 1, 1::-1], abs=0.2)


@pytest.mark.parametrize("variant", ["solitaire", "2-open"])
def test_targets_are_of_greedy_play(variant: str) -> None:
    """Without exploration they are the same; with it, bootstrapping takes the best value of all candidates."""
    greedy, chosen = (
        [
            targets_of(variant, temperature=temperature, greedy_targets=both, td_lambda=0.0)
            for temperature in (1e-6, 9.0)
        ]
        for both in (True, False)
    )
    assert greedy[0].targets == pytest.approx(chosen[0].targets, abs=1e-3)
    more = greedy[1].targets - chosen[1].targets
    # To the mover of the next play, the seat after that of the last one.
    more = more[:, 0] if rules_of(variant).num_players == 1 else more[:, 1] - more[:, 0]
    assert more.min() >= -1e-3
    assert 0.1 < (more > 1e-3).mean() < 0.9


def test_games_against_the_pool_are_counted_and_learned_from() -> None:
    pool = Pool([Member("past", network_for("2-corners", 1).weights())])
    assert not played("2-corners", games=8, pool_share=0.0, pool=pool)[1]
    targets, against = played("2-corners", games=8, pool_share=1.0, pool=pool)
    assert [(result.member, result.players) for result in against] == [(0, 2)] * 8
    assert {result.share for result in against} <= {0.0, 0.5, 1.0}
    assert len(targets.seats) == 8 * 19, "after the last play there is nothing to predict"


def test_shares_of_wins_against_the_pool() -> None:
    """Of the learner's seats, -1; a tie is half a win each, and self-play does not count."""
    members = np.array([[-1, 0], [1, -1], [0, -1], [-1, -1]])
    ended = SimpleNamespace(totals=np.array([[10, 5], [7, 7], [8, 3], [1, 2]]))
    assert results(members, ended) == [Result(0, 1, 2), Result(1, 0.5, 2), Result(0, 0, 2)]


def test_opponents_are_sampled_from_the_pool() -> None:
    pool = Pool([Member("a", {}, 99, 100), Member("b", {}, 1, 100), Member("c", {}, 95, 100)])
    members = sample_opponents(pool, 400, 3, replace(TINY, pool_share=1.0), np.random.default_rng(0))
    assert ((members == -1).sum(axis=1) == 1).all()
    assert np.bincount(members.max(axis=1), minlength=3).argmax() == 1, "the one that wins most"
    assert {*np.flatnonzero((members == -1).any(axis=0))} == {0, 1, 2}, "the learner takes every seat"


def test_a_share_of_the_games_is_against_an_agent() -> None:
    """It plays its own actions in all seats but one, and its games count for no member of the pool."""
    options = replace(TINY, pool_share=0.25, against_share=0.5)
    members = sample_opponents(Pool([Member("a", {})]), 1000, 2, options, np.random.default_rng(0))
    shares = [(members.min(axis=1) == -2).mean(), (members.max(axis=1) == 0).mean()]
    assert shares == pytest.approx([0.5, 0.25], abs=0.05)
    asked = []

    class Spy:
        """The heuristic; notes the positions that it is asked for."""

        def for_rules(self, rules: BaseRules) -> Policy:
            policy = heuristic.for_rules(rules)

            def play(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Any:
                asked.append(len(mask))
                return policy(observation, mask, rng)

            return play

    rules = rules_of("2-corners")
    weights = network_for("2-corners").weights()
    options, rng = replace(TINY, against_share=1.0, pool_share=0.0), np.random.default_rng(0)
    targets, against = play_games(options, rules, 8, weights, Pool(), 7, rng, PhaseTimer(), Spy())
    assert not against
    assert sum(asked) == 8 * rules.num_plays // 2
    assert len(targets.seats) == 8 * 19


def test_members_learn_alone_and_play_by_their_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member is the run of its seed, bit for bit."""
    monkeypatch.chdir(tmp_path)
    for name, seed, members in (("both", 1, 2), ("first", 2, 1), ("second", 3, 1)):
        main(replace(TINY, name=name, seed=seed, members=members))
    both, *alone = (load_weights(Path(f"runs/{name}/{name}.safetensors")) for name in ("both", "first", "second"))
    for member, single in zip(both.members, alone, strict=True):
        for name, array in single.members[0].items():
            assert (member[name] == (array / np.float32(2) if name.startswith("trunk.4") else array)).all()


def test_a_resumed_run_equals_one_without_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    straight = main(replace(TINY, name="straight"))
    stopped = replace(TINY, name="stopped", checkpoint_every=2, keep_weights=True)
    calls = iter(range(100))

    def stop(*arguments: Any) -> Any:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return learn(*arguments)

    monkeypatch.setattr(training, "learn", stop)
    with pytest.raises(KeyboardInterrupt):
        main(stopped)
    monkeypatch.setattr(training, "learn", learn)
    resumed = main(replace(stopped, resume=True))
    files = [tmp_path / f"runs/{name}/{name}.safetensors" for name in ("straight", "stopped")]
    assert files[0].read_bytes() == files[1].read_bytes()
    kept = {path.stem: path.read_bytes() for path in (tmp_path / "runs/stopped/weights").iterdir()}
    assert {*kept} == {"0", "2", "4"}
    assert kept["4"] == files[1].read_bytes() != kept["2"] != kept["0"]
    assert resumed["benchmark"] == straight["benchmark"]
    assert resumed["pools"] == straight["pools"]
    with pytest.raises(checkpoint.CheckpointError, match="candidates=4"):
        main(replace(stopped, resume=True, candidates=5))


def test_processes_play_what_one_process_plays() -> None:
    pool = Pool([Member("past", network_for("2-open", 1).weights())])
    shares = [GameShare("2-corners", 2, 10, (0, number)) for number in range(3)]
    options = replace(TINY, shortlist=4, pool_share=1.0)
    jobs = [Job(options, network_for("2-open", seed).weights(), pool, shares) for seed in (0, 2)]
    with workers(2) as start:
        for job in jobs:
            for one, other in zip(start(job)(), play(job), strict=True):
                assert (one.targets.features == other.targets.features).all()
                assert (one.targets.targets == other.targets.targets).all()
                assert one.results == other.results
                assert len(one.results) == 2
        with pytest.raises(KeyError, match="trunk"):
            start(Job(options, {}, pool, shares))()


def test_absent_seats_do_not_enter_the_loss() -> None:
    outputs, targets, seats = torch.zeros(2, 4), torch.zeros(2, 4), torch.tensor([1, 3])
    outputs[0, 1:4], targets[1, 3] = 100.0, 100.0
    assert value_loss(outputs, targets, seats) == 0
    outputs[1, 2] = 1.0
    assert value_loss(outputs, targets, seats) == pytest.approx(0.5 / VALUE_SCALE**2 / 4)


def test_the_loss_of_an_iteration_is_the_mean_over_its_updates() -> None:
    network, (features, targets, seats) = network_for("2-corners"), targets_of("2-corners")
    some = ValueTargets(features[:1], targets[:1], seats[:1])
    optimizer = torch.optim.SGD(network.parameters(), lr=0.0)
    losses = [learn(replace(TINY, updates=n), network, optimizer, [some], np.random.default_rng(0)) for n in (1, 3)]
    assert losses[0] == pytest.approx(losses[1])


@pytest.mark.parametrize(("averaging", "expected"), [(0.0, 3.0), (1.0, 2.0)])
def test_weights_are_averaged(averaging: float, expected: float) -> None:
    """The latest weights alone, and the mean of all of them."""
    learner = Learner(replace(TINY, averaging=averaging))
    for number in (1, 2, 3):
        learner.iteration, weights = number, learner.network.state_dict()
        learner.network.load_state_dict({name: torch.full_like(each, number) for name, each in weights.items()})
        learner.average()
    assert learner.averaged["trunk.0.bias"] == pytest.approx(np.full(16, expected))


def test_a_variant_without_options_can_be_learned() -> None:
    """The mini variant has none that could be drawn for a share of the games."""
    arguments = replace(TINY, variants=("mini-2",), options_share=0.5, iterations=1)
    job = Learner(arguments).next_job()
    assert {each.variant for each in job.shares} == {"mini-2"}
    assert sum(each.games for each in job.shares) == arguments.games


def test_the_expected_time_is_that_of_the_stored_runs() -> None:
    """In proportion to the iterations; runs with options of one's own have none."""
    [run] = stored_runs("solitaire-long")
    arguments = read_options(Arguments, "train.td_lambda", None, ["solitaire-long", "--seed", "3"])
    assert expected_minutes(arguments) == pytest.approx(minutes(run))
    assert expected_minutes(replace(arguments, iterations=217)) == pytest.approx(minutes(run) / 2)
    assert expected_minutes(replace(arguments, members=3)) == pytest.approx(minutes(run) * 3)
    assert expected_minutes(replace(arguments, width=64)) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_a_setting_makes_a_network_of_the_package(name: str) -> None:
    """After ten iterations the tensors of the first member have the norms in the model card.

    That holds up to the arithmetic of other processors.
    """
    card = model_card(name)
    assert hashlib.sha256((WEIGHTS / f"{name}.safetensors").read_bytes()).hexdigest() == card["sha256"]
    arguments = read_options(Arguments, "train.td_lambda", None, card["command"].split()[3:])
    learner = Learner(replace(arguments, members=1, seed=arguments.seed * arguments.members))
    job = learner.next_job()
    for _ in range(10):
        learner.receive(play(job), PhaseTimer())
        job = learner.next_job()
        learner.learn()
    norms = {name: float(np.linalg.norm(array)) for name, array in learner.averaged.items()}
    assert norms == pytest.approx(card["after_ten_iterations"], rel=5e-2)  # another seed: 0.54


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_learns_and_writes_what_the_page_says(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two iterations of a few games leave files and print commands."""
    monkeypatch.chdir(tmp_path)
    tiny = "--iterations 2 --games 4 --updates 1 --batch-size 8 --eval-deals 2 --test-deals 2 --workers 0 --no-progress"
    arguments = read_options(Arguments, "train.td_lambda", None, [setting, *tiny.split()])
    card = main(arguments)
    assert card["benchmark"].keys() == {*SETTINGS[setting].options["variants"]}
    files = {path.name for path in (tmp_path / "runs" / setting).iterdir()} - {"weights"}
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    for name in files:
        assert f"`{name.replace(setting, 'solitaire')}`" in page.replace("/`", "`"), name
    assert json.loads((arguments.folder / f"{setting}.json").read_text())["benchmark"] == card["benchmark"]
    assert [entry["done"] for entry in card["validation"]] == [0, 2]
    network = load_weights(arguments.weights)
    assert (network.variants, network.candidates) == (arguments.variants, arguments.candidates)
    about = expected_minutes(arguments)
    printed, agents = capsys.readouterr().out, ("uniform", "greedy", "heuristic", setting)
    assert all((f"| {name} |" in printed) == ("baselines" in card) for name in agents)
    assert printed.startswith("Training takes about 0 min") == (about is not None)
    commands = re.findall(r"^    \S*quincunx ((?:evaluate|compare|play|replay) .*)$", printed, re.MULTILINE)
    assert len(commands) == 3
    paths = [word for command in commands for word in command.split() if word.startswith("runs/")]
    assert all(Path(path).exists() or path.endswith(".html") for path in paths)
