"""Programs of other libraries run with the ids of this package. Each writes its row of ``docs/clients.csv``."""

import csv
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from quincunx_env.utils.files import write_csv
from tests.clients.clients import CLIENTS, Client

TABLE = Path(__file__).parents[2] / "docs" / "clients.csv"
COLUMNS = ("library", "version", "entry", "env", "glue", "result")

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_program_of_a_library_runs(client: Client, tmp_path: Path) -> None:
    """In a separate process and an empty folder; skipped where the library is not installed."""
    try:
        versions = [version(package) for package in client.packages]
    except PackageNotFoundError as error:
        pytest.skip(f"needs {error}")
    command = [sys.executable, "-W", "ignore", "-c", client.program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    if done.returncode:
        write(client, versions[0], "fails")
    assert done.returncode == 0, done.stderr[-3000:]
    write(client, versions[0], "runs")


def write(client: Client, number: str, result: str) -> None:
    """Replace the row of a client. Rows of libraries that cannot be tried are written by hand, with the reason."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {(row["library"], row["entry"]): [*row.values()] for row in csv.DictReader(file)}
    row = [client.library, number, client.entry, f"`{client.env}`", str(client.glue), result]
    rows[client.library, client.entry] = row
    write_csv(TABLE, COLUMNS, rows.values())
