"""Programs of other libraries run with the ids of this package; each adds its row to the table in the documentation."""

import csv
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.clients.clients import CLIENTS, Client

TABLE = Path(__file__).parents[2] / "docs" / "clients.csv"
COLUMNS = ("library", "version", "entry", "env", "glue", "result")

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_program_of_a_library_runs(client: Client, tmp_path: Path) -> None:
    """In a process of its own, and an empty folder."""
    if not client.program:
        pytest.skip("there is no program yet")
    try:
        versions = [version(package) for package in client.packages]
    except PackageNotFoundError as error:
        pytest.skip(f"needs {error}")
    command = [sys.executable, "-W", "ignore", "-c", client.program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    if done.returncode:
        write(client, versions[0], "fails")
    assert done.returncode == 0, done.stderr[-3000:]
    write(client, versions[0], client.learned or "runs")


def write(client: Client, number: str, result: str) -> None:
    """Replace a row of the table; libraries that have never been installed are not tried."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {(row["library"], row["entry"]): row for row in csv.DictReader(file)}
    found = []
    for each in CLIENTS:
        row = rows.get((each.library, each.entry), {"version": "", "result": "not tried"})
        changed = {"version": number, "result": result} if each is client else {}
        fixed = {"library": each.library, "entry": each.entry, "env": f"`{each.env}`", "glue": str(each.glue)}
        found.append(row | fixed | changed)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
