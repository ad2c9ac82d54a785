"""Evaluation of the policies that the recipes train, on ``validation`` deals."""

from quincunx_env.arena import Evaluation, evaluate
from quincunx_env.core.policy import Policy
from quincunx_env.quincunx.rules import Rules


def measure(policy: Policy, deals: int, rules: Rules | None = None) -> Evaluation:
    """Evaluate a policy on the first ``deals`` validation deals of the solitaire, and print the result."""
    result = evaluate(policy, deals, rules=rules, domain="validation")
    low, high = result.ci95
    lost = f"{result.lost.mean():.1%}"
    print(f"mean {result.mean:.1f} ({low:.1f} to {high:.1f}) on {deals} validation deals, lost {lost}")
    return result
