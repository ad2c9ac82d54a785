"""Learning curves."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from quincunx_env.arena.curves import Curve, draw_learning_curves
from tests.arena.test_evaluation import NAMES


def test_labels_are_shown_as_they_are(tmp_path: Path) -> None:
    """Of curves and constants, and the title, which is the name of a run."""
    curve, (one, title, constant, other) = Curve([0, 1], [0, 1], [0, 1], [0, 1]), NAMES
    curves, references = {one: curve, other: curve}, {constant: 1.0}
    draw_learning_curves(tmp_path / "curves.svg", curves, ylabel="points", title=title, references=references)
    picture = (tmp_path / "curves.svg").read_text()
    assert all(picture.count(f"<!-- {name} -->") == 1 for name in NAMES)
