"""Beliefs about other players' hands, from their plays and a model policy.

A seat would rather have played another card, had it held one that the model prefers there. Hands are drawn with
probabilities proportional to exp(-r / `TEMPERATURE`), where r is the regret of a hand. The regret is summed over the
plays of the round. At each play it is the difference in the model's values between the best action of the hand of that
time and the action taken. If all hands have the same regret, they are uniform, as in `quincunx_env.core.resample`.

The hands are sampled by independence chains (Metropolis-Hastings; Tierney, Markov Chains for Exploring Posterior
Distributions, The Annals of Statistics 22, 1994), all side by side. A proposal draws card after card in proportion to a
weight. After each step the weights are estimated again from all hands evaluated so far. After a few steps the
distribution is therefore only approximately the one above. Which cards came at which draw is hidden as well: every
proposal has random ones.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, Ints, observer_for
from quincunx_agents.agent_specs import agent_spec_of, single_round
from quincunx_env.core.arrays import ONE, as_bits
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import ValuedPolicy
from quincunx_env.core.rules import BaseRules

Floats = npt.NDArray[np.float64]
Hands = list[npt.NDArray[Any]]

STEPS = 3
"""Proposals for each hand after the first, uniform ones; six were not seen to be better (docs/experiments.md)."""

TEMPERATURE = 1.0
"""In points of the model's values. 0.5, 2 and 3 were not seen to be better (docs/experiments.md)."""

_LEAST = 1e-6
"""Lower bound of likelihoods in sums before their logarithm is taken."""

_NEVER = 127
"""A ply after the end of every round."""


class _Round(NamedTuple):
    """The round so far, as one seat observes it. Seats are numbered from the one that began it, plies from 1."""

    deck: npt.NDArray[np.int8]
    """int8 [cards dealt]: a deck with the same face-up cards."""
    cards: Ints
    """int64 [T]: the cards played."""
    actions: Ints
    """int64 [T]: the actions."""
    movers: Ints
    """int64 [T]: the seats that played them."""
    observer: int
    """The observing seat."""
    hand: Ints
    """Its cards."""
    others: list[int]
    """The other seats, from the next one on."""
    sizes: list[int]
    """Number of cards that each of them holds."""
    hidden: Ints
    """int64 [L]: the cards in their hands, in the pile or left out."""


class Beliefs:
    """Sampler of the other seats' hands.

    Args:
        rules: of the game, with several players.
        model: the policy that the other seats are believed to follow, for rules of
            `quincunx_agents.agent_specs.single_round`. Actions without a value count as the worst of the others.
        chains: number of hands that are sampled at once.
    """

    def __init__(self, rules: BaseRules, model: ValuedPolicy, chains: int) -> None:
        self.chains = chains
        self.rules: Any = single_round(rules)
        self.model = model
        self._game_observer = observer_for(rules)
        self._observer = observer_for(self.rules)

    def sample(self, position: Pieces, rng: np.random.Generator) -> Hands:
        """Sample hands of each other seat.

        Args:
            position: observation of one game in progress.
            rng: the only source of randomness.

        Returns:
            For each other seat, from the next one on, int8 [chains, cards held].
        """
        so_far = self._round(position)
        # Indices of hidden cards: the hands of the other seats one after the other, then the cards in no hand.
        orders = rng.permuted(np.broadcast_to(np.arange(len(so_far.hidden)), (self.chains, len(so_far.hidden))), axis=1)
        if (so_far.movers != so_far.observer).any():
            slots = self._slots(so_far)
            regrets, likelihoods = self._evaluate(so_far, slots, orders, rng)
            total, count = np.nansum(likelihoods, axis=0), np.isfinite(likelihoods).sum(axis=0)
            for _ in range(STEPS):
                # A card that has been in no hand has the weight of the mean.
                mean = total.sum(axis=1, keepdims=True) / np.maximum(count.sum(axis=1, keepdims=True), 1)
                log_weights = np.log(np.maximum(total + mean, _LEAST) / (count + 1))
                proposed = _propose(log_weights, so_far.sizes, self.chains, rng)
                new, likelihoods = self._evaluate(so_far, slots, proposed, rng)
                log_ratio = (regrets - new) / TEMPERATURE
                log_ratio += _log_probability(orders, log_weights, so_far.sizes)
                log_ratio -= _log_probability(proposed, log_weights, so_far.sizes)
                accepted = np.log(rng.random(self.chains)) < log_ratio
                orders[accepted], regrets[accepted] = proposed[accepted], new[accepted]
                total += np.nansum(likelihoods, axis=0)
                count += np.isfinite(likelihoods).sum(axis=0)
        return [hand.astype(np.int8) for hand in _split(so_far.hidden[orders], so_far.sizes)]

    def _round(self, position: Pieces) -> _Round:
        """Read the round so far from an observation."""
        rules, counts = self.rules, self._game_observer.named_counts(position)
        hidden = self._game_observer.hidden(position)
        up, cards, actions = agent_spec_of(rules).plays_so_far(position, counts, rules)
        movers = np.arange(len(cards)) % rules.num_players
        observer = -int(counts["first"]) % rules.num_players
        return _Round(
            deck=np.array([*up, *sorted({*rules.deck} - {*up.tolist()})][: rules.num_dealt], np.int8),
            cards=cards,
            actions=actions,
            movers=movers,
            observer=observer,
            hand=np.flatnonzero(position["hand"]),
            others=[(observer + offset) % rules.num_players for offset in range(1, rules.num_players)],
            sizes=hidden.hands,
            hidden=np.array(sorted({*rules.deck} - {*hidden.seen}), np.int64),
        )

    def _replay(self, so_far: _Round, count: int) -> Any:
        """Make a batch of ``count`` games before the first play."""
        games = self._observer.make_batch(count)
        games.reset(deals=np.broadcast_to(so_far.deck, (count, 1, len(so_far.deck))).copy())
        return games

    def _slots(self, so_far: _Round) -> list[Ints]:
        """Return the plies after which the cards of each seat came.

        They are ascending, 0 for cards that it was dealt.
        """
        games = self._replay(so_far, 1)
        slots = [[0] * self.rules.hand_size for _ in range(self.rules.num_players)]
        for ply, (card, action, mover) in enumerate(zip(so_far.cards, so_far.actions, so_far.movers, strict=True), 1):
            games.hands[0, mover] = ONE << np.uint64(card)
            games.step([action])
            slots[mover] += [ply] * int(np.bitwise_count(games.hands[0, mover]))
        return [np.array(each) for each in slots]

    def _evaluate(
        self, so_far: _Round, slots: list[Ints], orders: Ints, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return regrets of hands, float64 [chains], and likelihoods of their cards.

        The likelihood of each card by itself is float64 [chains, other seats, L], nan where a seat does not hold it.
        """
        held = dict(zip(so_far.others, _split(so_far.hidden[orders], so_far.sizes), strict=True))
        held[so_far.observer] = np.broadcast_to(so_far.hand, (self.chains, len(so_far.hand)))
        observation, mask = self._plays_of_others(so_far, slots, held, rng)
        values = self.model.action_values(observation, mask, rng)
        values = np.maximum(values, np.where(np.isfinite(values), values, np.inf).min(axis=1, keepdims=True))

        of_others = so_far.movers != so_far.observer
        taken = values[np.arange(len(values)), np.repeat(so_far.actions[of_others], self.chains)]
        best = values.reshape(len(values), self.rules.num_cards, -1).max(axis=2)  # with each card of the hand
        excess = np.maximum(best - taken[:, None], 0).astype(np.float64)
        excess = excess.reshape(of_others.sum(), self.chains, self.rules.num_cards)
        likelihoods = np.full((self.chains, len(so_far.others), len(so_far.hidden)), np.nan)
        for number, seat in enumerate(so_far.others):
            by_card = excess[so_far.movers[of_others] == seat][:, :, so_far.hidden].sum(axis=0)
            in_hand = (held[seat][:, :, None] == so_far.hidden).any(axis=1)
            likelihoods[:, number] = np.where(in_hand, np.exp(-by_card / TEMPERATURE), np.nan)
        return excess.max(axis=2).sum(axis=0), likelihoods

    def _plays_of_others(
        self, so_far: _Round, slots: list[Ints], held: dict[int, Ints], rng: np.random.Generator
    ) -> tuple[Pieces, Bools]:
        """Return observations and masks of the other seats before their plays.

        The ones of a ply stand together.

        Args:
            so_far: the round.
            slots: see `_slots`.
            held: the hand that each seat has now, int64 [chains, cards held].
            rng: which cards came at which draw is random.
        """
        plies = np.arange(1, len(so_far.cards) + 1)
        cards, came, left = [], [], []
        for seat in range(self.rules.num_players):
            own = so_far.movers == seat
            played = np.broadcast_to(so_far.cards[own], (self.chains, own.sum()))
            cards.append(np.concatenate([played, held[seat]], axis=1))
            came.append(_arrivals(slots[seat], plies[own], self.chains, rng))
            left.append(np.concatenate([plies[own], np.full(held[seat].shape[1], _NEVER)]))
        games, observations, masks = self._replay(so_far, self.chains), [], []
        for ply, action, mover in zip(plies, so_far.actions, so_far.movers, strict=True):
            for seat in range(self.rules.num_players):
                games.hands[:, seat] = as_bits(cards[seat], (came[seat] < ply) & (left[seat] >= ply))
            if mover != so_far.observer:
                observations.append(self._observer.observe_batch(games))
                masks.append(games.mask)
            games.step(np.full(self.chains, action))
        pieces = {name: np.concatenate([each[name] for each in observations]) for name in observations[0]}
        return pieces, np.concatenate(masks)


def _split(cards: Ints, sizes: list[int]) -> Hands:
    """Split rows of cards into hands, [n, size] each. The rest is left out."""
    return np.split(cards, np.cumsum(sizes), axis=1)[:-1]


def _arrivals(slots: Ints, plays: Ints, chains: int, rng: np.random.Generator) -> Ints:
    """Draw random plies after which a seat's cards came, int64 [chains, slots].

    The columns are its plays in order, then its hand.

    Args:
        slots: the plies, ascending.
        plays: on which it played, ascending; every card came before it was played.
        chains: number of samples.
        rng: the only source of randomness.
    """
    free = np.ones((chains, len(slots)), np.bool_)
    chosen = np.empty((chains, len(plays)), np.int64)
    # The first play has the fewest slots to choose from; in this order all arrivals are equally likely.
    for number, ply in enumerate(plays):
        possible = free & (slots < ply)
        chosen[:, number] = np.where(possible, rng.random(possible.shape), -1).argmax(axis=1)
        free[np.arange(chains), chosen[:, number]] = False
    rest = np.nonzero(free)[1].reshape(chains, len(slots) - len(plays))
    arrivals: Ints = slots[np.concatenate([chosen, rng.permuted(rest, axis=1)], axis=1)]
    return arrivals


def _propose(log_weights: Floats, sizes: list[int], chains: int, rng: np.random.Generator) -> Ints:
    """Draw orders of the hidden cards, int64 [chains, L].

    Each hand is drawn card after card in proportion to weights.

    A sort by weights with Gumbel noise draws so (Plackett-Luce; Yellott, Journal of Mathematical Psychology 15, 1977).

    Args:
        log_weights: [other seats, L].
        sizes: cards of each seat.
        chains: number of orders.
        rng: the only source of randomness.
    """
    orders, start = np.tile(np.arange(log_weights.shape[1]), (chains, 1)), 0
    for weights, size in zip(log_weights, sizes, strict=True):
        rest = orders[:, start:]
        keys = weights[rest] + rng.gumbel(size=rest.shape)
        orders[:, start:] = np.take_along_axis(rest, np.argsort(-keys, axis=1), axis=1)
        start += size
    return orders


def _log_probability(orders: Ints, log_weights: Floats, sizes: list[int]) -> Floats:
    """Return log-probabilities that `_propose` draws hands in this order, float64 [n]."""
    total, start = np.zeros(len(orders)), 0
    for weights, size in zip(log_weights, sizes, strict=True):
        drawn = weights[orders[:, start:]]
        of_rest = np.logaddexp.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
        total += (drawn - of_rest)[:, :size].sum(axis=1)
        start += size
    return total
