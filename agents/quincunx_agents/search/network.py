"""Search led by a value network: prior, rollouts and their last value.

As in `quincunx_agents.search.monte_carlo` determinized games are played on. In the rollouts every seat takes the action
that the network prefers among the heuristic's best ones. After ``depth`` plays the network's value stands for the rest
of the round. The network sees no more than the seat that made the last play does. The other seats may follow another
policy instead, an opponent model. That is a step of policy improvement against this policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from quincunx_agents import ties
from quincunx_agents.afterstates import Bools, Floats, observer_for
from quincunx_agents.agent_specs import agent_spec_of
from quincunx_agents.heuristic import heuristic
from quincunx_agents.networks import value
from quincunx_agents.search.determinized import (
    DeterminizedSearch,
    SearchConfig,
    Values,
    margins,
    payoffs,
)
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Agent, Policy, policy_for
from quincunx_env.core.rules import BaseRules

SPREAD = 4.0
"""Temperature of the `margins` where a rollout is truncated, in points times the root of the plays left; not tuned."""


@dataclass(frozen=True)
class NetworkSearch(SearchConfig):
    """Search led by a value network; a `quincunx_env.core.policy.PolicyFactory`.

    The defaults are for several players of Quincunx. ``prior_weight`` and ``candidates`` were chosen on ``validation``
    deals of two players; the others are not tuned.
    """

    shortlist: int = 16
    samples: int = 8
    rounds: int = 3
    prior_weight: float = 0.25
    candidates: int = 24
    """Actions that the network evaluates for the prior; see `value.ValueWeights.candidates`."""
    depth: int | None = 6
    """Length of the rollouts in plays; None is to the end of the round."""
    rollout_candidates: int = 6
    """Actions of each position that the network evaluates in the rollouts, the heuristic's best."""
    others: Agent | None = None
    """Policy of the other seats in the rollouts; the network if None."""
    weights: value.ValueWeights | None = None
    """The weights shipped for the game if None."""

    def for_rules(self, rules: BaseRules) -> DeterminizedSearch:
        """Return the policy for a game.

        Raises:
            ValueError: if the network has not learned the game, or the policy of the other seats does not play it.
        """
        weights = replace(self.weights or value.shipped_for(rules), candidates=self.candidates)
        value.require_learned(weights, rules)
        others = None if self.others is None or rules.num_players == 1 else policy_for(self.others, rules)
        evaluate = partial(self._evaluate, weights.members, others)
        return DeterminizedSearch(rules, self, evaluate, partial(_prior, weights, rules))

    def _evaluate(
        self,
        members: Sequence[Mapping[str, Floats]],
        others: Policy | None,
        games: Any,
        seat: int,
        left: int,
        rng: np.random.Generator,
    ) -> Values:
        """Return values of games to a seat by network rollouts, float64 [B].

        A value is the seat's points, or with several players its `margins`. The games are played on.

        Args:
            members: tensors of each network by name; see `value.values_of`.
            others: policy of the other seats, but for the play before the network evaluates; the network if None.
            games: as of `quincunx_agents.search.determinized.Evaluator`.
            seat: whose value.
            left: plays until the round ends.
            rng: not used.
        """
        depth = left if self.depth is None else min(self.depth, left)
        rules = games.rules
        spec, observer = agent_spec_of(rules), observer_for(rules)
        policy, features = spec.rollout_policy, spec.features
        margin_weights, players = value.margin_weights(rules.num_players), rules.num_players
        results, rows = payoffs(games)[:, seat], np.arange(games.num_games)
        for number in range(depth):
            if games.over.any():  # a solitaire may be lost before its end
                rows, games = rows[~games.over], games.fork(~games.over)
            if not len(rows):
                break
            observation = observer.observe_batch(games)
            mask = games.mask
            last = number + 1 == depth
            if others and games.mover[0] != seat and not (last and depth < left):
                policy.step(games, others(observation, mask, np.random.default_rng(number)))
                results[rows] = payoffs(games)[:, seat]
                continue
            tried = features.shortlist(rules, observation, mask, self.rollout_candidates)
            afterstates = features.afterstates_of(rules, observation, tried)
            values = value.evaluate_afterstates(members, afterstates)
            totals = afterstates.points + values @ margin_weights
            best = ties.best_of_rows(totals, afterstates.rows)
            if last and depth < left:
                mover = int(games.mover[0])
                final = games.totals.astype(np.float64)
                final[:, mover] += afterstates.points[best]
                final += np.roll(values[best, :players], mover, axis=1)
                results[rows] = margins(final, SPREAD * (left - number - 1) ** 0.5)[:, seat]
                break
            policy.step(games, afterstates.actions[best])
            results[rows] = payoffs(games)[:, seat]
        return results


def _prior(weights: value.ValueWeights, rules: BaseRules, observation: Pieces, mask: Bools) -> Floats:
    # The network knows the points to come; the rollouts return all points of the game.
    counts, kind = observer_for(rules).named_counts(observation), "total" if rules.num_rounds > 1 else "score"
    points = np.stack([counts[f"{kind}_{seat}"] for seat in range(rules.num_players)], axis=1)
    so_far = points.astype(np.float32) @ value.margin_weights(rules.num_players)[: rules.num_players]
    return so_far[:, None] + value.action_values(weights, rules, observation, mask)


@dataclass(frozen=True)
class Search:
    """`NetworkSearch` with the settings of each game; a `quincunx_env.core.policy.PolicyFactory`.

    The heuristic models the other seats.
    """

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the policy for a game.

        Raises:
            ValueError: if no shipped network has learned the game.
        """
        return NetworkSearch(**agent_spec_of(rules).search_settings(rules), others=heuristic).for_rules(rules)


search = Search()
"""The agent ``search``."""
