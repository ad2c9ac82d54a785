"""A deal of Quincunx (RULES.md 1.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from quincunx_env.core.deal import BaseDeal, Groups
from quincunx_env.quincunx.cards import NAMES
from quincunx_env.quincunx.rules import Rules


@dataclass(frozen=True)
class Deal(BaseDeal):
    """The cards of one round before its first play, as card ids.

    Printed as ``AM 5SV 9MS CK | 2MK ... / 3MV ... | 4YK ...``: face-up cards, hands separated by slashes, pile.
    """

    NAMES = NAMES
    RULES = Rules
    FORMAT = "face-up cards | hand / hand ... | pile"

    face_up: tuple[int, ...]
    """Face-up cards, in reading order of their cells."""
    hands: Groups
    """Cards of each seat, from seat 0 on."""
    pile: tuple[int, ...]
    """Draw pile, top card first."""

    @property
    def parts(self) -> tuple[Groups, ...]:
        """Face-up cards, hands, pile."""
        return (self.face_up,), self.hands, (self.pile,)

    @classmethod
    def of_parts(cls, *parts: Groups) -> Self:
        """Make a deal of its `parts`."""
        (face_up, *_), hands, (pile, *_) = parts
        return cls(face_up, hands, pile)

    @classmethod
    def of_cards(cls, rules: Rules, cards: Sequence[int]) -> Self:
        """Deal a shuffled deck: face-up cards, then each seat's hand whole, then the pile from the top."""
        up, size = len(rules.face_up_cells), rules.hand_size
        pile = up + rules.num_players * size
        hands = tuple(tuple(cards[start : start + size]) for start in range(up, pile, size))
        return cls(tuple(cards[:up]), hands, tuple(cards[pile:]))
