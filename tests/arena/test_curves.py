"""Learning curves."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from quincunx_env.arena.curves import Curve, draw_learning_curves


def test_a_curve_is_drawn_with_its_interval_and_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list[Figure]()

    def keep(figure: Figure, path: Path, **_: object) -> None:
        drawn.append(figure)
        path.touch()

    monkeypatch.setattr(Figure, "savefig", keep)
    curve = Curve([0, 10, 30], [1.5, 2.5, 2.0], [1.0, 2.0, 1.5], [2.0, 3.0, 2.5])
    draw_learning_curves(tmp_path / "curves.png", {"a": curve}, ylabel="points", title="", references={"even": 0.5})
    [axes] = drawn[0].axes
    line, level = axes.lines
    assert np.asarray(line.get_xydata()).tolist() == [[0, 1.5], [10, 2.5], [30, 2.0]]
    assert {*np.asarray(level.get_ydata())} == {0.5}
    band = np.asarray(axes.collections[0].get_paths()[0].vertices).tolist()
    assert all([*point] in band for point in {(0, 1), (0, 2), (10, 2), (10, 3), (30, 2.5)})


def test_an_interval_without_ends_is_empty_in_the_table(tmp_path: Path) -> None:
    curve = Curve([0, 10], [1.5, 2.5], [float("-inf"), 2.0], [float("inf"), 3.0])
    draw_learning_curves(tmp_path / "curves.png", {"a": curve}, ylabel="points", title="")
    assert (tmp_path / "curves.csv").read_text().splitlines()[1:] == ["a,0,1.5,,", "a,10,2.5,2.0,3.0"]
