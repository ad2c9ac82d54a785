"""Actions of the environments, joint or by place of the sorted hand, with their masks.

A joint action is ``card * cells + cell``; announcements follow. Engines and policies number actions in this way. By
place an action is ``place * cells + cell``. The first methods of both classes are for environments, which have games;
the others are for policies, which have masks of joint actions.

Axes: B games, n positions, K cards, P places of the hand, C cells, J joint actions, A actions.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import ONE, Bools, Ints, Words, as_bits, unpack
from quincunx_env.core.batch import SomeBatch
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.game import SomeGame
from quincunx_env.core.rules import BaseRules

Mask = npt.NDArray[np.int8]


class JointActions:
    """Joint actions, as the engines number them.

    Args:
        rules: of the games.
        cells: number of cells that an action may name.

    Attributes:
        num_actions: A.
        plays: number of plays; announcements follow.
        announces: whether there are announcements.
        is_joint: whether the numbers are the engines'.
    """

    is_joint = True

    def __init__(self, rules: BaseRules, cells: int) -> None:
        self.num_actions, self.cells = rules.num_actions, cells
        self.plays = rules.num_cards * cells
        self.announces = self.num_actions > self.plays

    # --- Games -------------------------------------------------------------------------------------------------------

    def legal_cells(self, game: SomeGame) -> bytes | bytearray:
        """Return 1 for each legal cell; no bytes unless a play is due."""
        return b"" if game.over or (self.announces and game.decision != "play") else game.legal

    def cell_mask(self, batch: SomeBatch) -> Bools:
        """Return the legal cells of each game, bool [B, C]."""
        return batch.cell_mask

    def mask(self, game: SomeGame) -> Mask:
        """Return legal actions of the seat to move, int8 [A], 1 = legal. All are 0 when the game is over."""
        mask, cells = bytearray(self.num_actions), self.cells
        if legal := self.legal_cells(game):
            hand = game.hands[game.mover]
            if cells == 1:
                mask[: len(hand)] = hand
            else:
                for first in compress(range(0, self.plays, cells), hand):
                    mask[first : first + cells] = legal
        elif not game.over:
            mask[self.plays :] = bytes([1]) * (self.num_actions - self.plays)
        return np.frombuffer(mask, np.int8)

    def masks(self, batch: SomeBatch, out: Bools | None = None) -> Bools:
        """Return legal actions of the seats to move, bool [B, A]. ``out`` may be overwritten and returned."""
        return batch._mask(out)

    def joint_action(self, game: SomeGame, action: int) -> int:
        """Return the engine's number of an action. Numbers that the engine does not have may stay, or become -1."""
        return action

    def joint_actions(self, batch: SomeBatch, actions: Ints) -> Ints:
        """Do `joint_action` for many games, int64 [B] -> int64 [B]."""
        return self.engine(actions)

    def engine(self, actions: Ints) -> Ints:
        """Return the engine's numbers of actions, int64 [n] -> int64 [n]; see `joint_action`."""
        return actions

    # --- Positions by their masks of joint actions -------------------------------------------------------------------

    def of_joint_masks(self, joint: Bools) -> Bools:
        """Return masks of these actions, bool [n, A], from masks of joint ones, bool [n, J]."""
        return joint

    def to_joint(self, actions: Ints, joint: Bools) -> Ints:
        """Return the engine's numbers, int64 [n] -> int64 [n]. ``joint`` are masks of joint actions, bool [n, J]."""
        return self.engine(actions)

    def to_joint_scores(self, scores: npt.NDArray[Any], joint: Bools) -> npt.NDArray[Any]:
        """Return scores of joint actions, [n, J], from scores of these actions, [n, A]; others get -inf."""
        return scores


class HandActions:
    """Actions by place of the hand.

    Place k holds the card k of the hand, sorted by rank, then by id. Cards beyond the last place cannot be played until
    cards before them have left the hand.

    Args:
        joint: the joint actions.
        order: all cards, sorted.
        places: P.

    Attributes:
        num_actions: A.
        cells: number of plays of a place.
    """

    is_joint = False

    def __init__(self, joint: JointActions, order: Sequence[int], places: int) -> None:
        self.joint, self.order, self.places, self.cells = joint, tuple(order), places, joint.cells
        self._plays = places * joint.cells
        self.num_actions = self._plays + joint.num_actions - joint.plays
        self._by_rank = None if self.order == tuple(range(len(order))) else np.array(order)
        # By the number of bits up to the lowest one, from 1 on; 64 where there is none.
        self._nth = np.array([EMPTY, *order, *[EMPTY] * (64 - len(order))])

    # --- Hands -------------------------------------------------------------------------------------------------------

    def sorted_cards(self, hand: Sequence[int]) -> list[int]:
        """Return the cards of one hand, sorted. A hand has 1 for each card held, by id; the last ids may be absent."""
        if self._by_rank is None:
            return [*compress(self.order, hand)]
        return [card for card in self.order if card < len(hand) and hand[card]]

    def cards(self, hands: Words) -> Ints:
        """Return the card at each place, int64 [n, P], of hands uint64 [n]. It is -1 at the other places."""
        rest = hands.copy()
        if self._by_rank is not None:
            held = unpack(hands[:, None], len(self.order))[:, self._by_rank]
            octets = np.packbits(np.pad(held, [(0, 0), (0, 64 - len(self.order))]), axis=1, bitorder="little")
            rest = np.ascontiguousarray(octets).view("<u8")[:, 0].astype(np.uint64)
        lowest = np.empty((self.places, len(hands)), np.uint8)
        for bits in lowest:
            fewer = rest - ONE  # wraps around for an empty rest, whose 64 bits then differ
            np.bitwise_count(rest ^ fewer, out=bits)
            rest &= fewer
        return self._nth.take(lowest.T)

    # --- Games -------------------------------------------------------------------------------------------------------

    def mask(self, game: SomeGame) -> Mask:
        """Return legal actions of the seat to move, int8 [A], 1 = legal. All are 0 when the game is over."""
        mask, plays = bytearray(self.num_actions), self._plays
        if legal := self.joint.legal_cells(game):
            held = min(game.hands[game.mover].count(1), self.places)
            mask[: held * self.cells] = legal * held
        elif not game.over:
            mask[plays:] = bytes([1]) * (self.num_actions - plays)
        return np.frombuffer(mask, np.int8)

    def masks(self, batch: SomeBatch, out: Bools | None = None) -> Bools:
        """Return legal actions of the seats to move, bool [B, A], a new array."""
        return self._masks(self.cards(batch._legal_hands()), self.joint.cell_mask(batch), batch.announcing)

    def joint_action(self, game: SomeGame, action: int) -> int:
        """Return the engine's number of an action, -1 where it has none."""
        place, cell = divmod(action, self.cells)
        if place >= self.places:
            return self.joint.joint_action(game, action - self._plays + self.joint.plays)
        cards = self.sorted_cards(game.hands[game.mover]) if self.joint.legal_cells(game) else ()
        card = cards[place] if 0 <= place < len(cards) else EMPTY
        return EMPTY if card == EMPTY else self.joint.joint_action(game, card * self.cells + cell)

    def joint_actions(self, batch: SomeBatch, actions: Ints) -> Ints:
        """Do `joint_action` for many games, int64 [B] -> int64 [B]."""
        return self.joint.engine(self._joint(actions, self.cards(batch._legal_hands())))

    # --- Positions by their masks of joint actions -------------------------------------------------------------------

    def of_joint_masks(self, joint: Bools) -> Bools:
        """Return masks of these actions, bool [n, A], from masks of joint ones, bool [n, J]."""
        plays, announcements = np.split(self.joint.of_joint_masks(joint), [self.joint.plays], axis=1)
        cells = plays.reshape(len(joint), -1, self.cells).any(axis=1)
        return self._masks(self._cards_of(plays), np.asarray(cells), np.asarray(announcements.any(axis=1)))

    def to_joint(self, actions: Ints, joint: Bools) -> Ints:
        """Return the engine's numbers, int64 [n] -> int64 [n]. ``joint`` are masks of joint actions, bool [n, J]."""
        plays = self.joint.of_joint_masks(joint)[:, : self.joint.plays]
        return self.joint.engine(self._joint(actions, self._cards_of(plays)))

    def to_joint_scores(self, scores: npt.NDArray[Any], joint: Bools) -> npt.NDArray[Any]:
        """Return scores of joint actions, [n, J], from scores of these actions, [n, A]; others get -inf."""
        cards = self._cards_of(self.joint.of_joint_masks(joint)[:, : self.joint.plays])
        plays, others = np.split(scores, [self._plays], axis=1)
        found = np.full((len(joint), len(self.order), self.cells), -np.inf, scores.dtype)
        found[held(cards)] = plays.reshape(len(joint), -1, self.cells)[cards != EMPTY]
        return self.joint.to_joint_scores(np.concatenate([found.reshape(len(joint), -1), others], axis=1), joint)

    # --- Cards at the places -----------------------------------------------------------------------------------------

    def _cards_of(self, plays: Bools) -> Ints:
        """Return the card at each place, int64 [n, P], from masks of plays, bool [n, K * C]; -1 if it has no play."""
        playable = np.asarray(plays.reshape(len(plays), -1, self.cells).any(axis=2))
        return self.cards(as_bits(np.arange(playable.shape[1])[None], playable))

    def _masks(self, cards: Ints, cells: Bools, announcing: Bools) -> Bools:
        """Return masks, bool [n, A], from cards [n, P] that may be played, legal cells [n, C] and announcing [n]."""
        mask = np.empty((len(cards), self.num_actions), np.bool_)
        plays = mask[:, : self._plays].reshape(len(cards), self.places, self.cells)
        np.logical_and((cards != EMPTY)[:, :, None], cells[:, None], out=plays)
        mask[:, self._plays :] = announcing[:, None]
        return mask

    def _joint(self, actions: Ints, cards: Ints) -> Ints:
        """Return numbers of `joint`, int64 [n], -1 out of range or at an empty place. ``cards`` are as for `_masks`."""
        known = (actions >= 0) & (actions < self.num_actions)
        is_play = known & (actions < self._plays)
        place = np.where(is_play, actions, 0) // self.cells
        card = cards.reshape(-1).take(np.arange(0, cards.size, self.places) + place)
        play = np.where(card == EMPTY, -1, actions + (card - place) * self.cells)
        if self.num_actions == self._plays:
            return np.where(is_play, play, -1)
        return np.where(is_play, play, np.where(known, actions - self._plays + self.joint.plays, -1))


Actions = JointActions | HandActions
"""Actions of an environment."""


def held(cards: Ints) -> tuple[Ints, Ints]:
    """Return rows and cards of the places that hold one, int64 [m] each, from cards at places [n, P]."""
    rows, places = (cards != EMPTY).nonzero()
    return rows, cards[rows, places]
