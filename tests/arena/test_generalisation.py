"""Tasks of generalisation: their rules, means and gap, and policies of padded observations."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quincunx_env.arena import Deals, benchmark
from quincunx_env.arena.benchmark import OTHER_BASELINES, OTHER_RULES, baselines, evaluate_on_task, task_of
from quincunx_env.arena.generalisation import TASKS, GeneralisationTask, evaluate_generalisation
from quincunx_env.policies import EncodedPolicy
from quincunx_env.quincunx.padded import FORM
from quincunx_env.quincunx.rules import Rules

pytest.importorskip("scipy")

OPTIONS = ("edge_contact", "excuse", "pawns", "flush")
ALL = pytest.mark.parametrize("name", TASKS)


def options(rules: Any) -> set[str]:
    return {option for option in OPTIONS if getattr(rules, option)}


@ALL
def test_no_rules_of_the_test_are_in_training(name: str) -> None:
    task = TASKS[name]
    training, test = ([each.rules for each in tasks] for tasks in (task.training, task.test))
    assert not any(rules in training for rules in test)
    assert len({*training, *test}) == len(training) + len(test)
    for each in (*task.training, *task.test):
        assert task_of(each.name) is each
        assert each.name == "solitaire" or options(each.rules) == set(each.name.split("+")[1:])


def test_combinations_have_each_option_in_training_alone_and_in_a_pair() -> None:
    task = TASKS["combinations"]
    training = [options(each.rules) for each in task.training]
    assert len(training) + len(task.test) == 2 ** len(OPTIONS)
    for option in OPTIONS:
        assert {option} in training
        assert any(option in found for found in training if len(found) == 2)
    assert max(map(len, training)) == 2


def test_rules_never_met_have_options_that_are_not_in_training() -> None:
    task = TASKS["rules-never-met"]
    met = set().union(*(options(each.rules) for each in task.training))
    assert met == {"pawns"}
    assert all(options(each.rules) and not options(each.rules) & met for each in task.test)


def test_seats_are_more_in_the_test() -> None:
    task = TASKS["seats"]
    assert {each.rules.num_players for each in task.training} == {2}
    assert {each.rules.num_players for each in task.test} == {3, 4}
    assert {each.opponent for each in (*task.training, *task.test)} == {"heuristic"}


@pytest.mark.parametrize("name", OTHER_RULES)
def test_uniform_play_is_0_and_the_reference_1(name: str) -> None:
    for policy, expected in (("uniform", 0), ("heuristic", 1)):
        stored = baselines(OTHER_BASELINES)[name, policy]
        assert (stored.deals, stored.normalised.value) == (OTHER_RULES[name].final, expected)


@pytest.mark.parametrize("name", ["solitaire+excuse+flush", "3-open"])
def test_stored_scores_are_those_of_the_policies(name: str) -> None:
    found, stored = evaluate_on_task(name, "greedy", deals=100), baselines(OTHER_BASELINES)[name, "greedy"]
    assert found.score.low < stored.score.value < found.score.high


def test_score_training_and_gap_are_means_over_rules() -> None:
    task = TASKS["rules-never-met"]
    found = evaluate_generalisation("rules-never-met", "greedy", split="validation", deals=10)
    alone = {
        each.name: evaluate_on_task(each, "greedy", split="validation", deals=10)
        for each in (*task.training, *task.test)
    }
    assert found.results == alone
    for mean, tasks in ((found.training, task.training), (found.score, task.test)):
        assert mean == pytest.approx(np.mean([alone[each.name].normalised for each in tasks], axis=0))
    assert found.gap.value == pytest.approx(found.training.value - found.score.value)
    assert found.gap.low == pytest.approx(found.training.low - found.score.high)


@pytest.mark.parametrize(("split", "deals"), [("search", 300), ("final", 1_000)])
def test_without_a_number_a_split_with_few_deals_is_played_whole(
    split: Any, deals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(policies: Any, names: Any, config: Any, *rest: Any, **options: Any) -> None:
        raise RuntimeError(f"{config.deals.count} deals")

    monkeypatch.setattr(benchmark, "measure_lineups", stop)
    with pytest.raises(RuntimeError, match=f"^{deals} deals$"):
        evaluate_generalisation("combinations", "greedy", split=split)


def test_a_policy_of_padded_observations_plays_under_all_rules() -> None:
    """It sees the rules in ``form``; here it plays as greedy does, from the padded preview."""
    seen = set[tuple[int, ...]]()

    def padded(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
        seen.update(map(tuple, observation["form"].tolist()))
        points = observation["preview"][..., 0].reshape(len(mask), -1)
        return np.where(mask[:, : points.shape[1]], points, -1000).argmax(axis=1)

    agent = EncodedPolicy(padded, padded=True, preview=True)
    found = evaluate_generalisation("rules-never-met", agent, split="validation", deals=5)
    greedy = evaluate_generalisation("rules-never-met", "greedy", split="validation", deals=5)
    assert found.score == greedy.score
    rules = [each.rules for each in (*TASKS["rules-never-met"].training, *TASKS["rules-never-met"].test)]
    assert seen == {tuple(int(getattr(each, name)) for name in FORM) for each in rules}


def test_baselines_of_ones_own_rules_are_played_when_asked_and_kept_in_the_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rules of the package keep the stored ones."""
    mini = replace(benchmark.task_with("tiny", Rules(mini=True)), final=Deals(20, first=5))
    task = GeneralisationTask("mine", (task_of("solitaire"),), (mini,))
    played, evaluate = list[str](), benchmark.evaluate_on_task

    def count(task: Any, policy: Any, **options: Any) -> Any:
        played.append(policy)
        return evaluate(task, policy, **options)

    monkeypatch.setattr(benchmark, "evaluate_on_task", count)
    for policy, expected in (("uniform", 0), ("heuristic", 1)):
        found = evaluate_generalisation(task, policy, deals=20)
        assert played == []
        assert [found.score.value, found.score.value] == [expected] * 2
        assert played == ["uniform", "heuristic"], "once"
        scores = pickle.loads(pickle.dumps(found)).results["tiny"].baseline_scores
        assert scores == tuple(evaluate(mini, each).score.value for each in played)
        played.clear()
        assert found.results["solitaire"].normalised == evaluate("solitaire", policy, deals=20).normalised
        assert played == []
    with pytest.raises(ValueError, match="rules with different names, got tiny, tiny"):
        GeneralisationTask("mine", (mini,), (mini,))


def test_errors_name_the_tasks() -> None:
    with pytest.raises(ValueError, match="the tasks of generalisation are combinations, seats"):
        evaluate_generalisation("solitaire", "greedy")
    with pytest.raises(ValueError, match=r"the tasks are solitaire, .*, combinations, seats"):
        task_of("seat")
