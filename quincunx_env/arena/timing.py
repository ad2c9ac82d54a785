"""Processor time of policies per action. Between machines only ratios can be compared."""

import time
from collections.abc import Iterable, Mapping

import numpy as np

from quincunx_env.arena.evaluation import SOLITAIRE
from quincunx_env.arena.matches import Deals, play_matches
from quincunx_env.arena.runner import Run, with_run
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Agent, Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import by_display_name, resolve


class Metered:
    """An agent whose processor time and actions are counted."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.seconds, self.actions = agent, 0.0, 0

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return a policy for games with these rules."""
        policy = policy_for(self.agent, rules)

        def choose(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
            started = time.process_time()
            chosen = policy(observation, mask, rng)
            self.seconds += time.process_time() - started
            self.actions += len(mask)
            return chosen

        return choose


@with_run
def seconds_per_action(
    policies: Mapping[str, Agent | str] | Iterable[Agent | str],
    deals: Deals | int = Deals(20, "validation"),
    *,
    rules: BaseRules = SOLITAIRE.rules,
    run: Run = Run(),
) -> dict[str, float]:
    """Measure the processor time of each policy per action.

    Each policy plays every seat of the same deals.

    Args:
        policies: by name, or a sequence; as in `quincunx_env.arena.tournament`.
        deals: numbered deals; an integer means the first ones of the benchmark.
        rules: of the game.
        run: its ``seed`` and ``chunk``. Many positions at once take a policy less time for each.

    Returns:
        Seconds per action, by name in the order of the policies.

    Raises:
        ValueError: for no or an unknown policy, or two of the same name.
        IllegalAction: if a policy chooses an illegal action.
    """
    run.allow("seconds_per_action", "seed", "chunk")
    named = by_display_name(policies)
    if not named:
        raise ValueError("there is nothing to measure: name a policy")
    timed = {name: Metered(resolve(policy)) for name, policy in named.items()}
    config, seats = run.config(rules, deals), np.zeros((1, rules.num_players), np.int64)
    for number in config.chunks:
        for name, policy in timed.items():  # in turn, so that a change of the machine's speed concerns all
            play_matches([policy], seats, config, number, names=[name])
    return {name: policy.seconds / policy.actions for name, policy in timed.items()}
