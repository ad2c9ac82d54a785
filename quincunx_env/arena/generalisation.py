"""Tasks of generalisation: other rules in the test than in training.

>>> task = TASKS["rules-never-met"]
>>> [each.name for each in task.training]
['solitaire', 'solitaire+pawns']
>>> len(task.test)
7

Each score is normalised as in `quincunx_env.arena.benchmark`: 0 for uniformly random play, 1 for the reference. The
score of the task is the mean over the test rules. Beside it stand the mean over the training rules, and the difference,
the generalisation gap (Kirk et al., JAIR 76, 2023).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quincunx_env.arena.benchmark import Split, Task, TaskResult, evaluate_on_task, task_of
from quincunx_env.arena.runner import Run, counting_stored_games, with_run
from quincunx_env.arena.statistics import Estimate
from quincunx_env.core.policy import Agent
from quincunx_env.policies import display_name
from quincunx_env.registry import GAMES

DEALS = 1_000
"""Deals of the final figure under each rules: the first of `Task.final`."""


@dataclass(frozen=True)
class GeneralisationTask:
    """A game with rules for training and other rules for the test.

    `quincunx_env.arena.benchmark.task_with` makes a task of rules.

    Raises:
        ValueError: without rules on a side, or if two of them have one name.
    """

    name: str
    training: tuple[Task, ...]
    """Tasks of the training rules."""
    test: tuple[Task, ...]
    """Tasks of the test rules."""

    def __post_init__(self) -> None:
        names = [each.name for each in (*self.training, *self.test)]
        if not self.training or not self.test or len({*names}) < len(names):
            raise ValueError(f"training and test need rules with different names, got {', '.join(names)}")


TASKS: Mapping[str, GeneralisationTask] = {
    name: GeneralisationTask(name, *(tuple(map(task_of, side)) for side in sides))
    for spec in GAMES.values()
    for name, sides in spec.generalisation.items()
}
"""The tasks by name."""


@dataclass(frozen=True)
class GeneralisationResult:
    """Result of a policy on a task of generalisation.

    Deals under several rules are not independent. So the interval of a mean is the mean of the intervals, which is
    wide enough for any dependence.
    """

    task: GeneralisationTask
    policy: str
    """Its name in tables."""
    results: Mapping[str, TaskResult]
    """Results by name of the rules."""

    @property
    def score(self) -> Estimate:
        """Mean normalised score under the test rules."""
        return self._mean(self.task.test)

    @property
    def training(self) -> Estimate:
        """Mean normalised score under the training rules."""
        return self._mean(self.task.training)

    @property
    def gap(self) -> Estimate:
        """The generalisation gap: training minus test."""
        (one, low, high), other = self.training, self.score
        ends = (one - other.value, low - other.high, high - other.low)
        return Estimate(*(round(end, 12) + 0.0 for end in ends))  # no -0.000 from rounding errors

    def _mean(self, tasks: Sequence[Task]) -> Estimate:
        found = [self.results[task.name].normalised for task in tasks]
        return Estimate(*(sum(ends) / len(found) for ends in zip(*found, strict=True)))


@with_run
def evaluate_generalisation(
    task: str | GeneralisationTask,
    policy: Agent | str,
    *,
    split: Split = "final",
    deals: int | None = None,
    name: str | None = None,
    run: Run = Run(),
) -> GeneralisationResult:
    """Evaluate a policy on a task of generalisation.

    Args:
        task: the task, or its name.
        policy: the policy, or its name as `quincunx_env.arena.resolve` takes it; a policy of one shape
            is a `quincunx_env.policies.EncodedPolicy` with ``padded=True``.
        split: deals to play under each rules, see `Split`.
        deals: their number, the first ones of the split; if None `DEALS`, or all of the split if it has fewer.
        name: of the policy in tables.
        run: how the games are played.

    Raises:
        ValueError: for an unknown task, and as `evaluate_on_task` does, for example if the policy does not play under
            some of the rules.
        IllegalAction: if the policy chooses an illegal action.
    """
    if isinstance(task, str):
        if task not in TASKS:
            raise ValueError(f"unknown task {task!r}; the tasks of generalisation are {', '.join(TASKS)}")
        task = TASKS[task]
    found = dict[str, TaskResult]()
    with counting_stored_games():
        for each in (*task.training, *task.test):
            count = min(DEALS, each.deals(split).count) if deals is None else deals
            found[each.name] = evaluate_on_task(each, policy, split=split, deals=count, name=name, run=run)
    return GeneralisationResult(task, name or display_name(policy), found)
