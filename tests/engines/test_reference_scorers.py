"""The reference scorers share no code with the engines; the worked plays of each game check what they score."""

import ast
import sys
from pathlib import Path

import pytest

SCORERS = sorted(Path(__file__).parents[1].glob("*reference_scorer.py"))


@pytest.mark.parametrize("path", SCORERS, ids=lambda path: path.stem)
def test_reference_scorers_use_the_standard_library_alone(path: Path) -> None:
    imported = list[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                imported += [alias.name for alias in node.names]
            case ast.ImportFrom():
                imported.append("." * node.level + (node.module or ""))
    assert imported
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
    assert len(SCORERS) == 2
