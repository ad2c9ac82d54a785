"""The programs in ``docs/openspiel.md`` run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "openspiel.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_programs_are_found() -> None:
    assert len(PROGRAMS) == 5


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_run(program: str) -> None:
    exec(program, {})


MCTS = "pyspiel.MCTSBot(game, rollouts, 20.0, 5, 100, True, 0, False)"
ISMCTS = "pyspiel.ISMCTSBot(0, rollouts, 20.0, 5, -1, pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT, False, False)"


@pytest.mark.skipif(sys.platform == "win32", reason="another exit status")
@pytest.mark.parametrize("bot", [MCTS, ISMCTS], ids=["MCTS", "ISMCTS"])
def test_bots_in_c_end_the_process(bot: str) -> None:
    """When this fails, the page need not warn of them any more."""
    program = f"""
import pyspiel, quincunx_env.adapters.openspiel
game, rollouts = pyspiel.load_game("python_spiral(deals=1)"), pyspiel.RandomRolloutEvaluator(1, 0)
state = game.new_initial_state()
state.apply_action(0)
{bot}.step(state)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode < 0
