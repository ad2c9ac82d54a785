"""Results of training runs as tables."""

from collections.abc import Mapping
from typing import Any

from quincunx_env.arena.statistics import written
from quincunx_env.utils.markdown import markdown_table

Facts = Mapping[str, Any]
"""Results of a training run, as the scripts in ``train`` write them as JSON."""

VARIANTS = {
    "solitaire": "solitaire",
    "2-corners": "2 players, corners",
    "3-corners": "3 players, corners",
    "4-corners": "4 players, corners",
    "2-open": "2 players, open start",
    "3-open": "3 players, open start",
    "4-open": "4 players, open start",
    "mini": "mini variant, solitaire",
    "mini-2": "mini variant, 2 players",
    "spiral": "spiral game, one deal",
    "spiral-end": "spiral game scored at the end, one deal",
}
"""Variants of the games by their names in the files of training runs."""


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage, see `written`."""
    return written(share, f".{digits}%").replace("%", " %")


def results_table(facts: Facts, name: str) -> str:
    """Return a network's results as a table, with baselines of the solitaire."""
    benchmark: Mapping[str, Mapping[str, Any]] = facts["benchmark"]
    if any("win_rate" in result for result in benchmark.values()):
        opponent = f"`{facts['arguments']['against']}`"
        cells = [
            (VARIANTS.get(variant, variant), opponent, f"{each['deals']:,}", *multiplayer_columns(each))
            for variant, each in benchmark.items()
        ]
        return markdown_table(("variant", "opponent", "deals", *MULTIPLAYER), cells)
    rows = [*facts.get("baselines", {}).items()]
    rows += [
        (name if len(benchmark) == 1 else VARIANTS.get(variant, variant), result)
        for variant, result in benchmark.items()
    ]
    alone = [(each, f"{result['deals']:,}", *solitaire_columns(result)) for each, result in rows]
    return markdown_table(("agent", "deals", *SOLITAIRE), alone)


SOLITAIRE = ("mean score", "95 % interval", "lost", "150 and more")
"""Headings of a result of the solitaire."""

MULTIPLAYER = ("win rate", "95 % interval", "even", "margin", "95 % interval")
"""Headings of a result of several players."""


def solitaire_columns(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a solitaire result as text, in the columns of `SOLITAIRE`."""
    return (
        f"{result['mean']:z.1f}",
        f"{result['mean_low']:z.1f} to {result['mean_high']:z.1f}",
        percent(result["lost"], 2),
        percent(result["at_least_150"]),
    )


def multiplayer_columns(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a multiplayer result as text, in the columns of `MULTIPLAYER`."""
    return (
        percent(result["win_rate"]),
        f"{100 * result['win_rate_low']:z.1f} to {100 * result['win_rate_high']:.1f} %",
        percent(result["even"]),
        f"{result['margin']:+z.1f}",
        f"{result['margin_low']:+z.1f} to {result['margin_high']:+z.1f}",
    )
