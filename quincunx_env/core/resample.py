"""Determinization: complete games drawn uniformly from the information set of an observation.

Search agents simulate on these games; they have no access to the hidden cards of the true game.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import as_bits
from quincunx_env.core.deal import MAX_SEED
from quincunx_env.core.integers import check_integer
from quincunx_env.core.observation import AnyBatch, BaseObserver, without_mask


def resample(
    observer: BaseObserver[Any, Any, AnyBatch],
    observation: Mapping[str, Any] | npt.NDArray[Any],
    rng: np.random.Generator,
    n: int = 1,
) -> AnyBatch:
    """Sample determinizations: complete games that fit an observation.

    Hidden cards are distributed uniformly over the places where they may lie; later rounds are dealt from new seeds.

    Args:
        observer: the observer that made the observation.
        observation: pieces or vectors, of one game in progress or, [k, ...] each, of k games; with or without masks.
        rng: the only source of randomness.
        n: number of games for each observation, at least 1.

    Returns:
        A batch of n games, or of k * n, one observation after the other. Seats are numbered as in the observed game,
        not as in the observation. The observer's is ``batch.seat``, also after ``batch.fork``, if all observations have
        the same. A game that was forfeited is in progress here, since its observation does not show that.

    Raises:
        ValueError: if an observed game is over, an observation does not fit the observer's rules, ``rng`` is not a
            ``numpy.random.Generator``, or ``n`` is not a positive integer.
    """
    n = check_integer("n", n, 1, MAX_SEED - 1)
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator, got {rng!r}")
    given = without_mask(observation)
    is_mapping = isinstance(given, Mapping)
    if np.ndim(given.get("board") if is_mapping else given) == 2:
        rows = range(len(given["board"] if is_mapping else given))
        each = [{name: piece[row] for name, piece in given.items()} if is_mapping else given[row] for row in rows]
        batches = [resample(observer, one, rng, n) for one in each]
        return type(batches[0]).join(batches)
    unpadded, pieces = observer.to_unpadded(given)
    rules = unpadded.rules
    counts = unpadded.named_counts(pieces)
    players = range(rules.num_players)
    hidden = unpadded.hidden(pieces)
    cards = np.array(sorted({*rules.deck} - {*hidden.seen}), np.int8)
    if len(cards) != sum(hidden.hands) + hidden.stock:
        raise ValueError(f"this observation does not fit {rules}: {len(cards)} cards are hidden")
    cards = rng.permuted(np.broadcast_to(cards, (n, len(cards))), axis=1)
    held = np.flatnonzero(pieces["hand"]).astype(np.int8)
    *others, stock = np.split(cards, np.cumsum(hidden.hands), axis=1) if hidden.hands else [cards]
    all_hands = [np.broadcast_to(held, (n, len(held))), *others]

    # Counts number the seats from the observing one; the round determines the seat that began it (R15), and with it
    # the observing seat.
    round = counts.get("round", 0)
    seat = (round - counts.get("first", 0)) % len(players)
    offsets = [(other - seat) % len(players) for other in players]
    decks = rng.permuted(np.broadcast_to(np.array(rules.deck, np.int8), (n, rules.num_rounds, len(rules.deck))), axis=2)
    decks = decks[:, :, : rules.num_dealt].copy()
    all_hands = [all_hands[offset] for offset in offsets]
    decks[:, round] = unpadded.possible_decks(pieces, all_hands, stock)
    scores, totals = (
        [counts[f"{kind}_{offset}"] for offset in offsets]
        for kind in ("score", "total" if rules.num_rounds > 1 else "score")
    )
    batch: Any = unpadded.make_batch(n)
    batch._seat = seat
    batch.reset(rng.integers(MAX_SEED, size=n))  # the games after this one are hidden, too
    batch.set_position(
        decks=decks,
        hands=np.stack([as_bits(hand) for hand in all_hands], axis=1),
        scores=scores,
        totals=totals,
        mover=(seat + counts.get("mover", 0)) % len(players),
        round=round,
        **unpadded.public_state(pieces),
    )
    return batch  # type: ignore[no-any-return]
