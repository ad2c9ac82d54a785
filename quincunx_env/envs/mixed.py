"""Games with different rules in one batch."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Bools, Ints, row_numbers
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.batch_state import state_array, state_arrays, state_entry
from quincunx_env.core.deal import MAX_SEED, Domain, draw
from quincunx_env.core.game import Game
from quincunx_env.core.integers import check_integer
from quincunx_env.core.rules import SeveralRules
from quincunx_env.registry import spec_of

Batch = BaseBatch[Any, Any]
Share = tuple[int, Any, Batch, Ints]
"""Index of the rules, positions among the rows, the batch of all games with these rules, and row numbers in it."""


class MixedBatch(BaseBatch[Any, Any]):
    """``num_games`` games in progress, each with one of several rules.

    A game draws its rules when it is dealt. See `BaseBatch` for inherited attributes. State arrays are copies, with the
    longest axes of any of the rules. Entries that a game does not have are as in a new batch. Actions are numbered as
    in each game's rules.
    """

    rules: SeveralRules
    rules_index: Ints = state_array(limits=lambda rules: (0, len(rules) - 1))
    """int64 [B]: index of each game's rules."""

    def __init__(self, rules: SeveralRules, num_games: int, domain: Domain = "play") -> None:
        super().__init__(rules, num_games, domain)
        self._parts = {0: self._new_part(0, self.num_games)}

    def _complete(self) -> None:
        self.num_games = len(self.rules_index)
        self._all = np.arange(self.num_games)
        self._arrays = _longest_arrays(self.rules)
        self._rows = {
            index: np.flatnonzero(self.rules_index == index) for index in np.unique(self.rules_index).tolist()
        }
        self._places = np.empty(self.num_games, np.int64)  # row number of each game in its part
        for rows in self._rows.values():
            self._places[rows] = np.arange(len(rows))

    def _new_part(self, index: int, num_games: int) -> Batch:
        return spec_of(self.rules).Batch(self.rules[index], num_games, self.domain)

    def _gather(self, name: str) -> npt.NDArray[Any]:
        """Return a state array of all games, [B, ...]."""
        dtype, fill, shape, *_ = self._arrays[name]
        gathered = np.full((self.num_games, *shape), fill, dtype)
        for index, rows in self._rows.items():
            array = getattr(self._parts[index], name)
            gathered[_entries(rows, array)] = array
        return gathered

    # --- Deals -------------------------------------------------------------------------------------------------------

    def reset(
        self,
        seed: int | Sequence[int] | Ints | None = None,
        rows: npt.ArrayLike | None = None,
        deals: Any = None,
        rules: Any = None,
    ) -> None:
        """Deal new games, with given ``rules`` or drawn ones; see `BaseBatch.reset`. Given deals need their rules."""
        self._reset(self._all if rows is None else row_numbers(rows, self.num_games), seed, deals, rules)

    def _reset(
        self, rows: Ints, seed: int | Sequence[int] | Ints | None = None, deals: Any = None, rules: Any = None
    ) -> None:
        seeds = self._seeds(seed, rows)
        games = self._row_resets[rows] + 1 if seed is None else np.zeros_like(rows)
        self.rules.check_deals(deals, rules)
        if deals is not None and (not isinstance(deals, Sequence) or len(deals) != len(rows)):
            raise ValueError(f"{len(rows)} games are reset and need a deal each, got {deals!r:.60}")
        drawn = draw(len(self.rules), seeds, games, self.domain)
        indices = drawn if rules is None else np.array(self.rules.indices(rules, len(rows)), np.int64)
        dealt: dict[int, tuple[Ints, Batch, Any]] = {}
        for index in np.unique(indices).tolist():
            here = np.flatnonzero(indices == index)
            part = self._new_part(index, len(here))
            part._row_seed[:], part._row_resets[:] = seeds[here], games[here] - 1
            part._reset(part._all, deals=None if deals is None else [deals[at] for at in here.tolist()])
            dealt[index] = rows[here], part, slice(None)
        stays = np.ones(self.num_games, np.bool_)
        stays[rows] = False
        new = type(self).__new__(type(self))
        new.__dict__ |= self.__dict__ | {"rules_index": self.rules_index.copy(), "_parts": {}}
        new.rules_index[rows] = indices
        new._complete()
        for index, own in new._rows.items():
            kept = own[stays[own]]
            if index not in dealt and len(kept) == self._parts[index].num_games:
                new._parts[index] = self._parts[index]
                continue
            part = new._parts[index] = self._new_part(index, len(own))
            sources = [(kept, self._parts[index], self._places[kept])] if len(kept) else []
            for some, source, at in [*sources, *([dealt[index]] if index in dealt else [])]:
                for name in state_arrays(type(part)):
                    getattr(part, name)[new._places[some]] = getattr(source, name)[at]
        self.__dict__ |= new.__dict__  # at once: Ctrl-C leaves the batch as it was

    def _one(self, row: int) -> tuple[Batch, int]:
        """Return the batch and the row number there of a game."""
        row = check_integer("row", row, 0, self.num_games - 1)
        return self._parts[int(self.rules_index[row])], int(self._places[row])

    def deals(self, row: int) -> tuple[Any, ...]:
        """Return the deals of one game, by round; see `BaseBatch.deals`."""
        part, place = self._one(row)
        return part.deals(place)

    def to_game(self, row: int) -> Game:
        """Copy one game into plain Python; see `BaseBatch.to_game`."""
        part, place = self._one(row)
        game: Game = part.to_game(place)
        return game

    # --- Steps -------------------------------------------------------------------------------------------------------

    def _is_legal(self, rows: Ints, actions: Ints) -> Bools:
        legal = np.empty(len(rows), np.bool_)
        for _, here, part, places in split(self, rows):
            legal[here] = part._is_legal(places, actions[here])
        return legal

    def _play(self, rows: Ints, actions: Ints) -> Ints:
        gains = np.zeros((len(rows), self.rules.num_players), np.int64)
        for _, here, part, places in split(self, rows):
            gains[here, : part.rules.num_players] = part._play(places, actions[here])
        return gains

    def forfeit(self, rows: npt.ArrayLike) -> None:
        """End games at once; see `BaseBatch.forfeit`."""
        for _, _, part, places in split(self, row_numbers(rows, self.num_games)):
            part.forfeit(places)

    def _by_part(self, *_: Any) -> Any:
        raise NotImplementedError("batches with different rules do this each for itself")

    _begin_round = _mask = _first = _by_part  # type: ignore[assignment]  # of any arguments

    # --- State -------------------------------------------------------------------------------------------------------

    def fork(self, rows: npt.ArrayLike, k: int = 1) -> Self:
        """Copy games into a new batch; see `BatchState.fork`."""
        rows = np.repeat(row_numbers(rows, self.num_games, repeats=True), check_integer("k", k, 1, MAX_SEED - 1))
        copy = type(self).__new__(type(self))
        copy.rules, copy.domain, copy._seat, copy.rules_index = self.rules, self.domain, None, self.rules_index[rows]
        copy._complete()
        copy._parts = {index: self._parts[index].fork(self._places[rows[own]]) for index, own in copy._rows.items()}
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_parts": self._parts}

    def get_state(self, copy: bool = True) -> dict[str, npt.NDArray[Any]]:
        """Return a snapshot as arrays by name, always copies; see `BatchState.get_state`."""
        names = [name for name, (*_, derived) in self._arrays.items() if not derived]
        return super().get_state() | {name: self._gather(name) for name in names}

    def _with_state(self, state: Mapping[str, npt.NDArray[Any]]) -> Self:
        new = super()._with_state(state)
        new._complete()
        like = {name: array for name, array in self.get_state().items() if name in self._arrays}
        arrays = {name: state_entry(state, name, array) for name, array in like.items()}
        new._parts = {index: new._new_part(index, len(rows)) for index, rows in new._rows.items()}
        for index, part in new._parts.items():
            for name, array in arrays.items():
                target = getattr(part, name)
                target[...] = array[_entries(new._rows[index], target)]
            try:
                part._finish()
            except ValueError as error:
                raise ValueError(f"among the games of rules {index}: {error}") from None
        return new

    def _copy_from(self, other: Self) -> None:
        super()._copy_from(other)
        self._complete()
        self._parts = other._parts


for _name in (*state_arrays(BaseBatch), "lost"):
    setattr(MixedBatch, _name, property(partial(MixedBatch._gather, name=_name)))


def split(batch: Batch, rows: Ints) -> Iterator[Share]:
    """Yield the games of some rows by their rules; see `Share`. A row occurs once."""
    if not isinstance(batch, MixedBatch):
        yield 0, slice(None), batch, rows
        return
    indices = batch.rules_index[rows]
    for index, part in batch._parts.items():
        here = batch._rows[index] if rows is batch._all else np.flatnonzero(indices == index)
        if len(here):
            places = batch._places[rows[here]]
            yield index, here, part, part._all if np.array_equal(places, part._all) else places


def option(batch: Batch, name: str) -> Ints:
    """Return an attribute of the rules of each game, int64 [B]."""
    if not isinstance(batch, MixedBatch):
        return np.full(batch.num_games, getattr(batch.rules, name))
    return np.array([getattr(rules, name) for rules in batch.rules])[batch.rules_index]


def _entries(rows: Ints, array: npt.NDArray[Any]) -> tuple[Any, ...]:
    """Return the index of an array's entries in a longer array."""
    return rows, *map(slice, array.shape[1:])


@cache
def _longest_arrays(rules: SeveralRules) -> dict[str, tuple[Any, int, tuple[int, ...], bool]]:
    """Return the state arrays by name, with their longest shapes."""
    arrays = state_arrays(spec_of(rules).Batch)
    shapes = {name: zip(*map(array.shape, rules), strict=True) for name, array in arrays.items()}
    return {name: (*array[:2], tuple(map(max, shapes[name])), array.derived) for name, array in arrays.items()}
