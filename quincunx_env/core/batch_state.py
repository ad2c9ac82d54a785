"""State of many games as NumPy arrays: limits, copies, snapshots, positions.

Axes: B games, n rows of them, P seats, C cells, D cards dealt, R rounds.
"""

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Generic, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Bools, Ints, Words, row_numbers, shortened
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import MAX_SEED, Domain, check_domain, shuffle
from quincunx_env.core.game import AnyRules
from quincunx_env.core.integers import as_array, check_integer


class StateArray(NamedTuple):
    """An array of the state of a batch, ``[B, *shape]``; see `state_array`."""

    dtype: type[np.generic]
    fill: int
    shape: Callable[[Any], tuple[int, ...]]
    limits: Callable[[Any], tuple[Any, Any]]
    derived: bool


def state_array(
    dtype: type[np.generic] = np.int64,
    fill: int = 0,
    shape: Callable[[Any], tuple[int, ...]] = lambda rules: (),
    limits: Callable[[Any], tuple[Any, Any]] = lambda rules: (0, 1),
    derived: bool = False,
) -> Any:
    """Declare an attribute of a batch class as state.

    Allocation, forks, pickles, `BatchState.get_state` and `BatchState.set_state` follow from these declarations; a
    subclass may declare an attribute anew, with another shape.

    Args:
        dtype: of the array.
        fill: value of every entry of a new batch.
        shape: from the rules to the shape without the axis of games.
        limits: from the rules to the least and the greatest value, see `check_limits`.
        derived: whether the array follows from the others, by ``_derived``; snapshots leave it out.
    """
    return StateArray(dtype, fill, shape, limits, derived)


@cache
def state_arrays(cls: type["BatchState[Any]"]) -> dict[str, StateArray]:
    """Return the state arrays of a batch class by name, inherited ones first."""
    declared = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    return {name: value for name, value in declared.items() if isinstance(value, StateArray)}


def check_limits(name: str, array: npt.NDArray[Any], low: Any, high: Any) -> None:
    """Check the values of an array of the state, [B, ...]. The limits broadcast to it.

    Integers lie between ``low`` and ``high``. Words have bits of ``high`` alone. Floats are finite.

    Raises:
        ValueError: naming the array and its limits.
    """
    if array.dtype.kind == "f":
        wrong, limits = ~np.isfinite(array), "finite"
    elif array.dtype.kind == "u":
        wrong, limits = (array & ~np.uint64(high)) != 0, "sets of cards of the deck"
    else:
        wrong, limits = (array < low) | (array > high), f"from {np.min(low)} to {np.max(high)}"
    if wrong.any():
        raise ValueError(f"state array {name!r} must be {limits}, got {array[wrong][0]}")


def _numbers(rules: Any) -> tuple[int, int]:
    """Return the limits of seeds and numbers of games; -1 is none."""
    return -1, MAX_SEED - 1


class BatchState(ABC, Generic[AnyRules]):
    """The state of ``num_games`` games, without their turns. A new batch holds finished games.

    Args:
        rules: options of the game, the same for all games.
        num_games: B.
        domain: purpose of the seeded deals, see `quincunx_env.core.deal.DOMAINS`; environments use the default.
    """

    VERSION: ClassVar[int] = 2
    """Version of the state; rises when the arrays of `get_state` change their meaning."""

    board: npt.NDArray[np.int8] = state_array(
        np.int8, EMPTY, lambda rules: (rules.num_cells,), lambda rules: (EMPTY, rules.num_cards - 1)
    )
    """int8 [B, C], or [B, C + 1] with an extra cell that stands for every place off the grid: card id or `EMPTY`."""
    hands: Words = state_array(
        np.uint64, 0, lambda rules: (rules.num_players,), lambda rules: (0, sum(1 << card for card in rules.deck))
    )
    """uint64 [B, P]: bit k is set if the seat holds card k."""
    ply: Ints = state_array(limits=lambda rules: (0, rules.num_plays))
    """int64 [B]: cards played in this round."""
    scores: Ints = state_array(shape=lambda rules: (rules.num_players,), limits=lambda rules: rules.points_range)
    """int64 [B, P]: points in this round."""
    totals: Ints = state_array(shape=lambda rules: (rules.num_players,), limits=lambda rules: rules.points_range)
    """int64 [B, P]: points in the whole game so far, this round included."""
    mover: Ints = state_array(limits=lambda rules: (0, rules.num_players - 1))
    """int64 [B]: the seat to move."""
    round: Ints = state_array(limits=lambda rules: (0, rules.num_rounds - 1))
    """int64 [B]: number of the round, from 0."""
    over: Bools = state_array(np.bool_, True)
    """bool [B]: whether the game has ended."""
    decks: npt.NDArray[np.int8] = state_array(
        np.int8,
        EMPTY,
        lambda rules: (rules.num_rounds, rules.num_dealt),
        lambda rules: (EMPTY, rules.num_cards - 1),
    )
    """int8 [B, R, D]: the cards of each round in the order in which they are dealt."""
    seed: Ints = state_array(fill=-1, limits=_numbers)
    """int64 [B]: seed of the deal, -1 where the deal was handed in."""
    game: Ints = state_array(fill=-1, limits=_numbers)
    """int64 [B]: number of the game among the games of its seed, -1 where the deal was handed in. For a deal from a
    list that a vector environment plays it is the index."""
    _row_seed: Ints = state_array(fill=-1, limits=_numbers)
    """int64 [B]: seed of the row, -1 before the first deal."""
    _row_resets: Ints = state_array(fill=-1, limits=_numbers)
    """int64 [B]: see `quincunx_env.core.batch.BaseBatch.resets`."""
    _seat: int | None = None

    def __init__(self, rules: AnyRules, num_games: int, domain: Domain = "play") -> None:
        num_games = check_integer("num_games", num_games, 1, MAX_SEED - 1)
        self.rules = rules
        self.domain = check_domain(domain)
        for name, (dtype, fill, shape, *_) in state_arrays(type(self)).items():
            setattr(self, name, np.full((num_games, *shape(rules)), fill, dtype))
        self._complete()

    def _complete(self) -> None:
        """Set the attributes that follow from the rules and the state arrays."""
        self.num_games = len(self.board)
        self._all = np.arange(self.num_games)
        self._load_tables()

    # --- Abstract interface ------------------------------------------------------------------------------------------

    def _load_tables(self) -> None:
        """Set tables that follow from the rules."""

    def _derived(self) -> dict[str, npt.NDArray[Any]]:
        """Compute the derived arrays, [B, ...], by name. The others are within their limits."""
        return {}

    @property
    def seat(self) -> int:
        """The observing seat of sampled games. ``totals[:, seat]`` are its own points.

        Raises:
            AttributeError: if the games were dealt, or sampled for several seats.
        """
        if self._seat is None:
            raise AttributeError("these games were dealt, or sampled for several seats: no seat is the observer's")
        return self._seat

    # --- Decks -------------------------------------------------------------------------------------------------------

    def _shuffle(self, seeds: Ints, games: Ints) -> npt.NDArray[np.int8]:
        """Shuffle the decks of each round, from int64 [n] each: int8 [n, R, D]."""
        rules, words = self.rules, (seeds.astype(np.uint64), games.astype(np.uint64))
        rounds = [np.full(len(seeds), round, np.uint64) for round in range(rules.num_rounds)]
        decks = [shuffle(rules.deck, *words, round, self.domain)[:, : rules.num_dealt] for round in rounds]
        return np.stack(decks, axis=1)

    # --- Copies and snapshots ----------------------------------------------------------------------------------------

    def fork(self, rows: npt.ArrayLike, k: int = 1) -> Self:
        """Copy games into a new batch, with the same hidden cards.

        Args:
            rows: row numbers [n], which may repeat, or a mask bool [B].
            k: number of copies of each, side by side.

        Raises:
            ValueError: for invalid rows or ``k``.
        """
        rows = np.repeat(row_numbers(rows, self.num_games, repeats=True), check_integer("k", k, 1, MAX_SEED - 1))
        copy = type(self).__new__(type(self))
        copy.rules, copy.domain, copy._seat = self.rules, self.domain, self._seat
        for name in state_arrays(type(self)):
            setattr(copy, name, getattr(self, name)[rows])
        copy._complete()
        return copy

    @classmethod
    def join(cls, batches: Sequence[Self]) -> Self:
        """Copy the games of several batches into one.

        `seat` is known if it is the same in all batches.

        Raises:
            ValueError: without batches, or if their rules or domains differ.
        """
        if len({(batch.rules, batch.domain) for batch in batches}) != 1:
            raise ValueError("batches of the same rules and domain are needed, at least one")
        new = cls.__new__(cls)
        new.rules, new.domain = batches[0].rules, batches[0].domain
        seats = {batch._seat for batch in batches}
        new._seat = seats.pop() if len(seats) == 1 else None
        for name in state_arrays(cls):
            setattr(new, name, np.concatenate([getattr(batch, name) for batch in batches]))
        new._complete()
        return new

    def __getstate__(self) -> dict[str, Any]:
        # Tables are left out: they follow from the rules and may be large.
        return {name: getattr(self, name) for name in ("rules", "domain", "_seat", *state_arrays(type(self)))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._complete()

    def get_state(self, copy: bool = True) -> dict[str, npt.NDArray[Any]]:
        """Return a snapshot as arrays by name, which ``np.savez`` can save.

        Args:
            copy: False returns the arrays themselves, which change with the next step.

        Returns:
            Arrays [B, ...], and two scalars: ``version``, the `VERSION` of their format, and ``rules``, the ``repr`` of
            the rules.
        """
        arrays = {name: getattr(self, name) for name, array in state_arrays(type(self)).items() if not array.derived}
        if copy:
            arrays = {name: array.copy() for name, array in arrays.items()}
        return {"version": np.array(self.VERSION), "rules": np.array(repr(self.rules))} | arrays

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Copy a state returned by `get_state`, arrays [B, ...], into this batch.

        Version, rules, shapes, dtypes and ranges are checked, but not whether play can lead to the state. Other entries
        of ``state`` are ignored.

        Raises:
            ValueError: if the state has another version, other rules or another number of games, or a value out of its
                range; the batch is unchanged.
        """
        self._copy_from(self._with_state(state))

    def _with_state(self, state: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return a new batch in a state of arrays [B, ...], checked. Its rules and size are the same."""
        if not isinstance(state, Mapping):
            raise ValueError(f"a state must be the mapping that get_state() returned, got {state!r:.60}")
        own = {"version": (self.VERSION, "this package reads version"), "rules": (repr(self.rules), "this batch plays")}
        for name, (needed, what) in own.items():
            if name not in state:
                raise ValueError(f"invalid state: {name!r} is missing; pass the mapping that get_state() returned")
            given = as_array(state[name])
            if given.dtype.kind not in "iuU" or given.shape or given.item() != needed:
                raise ValueError(f"{what} {needed}, the snapshot is of {given!s:.200}")
        new = type(self)(self.rules, self.num_games, self.domain)
        for name, array in state_arrays(type(self)).items():
            if not array.derived:
                target = getattr(new, name)
                target[...] = state_entry(state, name, target)
        new._finish()
        return new

    def _finish(self) -> None:
        """Check the arrays that are not derived, then set the others."""
        self._check()
        for name, array in self._derived().items():
            getattr(self, name)[...] = array

    def _check(self) -> None:
        """Check the limits of the arrays that are not derived.

        Then no index leaves its array, in these games or later in them.

        Raises:
            ValueError: naming the array and its limits.
        """
        for name, array in state_arrays(type(self)).items():
            if not array.derived:
                check_limits(name, getattr(self, name), *array.limits(self.rules))

    def _copy_from(self, other: Self) -> None:
        for name in state_arrays(type(self)):
            getattr(self, name)[...] = getattr(other, name)

    # --- Positions ---------------------------------------------------------------------------------------------------

    def set_position(self, **state: npt.ArrayLike) -> None:
        """Set all games to given positions.

        With ``decks`` these are games in progress, whose deals count as handed in; later games of each row stay as they
        would have been. Without ``decks`` there are no games, only boards: no action is legal until the next `reset`,
        but ``value`` answers.

        Args:
            state: public state arrays by name, [B, ...] or without the axis of games if equal for all. Give every array
                that differs from a new batch, apart from ``over``, ``seed`` and ``game``. The rest of a pile is the end
                of its deck. Shapes and ranges are checked, but not whether play can lead to the position.

        Raises:
            TypeError: for the name of another array.
            ValueError: if an array has another shape or dtype, or a value out of its range; the batch is unchanged.
        """
        names = [
            name
            for name, array in state_arrays(type(self)).items()
            if not array.derived and name[0] != "_" and name not in ("over", "seed", "game", "lost")
        ]
        if unknown := state.keys() - set(names):
            raise TypeError(f"a position has no {', '.join(map(repr, sorted(unknown)))}: give {', '.join(names)}")
        new = type(self)(self.rules, self.num_games, self.domain)
        for name, value in state.items():
            new._assign(name, value)
        new._row_seed[:], new._row_resets[:] = self._row_seed, self._row_resets
        new.over[:] = "decks" not in state
        new._finish()
        self._copy_from(new)

    def _assign(self, name: str, value: npt.ArrayLike) -> None:
        """Set the settable part of a state array to integers, [B, ...] or [...]."""
        target, given = self._position(name), as_array(value)
        if given.dtype.kind not in "iu" or given.shape not in (target.shape, target.shape[1:]):
            raise ValueError(
                f"{name!r} must be integers of shape {target.shape} or {target.shape[1:]}, "
                f"got {given.dtype} of shape {given.shape}"
            )
        target[...] = given.astype(target.dtype)
        if (target != given).any():
            raise ValueError(f"{name!r} must fit into {target.dtype}, got {shortened(given)}")

    def _position(self, name: str) -> npt.NDArray[Any]:
        """Return the part of a state array that `set_position` sets, [B, ...]."""
        array: npt.NDArray[Any] = getattr(self, name)
        return array


def state_entry(state: Mapping[str, Any], name: str, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of a snapshot, checked.

    Args:
        state: the snapshot.
        name: of the array.
        like: an array of the same shape, [B, ...], and dtype.

    Returns:
        The array, [B, ...].

    Raises:
        ValueError: if it is missing, or has another shape or dtype.
    """
    array = as_array(state.get(name, ()))
    if array.shape != like.shape or array.dtype != like.dtype:
        raise ValueError(f"state array {name!r} must be {like.dtype} of shape {like.shape}")
    return array
