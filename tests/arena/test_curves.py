"""Learning curves."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from quincunx_env.arena.curves import Curve, draw_learning_curves


def test_an_interval_without_ends_is_empty_in_the_table(tmp_path: Path) -> None:
    curve = Curve([0, 10], [1.5, 2.5], [float("-inf"), 2.0], [float("inf"), 3.0])
    draw_learning_curves(tmp_path / "curves.png", {"a": curve}, ylabel="points", title="")
    assert (tmp_path / "curves.csv").read_text().splitlines()[1:] == ["a,0,1.5,,", "a,10,2.5,2.0,3.0"]
