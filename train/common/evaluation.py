"""Evaluation of trained agents on ``validation`` and ``benchmark`` deals."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from quincunx_agents.agent_specs import rules_of
from quincunx_env.arena import Deals, Run, compare, evaluate_all, resolve
from quincunx_env.arena.luck import start_value
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
    deals: Deals,
    records: Path | None = None,
) -> Figures:
    """Measure the strength of an agent, with 95 % intervals.

    Args:
        agent: in one seat, or alone; an agent or its name.
        opponent: several players: in all other seats.
        rules: of the game.
        deals: numbered deals; with several players each is played from every seat.
        records: file of the games, see `quincunx_env.arena.games`.

    Returns:
        figures: for one player ``mean``, ``mean_low``, ``mean_high``, the shares ``lost`` and ``at_least_150``, and
            on validation deals ``adjusted_mean``, ``adjusted_mean_low``, ``adjusted_mean_high``
            (`quincunx_env.arena.luck`). For several ``win_rate``, ``win_rate_low``, ``win_rate_high``, ``even`` (the
            win rate of equals), ``margin``, ``margin_low``, ``margin_high``. All have ``deals``, and four decimals.
    """
    found: Figures
    options: dict[str, Any] = {"rules": rules, "run": Run(records=records)}
    if rules.num_players == 1:
        adjusted = deals.domain == "validation" and start_value(rules) is not None
        [result] = evaluate_all({"trained": agent}, deals, adjusted=adjusted, **options).values()
        *_, highest = result.classes.values()
        low, high = result.ci95
        found = {"mean": result.mean, "mean_low": low, "mean_high": high}
        if adjusted:
            ends = ("adjusted_mean", "adjusted_mean_low", "adjusted_mean_high")
            found |= dict(zip(ends, result.adjusted_mean, strict=True))
        found |= {"lost": float(result.lost.mean()), "at_least_150": highest}
    else:
        games = compare([agent, opponent], deals, names=["trained", "opponent"], **options)
        found = {"even": float(games.even[0])}
        for name, (value, low, high) in {"win_rate": games.win_rate(), "margin": games.margin()}.items():
            found |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return {name: round(figure, 4) for name, figure in found.items()} | {"deals": deals.count}


def strengths(
    agent: Agent | str,
    opponent: Agent | str,
    variants: Mapping[str, BaseRules],
    deals: Deals,
    records: Path | None = None,
    progress: bool = False,
) -> dict[str, Figures]:
    """Measure an agent's `strength` in several variants, by name. ``records``: folder of a file of games for each."""
    return {
        variant: strength(agent, opponent, rules, deals, records and records / f"{variant}.npz")
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
