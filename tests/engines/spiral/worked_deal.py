"""The worked deal of the rules (2.6): cards, plays and scores."""

from quincunx_env.spiral import Deal

WORKED_DEAL = "JS | 3S 8S QS 2H 7H JH AC 3C 5C 7C 4D 8D JD / AS 5S 7S TS 4H 6H 8H TH 8C 9C KC 6D QD"
"""Starter, Annie's hand, Benny's hand."""

WORKED_GRID = """
    6D 2H 7S AC AS
    5C TH 3S QD QS
    KC JD JS JH 5S
    3C 9C 8S TS 7H
    8C 7C 8H 8D 6H
    """

WORKED_PLAYS = [
    *(("JH", 2, 0), ("TS", 0, 0), ("8S", 0, 0), ("9C", 3, 0), ("JD", 6, 0), ("TH", 3, 0), ("3S", 3, 0), ("QD", 3, 0)),
    # Fifteens: three Jacks in the row and a Queen in the column with the 5; 10 Q Q in the row and K in the column.
    *(("QS", 2, 0), ("5S", 0, 8), ("7H", 4, 2), ("6H", 3, 0), ("8D", 0, 0), ("8H", 4, 0), ("7C", 6, 4), ("8C", 15, 2)),
    *(("3C", 0, 0), ("KC", 3, 2), ("5C", 4, 8), ("6D", 0, 0), ("2H", 0, 0), ("7S", 4, 6), ("AC", 0, 0), ("AS", 5, 2)),
]
"""Card, points, and the points that fifteens would add."""


def worked_deal(first: int = 0, suits: int = 0) -> Deal:
    """The worked deal with Annie in seat ``first``, the suits passed on S H C D S so many times."""
    starter, hands = WORKED_DEAL.split(" | ")
    annie, benny = hands.split(" / ")
    text = f"{starter} | {annie} / {benny}" if first == 0 else f"{starter} | {benny} / {annie}"
    return Deal.parse(" ".join(renamed(word, suits) for word in text.split()))


def renamed(card: str, suits: int) -> str:
    """A card with its suit passed on; separators stay."""
    return card[0] + "SHCDSHCD"["SHCD".index(card[1]) + suits] if len(card) == 2 else card
