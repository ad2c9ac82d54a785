"""Options of the recipes for PPO, and the evaluation of their policies. They play ``validation`` deals."""

from dataclasses import dataclass

from quincunx_env.arena import Evaluation, evaluate
from quincunx_env.core.policy import Policy
from train.common.options import Count, NumDeals, PPOOptions, Seed


@dataclass
class RecipeOptions(PPOOptions):
    """Every option of a run."""

    total_steps: Count = 300_000
    """environment steps of all games together"""
    seed: Seed = 0
    """seed of the deals, the initial weights and the exploration"""
    num_envs: Count = 512
    """games side by side"""
    deals: NumDeals = 1000
    """validation deals of the evaluation"""
    progress: bool = True
    """show a progress bar"""


def measure(policy: Policy, deals: int) -> Evaluation:
    """Evaluate a policy on validation deals, and print the result. They are the first ``deals`` of the solitaire."""
    result = evaluate(policy, deals, domain="validation")
    low, high = result.ci95
    lost = f"{result.lost.mean():.1%}"
    print(f"mean {result.mean:.1f} ({low:.1f} to {high:.1f}) on {deals} validation deals, lost {lost}")
    return result
