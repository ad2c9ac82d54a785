"""Programs of other libraries run with the ids of this package. Each writes its row of ``docs/clients.csv``."""

import csv
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

from quincunx_env.utils.files import write_csv
from tests.clients import recorded
from tests.clients.clients import CLIENTS, Client

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "clients.csv"
COLUMNS = ("library", "version", "what runs", "environment", "mask", "glue", "result", "steps", "score")

STEPS = 300_000

LAST = 1_000
"""Rounds at the end of training whose mean is reported."""

WINS = {"quincunx_v0": "uniform", "quincunx-players": "greedy"}
"""Opponents of the learners of games for two players, by environment. Their shares of wins are reported."""

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_program_of_a_library_runs(client: Client, tmp_path: Path) -> None:
    """In a separate process and an empty folder; skipped where the library is not installed.

    A program with masks has no illegal action.
    """
    name = client.env
    if "/" in name:  # an id, not a class
        name = f"{recorded.__name__}:{recorded.name_of(name, 'Strict')}" if client.masked else f"quincunx_env:{name}"
    run(client, tmp_path, name, steps=500, timeout=900)


@pytest.mark.slow
@pytest.mark.parametrize("client", [client for client in CLIENTS if client.learns], ids=lambda client: client.name)
def test_a_learner_plays_all_steps(client: Client, tmp_path: Path) -> None:
    """The mean score of its last rounds is written, with two players its wins; a learner need not learn."""
    if client.env == "quincunx_v0":  # it imports the environment of the tests under the same name
        program = client.program.replace("from quincunx_env import", "from tests.clients import recorded as")
        client = replace(client, program=program)
    run(client, tmp_path, f"{recorded.__name__}:{recorded.name_of(client.env)}", STEPS, timeout=7_200)
    scores = np.loadtxt(tmp_path / recorded.FILE)
    assert len(scores) >= LAST
    mean = scores[-LAST:].mean()
    score = f"{100 * mean:.1f} % against `{WINS[client.env]}`" if client.env in WINS else f"{mean:.1f}"
    write(client, steps=f"{STEPS:,}", score=score)


def run(client: Client, folder: Path, name: str, steps: int, timeout: float) -> None:
    """Run a program, and write the version of its library and the result."""
    try:
        versions = [version(package) for package in client.packages]
    except PackageNotFoundError as error:
        pytest.skip(f"needs {error}")
    command = [sys.executable, "-W", "ignore", "-c", client.program, name, str(steps)]
    own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}  # the recorded id; one core
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=timeout, env={**os.environ, **own}
    )
    write(client, version=versions[0], result="fails" if done.returncode else "runs")
    assert done.returncode == 0, done.stderr[-3000:]


def write(client: Client, **cells: str) -> None:
    """Change cells of a client's row. Rows of libraries that cannot be tried are written by hand, with the reason."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {(row["library"], row["what runs"]): row for row in csv.DictReader(file)}
    named = {"library": client.library, "what runs": client.entry}
    mask = "yes" if client.masked else "no" if client.learns else ""
    known = named | {"environment": f"`{client.env}`", "mask": mask, "glue": str(client.glue)}
    key = client.library, client.entry
    old = rows.get(key, dict.fromkeys(COLUMNS, ""))
    rows[key] = old | known | cells
    if rows[key]["version"] != old["version"] or rows[key]["result"] != "runs":
        rows[key]["steps"] = rows[key]["score"] = ""  # of another version, or of a program that no longer runs
    order = [*dict.fromkeys([*((client.library, client.entry) for client in CLIENTS), *rows])]
    write_csv(TABLE, COLUMNS, ([rows[key][column] for column in COLUMNS] for key in order if key in rows))
