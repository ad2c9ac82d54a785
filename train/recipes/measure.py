"""What the recipes share: measuring what was learned on ``validation`` deals."""

from quincunx_env.arena import Evaluation, evaluate
from quincunx_env.core.policy import Policy


def measure(policy: Policy, deals: int) -> Evaluation:
    """Play the first ``deals`` validation deals of the solitaire, and print the mean."""
    result = evaluate(policy, deals, domain="validation")
    low, high = result.ci95
    print(
        f"mean {result.mean:.1f} ({low:.1f} to {high:.1f}) on {deals} validation deals, lost {result.lost.mean():.1%}"
    )
    return result
