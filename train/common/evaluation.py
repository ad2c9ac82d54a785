"""Evaluation of trained agents on ``validation`` and ``benchmark`` deals."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tqdm.auto import tqdm

from quincunx_agents.agent_specs import rules_of
from quincunx_env.arena import compare, resolve
from quincunx_env.arena.evaluation import evaluate_all
from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from train.common.options import OptionError

BASELINES = ("uniform", "greedy", "heuristic")
"""Agents beside which a trained agent of the solitaire is shown."""

Figures = dict[str, float]
"""Figures of an agent, see `strength`."""


def strength(
    agent: Agent | str,
    opponent: Agent | str,
    rules: BaseRules,
    deals: int,
    domain: Domain,
    records: Path | None = None,
) -> Figures:
    """Measure the strength of an agent, with 95 % intervals.

    Args:
        agent: in one seat, or alone; an agent or its name.
        opponent: several players: in all other seats.
        rules: of the game.
        deals: number of deals; with several players each is played from every seat.
        domain: of the numbered deals.
        records: file of the games, see `quincunx_env.arena.games`.

    Returns:
        figures: for one player ``mean``, ``mean_low``, ``mean_high``, the shares ``lost`` and ``at_least_150``. For
            several ``win_rate``, ``win_rate_low``, ``win_rate_high``, ``even`` (the win rate of equals), ``margin``,
            ``margin_low``, ``margin_high``. All have ``deals``, and four decimals.
    """
    found: Figures
    if rules.num_players == 1:
        result = evaluate_all({"trained": agent}, deals, rules=rules, domain=domain, records=records)["trained"]  # type: ignore[arg-type]
        *_, highest = result.classes.values()
        low, high = result.ci95
        found = {"mean": result.mean, "mean_low": low, "mean_high": high}
        found |= {"lost": float(result.lost.mean()), "at_least_150": highest}
    else:
        names = ["trained", "opponent"]
        games = compare([agent, opponent], deals, rules=rules, domain=domain, names=names, records=records)
        found = {"even": float(games.even[0])}
        for name, (value, low, high) in {"win_rate": games.win_rate(), "margin": games.margin()}.items():
            found |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return {name: round(figure, 4) for name, figure in found.items()} | {"deals": deals}


def strengths(
    agent: Agent | str,
    opponent: Agent | str,
    variants: Mapping[str, BaseRules],
    deals: int,
    domain: Domain,
    records: Path | None = None,
    progress: bool = False,
) -> dict[str, Figures]:
    """Measure an agent's `strength` in several variants, by name. ``records``: folder of a file of games for each."""
    return {
        variant: strength(agent, opponent, rules, deals, domain, records and records / f"{variant}.npz")
        for variant, rules in tqdm(variants.items(), desc="evaluation", disable=not progress)
    }


def require_opponent(name: str, variants: Iterable[str]) -> None:
    """Check that the policy of ``--against`` plays variants of several players.

    Raises:
        OptionError: naming the first that it does not play.
    """
    for variant in variants:
        try:
            if rules_of(variant).num_players > 1:
                policy_for(resolve(name), rules_of(variant))
        except ValueError as error:
            raise OptionError(f"--against {name} does not play {variant}: {error}") from None
