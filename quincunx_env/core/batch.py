"""Base class of the batch engines: deals, seeds, resets, legality and state of many games as NumPy arrays.

Axes: B games, P seats, K cards, R rounds, A actions.
"""

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Generic, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import MAX_SEED, BaseDeal, Domain, check_deals, check_domain, check_seed, shuffle
from quincunx_env.core.game import AnyGame, AnyRules, IllegalAction
from quincunx_env.core.integers import as_array, check_integer

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

ONE = np.uint64(1)

_MANY = 64
"""Decks from which on none are shuffled ahead: fewer take nearly as long, more do not gain."""


class StateArray(NamedTuple):
    """An array of the state of a batch, ``[B, *shape]``; see `state_array`."""

    dtype: type[np.generic]
    fill: int
    shape: Callable[[Any], tuple[int, ...]]
    derived: bool


def state_array(
    dtype: type[np.generic] = np.int64,
    fill: int = 0,
    shape: Callable[[Any], tuple[int, ...]] = lambda rules: (),
    derived: bool = False,
) -> Any:
    """Declare an attribute of a batch class as a part of its state.

    Allocation, forks, pickles, `BaseBatch.get_state` and `BaseBatch.set_state` follow from these declarations; a
    subclass may declare an attribute anew, with another shape.

    Args:
        dtype: of the array.
        fill: value of every entry of a new batch.
        shape: from the rules to the shape without the axis of games.
        derived: whether the array follows from the others, by ``_derived``; snapshots leave it out.
    """
    return StateArray(dtype, fill, shape, derived)


@cache
def state_arrays(cls: type["BaseBatch[Any, Any]"]) -> dict[str, StateArray]:
    """The state of a batch class by name of the array, inherited ones first."""
    declared = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    return {name: value for name, value in declared.items() if isinstance(value, StateArray)}


class BaseBatch(ABC, Generic[AnyRules, AnyGame]):
    """``num_games`` games in progress.

    A new batch holds finished games; `reset` deals them. Finished games stay as they are until they are reset, and
    take no part in steps.

    Args:
        rules: options of the game, the same for all games.
        num_games: B.
        domain: purpose of the seeded deals, see `quincunx_env.core.deal.DOMAINS`; environments use the default.
    """

    VERSION: ClassVar[int] = 2
    """Version of the state; rises when the arrays of `get_state` change their meaning."""
    POINTS: ClassVar[tuple[int, int]]
    """Least and greatest points of a seat."""

    board: npt.NDArray[np.int8] = state_array(np.int8, EMPTY, lambda rules: (rules.num_cells,))
    """int8 [B, cells]: card id or `EMPTY`; there may be an extra cell that stands for every place off the grid."""
    hands: Words = state_array(np.uint64, 0, lambda rules: (rules.num_players,))
    """uint64 [B, P]: bit k is set if the seat holds card k."""
    ply: Ints = state_array()
    """int64 [B]: cards played in this round."""
    scores: Ints = state_array(shape=lambda rules: (rules.num_players,))
    """int64 [B, P]: points in this round."""
    totals: Ints = state_array(shape=lambda rules: (rules.num_players,))
    """int64 [B, P]: points in the whole game so far, this round included."""
    mover: Ints = state_array()
    """int64 [B]: the seat to move."""
    round: Ints = state_array()
    """int64 [B]: number of the round, from 0."""
    over: Bools = state_array(np.bool_, True)
    """bool [B]: whether the game has ended."""
    decks: npt.NDArray[np.int8] = state_array(np.int8, EMPTY, lambda rules: (rules.num_rounds, rules.num_dealt))
    """int8 [B, R, cards dealt]: the cards of each round in the order in which they are dealt."""
    seed: Ints = state_array(fill=-1)
    """int64 [B]: seed of the deal, -1 where the deal was handed in."""
    game: Ints = state_array(fill=-1)
    """int64 [B]: number of the game among those of its seed, -1 where the deal was handed in; of a deal from a list
    that a vector environment plays, its index."""
    _row_seed: Ints = state_array(fill=-1)
    _row_resets: Ints = state_array(fill=-1)

    def __init__(self, rules: AnyRules, num_games: int, domain: Domain = "play") -> None:
        num_games = check_integer("num_games", num_games, 1, MAX_SEED - 1)
        self.rules = rules
        self.domain = check_domain(domain)
        for name, (dtype, fill, shape, _) in state_arrays(type(self)).items():
            setattr(self, name, np.full((num_games, *shape(rules)), fill, dtype))
        self._complete()

    def _complete(self) -> None:
        """Set the attributes that follow from the rules and the state arrays."""
        self.num_games = len(self.board)
        self._all = np.arange(self.num_games)
        # Seeds and numbers of the games whose decks have been shuffled ahead, and these decks.
        self._ahead = np.full((self.num_games, 2), -1)
        self._ahead_decks = np.empty_like(self.decks)
        self._load_tables()

    # --- Abstract interface ------------------------------------------------------------------------------------------

    def _load_tables(self) -> None:
        """Set tables that follow from the rules."""

    @abstractmethod
    def _begin_round(self, rows: Ints) -> None:
        """Deal the current round of these rows."""

    @abstractmethod
    def _is_legal(self, rows: Ints, actions: Ints) -> Bools:
        """Whether each action is legal in its game, bool [len(rows)]; False in finished games."""

    @abstractmethod
    def _play(self, rows: Ints, actions: Ints) -> Ints:
        """Play legal actions in games that are not over; returns the gains, int64 [len(rows), P]."""

    @abstractmethod
    def mask(self, out: Bools | None = None) -> Bools:
        """Mask of legal actions, bool [B, A], True = legal; all False in finished games.

        Args:
            out: an array returned by an earlier call, to be overwritten; a new one by default.
        """

    @abstractmethod
    def _faults(self, dealt: Bools) -> Iterator[tuple[str, Any]]:
        """What contradicts the rules of the game in the arrays that are not derived.

        Args:
            dealt: bool [B], the games that have been dealt; the arrays of all others are those of a new batch, apart
                from the board and ``ply``.

        Yields:
            What is wrong, and bool [B]: the games in which it is. Each may rely on none of those before.
        """

    def _derived(self) -> dict[str, npt.NDArray[Any]]:
        """The derived arrays by name, from the others, in which there are no faults."""
        return {}

    @abstractmethod
    def deals(self, row: int) -> tuple[Any, ...]:
        """The deals of one game, one for each round.

        Raises:
            ValueError: if there is no such row, or it has no deals yet.
        """

    @abstractmethod
    def to_game(self, row: int) -> AnyGame:
        """One game in plain Python, in the same state; a copy.

        Raises:
            ValueError: if there is no such row, or it has no deals yet.
        """

    # --- Deals -------------------------------------------------------------------------------------------------------

    def reset(
        self,
        seed: int | Sequence[int] | Ints | None = None,
        rows: npt.ArrayLike | None = None,
        deals: Sequence[BaseDeal | Sequence[BaseDeal]] | npt.NDArray[np.int8] | None = None,
    ) -> None:
        """Deal new games.

        Args:
            seed: row i is seeded ``seed + i`` and starts with its game number 0; a sequence gives each of ``rows`` its
                own. Without a seed each row deals its next game, from a random seed if it has none.
            rows: row numbers, each once, or a mask bool [B]; all rows by default.
            deals: for each of ``rows`` the deal of each round (a single round also takes a bare deal), or their cards
                as in `decks`, int8 [len(rows), R, cards dealt].

        Raises:
            ValueError: for invalid rows, an invalid seed or deal; the batch is unchanged.
        """
        self._reset(self._all if rows is None else row_numbers(rows, self.num_games), seed, deals)

    def _reset(
        self,
        rows: Ints,
        seed: int | Sequence[int] | Ints | None = None,
        deals: Sequence[BaseDeal | Sequence[BaseDeal]] | npt.NDArray[np.int8] | None = None,
    ) -> None:
        """`reset` of rows that are known to be valid."""
        seeds = self._seeds(seed, rows)
        games = self._row_resets[rows] + 1 if seed is None else np.zeros_like(rows)
        if deals is None:
            ahead = seed is None and len(rows) < _MANY
            decks = self._next_decks(rows, seeds, games) if ahead else self._shuffle(seeds, games)
            self.seed[rows], self.game[rows] = seeds, games
        else:
            decks = self._decks_of(deals, len(rows))
            self.seed[rows] = self.game[rows] = -1
        self._row_seed[rows], self._row_resets[rows] = seeds, games
        self.decks[rows] = decks
        self.totals[rows] = 0
        self.round[rows] = 0
        self._begin_round(rows)

    def _seeds(self, seed: int | Sequence[int] | Ints | None, rows: Ints) -> Ints:
        """The seeds of these rows, int64 [n]; rows without one draw it at random."""
        if seed is None:
            seeds = self._row_seed[rows]
            unseeded = seeds < 0
            if unseeded.any():
                seeds[unseeded] = np.random.default_rng().integers(MAX_SEED, size=unseeded.sum())
            return seeds
        if not isinstance(seed, Sequence | np.ndarray) or as_array(seed).ndim == 0:
            first = check_seed(seed)  # type: ignore[arg-type]
            check_seed(first + self.num_games - 1)
            return first + rows
        seeds = np.array([check_seed(each) for each in seed], np.int64)
        if len(seeds) != len(rows):
            raise ValueError(f"{len(rows)} games are reset, got {len(seeds)} seeds")
        return seeds

    def _next_decks(self, rows: Ints, seeds: Ints, games: Ints) -> npt.NDArray[np.int8]:
        """The decks of the next games of these rows, int8 [n, R, cards dealt].

        Where one is missing, those of all rows are shuffled that have played theirs.
        """
        wanted = np.stack([seeds, games], axis=1)
        if (self._ahead[rows] != wanted).any():
            following = np.stack([self._row_seed, self._row_resets + 1], axis=1)
            following[rows] = wanted  # rows without a seed have drawn one
            due = np.flatnonzero((self._ahead != following).any(axis=1) & (following[:, 0] >= 0))
            self._ahead[due] = following[due]
            self._ahead_decks[due] = self._shuffle(*following[due].T)
        return self._ahead_decks[rows]

    def _shuffle(self, seeds: Ints, games: Ints) -> npt.NDArray[np.int8]:
        """The decks of each round, int8 [n, R, cards dealt]."""
        rules, words = self.rules, (seeds.astype(np.uint64), games.astype(np.uint64))
        rounds = [np.full(len(seeds), round, np.uint64) for round in range(rules.num_rounds)]
        decks = [shuffle(rules.deck, *words, round, self.domain)[:, : rules.num_dealt] for round in rounds]
        return np.stack(decks, axis=1)

    def _decks_of(
        self, deals: Sequence[BaseDeal | Sequence[BaseDeal]] | npt.NDArray[np.int8], count: int
    ) -> npt.NDArray[np.int8]:
        """The cards of ``count`` deals as in `decks`, checked."""
        if isinstance(deals, np.ndarray) and deals.shape == (count, *self.decks.shape[1:]):
            if deals.dtype != np.int8 or not self._are_decks(deals).all():
                raise ValueError("the given decks do not hold the cards of the rules once each, as int8")
            return deals
        if not isinstance(deals, Sequence) or len(deals) != count:
            raise ValueError(f"{count} games are reset and need a deal each, got {_shortened(deals)}")
        rounds = [check_deals(self.rules, deal) for deal in deals]
        cards = [[deal.cards for deal in game] for game in rounds]
        return np.array(cards, np.int8).reshape(count, *self.decks.shape[1:])

    def _dealt_row(self, row: int) -> int:
        """Check the number of a row that has been dealt."""
        row = check_integer("row", row, 0, self.num_games - 1)
        if self.decks[row, 0, 0] == EMPTY:
            raise ValueError(f"row {row} has no deal yet: call reset() first")
        return row

    def _are_decks(self, decks: npt.NDArray[np.int8]) -> Bools:
        """Whether decks, int8 [n, R, cards dealt], hold cards of these rules, none twice: bool [n]."""
        ordered = np.sort(decks, axis=2)
        known = np.isin(ordered, self.rules.deck)
        known[:, :, 1:] &= np.diff(ordered, axis=2) > 0
        return np.asarray(known.all(axis=(1, 2)))

    @property
    def first(self) -> Ints:
        """int64 [B]: the seat that begins the round. R15: the last seat deals first, so seat 0 begins, then seat 1."""
        return self._first(slice(None))

    def _first(self, rows: slice | Ints) -> Ints:
        return self.round[rows] % self.rules.num_players

    @property
    def resets(self) -> Ints:
        """int64 [B]: deals of each row since it was seeded, less one; -1 before the first deal."""
        return self._row_resets

    # --- Steps -------------------------------------------------------------------------------------------------------

    def is_legal(self, actions: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> Bools:
        """Whether each action is legal in its game, bool [len(rows)]; False in finished games.

        Args:
            actions: integers [len(rows)].
            rows: row numbers, which may repeat, or a mask bool [B]; all rows by default.

        Raises:
            IllegalAction: if these are no integers, or not as many as rows.
            ValueError: for invalid rows.
        """
        rows = self._all if rows is None else row_numbers(rows, self.num_games, repeats=True)
        return self._is_legal(rows, self._as_actions(actions, len(rows)))

    def step(self, actions: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> Ints:
        """Play one action in each game.

        Args:
            actions: integers [len(rows)]. Those of finished games are ignored.
            rows: row numbers, each once, or a mask bool [B]; all rows by default.

        Returns:
            int64 [len(rows), P]: points gained or lost by each seat.

        Raises:
            IllegalAction: if an action is illegal; all games are unchanged.
            ValueError: for invalid rows; all games are unchanged.
        """
        rows = self._all if rows is None else row_numbers(rows, self.num_games)
        return self._step(rows, self._as_actions(actions, len(rows)))

    def _step(self, rows: Ints, actions: Ints) -> Ints:
        over = self.over[self._at(rows)]
        if over.any():
            gains = np.zeros((len(rows), self.rules.num_players), np.int64)
            live = ~over
            if live.any():
                gains[live] = self._step(rows[live], actions[live])
            return gains
        legal = self._is_legal(rows, actions)
        if not legal.all():
            at = int(np.argmin(legal))
            try:
                self.to_game(int(rows[at])).step(int(actions[at]))
            except IllegalAction as error:
                raise IllegalAction(f"game {rows[at]}: {error}") from None
        return self._play(rows, actions)

    def forfeit(self, rows: npt.ArrayLike) -> None:
        """End games at once. Points stay as they are; a solitaire is lost.

        Args:
            rows: row numbers, each once, or a mask bool [B].

        Raises:
            ValueError: for invalid rows; all games are unchanged.
        """
        self.over[row_numbers(rows, self.num_games)] = True

    def _as_actions(self, actions: npt.ArrayLike, count: int) -> Ints:
        array = as_array(actions)
        if array.shape != (count,) or array.dtype.kind not in "iu":
            raise IllegalAction(f"{count} integer actions are needed, got {array.dtype} of shape {array.shape}")
        return array.astype(np.int64, copy=False)

    def _at(self, rows: Ints) -> slice | Ints:
        """These rows as an index of state arrays: all rows as a slice, which copies nothing."""
        return slice(None) if rows is self._all else rows

    def _mover_hand(self, rows: Ints) -> Ints:
        """Indices of the hands of the seats to move in the flattened `hands`."""
        return rows * self.rules.num_players + self.mover[self._at(rows)]

    def _take_from_hand(self, rows: Ints, cards: Ints) -> None:
        self.hands.reshape(-1)[self._mover_hand(rows)] ^= ONE << cards.astype(np.uint64)

    def _gain(self, rows: Ints, gains: Ints) -> None:
        at = self._at(rows)
        self.scores[at] += gains
        self.totals[at] += gains

    def _end_round(self, rows: Ints) -> None:
        more = self.round[rows] + 1 < self.rules.num_rounds
        self.over[rows[~more]] = True
        if more.any():
            self.round[rows[more]] += 1
            self._begin_round(rows[more])

    # --- State -------------------------------------------------------------------------------------------------------

    def fork(self, rows: npt.ArrayLike) -> Self:
        """Copy games into a new batch, with the same hidden cards.

        Args:
            rows: row numbers, which may repeat, or a mask bool [B].

        Raises:
            ValueError: for invalid rows.
        """
        rows = row_numbers(rows, self.num_games, repeats=True)
        copy = type(self).__new__(type(self))
        copy.rules, copy.domain = self.rules, self.domain
        for name in state_arrays(type(self)):
            setattr(copy, name, getattr(self, name)[rows])
        copy._complete()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        # Tables are left out: they follow from the rules and may be large.
        return {name: getattr(self, name) for name in ("rules", "domain", *state_arrays(type(self)))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._complete()

    def get_state(self, copy: bool = True) -> dict[str, npt.NDArray[Any]]:
        """A snapshot as arrays by name, which ``np.savez`` can save.

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
        """Copy a state returned by `get_state` into this batch; other entries of ``state`` are ignored.

        Raises:
            ValueError: if the state is of another version, of other rules or of another number of games, or is none
                that play can lead to; the batch is unchanged.
        """
        self._copy_from(self._with_state(state))

    def _with_state(self, state: Mapping[str, npt.NDArray[Any]]) -> Self:
        """A new batch of the same rules and size in a state that has been checked."""
        if not isinstance(state, Mapping):
            raise ValueError(f"a state is a mapping of arrays by name, as get_state() returns it, got {state!r:.60}")
        own = {"version": (self.VERSION, "this package reads version"), "rules": (repr(self.rules), "this batch plays")}
        for name, (needed, what) in own.items():
            if name not in state:
                raise ValueError(f"this is no state as get_state() returns it: it has no {name!r}")
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

    def _finish(self, check: bool = True) -> None:
        """Check the arrays that are not derived, then set the others."""
        if check:
            self._check()
        for name, array in self._derived().items():
            getattr(self, name)[...] = array

    def _copy_from(self, other: Self) -> None:
        for name in state_arrays(type(self)):
            getattr(self, name)[...] = getattr(other, name)

    def set_position(self, *, check: bool = True, **state: npt.ArrayLike) -> None:
        """Set all games to given positions.

        With ``decks`` these are games in progress, whose deals count as handed in; later games of each row are those
        they would have been. Without ``decks`` there are no games, only boards: no action is legal until the next
        `reset`, but ``value`` answers.

        Args:
            check: False skips the check that the position does not contradict the rules.
            state: public state arrays by name, [B, ...] or without the axis of games if equal for all: every array
                whose value differs from that in a new batch, apart from ``over``, ``seed`` and ``game``. The rest of a
                pile is the end of its deck; of the other cards of a deck only the face-up ones need be in their place.

        Raises:
            TypeError: for the name of another array.
            ValueError: if an array does not fit, or the position contradicts the rules; the batch is unchanged.
        """
        names = [
            name
            for name, array in state_arrays(type(self)).items()
            if not array.derived and name[0] != "_" and name not in ("over", "seed", "game", "lost")
        ]
        if unknown := state.keys() - set(names):
            raise TypeError(f"a position has no {', '.join(map(repr, sorted(unknown)))}, but {', '.join(names)}")
        new = type(self)(self.rules, self.num_games, self.domain)
        for name, value in state.items():
            new._assign(name, value)
        new._row_seed[:], new._row_resets[:] = self._row_seed, self._row_resets
        new.over[:] = "decks" not in state
        new._finish(check)
        self._copy_from(new)

    def _assign(self, name: str, value: npt.ArrayLike) -> None:
        """Set a state array, or what one may set of it, to given integers."""
        target, given = self._position(name), as_array(value)
        if given.dtype.kind not in "iu" or given.shape not in (target.shape, target.shape[1:]):
            raise ValueError(
                f"{name!r} must be integers of shape {target.shape} or {target.shape[1:]}, "
                f"got {given.dtype} of shape {given.shape}"
            )
        target[...] = given.astype(target.dtype)
        if (target != given).any():
            raise ValueError(f"{name!r} must fit into {target.dtype}, got {_shortened(given)}")

    def _position(self, name: str) -> npt.NDArray[Any]:
        """The part of a state array that `set_position` sets."""
        array: npt.NDArray[Any] = getattr(self, name)
        return array

    def check(self) -> None:
        """Check that play can lead to this state: that it fits the rules, and that its arrays fit each other.

        Points are not recomputed, nor is the order in which the seats drew their cards.

        Raises:
            ValueError: naming the first game at fault, and the fault.
        """
        self._check()
        for name, array in self._derived().items():
            wrong = (getattr(self, name) != array).reshape(self.num_games, -1).any(axis=1)
            if wrong.any():
                raise ValueError(f"game {wrong.argmax()}: {name!r} does not fit the other arrays")

    def _check(self) -> None:
        """`check` without the derived arrays."""
        dealt = (self.decks != EMPTY).any(axis=(1, 2))
        for faults in (self._common_faults(dealt), self._faults(dealt)):
            for fault, wrong in faults:
                if wrong.any():
                    raise ValueError(f"game {wrong.argmax()} of the state: {fault}")

    def _common_faults(self, dealt: Bools) -> Iterator[tuple[str, Any]]:
        """The faults that do not depend on the game; see `_faults`."""
        rules, cells = self.rules, self.board
        yield "a deck does not hold the cards of the rules once each", dealt & ~self._are_decks(self.decks)
        yield "the board holds a card that is not in the deck", ~np.isin(cells, (EMPTY, *rules.deck)).all(axis=1)
        cells = np.sort(cells, axis=1)
        yield "a card lies on the board twice", ((np.diff(cells, axis=1) == 0) & (cells[:, 1:] != EMPTY)).any(axis=1)
        for name, array in state_arrays(type(self)).items():
            if not array.derived and name not in ("board", "ply", "_row_seed", "_row_resets"):
                values = getattr(self, name).reshape(self.num_games, -1)
                yield f"{name!r} is set, but there is no deck", ~dealt & (values != array.fill).any(axis=1)
        low, high = self.POINTS
        points = np.concatenate([self.scores, self.totals], axis=1)
        yield f"points lie between {low} and {high}", ((points < low) | (points > high)).any(axis=1)
        yield "no such round", (self.round < 0) | (self.round >= rules.num_rounds)
        unequal = (self.scores != self.totals).any(axis=1)
        yield "the totals of the first round are not its scores", (self.round == 0) & unequal
        named = self.seed >= 0
        yield "no such seed", ((self.seed < -1) | (self._row_seed < -1) | (self._row_seed < 0) & named)
        resets = self._row_resets
        yield "no such number of a game", (self.game < -1) | (resets < -1) | (resets == np.iinfo(np.int64).max)
        yield "only one of a seed and a number of games", (self._row_seed < 0) != (resets < 0)
        unlike = (self.seed != self._row_seed) | (self.game != resets)
        yield "the seed and the number are not those of the row", named & unlike
        other = np.zeros_like(named)
        other[named] = (self._shuffle(self.seed[named], self.game[named]) != self.decks[named]).any(axis=(1, 2))
        yield "the decks are not those of the seed", other


def state_entry(state: Mapping[str, Any], name: str, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of a snapshot.

    Args:
        state: the snapshot.
        name: of the array.
        like: an array of the same shape and dtype.

    Raises:
        ValueError: if it is missing, or has another shape or dtype.
    """
    array = as_array(state.get(name, ()))
    if array.shape != like.shape or array.dtype != like.dtype:
        raise ValueError(f"state array {name!r} must be {like.dtype} of shape {like.shape}")
    return array


def row_numbers(rows: npt.ArrayLike, num_games: int, repeats: bool = False) -> Ints:
    """Row numbers of rows given as numbers or as a mask.

    Args:
        rows: integers [n], a single one, or a mask bool [num_games].
        num_games: number of games.
        repeats: whether a row may occur more than once.

    Returns:
        int64 [n], each from 0 to ``num_games - 1``.

    Raises:
        ValueError: for anything else.
    """
    array = as_array(rows)
    if array.dtype == np.bool_:
        if array.shape != (num_games,):
            raise ValueError(f"a mask of rows has shape ({num_games},), got {array.shape}")
        return np.flatnonzero(array)
    array = np.atleast_1d(array)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise ValueError(f"rows are row numbers, or a bool mask of all {num_games}, got {_shortened(rows)}")
    if len(array) and not (array.min() >= 0 and array.max() < num_games):
        raise ValueError(f"row numbers run from 0 to {num_games - 1}, got {_shortened(rows)}")
    numbers: Ints = array.astype(np.int64, copy=False) if len(array) else np.zeros(0, np.int64)
    if not repeats:
        named = np.zeros(num_games, np.bool_)
        named[numbers] = True
        if np.count_nonzero(named) != len(numbers):
            raise ValueError(f"row {np.bincount(numbers).argmax()} is given twice: each row may occur once")
    return numbers


def in_range(name: str, values: npt.ArrayLike, count: int, end: int) -> Ints:
    """Integers as an array, checked.

    Args:
        name: of the values, for the error message.
        values: integers [count].
        count: number of values.
        end: least integer that is too large.

    Raises:
        ValueError: if the values are no integers from 0 to ``end - 1``, or not as many.
    """
    array = as_array(values)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ValueError(f"{count} integer {name} are needed, got {array.dtype} of shape {array.shape}")
    if count and not (array.min() >= 0 and array.max() < end):
        raise ValueError(f"{name} run from 0 to {end - 1}, got {array[(array < 0) | (array >= end)][0]}")
    return array.astype(np.int64, copy=False)


def _shortened(value: object) -> str:
    """The ``repr`` of a value in one line."""
    return reprlib.repr(value.tolist() if isinstance(value, np.ndarray) else value)


def as_bits(cards: npt.NDArray[np.integer[Any]], members: Bools | bool = True) -> Words:
    """Sets of cards as bits: integers [n, m] -> uint64 [n]; only of the entries that are ``members``, [n, m]."""
    bits = np.where(members, ONE << np.where(members, cards, 0).astype(np.uint64), np.uint64(0))
    found: Words = np.bitwise_or.reduce(bits, axis=1)
    return found


def unpack(words: Words, count: int) -> npt.NDArray[np.uint8]:
    """Unpack the low ``count`` bits of words: uint64 [..., W] -> uint8 [..., count] of 0 and 1."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little")
