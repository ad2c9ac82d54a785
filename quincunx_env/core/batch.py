"""Base class of the batch engines: many games as NumPy arrays.

A step checks that each action is legal in its row, and raises before anything changes. The game's ``_play`` then takes
all actions at once: it scores the plays, updates boards, hands and piles, and passes the turn. Rows whose round is
complete deal the next one, or are over and take no part until `BaseBatch.reset`.

Axes: B games, n rows of them, P seats, K cards, C cells, D cards dealt, R rounds, A actions.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Self

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import ONE, Bools, Ints, Words, as_bits, row_numbers, shortened
from quincunx_env.core.batch_state import BatchState
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import MAX_SEED, BaseDeal, check_deals, check_seed
from quincunx_env.core.game import AnyGame, AnyRules, IllegalAction
from quincunx_env.core.integers import as_array, check_integer

_MANY = 64
"""Number of decks from which on none are shuffled ahead: fewer take nearly as long, more do not gain."""


class BaseBatch(BatchState[AnyRules], Generic[AnyRules, AnyGame]):
    """``num_games`` games in progress.

    See `BatchState` for arguments, inherited attributes and snapshots. A new batch holds finished games; `reset` deals
    them. Finished games stay as they are until they are reset, and take no part in steps.
    """

    def __repr__(self) -> str:
        return f"<Batch of {self.num_games} games of {self.rules!r}: {int(self.over.sum())} over>"

    def _complete(self) -> None:
        super()._complete()
        # Seeds and numbers of the games whose decks have been shuffled ahead, and these decks.
        self._ahead = np.full((2, self.num_games), -1)
        self._ahead_decks = np.empty_like(self.decks)

    # --- Abstract interface ------------------------------------------------------------------------------------------

    @abstractmethod
    def _begin_round(self, rows: Ints) -> None:
        """Deal the current round of rows, int64 [n]."""

    @abstractmethod
    def _is_legal(self, rows: Ints, actions: Ints) -> Bools:
        """Return whether actions are legal in rows, int64 [n] each -> bool [n]. No game is over."""

    @abstractmethod
    def _play(self, rows: Ints, actions: Ints) -> Ints:
        """Play legal actions in rows, int64 [n] each; return the gains, int64 [n, P]. No game is over."""

    @abstractmethod
    def _legal_hands(self) -> Words:
        """Return the cards that the movers may play, uint64 [B], as bits."""

    @property
    def announcing(self) -> Bools:
        """Bool [B]: whether an announcement is due."""
        return np.zeros(self.num_games, np.bool_)

    @property
    @abstractmethod
    def cell_mask(self) -> Bools:
        """Cells for any legal card, bool [B, C], a new array; none in finished games."""

    @abstractmethod
    def _mask(self, out: Bools | None = None) -> Bools:
        """Return `mask`, bool [B, A]. ``out`` is an array of an earlier call, to be overwritten; else it is new."""

    @abstractmethod
    def deals(self, row: int) -> tuple[Any, ...]:
        """Return the deals of one game, one for each round.

        Raises:
            ValueError: if there is no such row, or it has no deals yet.
        """

    @abstractmethod
    def to_game(self, row: int) -> AnyGame:
        """Copy one game into plain Python, in the same state.

        Raises:
            ValueError: if there is no such row, or it has no deals yet.
        """

    @classmethod
    def of_games(cls, games: Sequence[AnyGame]) -> Self:
        """Copy games in plain Python into a batch, the inverse of `to_game`.

        Later games of each row have new random seeds.

        Raises:
            ValueError: without games, if their rules differ, or if a game has no deal for each round.
        """
        if len({game.rules for game in games}) != 1:
            raise ValueError("games with the same rules are needed, at least one: make a batch for each rules")
        new = cls(games[0].rules, len(games))
        for row, game in enumerate(games):
            if len(game.deals) < new.rules.num_rounds:
                raise ValueError(f"game {row} has {len(game.deals)} deals, {new.rules.num_rounds} rounds need one each")
            new.decks[row] = [deal.cards for deal in game.deals]
            for name, value in new._state_of(game).items():
                getattr(new, name)[row] = value
        new._finish()
        return new

    def _state_of(self, game: AnyGame) -> dict[str, Any]:
        """Return the state arrays of a row, without its deals."""
        names = ("board", "ply", "scores", "totals", "mover", "round", "over")
        hands = np.array([list(hand) for hand in game.hands], np.bool_)
        return {name: getattr(game, name) for name in names} | {
            "hands": as_bits(np.arange(hands.shape[1])[None], hands)
        }

    # --- Deals -------------------------------------------------------------------------------------------------------

    def reset(
        self,
        seed: int | Sequence[int] | Ints | None = None,
        rows: npt.ArrayLike | None = None,
        deals: Sequence[BaseDeal | Sequence[BaseDeal]] | npt.NDArray[np.int8] | None = None,
    ) -> None:
        """Deal new games.

        Args:
            seed: row i is seeded ``seed + i`` and starts with its game number 0; integers [n] give each of ``rows`` its
                own. Without a seed each row deals its next game, from a random seed if it has none.
            rows: row numbers [n], each once, or a mask bool [B]; all rows by default.
            deals: for each of ``rows`` the deal of each round (a single round also takes a bare deal), or their cards
                as in `decks`, int8 [n, R, D].

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
        """Do `reset` for rows, int64 [n], that are known to be valid."""
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
        """Return the seeds of rows, int64 [n] -> int64 [n]. Rows without one draw it at random."""
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
        """Return the decks of the next games of rows, int8 [n, R, D].

        Where one is missing, shuffle one for every row that has none ahead. Arguments are int64 [n] each.
        """
        wanted = np.array([seeds, games])
        if (self._ahead[:, rows] != wanted).any():
            following = np.array([self._row_seed, self._row_resets + 1])
            following[:, rows] = wanted  # rows without a seed have drawn one
            due = np.flatnonzero((self._ahead != following).any(axis=0) & (following[0] >= 0))
            self._ahead_decks[due] = self._shuffle(*following[:, due])
            self._ahead[:, due] = following[:, due]  # last, as Ctrl-C may interrupt the shuffle
        return self._ahead_decks[rows]

    def _decks_of(
        self, deals: Sequence[BaseDeal | Sequence[BaseDeal]] | npt.NDArray[np.int8], count: int
    ) -> npt.NDArray[np.int8]:
        """Return the cards of ``count`` deals as in `decks`, checked, int8 [count, R, D]."""
        if isinstance(deals, np.ndarray) and deals.shape == (count, *self.decks.shape[1:]):
            ordered = np.sort(deals, axis=2)
            distinct = (np.diff(ordered, axis=2) > 0).all()
            if deals.dtype != np.int8 or not distinct or not np.isin(ordered, self.rules.deck).all():
                raise ValueError("deals as an array must be int8 and hold each card of the rules once")
            return deals
        if not isinstance(deals, Sequence) or len(deals) != count:
            raise ValueError(f"{count} games are reset and need a deal each, got {shortened(deals)}")
        rounds = [check_deals(self.rules, deal) for deal in deals]
        cards = [[deal.cards for deal in game] for game in rounds]
        return np.array(cards, np.int8).reshape(count, *self.decks.shape[1:])

    def _dealt_row(self, row: int) -> int:
        """Check the number of a row that has been dealt."""
        row = check_integer("row", row, 0, self.num_games - 1)
        if self.decks[row, 0, 0] == EMPTY:
            raise ValueError(f"row {row} has no deal yet: call reset() first")
        return row

    @property
    def first(self) -> Ints:
        """int64 [B]: the seat that begins the round. R15: the last seat deals first, so seat 0 begins, then seat 1."""
        return self._first(slice(None))

    def _first(self, rows: slice | Ints) -> Ints:
        """Return `first` of rows, int64 [n]."""
        return self.round[rows] % self.rules.num_players

    @property
    def resets(self) -> Ints:
        """int64 [B]: number of deals since the row was seeded, less one; -1 before the first."""
        return self._row_resets

    @property
    def mask(self) -> Bools:
        """Legal actions of the seats to move, bool [B, A], a new array; all False in finished games."""
        return self._mask()

    # --- Steps -------------------------------------------------------------------------------------------------------

    def is_legal(self, actions: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> Bools:
        """Return whether each action is legal in its game, bool [n].

        It is False in finished games.

        Args:
            actions: integers [n].
            rows: row numbers [n], which may repeat, or a mask bool [B]; all rows by default.

        Raises:
            IllegalAction: if these are not integers, or not as many as rows.
            ValueError: for invalid rows.
        """
        rows = self._all if rows is None else row_numbers(rows, self.num_games, repeats=True)
        return self._is_legal(rows, self._as_actions(actions, len(rows))) & ~self.over[rows]

    def step(self, actions: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> Ints:
        """Play one action in each game.

        Args:
            actions: integers [n]; the actions of finished games are ignored.
            rows: row numbers [n], each once, or a mask bool [B]; all rows by default.

        Returns:
            int64 [n, P]: points gained or lost by each seat.

        Raises:
            IllegalAction: if an action is illegal; all games are unchanged.
            ValueError: for invalid rows; all games are unchanged.
        """
        rows = self._all if rows is None else row_numbers(rows, self.num_games)
        return self._step(rows, self._as_actions(actions, len(rows)))

    def _step(self, rows: Ints, actions: Ints) -> Ints:
        """Do `step` for rows and actions, int64 [n] each -> int64 [n, P]."""
        self._require_legal(rows, actions)
        return self._play_live(rows, actions)

    def _play_live(self, rows: Ints, actions: Ints) -> Ints:
        """Do `_step` with actions that are legal where games are in progress."""
        over = self.over[self._at(rows)]
        if not over.any():
            return self._play(rows, actions)
        gains = np.zeros((len(rows), self.rules.num_players), np.int64)
        live = ~over
        if live.any():
            gains[live] = self._play(rows[live], actions[live])
        return gains

    def _require_legal(self, rows: Ints, actions: Ints) -> None:
        """Check that actions are legal in rows that are not over, int64 [n].

        Raises:
            IllegalAction: if one is not, with the reason.
        """
        legal = self._is_legal(rows, actions) | self.over[self._at(rows)]
        if not legal.all():
            at = int(np.argmin(legal))
            try:
                self.to_game(int(rows[at])).step(int(actions[at]))
            except IllegalAction as error:
                raise IllegalAction(f"game {rows[at]}: {error}") from None

    def forfeit(self, rows: npt.ArrayLike) -> None:
        """End games at once: points stay as they are, and a solitaire is lost.

        Args:
            rows: row numbers [n], each once, or a mask bool [B].

        Raises:
            ValueError: for invalid rows; all games are unchanged.
        """
        self.over[row_numbers(rows, self.num_games)] = True

    def _as_actions(self, actions: npt.ArrayLike, count: int) -> Ints:
        """Return actions as int64 [count], checked."""
        array = as_array(actions)
        if array.shape != (count,) or array.dtype.kind not in "iu":
            raise IllegalAction(f"{count} integer actions are needed, got {array.dtype} of shape {array.shape}")
        return array.astype(np.int64, copy=False)

    def _at(self, rows: Ints) -> slice | Ints:
        """Return rows, int64 [n], as an index of state arrays. All rows are a slice, which copies nothing."""
        return slice(None) if rows is self._all else rows

    def _mover_hand(self, rows: Ints) -> Ints:
        """Return indices of the movers' hands in the flattened `hands`, int64 [n] -> int64 [n]."""
        players = self.rules.num_players
        return rows if players == 1 else rows * players + self.mover[self._at(rows)]

    def _take_from_hand(self, rows: Ints, cards: Ints) -> None:
        """Take cards from the movers' hands, int64 [n] each."""
        self.hands.reshape(-1)[self._mover_hand(rows)] ^= ONE << cards.astype(np.uint64)

    def _gain(self, at: slice | Ints, gains: Ints) -> None:
        """Add gains, int64 [n, P], to scores and totals of rows `_at`."""
        self.scores[at] += gains
        self.totals[at] += gains

    def _end_round(self, rows: Ints) -> None:
        """Deal the next round of rows, int64 [n], or end their games."""
        more = self.round[rows] + 1 < self.rules.num_rounds
        self.over[rows[~more]] = True
        if more.any():
            self.round[rows[more]] += 1
            self._begin_round(rows[more])


SomeBatch = BaseBatch[Any, Any]  # a batch of any game; `quincunx_env.Batch` is the engine of Quincunx
