"""What a seat cannot see, dealt anew: complete games that agree with an observation.

A searching player must never look at the true future; it plays on games made here instead.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.deal import MAX_SEED
from quincunx_env.core.observation import AnyBatch, BaseObserver


def resample(
    observer: BaseObserver[Any, Any, AnyBatch],
    observation: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any],
    rng: np.random.Generator,
    n: int = 1,
) -> AnyBatch:
    """Draw complete games that a seat cannot tell from the one it observes.

    The cards that the seat does not see are spread uniformly over wherever they may lie; later rounds are dealt anew.

    Args:
        observer: what made the observation.
        observation: of one game in progress, as pieces or flat.
        rng: the only source of randomness.
        n: how many games.

    Returns:
        A batch of n games, seats numbered as in the observed game. (That a game was ended by an illegal action shows in
        no observation.)

    Raises:
        ValueError: if the observation is of a game that is over, or of none of these rules.
    """
    own, pieces = observer.to_unpadded(observation)
    rules = own.rules
    counts = own.named_counts(pieces)
    players = range(rules.num_players)
    secret = own.hidden(pieces)
    cards = np.array(sorted({*rules.deck} - {*secret.seen}), np.int8)
    if len(cards) != sum(secret.hands) + secret.stock:
        raise ValueError(f"this observation does not fit {rules}: {len(cards)} cards are hidden")
    cards = rng.permuted(np.broadcast_to(cards, (n, len(cards))), axis=1)
    held = np.flatnonzero(pieces["hand"]).astype(np.int8)
    *others, stock = np.split(cards, np.cumsum(secret.hands), axis=1) if secret.hands else [cards]
    hands = [np.broadcast_to(held, (n, len(held))), *others]

    # Seats are counted from the observing one; the round says which seat began it, and so which seat observes.
    round = counts.get("round", 0)
    seat = (round - counts.get("first", 0)) % len(players)
    offsets = [(other - seat) % len(players) for other in players]
    decks = rng.permuted(np.broadcast_to(np.array(rules.deck, np.int8), (n, rules.num_rounds, len(rules.deck))), axis=2)
    decks = decks[:, :, : rules.num_dealt].copy()
    hands = [hands[offset] for offset in offsets]
    decks[:, round] = own.possible_decks(pieces, hands, stock)
    scores, totals = (
        [counts[f"{kind}_{offset}"] for offset in offsets]
        for kind in ("score", "total" if rules.num_rounds > 1 else "score")
    )
    batch: Any = own.make_batch(n)
    batch.reset(rng.integers(MAX_SEED, size=n))  # the games after this one are unknown too
    batch.set_position(
        decks=decks,
        hands=np.stack([_as_bits(hand) for hand in hands], axis=1),
        scores=scores,
        totals=totals,
        mover=(seat + counts.get("mover", 0)) % len(players),
        round=round,
        **own.public_state(pieces),
    )
    return batch  # type: ignore[no-any-return]


def _as_bits(cards: npt.NDArray[np.int8]) -> npt.NDArray[np.uint64]:
    """Sets of cards: int8 [n, k] as uint64 [n]."""
    bits: npt.NDArray[np.uint64] = np.bitwise_or.reduce(np.uint64(1) << cards.astype(np.uint64), axis=1)
    return bits
