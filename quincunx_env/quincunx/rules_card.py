"""The rules of Quincunx in short, for given options. See RULES.md Part 1. All numbers are the engine's."""

from quincunx_env.core.rules import option_sentences
from quincunx_env.core.scene import Example
from quincunx_env.quincunx.cards import CARDS, SUITS
from quincunx_env.quincunx.rules import OPEN_SPAN, Rules
from quincunx_env.quincunx.scoring import (
    DRAWING_SUMS,
    HAND_PENALTY,
    PAIR_BONUS,
    RATINGS,
    STRAIGHT_BONUS,
    THREE_BONUS,
)

_NAMES = {"A": "Ace A", "P": "Pawn P", "C": "Crown C", "X": "Excuse X"}
"""Names of the ranks beside the numbers."""


def rules_card(rules: Rules) -> tuple[str, ...]:
    """Return the paragraphs of the rules card; see `quincunx_env.notation.rules_card.rules_card`."""
    alone, setup = rules.num_players == 1, rules.setup
    side = OPEN_SPAN if rules.start == "open" else setup.side
    up = {1: "one card", 4: "cards in the corners", 5: "cards in the corners and the centre"}[len(setup.face_up)]
    suits, example = ("MSVL", "4MS: a 4 of M and S") if rules.mini else (SUITS, "7VY: a 7 of V and Y")
    lines = "row and column" if rules.num_lines == 2 else "row, column, diagonal"
    ratings = "" if rules.mini else f" Ratings: {', '.join(RATINGS[1:])}."
    draw, last_draw = DRAWING_SUMS
    values = {CARDS[card].rank: CARDS[card].value for card in sorted(rules.deck, key=lambda card: CARDS[card].value)}
    numbers = [rank for rank in values if rank not in _NAMES]
    number = f"{numbers[0]}-{numbers[-1]}"
    named = {rank: f"{name} {values[rank]}" for rank, name in _NAMES.items() if rank in values}
    costs = ", ".join(f"{rank} {HAND_PENALTY[rank]}" for rank in values if HAND_PENALTY[rank] != values[rank])
    return (
        "QUINCUNX, solitaire: score many points."
        if alone
        else f"QUINCUNX, {rules.num_players} players in turn: most points win.",
        f"Cards: {named.pop('A')}, {', '.join((number, *named.values()))}; suits {suits}; {example}.",
        f"Start: {side}x{side} grid, {up}; hand {setup.hand}, pile {rules.pile_size}.",
        "Turn: play a card to an empty cell, score it, draw what it earned, pile permitting.",
        "Each card beside it (sharing an edge), by sum of values:",
        f"  2-9: -sum; +sum if they share a suit and one is A{' or P' * rules.pawns}",
        f"  10: nothing; {draw} or {last_draw}: draw; {draw + 1}-{last_draw - 1}: +(sum-10)",
        f"Pair: +{PAIR_BONUS} for each card of its rank beside it, unless in its three.",
        f"Each {lines}: 3+ cards without gap, it included, "
        f"of one rank +{THREE_BONUS} or in order A {number}{' P' * rules.pawns} C +{STRAIGHT_BONUS}; not both.",
        "Power: A beside C of its suit: + values of that suit's other cards in play.",
        *option_sentences(rules),
        f"End: {setup.filled} cards in play. Each card in hand costs its value, but {costs}.",
        *[f"Hand empty before that, after draws: the round is lost, worse than any score.{ratings}"] * alone,
    )


def examples(rules: Rules) -> list[Example]:
    """Return plays that show the rules of scoring; see `quincunx_env.play.web.rules_pictures`."""
    lines = "row or column" if rules.num_lines == 2 else "row, column or diagonal"
    return [
        Example("A card scores with each neighbour: a sum of 12 to 19 scores what is above 10.", ["9MS 8VL*"], 7),
        Example(
            "A sum of 11 or 20 draws a card, a sum of 10 does nothing; a Crown counts 10, an Ace 1.", ["6SY 5ML*"], 0, 1
        ),
        Example(
            "A sum below 10 costs its points; it scores them if one card is an Ace and the two share a suit.",
            ["3MV 4YK* AY"],
            -2,
        ),
        Example("Two neighbours of one rank are a pair, 5 points.", ["7SK 7VY*"], 9),
        Example(
            f"Three or more in order in a {lines} are a straight, 20 points; three of one rank score 30.",
            ["4MS 5YK 6LK*"],
            20,
            1,
        ),
        Example(
            "An Ace beside the Crown of its suit is a power play: the other cards of the suit in the grid count.",
            ["9LK . 4YK", "AK CK* ."],
            13,
            1,
        ),
    ]


def sentences(rules: Rules) -> list[str]:
    """Return sentences on the options and the end of the game."""
    alone = rules.num_players == 1
    return [
        *["A card may be played to any empty cell."] * (not rules.touching),
        *option_sentences(rules),
        f"The round ends with {rules.setup.filled} cards in the grid. Cards left in hand cost their numbers, "
        "a Crown 10, an Ace 15.",
        "If your hand is empty before that, the round is lost." if alone else "Most points win.",
    ]
