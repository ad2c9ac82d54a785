"""The runner of lineups: what is refused before the first game."""

from pathlib import Path

import pytest

from quincunx_env.arena import Run, tournament
from quincunx_env.policies import PolicyFileError
from tests.policies.test_files import NETWORK

pytest.importorskip("scipy")


def test_a_file_for_other_rules_is_refused_before_games_are_played(tmp_path: Path) -> None:
    """The network of the solitaire does not play against others; games without it come first."""
    with pytest.raises(PolicyFileError, match="solitaire"):
        tournament({"a": "greedy", "b": "uniform", "c": str(NETWORK)}, 2, run=Run(out=tmp_path))
    assert not [*tmp_path.iterdir()]
