"""Tables of figures in hand-written pages, and the quick start's script.

A page marks the place of a table by ``<!-- figures: NAME -->`` and ``<!-- end of figures -->``. Figures come from:

- model cards beside the weights of the networks
- ``make_train.csv``, ``make_train_curves.csv``: runs of ``make train``
- ``quick_start.csv``: runs of ``quick_start.py``
- ``clients.csv``: programs of other libraries, by ``make test-clients``
- ``clients_learning.csv``: by ``python -m docs.clients_learning``
- ``optimal_play``: exact regrets
- ``benchmark``: learning curves
- ``quincunx_env/arena/benchmark.csv``: results of the standard benchmark
- the package: oracle scores
"""

import csv
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import quincunx_agents.networks
import quincunx_env.arena
from quincunx_agents.networks.value import SHIPPED
from quincunx_env.arena import interquartile_mean
from quincunx_env.arena.benchmark import TASKS, TaskResult, baselines
from quincunx_env.arena.evaluation import COLUMNS
from quincunx_env.arena.statistics import Estimate
from quincunx_env.oracle import read
from quincunx_env.quincunx.scoring import RATINGS
from quincunx_env.utils.markdown import markdown_table
from train.common.model_card import VARIANTS, percent

HERE = Path(__file__).parent
MAKE_TRAIN = HERE / "make_train.csv"
MAKE_TRAIN_CURVES = HERE / "make_train_curves.csv"
QUICK_START = HERE / "quick_start.py"
QUICK_START_RUNS = HERE / "quick_start.csv"
WEIGHTS = Path(quincunx_agents.networks.__file__).parent / "weights"
BENCHMARK = HERE / "benchmark"
TIMES = Path(quincunx_env.arena.__file__).parent / "times.json"
CLIENTS = HERE / "clients.csv"
CLIENT_COLUMNS = ("library", "version", "entry", "env", "glue")
CLIENTS_LEARNING = HERE / "clients_learning.csv"
OPTIMAL_PLAY = HERE / "optimal_play"

PHASES = ("environment", "acting", "search", "learning")
"""Uses of processor time in the model cards of `train.selfplay`."""

PLACE = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def _cells(estimate: Estimate, spec: str = ".1f") -> tuple[str, str]:
    """Return a value and its interval."""
    return f"{estimate.value:{spec}}", f"{estimate.low:z{spec}} to {estimate.high:{spec}}"


def _estimate(row: Mapping[str, str], *names: str) -> Estimate:
    return Estimate(*(float(row[name]) for name in names or ("mean", "low", "high")))


def _mean(rows: Iterable[Mapping[str, str]], column: str) -> float:
    return float(np.mean([float(row[column]) for row in rows]))


def model_card(network: str) -> dict[str, Any]:
    """Return the model card of a network of the package."""
    card: dict[str, Any] = json.loads((WEIGHTS / f"{network}.json").read_text(encoding="utf-8"))
    return card


def cost() -> str:
    """List environment steps and processor time of the training runs."""
    rows = []
    for network in SHIPPED:
        card = model_card(network)
        seconds = card["seconds"]
        total = sum(seconds.values())
        rows.append(
            (
                f"`{network}`",
                f"{card['steps'] / 1e6:.2f} million",
                f"{total / 60:.0f} min",
                f"{card['steps_per_second']:,}",
                *(percent(seconds.get(part, 0) / total) for part in PHASES),
            )
        )
    header = ("network", "environment steps", "processor time", "steps/s", *PHASES)
    return markdown_table(header, rows)


def make_train() -> str:
    """List benchmark results of ``make train`` by seed, and of baselines."""
    shares = ("lost", "150 and more")
    runs = _rows(MAKE_TRAIN)
    trained = [run for run in runs if run["seed"]]
    means = np.array([float(run["mean"]) for run in trained])
    listed = [
        (f"{run['agent']}, seed {run['seed']}" if run["seed"] else run["agent"], _estimate(run), [run]) for run in runs
    ]
    over_seeds = f"mean of {len(trained)} seeds (standard deviation {means.std(ddof=1):.1f})"
    rows = (
        (name, *_cells(mean), *(percent(_mean(each, share)) for share in shares))
        for name, mean, each in (*listed, (over_seeds, Estimate.of_mean(means), trained))
    )
    return markdown_table(("agent", "mean score", "95 % interval", *shares), rows)


def quick_start_script() -> str:
    """Return the script of the quick start."""
    return f"```python\n{QUICK_START.read_text(encoding='utf-8')}```\n"


def quick_start() -> str:
    """Return the table that the quick start prints with seed 0."""
    printed = (row for row in _rows(QUICK_START_RUNS) if row["seed"] in ("", "0"))
    rows = (
        (row["agent"], row["deals"], *_cells(_estimate(row)), *(f"{float(row[share]):.1%}" for share in RATINGS))
        for row in printed
    )
    return markdown_table(COLUMNS, rows)


def learning_curve() -> str:
    """List means on validation deals in the course of ``make train``."""
    curves: dict[int, list[dict[str, str]]] = {}
    for row in _rows(MAKE_TRAIN_CURVES):
        curves.setdefault(int(row["steps"]), []).append(row)
    seconds = _mean((run for run in _rows(MAKE_TRAIN) if run["seed"]), "seconds")
    rows = []
    for number in (1, 2, 4, 10, len(curves) - 1):
        steps, runs = sorted(curves.items())[number]
        minutes = f"{steps / 1.5e6 * seconds / 60:.1f} min"
        each = ", ".join(f"{float(run['mean']):.1f}" for run in runs)
        rows.append((f"{steps:,}", minutes, f"{_mean(runs, 'mean'):.1f}", each, percent(_mean(runs, "lost"))))
    return markdown_table(("environment steps", "processor time", "mean score", "of each run", "lost"), rows)


def oracle() -> str:
    """List the oracle scores of the benchmark deals."""
    scores = np.array([entry.score or 0 for entry in read().values()], np.float64)
    row = (
        f"{len(scores):,}",
        *_cells(Estimate.of_mean(scores)),
        f"{np.median(scores):g}",
        percent(float((scores >= 150).mean())),
    )
    return markdown_table(("benchmark deals", "mean oracle score", "95 % interval", "median", "150 and more"), [row])


def exact_regret() -> str:
    """List exact values and regrets of policies in the mini solitaire."""
    rows = (
        (
            f"`{row['policy']}`",
            row["deals"],
            *(f"{float(row[figure]):.1f}" for figure in ("optimal", "value")),
            *_cells(_estimate(row, "regret", "low", "high")),
        )
        for row in _rows(OPTIMAL_PLAY / "solitaire.csv")
    )
    return markdown_table(("policy", "deals", "optimal play", "policy's value", "regret", "95 % interval"), rows)


def equilibrium() -> str:
    """List exploitabilities of CFR+ in the mini variant for two players."""
    rows = (
        (row["iterations"], f"{float(row['value']):.3f}", f"{float(row['exploitability']):.4f}")
        for row in _rows(OPTIMAL_PLAY / "cfr.csv")
    )
    return markdown_table(("iterations of CFR+", "value to seat 0", "exploitability"), rows)


def exploitability() -> str:
    """List exact exploitabilities of policies in the mini variant for two players."""
    rows = (
        (f"`{row['policy']}`", *(f"{float(row[figure]):.2f}" for figure in ("nash_conv", "exploitability")))
        for row in _rows(OPTIMAL_PLAY / "two_players.csv")
    )
    return markdown_table(("policy", "NashConv", "exploitability"), rows)


def _pyproject(path: Path) -> tuple[str, bool]:
    """Return the address of the repository, or "", and `published`."""
    settings = tomllib.loads(path.read_text(encoding="utf-8"))
    address = settings["project"]["urls"].get("Repository", "").rstrip("/")
    return address, settings["tool"]["quincunx"]["published"]


def environments() -> str:
    """List the environments with their spaces."""
    from docs import pages  # which needs the model cards, read by this module

    return pages.environments()


def badges(pyproject: Path = HERE.parent / "pyproject.toml") -> str:
    """Return badges of what exists: repository and published package."""
    address, published = _pyproject(pyproject)
    tests, index = f"{address}/actions/workflows/tests.yml", "https://pypi.org/project/quincunx_env/"
    lines = [f"[![tests]({tests}/badge.svg)]({tests})"] if address else []
    if published:
        shields = "https://img.shields.io/pypi"
        lines.append(f"[![version]({shields}/v/quincunx_env)]({index})")
        lines.append(f"[![Python]({shields}/pyversions/quincunx_env)]({index})")
    return "".join(f"{line}\n" for line in lines)


def install(pyproject: Path = HERE.parent / "pyproject.toml") -> str:
    """Return the commands that install the package. An index stands there once the package is published."""
    address, published = _pyproject(pyproject)
    lines = [f"git clone {address} && cd {address.rpartition('/')[2]}"] if address else []
    lines += ["python -m venv .venv && . .venv/bin/activate", 'pip install ".[arena,sb3]"']
    text = "".join(f"    {line}\n" for line in lines)
    where = "" if address else "In the folder of the repository:\n\n"
    if not published:
        return f"{where}{text}"
    index = '    pip install "quincunx_env[arena,sb3]"\n'
    return f"{where}{text}\nOr, without a checkout, from the package index:\n\n{index}"


TASK_RULES = VARIANTS | {"spiral": "spiral game, two deals"}
"""Rules of the tasks of the benchmark, by name."""


def tasks() -> str:
    """List the tasks of the benchmark with their anchors. These are the scores of uniform play and of the reference."""
    rows = []
    for name, task in TASKS.items():
        uniform, reference = (baselines()[name, policy].score.value for policy in ("uniform", task.reference))
        final = task.final
        rows.append(
            (
                f"`{name}`",
                TASK_RULES[name],
                f"{final.first:,} to {final.first + final.count - 1:,}",
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
            return _cells(result.score)
        value, low, high = result.score
        return percent(value), f"{100 * low:z.1f} to {percent(high)}"

    order = [*TASKS]
    results = sorted(baselines().values(), key=lambda each: (order.index(each.task.name), each.normalised.value))
    rows = (
        (
            f"`{each.task.name}`",
            f"`{each.policy}`",
            f"{each.deals.count:,}",
            *score(each),
            "" if each.lost is None else percent(each.lost),
            "" if each.margin is None else f"{each.margin:+.1f}",
            f"{each.normalised.value:.2f}",
        )
        for each in results
    )
    header = ("task", "policy", "deals", "score", "95 % interval", "lost", "margin", "normalised")
    return markdown_table(header, rows)


AGENTS = {
    "uniform": "uniformly random legal action",
    "greedy": "highest immediate points",
    "heuristic": "weighted features of an action",
    "value": "one-ply lookahead with a value network",
    "search-fast": "search led by the network",
    "search": "the same, larger",
    "monte-carlo": "flat Monte Carlo, no network",
}
"""Methods of the agents, by name."""


def agents() -> str:
    """List scores, thinking time and method of the agents."""
    seconds = json.loads(TIMES.read_text(encoding="utf-8"))["seconds_per_action"]
    rows = []
    for name, method in AGENTS.items():
        scores = []
        for task in TASKS.values():
            result = baselines().get((task.name, name))
            found = result.score.value if result else None
            scores.append("" if found is None else percent(found) if task.opponent else f"{found:.1f}")
        time = f"{float(f'{1000 * seconds[name]:.1g}'):g} ms" if name in seconds else ""
        rows.append((f"`{name}`", *scores, time, method))
    return markdown_table(("name", *(f"`{task}`" for task in TASKS), "time", "method"), rows)


def learning() -> str:
    """List learning results of the benchmark, and show their figure."""
    rows = []
    for name, method in _methods().items():
        final = [row for row in _rows(BENCHMARK / f"{name}.csv") if row["domain"] == "benchmark"]
        means = np.array([float(row["mean"]) for row in final])
        scores = [[TASKS["solitaire"].normalised(Estimate(each, each, each)).value] for each in means.tolist()]
        rows.append(
            (
                method["label"],
                method["track"],
                str(len(final)),
                *_cells(Estimate.of_mean(means)),
                percent(_mean(final, "lost")),
                *_cells(interquartile_mean(scores), ".3f"),
            )
        )
    header = ("method", "track", "seeds", "mean score", "95 % interval", "lost", "normalised IQM", "95 % interval")
    figure = "![Learning curves](benchmark/learning_curves.png)\n"
    return f"{markdown_table(header, rows)}\n\n{figure}"


def learning_commands() -> str:
    """List the commands of seed 0 of the learning results."""
    lines = []
    for method in _methods().values():
        # A command of an earlier commit is not one that runs in this tree.
        command = f"commit {method['commit']}: {method['command']}" if "commit" in method else method["command"]
        lines.append(f"- {method['label']}, {method['track']}: `{command}`\n")
    return "".join(lines)


def _methods() -> dict[str, dict[str, str]]:
    """Return the methods with results, by the names of their files."""
    methods = json.loads((BENCHMARK / "methods.json").read_text(encoding="utf-8"))
    return {name: method for name, method in methods.items() if (BENCHMARK / f"{name}.csv").exists()}


def clients() -> str:
    """List libraries whose programs run with the ids of this package."""
    header = ("library", "version", "what runs", "environment", "glue", "result")
    rows = ([row[column] for column in CLIENT_COLUMNS] + [row["score"] or row["result"]] for row in _rows(CLIENTS))
    return markdown_table(header, rows)


def clients_learning() -> str:
    """List mean scores of PPO without masks by treatment of illegal actions."""
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in _rows(CLIENTS_LEARNING):
        groups.setdefault((row["illegal"], row["preview"], row["steps"]), []).append(row)
    rows = (
        (
            f"`{illegal}`",
            "yes" if preview == "1" else "no",
            f"{int(steps):,}",
            f"{_mean(runs, 'mean'):.1f}",
            ", ".join(f"{float(run['mean']):.1f}" for run in runs),
            percent(_mean(runs, "lost")),
        )
        for (illegal, preview, steps), runs in groups.items()
    )
    return markdown_table(("`illegal`", "preview", "steps", "mean score", "of each run", "lost"), rows)


FIGURES: dict[str, Callable[[], str]] = {
    "badges": badges,
    "install": install,
    "environments": environments,
    "agents": agents,
    "cost": cost,
    "make-train": make_train,
    "quick-start-script": quick_start_script,
    "quick-start": quick_start,
    "learning-curve": learning_curve,
    "oracle": oracle,
    "exact-regret": exact_regret,
    "equilibrium": equilibrium,
    "exploitability": exploitability,
    "tasks": tasks,
    "benchmark": benchmark_baselines,
    "learning": learning,
    "learning-commands": learning_commands,
    "clients": clients,
    "clients-learning": clients_learning,
}
"""Tables by name."""

PAGES = (
    HERE.parent / "README.md",
    HERE / "environments" / "index.md",
    *(
        HERE / f"{name}.md"
        for name in (
            "agents",
            "benchmark",
            "experiments",
            "install",
            "libraries",
            "methods",
            "optimal_play",
            "oracle",
            "quick_start",
            "strength",
            "training",
        )
    ),
)


def pages_with_figures() -> dict[Path, str]:
    """Return the hand-written pages with their tables filled in, by path."""

    def fill(place: re.Match[str]) -> str:
        text = FIGURES[place[2]]()
        return "".join([place[1], text, "" if text.endswith("\n") or not text else "\n", place[3]])

    return {page: PLACE.sub(fill, page.read_text(encoding="utf-8")) for page in PAGES}
