"""Text of figures in letters of any script."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

import matplotlib
from matplotlib import font_manager

from quincunx_env.arena import tournament
from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.arena.evaluation import Evaluation, plot
from quincunx_env.utils.figures import drawable, plain_text

NAME = "policy \u7b56 \U00012000"
NAMES = (r"$\frac{$", "$x$", "_hidden", r"a_b^c\d")
"""Names of policies that Matplotlib would take for mathematics, or leave out."""
POINT = Curve([0], [0], [0], [0])
RESULT = Evaluation(np.array([1, 2]), np.zeros(2, np.bool_))


@pytest.fixture
def own_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fonts that Matplotlib brings, none of them Chinese."""
    manager = font_manager.fontManager
    own = [font for font in manager.ttflist if Path(font.fname).is_relative_to(matplotlib.get_data_path())]
    monkeypatch.setattr(manager, "ttflist", own)


every_plot = pytest.mark.parametrize(
    ("draw", "places"),
    [
        (lambda path, name: plot({name: RESULT}, path), 1),
        (lambda path, name: tournament({name: "uniform", "other": "uniform"}, 2).plot(path), 3),
        (lambda path, name: draw_learning_curves(path, {name: POINT}, ylabel="", title=name, references={name: 1}), 3),
    ],
    ids=["evaluation", "tournament", "curves"],
)
"""Functions of a path and a name, and the number of places where they write the name."""


@every_plot
@pytest.mark.parametrize("name", NAMES)
def test_plots_show_names_as_they_are(
    draw: Callable[[Path, str], object], places: int, name: str, tmp_path: Path
) -> None:
    draw(tmp_path / "plot.svg", name)
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").count(f"<!-- {name}") == places


@pytest.mark.usefixtures("own_fonts")
@every_plot
def test_plots_draw_no_boxes(draw: Callable[[Path, str], object], places: int, tmp_path: Path) -> None:
    """Matplotlib would warn of missing glyphs."""
    draw(tmp_path / "plot.svg", NAME)
    picture = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert r"<!-- policy \u7b56 \U00012000" in picture
    assert NAME not in picture


@pytest.mark.usefixtures("own_fonts")
def test_letters_come_from_any_font(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    usual, other = (
        font_manager.get_font(font_manager.findfont(font_manager.FontProperties(family=[name]))).get_charmap()
        for name in ("sans-serif", "STIXGeneral")
    )
    name = chr(min(other.keys() - usual.keys()))
    with plain_text():
        assert drawable(["plain", name]) == ["plain", name]
        Figure().text(0, 0, name).figure.savefig(tmp_path / "plot.svg")  # type: ignore[union-attr]
    with plain_text():
        assert matplotlib.rcParams["font.family"] == ["sans-serif"], "of these figures alone"
