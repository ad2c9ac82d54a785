"""Scores without luck: means of the solitaire, adjusted for the cards that were dealt and drawn.

The arena knows every card of a finished game, so it can say how lucky the deal and each draw were. The luck is a
control variate: its expectation is 0 whatever the policy does, and subtracting it leaves the mean as it is and narrows
the interval (advantage sum estimators, Zinkevich et al., Optimal unbiased estimators for evaluating agent performance,
AAAI 2006; AIVAT, Burch et al., AAAI 2018).

- A *draw* takes a set of cards from the unseen ones, each set with the same probability. Its luck is the sum over its
  cards of u(card) minus the mean of u over the unseen cards. u(card) is the value of the state in which this card alone
  was drawn, or after the last play minus its penalty.
- The *deal* has as its luck the value of the start, minus the mean of this value over all deals (`start_value`).

The value of a state is a reference's: the most points + V of its actions. The estimate is unbiased with any reference;
the interval is narrow with a good one. A policy that uses more than its observation is outside the claim: it may know
the cards that come.

Axes: D deals, N plays of a game, B games.
"""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from quincunx_env.arena.matches import MatchConfig, MatchResults
from quincunx_env.arena.replays import Replay, measure_replays
from quincunx_env.arena.runner import Run
from quincunx_env.core.arrays import ONE, Bools, Floats, Words, unpack
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import display_name, resolve
from quincunx_env.registry import observer_of, spec_of
from quincunx_env.utils.files import package_file, read_text

REFERENCE = "value"
"""Registered policy whose values are used."""

SHORTLIST, PER_DRAW = 8, 4
"""After a draw a state is valued by its 8 actions with the most points, where a card drawn counts 4."""

FEW_DEALS = 300
"""Number of deals up to which commands adjust means without being asked. It takes seconds."""

PRIOR = 50
"""Deals that the prior weight 1 of the luck counts for. Of few deals single ones would determine the weights."""

FILE = package_file("quincunx_env.arena", "luck.json")
"""Mean value of the start, with the command that measured it.

:meta hide-value:
"""


@dataclass(frozen=True, eq=False)
class Luck:
    """Luck of D games of the solitaire, in points."""

    draws: Floats
    """float64 [D, N]: luck of the draw after each play, 0 where nothing was drawn."""
    deal: Floats
    """float64 [D]: luck of the deal. It is 0 under rules, or with a reference, whose mean has not been measured."""
    error: float
    """Standard error of that mean. The interval contains it whole, although the deal's weight may be below 1."""

    def adjusted(self, values: Floats) -> Floats:
        """Subtract the luck from values of the games, float64 [D] -> float64 [D].

        Draws and deal have weights near 1, by linear regression. The weights for one half of the deals are fitted on
        the other half, so that they do not depend on what they adjust. That keeps the mean unbiased.
        """
        luck = np.stack([self.draws.sum(axis=1), self.deal], axis=1)
        adjusted: Floats = values.astype(np.float64)
        second = np.arange(len(values)) % 2 == 1
        for half in (second, ~second):
            adjusted[half] -= luck[half] @ _weights(values[~half], luck[~half])
        return adjusted


def _weights(values: Floats, luck: Floats) -> Floats:
    """Fit the weights of each kind of luck [D, kinds], by ridge regression towards 1."""
    centred, rest = luck - luck.mean(axis=0), values - luck.sum(axis=1)
    prior = np.sqrt(PRIOR) * np.diag(luck.std(axis=0))
    known = np.concatenate([rest - rest.mean(), np.zeros(len(prior))])
    weights: Floats = 1 + np.linalg.lstsq(np.concatenate([centred, prior]), known, rcond=None)[0]
    return weights


# --- The luck of games -----------------------------------------------------------------------------------------------


def luck_of(results: MatchResults, config: MatchConfig, reference: Agent | str = REFERENCE, run: Run = Run()) -> Luck:
    """Measure the luck of games of the solitaire, about 60 ms of processor time each.

    Args:
        results: the games.
        config: rules and deals.
        reference: policy with the method ``action_values``, in points; or its name.
        run: its ``workers`` and ``progress`` are used.

    Raises:
        ValueError: for rules of several players, or a reference that has no values or does not play by these rules.
    """
    if not hasattr(policy_for(resolve(reference), config.rules), "action_values"):
        raise ValueError(f"{display_name(reference)} has no values of actions: it lacks a method action_values")
    found = measure_replays(partial(_luck, reference), results, config, run)
    starts, draws = map(np.concatenate, zip(*found, strict=True))
    known = start_value(config.rules, reference)
    return Luck(draws, np.zeros(len(starts)), 0.0) if known is None else Luck(draws, starts - known[0], known[1])


def _luck(reference: Agent | str, replay: Replay) -> tuple[Floats, Floats]:
    """Return values of the starts [D], and luck of the draws [D, N]."""
    games = replay.games
    policy = policy_for(resolve(reference), games.rules)
    starts, draws = state_values(games, policy), np.zeros((games.num_games, games.rules.num_plays))
    for play, rows, actions in replay.plays():
        before = games.hands[rows, 0].copy()
        games.step(actions, rows)
        drawn = games.hands[rows, 0] & ~before
        lucky = drawn > 0
        if lucky.any():
            draws[rows[lucky], play] = luck_of_draws(games.fork(rows[lucky]), drawn[lucky], policy)
    return starts, draws


def luck_of_draws(games: Any, drawn: Words, policy: Any) -> Floats:
    """Return the luck of draws, in points, float64 [B].

    Args:
        games: solitaires right after the draws, at the same ply.
        drawn: uint64 [B], the cards drawn, as bits; at least one in each game.
        policy: the reference, with ``action_values``.
    """
    rules = games.rules
    # The pile is hidden: the cards outside of grid and hand are equally likely to be drawn.
    unseen = unpack((games.unseen | drawn)[:, None], rules.num_cards)
    rows, cards = np.nonzero(unseen)
    states = games.fork(rows)
    card = ONE << cards.astype(np.uint64)
    if games.ply[0] == rules.num_plays:
        states.hands[:, 0] = card
        values = -states.penalties()[:, 0].astype(np.float64)
    else:
        states.hands[:, 0] = (games.hands[:, 0] & ~drawn)[rows] | card
        values = state_values(states, policy, shortlist=True)
    table = np.zeros(unseen.shape)
    table[rows, cards] = values
    mean = table.sum(axis=1) / unseen.sum(axis=1)
    luck: Floats = (unpack(drawn[:, None], rules.num_cards) * (table - mean[:, None])).sum(axis=1)
    return luck


def state_values(games: Any, policy: Any, shortlist: bool = False) -> Floats:
    """Return the highest action value of each game, float64 [B]. No game is over."""
    seen, mask = observer_of(policy, games.rules).observe_batch(games), games.mask
    if shortlist:
        mask &= _shortlist(seen["preview"].reshape(len(mask), -1, 2), mask)
    values: Floats = policy.action_values(seen, mask, np.random.default_rng(0)).max(axis=1).astype(np.float64)
    return values


def _shortlist(preview: Any, mask: Bools) -> Bools:
    """Return the `SHORTLIST` of each game, bool [B, A]. ``preview`` has points and draws, [B, A, 2]."""
    if mask.shape[1] <= SHORTLIST:
        return mask
    promise = np.where(mask, preview[..., 0] + PER_DRAW * preview[..., 1].astype(np.float32), -np.inf)
    short = np.zeros_like(mask)
    np.put_along_axis(short, np.argpartition(-promise, SHORTLIST, axis=1)[:, :SHORTLIST], True, axis=1)
    return short


# --- The mean value of the start -------------------------------------------------------------------------------------


def start_value(rules: BaseRules, reference: Agent | str = REFERENCE) -> tuple[float, float] | None:
    """Return the mean value of the start under these rules, and its standard error.

    It is stored for the solitaire without options. For other rules, or another reference, it is None.
    """
    solitaire = spec_of(rules).solitaire
    if reference != REFERENCE or solitaire is None or rules != solitaire.rules:
        return None
    stored = json.loads(read_text(FILE))
    return stored["mean"], stored["error"]


def adjusts_unasked(rules: BaseRules, deals: int) -> bool:
    """Return whether commands adjust means without being asked: of few deals under the usual rules."""
    return deals <= FEW_DEALS and start_value(rules) is not None
