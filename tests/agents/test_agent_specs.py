"""The registry of what agents need of each game."""

import subprocess
import sys

import pytest

from quincunx_agents import agent_specs
from quincunx_agents.agent_specs import agent_spec, base_variant, rules_of, with_options
from quincunx_agents.heuristic import heuristic
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import GAMES
from tests.variants import EVERY_GAME


def test_agents_know_every_game_and_no_two_variants_have_one_name() -> None:
    names = [name for game in GAMES for name in agent_spec(game).variants]
    assert len({*names}) == len(names)


def test_a_game_without_agents_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_specs, "_SPECS", {"spiral": agent_specs._spiral})
    agent_spec.cache_clear()
    with pytest.raises(ValueError, match="these agents play spiral, got rules of quincunx"):
        heuristic.for_rules(Rules())
    with pytest.raises(ValueError, match="there is no variant 'solitaire'"):
        rules_of("solitaire")


@pytest.mark.parametrize(("game", "other"), [("Rules()", "spiral"), ("spiral.Rules(deals=1)", "quincunx")])
def test_the_agents_of_a_game_load_no_module_of_another(game: str, other: str) -> None:
    """In a fresh interpreter."""
    pytest.importorskip("safetensors")
    program = f"""
import sys
from quincunx_env import Rules, spiral
from quincunx_env.arena import evaluate_all, tournament
rules = {game}
if rules.num_players == 1:
    evaluate_all(["value", "heuristic"], 2, rules=rules)
else:
    tournament(["value", "heuristic"], 2, rules=rules)
print([name for name in sys.modules if name.startswith("quincunx_agents.{other}")])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_every_variant_has_a_base_variant() -> None:
    for rules in EVERY_GAME.values():
        assert rules_of(base_variant(rules)).num_players == rules.num_players
    known = agent_spec("quincunx").variants
    assert with_options("2-open-pawns") == [name for name in known if name.startswith("2-open-")]
