"""Options of TD(lambda), and its named settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from quincunx_agents.agent_specs import agent_specs, rules_of
from train.common.evaluation import require_opponent
from train.common.options import (
    Count,
    CountOrZero,
    NumDeals,
    RunName,
    RunOptions,
    Setting,
    Share,
)
from train.td_lambda.learning import LearningOptions
from train.td_lambda.rollout import RolloutOptions

ALL_PLAYS = {"candidates": 0, "shortlist": 0}
"""Options by which every play is evaluated."""

EXACT = {**ALL_PLAYS, "greedy_targets": False, "games": 256}
"""Settings of docs/optimal_play.md."""

SOLITAIRE = {"variants": ("solitaire",), "candidates": 0, "temperature": 2.0, "td_lambda": 0.7, "updates": 24}

WIDE = {"averaging": 0.2, "set_width": 64, "width": 192}
"""A network with more units, and averaged weights."""

SOLITAIRE_LONG = {
    **SOLITAIRE,
    **WIDE,
    **{"shortlist": 24, "iterations": 434, "replay": 20, "eval_every": 43, "eval_deals": 200},
}

SPIRAL = {**ALL_PLAYS, "td_lambda": 0.95, "games": 256}

SETTINGS: Mapping[str, Setting] = {
    "solitaire": Setting(
        "the solitaire",
        {
            **SOLITAIRE,
            **{"shortlist": 12, "iterations": 75, "shares": 1},
            **{"eval_every": 12, "eval_deals": 50, "checkpoint_every": 25},
        },
    ),
    "solitaire-long": Setting("the solitaire, a million environment steps", SOLITAIRE_LONG),
    "solitaire-best": Setting(
        "the solitaire, 10 % with options, three networks",
        {**SOLITAIRE_LONG, "iterations": 2000, "options_share": 0.1, "members": 3, "eval_every": 200},
    ),
    "two-players": Setting(
        "two players, both starts",
        {
            **{"variants": ("2-corners", "2-open"), "iterations": 120, "averaging": 0.2, "td_lambda": 0.8},
            "eval_every": 30,
        },
    ),
    "two-players-best": Setting(
        "two players, both starts, 10 % with options, three networks",
        {
            **WIDE,
            **{"variants": ("2-corners", "2-open"), "td_lambda": 0.8, "replay": 20, "options_share": 0.1},
            **{"members": 3, "eval_every": 175},
        },
    ),
    "three-four-players": Setting(
        "three and four players, both starts",
        {"variants": ("3-corners", "4-corners", "3-open", "4-open"), "iterations": 120, "eval_every": 30},
    ),
    "three-four-players-best": Setting(
        "three and four players, both starts, half against the heuristic, 10 % with options, two networks",
        {
            **{"variants": ("3-corners", "4-corners", "3-open", "4-open"), "averaging": 0.2},
            **{"against_share": 0.5, "pool_share": 0.0, "options_share": 0.1, "members": 2, "eval_every": 175},
        },
    ),
    "spiral": Setting("the spiral game", {**SPIRAL, "variants": ("spiral",), "iterations": 120, "eval_every": 30}),
    "spiral-best": Setting(
        "the spiral game, 15 % with options, two networks",
        {
            **SPIRAL,
            **WIDE,
            **{"variants": ("spiral",), "iterations": 750, "options_share": 0.15, "replay": 20, "members": 2},
        },
    ),
    "spiral-end": Setting(
        "the spiral game scored at the end, 30 % with options",
        {**SPIRAL, **WIDE, "variants": ("spiral-end",), "iterations": 200, "options_share": 0.3},
    ),
    "mini": Setting(
        "the mini variant, solitaire",
        {**EXACT, "variants": ("mini",), "iterations": 100, "temperature": 2.0, "td_lambda": 0.7, "updates": 24},
    ),
    "mini-2": Setting(
        "the mini variant, two players",
        {
            **EXACT,
            **{"variants": ("mini-2",), "iterations": 200, "checkpoint_every": 10, "keep_weights": True},
        },
    ),
}
"""Named settings. The first is the default."""


@dataclass
class Arguments(RunOptions, RolloutOptions, LearningOptions):
    """Every option of a run."""

    SETTINGS: ClassVar = SETTINGS

    name: RunName = "solitaire"
    """the run's folder below ``runs``, by default the setting; an earlier run of that name is renamed"""
    variants: tuple[str, ...] = ("2-corners", "3-corners", "4-corners", "2-open", "3-open", "4-open")
    """variants to learn, names of `quincunx_agents.agent_specs.AgentSpec.variants`, all of one game"""
    iterations: Count = 700
    """each plays games and then takes gradient steps"""
    games: Count = 192
    """games in an iteration, of all variants together"""
    options_share: Share = 0.0
    """share of the games of each variant that are played with options drawn at random in each iteration"""
    shares: Count = 2
    """parts of the games of each variant, which as many processes can play"""
    workers: CountOrZero = 2
    """processes that play; 0: this one does. The result is the same"""
    candidates: CountOrZero = 12
    """actions of a state that the trained network evaluates, the heuristic's best; 0: all"""

    members: Count = 1
    """networks that learn side by side, with a seed each; the agent plays by the mean of their values"""
    snapshot_every: Count = 50
    """iterations after which a snapshot of the learner joins the pool"""

    averaging: Share = 0.0
    """share of the iterations so far over which a moving average of the weights plays, and is the result; 0: none"""
    set_width: Count = 48
    """units of the layers that encode a cell or a card"""
    width: Count = 128
    """units of the first hidden layer of the trunk; the second has half as many"""

    eval_every: Count = 100
    """iterations between evaluations"""
    eval_deals: NumDeals = 100
    """validation deals of an evaluation, for each variant; several players play each from every seat"""
    checkpoint_every: Count = 50
    """iterations between checkpoints"""
    keep_weights: bool = False
    """keep the weights of every checkpoint, as ``weights/<iteration>.safetensors``"""

    def __post_init__(self) -> None:
        super().__post_init__()
        known = [name for spec in agent_specs() for name in spec.variants]
        unknown = [variant for variant in self.variants if variant not in known]
        if unknown or not self.variants:
            raise ValueError(f"--variants must be of {', '.join(known)}, got {unknown or 'none'}")
        if len({type(rules_of(variant)) for variant in self.variants}) != 1:
            raise ValueError(f"--variants: all must be of one game, got {', '.join(self.variants)}")
        if self.pool_share + self.against_share > 1:
            raise ValueError("--pool-share and --against-share must add up to at most 1")
        require_opponent(self.against, self.variants)
