"""A deal of the spiral game (RULES.md 2.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import BaseDeal, Groups
from quincunx_env.spiral.cards import NAMES
from quincunx_env.spiral.rules import HAND, Rules


@dataclass(frozen=True)
class Deal(BaseDeal):
    """The known cards of one deal, as card ids.

    The 25 other cards stay face down.

    Printed as ``JS | 3S ... / AS ...``: the starter, then the hands of seat 0 and of seat 1.
    """

    NAMES = NAMES
    RULES = Rules
    FORMAT = "starter | hand / hand"

    starter: int
    hands: Groups
    """Cards of each seat, from seat 0 on."""

    @property
    def parts(self) -> tuple[Groups, ...]:
        """Starter, hands."""
        return ((self.starter,),), self.hands

    @classmethod
    def of_parts(cls, *parts: Groups) -> Self:
        """Make a deal of its `parts`."""
        (up, *_), hands = parts
        return cls(up[0] if up else EMPTY, hands)

    @classmethod
    def of_cards(cls, rules: Rules, cards: Sequence[int]) -> Self:
        """Deal a shuffled pack: the starter, then each seat's hand whole; the rest stays face down."""
        return cls(cards[0], (tuple(cards[1 : 1 + HAND]), tuple(cards[1 + HAND : 1 + 2 * HAND])))
