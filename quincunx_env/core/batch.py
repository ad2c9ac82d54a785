"""What all batch engines have in common: deals, seeds, resets, legality, state; B games as arrays.

Axes: B games, P seats, K cards, R rounds, A actions.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import MAX_SEED, BaseDeal, Domain, check_deals, check_seed, shuffle
from quincunx_env.core.game import BaseGame, IllegalAction
from quincunx_env.core.rules import BaseRules

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
AnyRules = TypeVar("AnyRules", bound=BaseRules)
AnyGame = TypeVar("AnyGame", bound=BaseGame[Any, Any])

ONE = np.uint64(1)


class BaseBatch(ABC, Generic[AnyRules, AnyGame]):
    """``num_games`` games in progress.

    A new batch holds finished games: `reset` deals them. Finished games stay as they are until they are reset, and
    take no part in steps.

    Args:
        rules: which game; the same for all.
        num_games: B.
        domain: what the seeded deals are for; environments leave this alone.

    Attributes:
        board: int8 [B, cells], card id or `EMPTY`; there may be an extra cell that stands for what is off the grid.
        hands: uint64 [B, P], bit k is set if the seat holds card k.
        ply: int64 [B], cards played in this round.
        scores: int64 [B, P], points in this round.
        totals: int64 [B, P], points in the whole game so far, this round included.
        mover: int64 [B], the seat to move.
        round: int64 [B], number of the round, from 0.
        over: bool [B], whether the game has ended.
        decks: int8 [B, R, cards dealt], the cards of each round in the order in which they are dealt.
        seed, game: int64 [B], which seeded deal this is; -1 where the deal was handed in.
    """

    VERSION: ClassVar[int] = 1
    """Rises when the arrays of `get_state` change their meaning."""
    STATE: ClassVar[tuple[str, ...]] = (
        *("board", "hands", "ply", "scores", "totals", "mover", "round", "over", "decks", "seed", "game"),
        *("_row_seed", "_row_resets"),
    )
    """Names of the arrays that make up the state, [B, ...] each; a game adds its own."""

    board: npt.NDArray[np.int8]
    hands: Words
    ply: Ints
    scores: Ints
    totals: Ints
    mover: Ints
    round: Ints
    over: Bools
    decks: npt.NDArray[np.int8]
    seed: Ints
    game: Ints
    _row_seed: Ints
    _row_resets: Ints

    def __init__(self, rules: AnyRules, num_games: int, domain: Domain = "play") -> None:
        if num_games < 1:
            raise ValueError(f"num_games must be at least 1, got {num_games}")
        self.rules = rules
        self.domain = domain
        players = rules.num_players
        shapes: dict[str, tuple[tuple[int, ...], Any, int]] = {
            "board": ((rules.num_cells,), np.int8, EMPTY),
            "hands": ((players,), np.uint64, 0),
            "scores": ((players,), np.int64, 0),
            "totals": ((players,), np.int64, 0),
            "over": ((), np.bool_, True),
            "decks": ((rules.num_rounds, rules.num_dealt), np.int8, EMPTY),
            "seed": ((), np.int64, -1),
            "game": ((), np.int64, -1),
            "_row_seed": ((), np.int64, -1),
            "_row_resets": ((), np.int64, -1),
        }
        shapes |= self._shapes()
        for name in self.STATE:
            shape, dtype, fill = shapes.get(name, ((), np.int64, 0))
            setattr(self, name, np.full((num_games, *shape), fill, dtype))
        self._bind()

    def _bind(self) -> None:
        """Everything that follows from the rules and the number of games."""
        self.num_games = len(self.board)
        self._all = np.arange(self.num_games)
        self._derive()

    # --- What a game says --------------------------------------------------------------------------------------------

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], Any, int]]:
        """Shape (without B), dtype and first value of its own arrays that are not int64 [B] of zeros."""
        return {}

    def _derive(self) -> None:
        """Look up what follows from the rules alone, such as tables."""

    @abstractmethod
    def _begin_round(self, rows: Ints) -> None:
        """Begin the current round of these rows."""

    @abstractmethod
    def is_legal(self, actions: npt.ArrayLike, rows: Ints | None = None) -> Bools:
        """Whether each action is legal in its game, bool [len(rows)]; False in finished games."""

    @abstractmethod
    def _play(self, rows: Ints, actions: Ints) -> Ints:
        """Play legal actions in games that are not over; returns the gains, int64 [len(rows), P]."""

    @abstractmethod
    def mask(self, out: Bools | None = None) -> Bools:
        """Bool [B, A]: legal actions; all False in finished games.

        Args:
            out: an array that an earlier call returned, to be overwritten; a new one by default.
        """

    @abstractmethod
    def deals(self, row: int) -> tuple[Any, ...]:
        """The deals of one game, one for each round."""

    @abstractmethod
    def to_game(self, row: int) -> AnyGame:
        """A plain copy of one game, in the same state."""

    # --- Deals -------------------------------------------------------------------------------------------------------

    def reset(
        self,
        seed: int | Sequence[int] | Ints | None = None,
        rows: npt.ArrayLike | None = None,
        deals: Sequence[BaseDeal | Sequence[BaseDeal]] | None = None,
    ) -> None:
        """Deal new games.

        Args:
            seed: row i is seeded ``seed + i`` and starts with its game number 0; a sequence gives each of ``rows`` its
                own. Without a seed each row goes on to its next game, from a random seed if it never had one.
            rows: which rows, as numbers or as a mask; all by default.
            deals: for each of ``rows`` the deal of each round (a single round takes a bare deal too).

        Raises:
            ValueError: for a seed or a deal that cannot be used; nothing has changed then.
        """
        rows = self._all if rows is None else row_numbers(rows)
        seeds = self._seeds(seed, rows)
        games = self._row_resets[rows] + 1 if seed is None else np.zeros_like(rows)
        if deals is None:
            decks = self._shuffle(seeds, games)
            self.seed[rows], self.game[rows] = seeds, games
        else:
            decks = self._check_deals(deals, len(rows))
            self.seed[rows] = self.game[rows] = -1
        self._row_seed[rows], self._row_resets[rows] = seeds, games
        self.decks[rows] = decks
        self.totals[rows] = 0
        self.round[rows] = 0
        self._begin_round(rows)

    def _seeds(self, seed: int | Sequence[int] | Ints | None, rows: Ints) -> Ints:
        """The seed of each of these rows."""
        if seed is None:
            seeds = self._row_seed[rows]
            unseeded = seeds < 0
            if unseeded.any():
                seeds[unseeded] = np.random.default_rng().integers(MAX_SEED, size=unseeded.sum())
            return seeds
        if isinstance(seed, int | np.integer):
            check_seed(check_seed(seed) + self.num_games - 1)
            return int(seed) + rows
        if not isinstance(seed, Sequence | np.ndarray):
            check_seed(seed)
        seeds = np.array([check_seed(each) for each in seed], np.int64)
        if len(seeds) != len(rows):
            raise ValueError(f"{len(rows)} games are reset, got {len(seeds)} seeds")
        return seeds

    def _shuffle(self, seeds: Ints, games: Ints) -> npt.NDArray[np.int8]:
        """The decks of each round, int8 [n, R, cards dealt]."""
        rules, words = self.rules, (seeds.astype(np.uint64), games.astype(np.uint64))
        rounds = [np.full(len(seeds), round, np.uint64) for round in range(rules.num_rounds)]
        decks = [shuffle(rules.deck, *words, round, self.domain)[:, : rules.num_dealt] for round in rounds]
        return np.stack(decks, axis=1)

    def _check_deals(self, deals: Sequence[BaseDeal | Sequence[BaseDeal]], count: int) -> npt.NDArray[np.int8]:
        if isinstance(deals, BaseDeal) or len(deals) != count:
            raise ValueError(f"{count} games are reset and need a deal each")
        rounds = [check_deals(self.rules, deal) for deal in deals]
        return np.array([[deal.cards for deal in game] for game in rounds], np.int8)

    @property
    def first(self) -> Ints:
        """int64 [B]: the seat that begins the round. R15: the last seat deals first, so seat 0 begins, then seat 1."""
        return self._first(slice(None))

    def _first(self, rows: slice | Ints) -> Ints:
        return self.round[rows] % self.rules.num_players

    @property
    def resets(self) -> Ints:
        """int64 [B]: how often each row has been dealt since it was seeded, less one; -1 before the first deal."""
        return self._row_resets

    # --- Play --------------------------------------------------------------------------------------------------------

    def step(self, actions: npt.ArrayLike, rows: Ints | None = None) -> Ints:
        """Play one action in each game.

        Args:
            actions: integers [B] (or one for each of ``rows``). Those of finished games are ignored.
            rows: int64, the games to play in, each once; all by default.

        Returns:
            int64 [len(rows), P]: what each seat gained or lost.

        Raises:
            IllegalAction: if an action is illegal; nothing has changed in any game then.
        """
        rows = self._all if rows is None else rows
        actions = self._as_actions(actions, len(rows))
        over = self.over[self._at(rows)]
        if over.any():
            gains = np.zeros((len(rows), self.rules.num_players), np.int64)
            live = ~over
            if live.any():
                gains[live] = self.step(actions[live], rows[live])
            return gains
        legal = self.is_legal(actions, rows)
        if not legal.all():
            at = int(np.argmin(legal))
            try:
                self.to_game(int(rows[at])).step(int(actions[at]))
            except IllegalAction as error:
                raise IllegalAction(f"game {rows[at]}: {error}") from None
        return self._play(rows, actions)

    def forfeit(self, rows: npt.ArrayLike) -> None:
        """End the games of these rows (numbers, or a mask), as an illegal action may; the points stay as they are."""
        self.over[row_numbers(rows)] = True

    def _as_actions(self, actions: npt.ArrayLike, count: int) -> Ints:
        array = np.asarray(actions)
        if array.shape != (count,) or array.dtype.kind not in "iu":
            raise IllegalAction(f"{count} integer actions are needed, got {array.dtype} of shape {array.shape}")
        return array.astype(np.int64, copy=False)

    def _at(self, rows: Ints) -> slice | Ints:
        """The same rows to index a state array with: all of them are a slice, which costs nothing."""
        return slice(None) if rows is self._all else rows

    def _mover_hand(self, rows: Ints) -> Ints:
        """Where the hands of the seats to move lie in the flattened `hands`."""
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
        """An independent batch of these rows (numbers, or a mask), each as often as it is named, with the same cards to
        come.
        """
        rows = row_numbers(rows)
        twin = type(self).__new__(type(self))
        twin.rules, twin.domain = self.rules, self.domain
        for name in self.STATE:
            setattr(twin, name, getattr(self, name)[rows])
        twin._bind()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the rules may be large.
        return {name: getattr(self, name) for name in ("rules", "domain", *self.STATE)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._bind()

    def get_state(self, copy: bool = True) -> dict[str, npt.NDArray[Any]]:
        """The arrays that make up the state, [B, ...] each, and ``version``, which tags them.

        Args:
            copy: False returns the arrays themselves, which change with the next step.
        """
        state = {name: getattr(self, name) for name in self.STATE}
        if copy:
            state = {name: array.copy() for name, array in state.items()}
        return {"version": np.array(self.VERSION)} | state

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state that `get_state` returned; it is copied. Other entries of ``state`` are ignored.

        Raises:
            ValueError: if an array is missing or does not fit, or the version is another; nothing has changed then.
        """
        own = self.get_state(copy=False)
        for name, array in own.items():
            given = np.asarray(state.get(name))
            if given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(f"state array {name!r} must be {array.dtype} of shape {array.shape}")
        if state["version"] != self.VERSION:
            raise ValueError(f"the state is of version {state['version']}, this package reads {self.VERSION}")
        for name, array in own.items():
            array[...] = state[name]

    def set_position(self, **state: npt.ArrayLike) -> None:
        """Bring every game to the same stage of a game, its hidden cards given for each.

        Args:
            state: arrays of the state by name, [B, ...] or the same for all games; everything that `reset` does not
                settle.
        """
        for name, value in state.items():
            getattr(self, name)[:] = value
        self.over[:] = False
        self.seed[:] = self.game[:] = -1


def row_numbers(rows: npt.ArrayLike) -> Ints:
    """Rows given as numbers or as a mask, as int64 [n]."""
    array = np.atleast_1d(np.asarray(rows))
    return np.flatnonzero(array) if array.dtype == np.bool_ else array.astype(np.int64)


def unpack(words: Words, count: int) -> npt.NDArray[np.uint8]:
    """The low ``count`` bits of words: uint64 [..., W] -> uint8 [..., count] of 0 and 1."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little")
