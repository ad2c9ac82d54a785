"""Evaluation of trained agents on ``validation`` and ``benchmark`` deals."""

import dataclasses
import json
import platform
import shlex
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from quincunx_agents.games import VARIANTS
from quincunx_env import __version__
from quincunx_env.arena import compare, evaluate, resolve, table
from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import RATING_STEPS
from quincunx_env.utils.files import write_atomically
from train.common.options import OptionError

HIGHEST_CLASS = RATING_STEPS[-1]
"""The least score of the highest class of a solitaire round (RULES.md 1.5): 150."""


def strength(agent: Agent, opponent: Agent | str, rules: BaseRules, deals: int, domain: Domain) -> dict[str, float]:
    """Measure the strength of an agent.

    Return figures with 95 % intervals by name.

    Solitaire: ``mean``, ``mean_low``, ``mean_high``, the shares ``lost`` and ``at_least_150``. Several players:
    ``win_rate``, ``win_rate_low``, ``win_rate_high``, ``even`` (the win rate of equals), ``margin``, ``margin_low``,
    ``margin_high``.

    Args:
        agent: in one seat, or alone.
        opponent: several players: in all other seats; a policy or its name.
        rules: of the game.
        deals: number of deals; with several players each is played from every seat.
        domain: of the numbered deals.
    """
    if isinstance(rules, Rules) and rules.num_players == 1:
        result = evaluate(agent, deals, rules=rules, domain=domain)
        low, high = result.ci95
        return {
            "mean": result.mean,
            "mean_low": low,
            "mean_high": high,
            "lost": float(result.lost.mean()),
            "at_least_150": float((result.values >= HIGHEST_CLASS).mean()),
        }
    games = compare([agent, opponent], deals, rules=rules, domain=domain, names=["trained", "opponent"])
    win_rate, margin = games.win_rate(), games.margin()
    return {
        "win_rate": win_rate.value,
        "win_rate_low": win_rate.low,
        "win_rate_high": win_rate.high,
        "even": float(games.even[0]),
        "margin": margin.value,
        "margin_low": margin.low,
        "margin_high": margin.high,
    }


def require_opponent(name: str, variants: Iterable[str], flag: str = "--against") -> None:
    """Check that the policy of a flag plays variants of several players.

    Raises:
        OptionError: naming the first that it does not play.
    """
    for variant in variants:
        try:
            if VARIANTS[variant].num_players > 1:
                policy_for(resolve(name), VARIANTS[variant])
        except ValueError as error:
            raise OptionError(f"{flag} {name} does not play {variant}: {error}") from None


def strengths(
    agent: Agent, opponent: Agent | str, variants: Iterable[str], deals: int, domain: Domain, progress: bool = False
) -> dict[str, dict[str, float]]:
    """Measure the rounded `strength` of an agent in several variants.

    They are variants of `quincunx_agents.networks.value`; the number of deals is added.
    """
    found = {}
    for variant in tqdm(variants, desc="evaluation", disable=not progress):
        figures = strength(agent, opponent, VARIANTS[variant], deals, domain)
        found[variant] = {name: round(figure, 4) for name, figure in figures.items()} | {"deals": deals}
    return found


def final_figures(agent: Agent, opponents: Iterable[str], rules: Rules, deals: int) -> tuple[dict[str, Any], str]:
    """Measure a trained agent on ``benchmark`` deals.

    Return JSON values and a text of them.

    Solitaire: `quincunx_env.arena.Evaluation.to_json` of the agent, ``trained``, and of ``uniform`` and ``greedy``.
    Several players: the `strength` against each opponent.
    """
    if rules.num_players == 1:
        agents: dict[str, Agent | str] = {"uniform": "uniform", "greedy": "greedy", "trained": agent}
        evaluations = {name: evaluate(each, deals, rules=rules) for name, each in agents.items()}
        return {name: evaluation.to_json() for name, evaluation in evaluations.items()}, table(evaluations)
    found = {name: strength(agent, name, rules, deals, "benchmark") for name in dict.fromkeys(opponents)}
    return found, json.dumps(found, indent=2)


def provenance(module: str, arguments: Any) -> dict[str, Any]:
    """Describe how a run was made, for its model card.

    The JSON values are command, arguments, machine and versions.

    Args:
        module: the script, for ``python -m``.
        arguments: of the run, a dataclass with ``threads``.
    """
    return {
        "command": shlex.join(["python", "-m", module, *(a for a in sys.argv[1:] if a != "--resume")]),
        "arguments": dataclasses.asdict(arguments),
        "machine": f"{platform.machine()}, {arguments.threads} thread(s)",
        "versions": {
            "python": platform.python_version(),
            "quincunx_env": __version__,
            **{library: version(library) for library in ("numpy", "torch")},
        },
    }


def write_json(path: Path, results: dict[str, Any]) -> None:
    """Write final figures as JSON, atomically."""
    text = json.dumps(results, indent=2) + "\n"
    write_atomically(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))
