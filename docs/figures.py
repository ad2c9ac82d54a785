"""Tables in hand-written pages that follow from code or from several files.

A page marks the place of a table by ``<!-- figures: NAME -->`` and ``<!-- end of figures -->``. A file that a program
writes for one table needs none: ``csv-table`` shows it.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

import quincunx_env.arena
from docs import exact_tasks, generalisation, learners
from docs.pictures import rules_in_pictures
from quincunx_env import Rules, quincunx
from quincunx_env.arena.benchmark import TASKS, TaskResult, baselines
from quincunx_env.arena.statistics import Estimate
from quincunx_env.core.observation import Observer
from quincunx_env.policies import registered_policies
from quincunx_env.quincunx.rules_card import sentences
from quincunx_env.registry import make_observer
from quincunx_env.utils.markdown import markdown_table
from tests.clients.clients import MASKED, PLAY_POLICY, TIANSHOU_MASKED, TORCHRL_PPO
from train.common.tables import VARIANTS, percent
from train.td_lambda.results import RESULTS, by_variant, minutes, seeds, stored_runs
from train.td_lambda.settings import SETTINGS

HERE = Path(__file__).parent
QUICK_START = HERE / "quick_start.py"
TIMES = Path(quincunx_env.arena.__file__).parent / "times.json"

MISSING = "\N{EN DASH}"
"""Stands in a cell without a result."""

PLACE = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def _mean(rows: Iterable[Mapping[str, str]], column: str) -> float:
    return float(np.mean([float(row[column]) for row in rows]))


def quick_start_script() -> str:
    """Return the script of the quick start."""
    return f"```python\n{QUICK_START.read_text(encoding='utf-8')}```\n"


TASK_RULES = VARIANTS | {"spiral": "spiral game, two deals"}
"""Rules of the tasks of the benchmark, by name."""


def tasks() -> str:
    """List the benchmark's tasks with the scores of uniform play and of the reference."""
    rows = []
    for name, task in TASKS.items():
        uniform, reference = (baselines()[name, policy].score.value for policy in ("uniform", task.reference))
        final = task.final
        rows.append(
            (
                f"`{name}`",
                TASK_RULES[name],
                f"{final.first:,} to {final.last:,}",
                f"the first {task.search.count}",
                *((f"{each:.4f}" if task.opponent else f"{each:.1f}") for each in (uniform, reference)),
            )
        )
    header = ("task", "rules", "final `benchmark` deals", "for searches", "uniform, 0", "reference, 1")
    return markdown_table(header, rows)


def benchmark_baselines() -> str:
    """List results of baseline policies on the benchmark's final deals."""

    def score(result: TaskResult) -> tuple[str, str]:
        if not result.task.opponent:
            return result.score.cells(".1f")
        value, low, high = result.score
        return percent(value), f"{100 * low:z.1f} to {100 * high:.1f} %"

    order = [*TASKS]
    results = sorted(baselines().values(), key=lambda each: (order.index(each.task.name), each.normalised.value))
    rows = (
        (
            f"`{each.task.name}`",
            f"`{each.policy}`",
            f"{each.deals.count:,}",
            *score(each),
            "" if each.lost is None else percent(each.lost),
            "" if each.margin is None else f"{each.margin:+z.1f}",
            f"{each.normalised.value:z.2f}",
        )
        for each in results
    )
    header = ("task", "policy", "deals", "score", "95 % interval", "lost", "margin", "normalised")
    return markdown_table(header, rows)


def agents() -> str:
    """List scores and thinking time of the agents, the strongest first."""
    seconds = json.loads(TIMES.read_text(encoding="utf-8"))["seconds_per_action"]
    strengths, rows = {}, {}
    for name, entry in registered_policies().items():
        if entry.module.startswith("quincunx_agents"):
            results = {task: baselines()[task, name] for task in TASKS if (task, name) in baselines()}
            strengths[name] = np.mean([each.normalised.value for each in results.values()]) if results else -np.inf
            scores = (_score(results[task]) if task in results else MISSING for task in TASKS)
            time = f"{float(f'{1000 * seconds[name]:.2g}'):g} ms" if name in seconds else MISSING
            rows[name] = (f"`{name}`", *scores, time)
    header = ("name", *(f"`{task}`" for task in TASKS), "time")
    table = markdown_table(header, [rows[name] for name in sorted(rows, key=lambda name: -strengths[name])])
    return table.replace("|---", "|---:").replace("|---:", "|---", 1)


def without_luck() -> str:
    """List the agents' means without the luck of the cards, and the points that they lose in the last three plays."""
    rows = []
    for file in ("searches", "agents"):
        stored = json.loads((HERE / "agents" / f"{file}.json").read_text(encoding="utf-8"))["evaluations"]
        for name, found in sorted(stored.items(), key=lambda each: -each[1]["mean"]):
            mean, adjusted = Estimate(found["mean"], *found["ci95"]), Estimate(**found["adjusted_mean"])
            lost = Estimate(**found["points_lost"][0])
            gain = ((mean.high - mean.low) / (adjusted.high - adjusted.low)) ** 2
            figures = ["{} ({})".format(*each.cells(".1f")) for each in (mean, adjusted)]
            rows.append((f"`{name}`", str(found["deals"]), *figures, f"{gain:.1f}", *lost.cells(".2f")))
    header = ("name", "deals", "mean", "adjusted mean", "worth", "points lost at the end", "95 % interval")
    return markdown_table(header, rows)


def _score(result: TaskResult) -> str:
    return percent(result.score.value) if result.task.opponent else f"{result.score.value:z.1f}"


def rules() -> str:
    """Show the rules of the solitaire in pictures, with sentences."""
    shown = (f"![Example](pictures/{name}.svg)\n\n{text}\n\n" for name, (_, text) in rules_in_pictures().items())
    return "".join(shown) + " ".join(sentences(Rules()))


def settings() -> str:
    """List the settings of `train.td_lambda` with their stored results."""
    rows = []
    for name, setting in SETTINGS.items():
        runs = stored_runs(name)
        steps, time = (np.mean([f(run) for run in runs]) for f in (lambda run: run["steps"], minutes))
        results = by_variant(runs)
        rows += [
            (
                f"`python -m train.td_lambda {name}`",
                setting.plays if len(results) == 1 else VARIANTS[variant],
                f"{steps:,.0f}",
                f"{time:.1f} min",
                f"{text}; {seeds(runs)}",
            )
            for variant, text in results.items()
        ]
    return markdown_table(("command", "plays", "environment steps", "processor time", "result"), rows)


def self_play() -> str:
    """List results of self-play by variant."""
    rows = []
    for path in sorted(RESULTS.glob("self-play-*/0.json")):
        run, variant = json.loads(path.read_text(encoding="utf-8")), path.parent.name.removeprefix("self-play-")
        cells = f"{run['steps']:,}", f"{minutes(run):.1f} min", by_variant([run])[variant]
        rows.append((VARIANTS[variant], *cells, f"{run['benchmark'][variant]['margin']:+z.1f}"))
    return markdown_table(("game", "environment steps", "processor time", "wins", "margin"), rows)


def program(text: str, env: str) -> str:
    """Return a program of tests/clients up to its assertion, with an environment."""
    shown = text.replace("import sys\n", "", 1).strip().partition("assert ")[0]
    shown = shown.replace("sys.argv[1]", f'"{env}"').replace("int(sys.argv[2])", "300_000")
    return f"```python\n{shown.strip()}\n```\n"


OBSERVATIONS: dict[str, Observer] = {
    "solitaire": quincunx.Observer(Rules(), preview=True),
    "padded": make_observer(Rules(), padded=True),
}
"""Examples of observers by the name of their table."""

FIGURES: dict[str, Callable[[], str]] = {
    "agents": agents,
    "benchmark": benchmark_baselines,
    "exact-tasks": exact_tasks.table,
    "generalisation": generalisation.table,
    "learners-solitaire": partial(learners.table, two=False),
    "learners-two-players": partial(learners.table, two=True),
    "program-sb3": partial(program, PLAY_POLICY, "SolitaireVecEnv"),
    "program-tianshou": partial(program, TIANSHOU_MASKED, f"quincunx_env:{MASKED}"),
    "program-torchrl": partial(program, TORCHRL_PPO, f"quincunx_env:{MASKED}"),
    "quick-start-script": quick_start_script,
    "rules": rules,
    "self-play": self_play,
    "settings": settings,
    "tasks": tasks,
    "without-luck": without_luck,
    **{name: observer.table for name, observer in OBSERVATIONS.items()},
    "encoding": OBSERVATIONS["solitaire"].encoder().table,
    "encoding-by-place": OBSERVATIONS["solitaire"].encoder(by_place=True).table,
}
"""Tables by name."""


def pages_with_figures() -> dict[Path, str]:
    """Return the hand-written pages with their tables filled in, by path."""

    def fill(place: re.Match[str]) -> str:
        return "".join([place[1], FIGURES[place[2]]().rstrip("\n"), "\n", place[3]])

    texts = {page: page.read_text(encoding="utf-8") for page in sorted(HERE.rglob("*.md"))}
    return {page: PLACE.sub(fill, text) for page, text in texts.items() if PLACE.search(text)}
