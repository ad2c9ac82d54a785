"""What a seat cannot see, dealt anew: complete games that agree with an observation.

A searching player must never look at the true future; it plays on games made here instead.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.batch import Batch
from quincunx_env.cards import EMPTY
from quincunx_env.deal import MAX_SEED
from quincunx_env.observation import Observer


def resample(
    observer: Observer,
    observation: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any],
    rng: np.random.Generator,
    n: int = 1,
) -> Batch:
    """Draw complete games that a seat cannot tell from the one it observes.

    The cards that the seat does not see are spread uniformly over the other hands and the pile; later rounds of a match
    are dealt anew.

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
    rules = observer.rules
    pieces = _check(observer, observation)
    counts = dict(zip(observer.counts, pieces["counts"].tolist(), strict=True))
    seats, players = range(rules.num_players), rules.num_players
    board, order = pieces["board"], pieces["order"]
    pending = pieces["pending"] if rules.simpleton else np.array([-1, -1])
    lost = players == 1 and not counts["hand_size_0"]
    if lost or (board != EMPTY).sum() == rules.setup.filled:
        raise ValueError("this observation is of a game that is over: nothing in it is hidden any more")

    seen = {*board[board != EMPTY].tolist(), *np.flatnonzero(pieces["hand"]).tolist(), *pending[:1].tolist()} - {-1}
    hidden = np.array([card for card in rules.deck if card not in seen], np.int8)
    sizes = [counts[f"hand_size_{seat}"] for seat in seats[1:]]
    if len(hidden) != sum(sizes) + counts["pile"]:
        raise ValueError(f"this observation does not fit {rules}: {len(hidden)} cards are hidden")
    hidden = rng.permuted(np.broadcast_to(hidden, (n, len(hidden))), axis=1)

    # Seats are counted from the observing one; the round says which seat began it, and so which seat observes.
    round = counts.get("round", 0)
    own = (round - counts.get("first", 0)) % players
    absolute = [(own + seat) % players for seat in seats]
    hands = np.zeros((n, players), np.uint64)
    hands[:, own] = np.bitwise_or.reduce(np.uint64(1) << np.flatnonzero(pieces["hand"]).astype(np.uint64))
    bits = np.uint64(1) << hidden.astype(np.uint64)
    ends = np.cumsum([0, *sizes])
    for seat, start, end in zip(absolute[1:], ends[:-1], ends[1:], strict=True):
        hands[:, seat] = np.bitwise_or.reduce(bits[:, start:end], axis=1)

    decks = rng.permuted(np.broadcast_to(np.array(rules.deck, np.int8), (n, rules.num_rounds, len(rules.deck))), axis=2)
    decks[:, round] = _present_deck(observer, board, order, hidden[:, ends[-1] :])
    scores, totals = (
        [counts[f"{kind}_{absolute.index(seat)}"] for seat in seats]
        for kind in ("score", "total" if rules.num_rounds > 1 else "score")
    )
    batch = Batch(rules, n)
    batch.reset(rng.integers(MAX_SEED, size=n))  # the games after this one are unknown too
    batch.set_position(
        board=board,
        order=order,
        decks=decks,
        hands=hands,
        drawn=rules.pile_size - counts["pile"],
        scores=scores,
        totals=totals,
        mover=absolute[counts.get("mover", 0)],
        round=round,
        pending=pending,
    )
    return batch


def _check(
    observer: Observer, observation: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any]
) -> Mapping[str, npt.NDArray[Any]]:
    """The pieces of an observation, if it can be one of this observer's."""
    if isinstance(observation, Mapping):
        fits = observer.dict_space().contains(dict(observation))
    else:
        fits = observer.flat_space().contains(np.asarray(observation))
    if not fits:
        raise ValueError(f"this is no observation of one game of {observer.rules} as the observer makes them")
    return observation if isinstance(observation, Mapping) else observer.unflatten(observation)


def _present_deck(
    observer: Observer,
    board: npt.NDArray[Any],
    order: npt.NDArray[Any],
    pile: npt.NDArray[np.int8],
) -> npt.NDArray[np.int8]:
    """A deck [n, cards] that could have led here: the face-up cards, whatever is in no pile, then the pile."""
    up = board[order == 0].astype(np.int8)
    decks = np.empty((len(pile), len(observer.rules.deck)), np.int8)
    for deck, left in zip(decks, pile, strict=True):
        passed = sorted(set(observer.rules.deck) - {*up.tolist(), *left.tolist()})
        deck[:] = [*up, *passed, *left]
    return decks
