"""``quincunx verify``: files of games on the command line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quincunx_env.arena import Run, evaluate_all
from quincunx_env.arena.games import Games
from tests.cli.conftest import Command

for library in ("scipy", "tyro"):
    pytest.importorskip(library)

pytestmark = pytest.mark.usefixtures("folder")


def test_figures_and_faults_have_one_line_each(quincunx: Command) -> None:
    """The exit status is 0, 1 for a false file, and 2 for one that cannot be read."""
    results = evaluate_all(["greedy", "uniform"], 4, run=Run(records=Path("true.npz")))
    lines = [f"true.npz: {name}: 4 games replayed; {result}\n" for name, result in results.items()]
    assert quincunx("verify true.npz true.npz") == 2 * "".join(lines)
    records = Games.read(Path("true.npz"))
    lineup, other = records.lineups
    totals = lineup.totals + np.array([[0], [0], [7], [0]])
    replace(records, lineups=(replace(lineup, totals=totals), other)).write(Path("false.npz"))
    assert quincunx.error("verify false.npz", status=1).startswith("false.npz: greedy: deal 2, the file claims ")
    status, out, message = quincunx.end("verify true.npz false.npz")
    assert (status, out) == (1, "".join(lines))
    assert message.startswith("error: false.npz: greedy: deal 2")
    Path("cut.npz").write_bytes(Path("true.npz").read_bytes()[:-1])
    assert quincunx.error("verify cut.npz").startswith("cut.npz: the file is damaged or cut short")


ERRORS = {
    "verify": "name a file of games",
    "verify file": "file: this is not a file of games, as evaluate --records writes it",
    "verify .": "Is a directory: '.'",
    "verify nowhere": "No such file or directory: 'nowhere'",
}
"""Commands, and how the line of the error begins after ``error:``."""


@pytest.mark.parametrize("arguments", ERRORS)
def test_errors_on_the_command_line(arguments: str, quincunx: Command) -> None:
    Path("file").write_text("no games")
    assert quincunx.error(arguments).startswith(ERRORS[arguments])
