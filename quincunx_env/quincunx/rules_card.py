"""The rules of Quincunx in short, for given options. See RULES.md Part 1. All numbers are the engine's."""

from quincunx_env.core.scene import Example
from quincunx_env.quincunx.cards import CARDS, SUITS
from quincunx_env.quincunx.rules import OPEN_SPAN, Rules
from quincunx_env.quincunx.scoring import (
    DRAWING_SUMS,
    FLUSH_BONUS,
    HAND_PENALTY,
    PAIR_BONUS,
    RATINGS,
    STRAIGHT_BONUS,
    THREE_BONUS,
)

_VALUES = {card.rank: card.value for card in CARDS}


def rules_card(rules: Rules) -> tuple[str, ...]:
    """Return the paragraphs of the rules card; see `quincunx_env.notation.rules_card.rules_card`."""
    alone, opened, setup = rules.num_players == 1, rules.start == "open", rules.setup
    side = OPEN_SPAN if opened else setup.side
    up = {1: "one card", 4: "cards in the corners", 5: "cards in the corners and the centre"}[len(setup.face_up)]
    pawn, low = (f", Pawn P {_VALUES['P']}", "A or P") if rules.pawns else ("", "A")
    name, numbers, suits, example = "QUINCUNX", "2-9", SUITS, "7VY: a 7 of V and Y"
    if rules.mini:
        name, numbers, suits, example = "QUINCUNX, mini", "4-5", "MSVL", "4MS: a 4 of M and S"
    ratings = "" if rules.mini else f" Ratings: {', '.join(RATINGS[1:])}."
    draw, last_draw = DRAWING_SUMS
    ranks = dict.fromkeys(CARDS[card].rank for card in rules.deck)
    costs = ", ".join(f"{rank} {HAND_PENALTY[rank]}" for rank in ranks if HAND_PENALTY[rank] != _VALUES[rank])
    paragraphs = {
        f"{name}, solitaire: score many points.": alone,
        f"{name}, {rules.num_players} players in turn: most points win.": not alone,
        f"Cards: Ace A {_VALUES['A']}, {numbers}{pawn}, Crown C {_VALUES['C']}; suits {suits}; {example}.": True,
        f"Excuse X {_VALUES['X']}: no suit, rank, points, draws.": rules.excuse,
        f"Start: {side}x{side} grid, {up}; hand {setup.hand}, pile {rules.pile_size}.": True,
        f"Turn: play a card to an empty cell{' beside a card' * rules.touching}"
        f"{f' (all within {side}x{side})' * opened}, score it, draw what it earned, pile permitting.": True,
        "Each card beside it (sharing an edge), by sum of values:": True,
        f"  2-9: -sum; +sum if they share a suit and one is {low}": True,
        f"  10: nothing; {draw} or {last_draw}: draw; {draw + 1}-{last_draw - 1}: +(sum-10)": True,
        f"Pair: +{PAIR_BONUS} for each card of its rank beside it, unless in its three.": True,
        f"Each row{' and column' if alone else ', column, diagonal'}: 3+ cards without gap, it included, of one rank "
        f"+{THREE_BONUS} or in order A {numbers}{' P' * rules.pawns} C +{STRAIGHT_BONUS}; not both.": True,
        "Power: A beside C of its suit: + values of that suit's other cards in play.": True,
        f"Flush: +{FLUSH_BONUS} for each such line of 4+ or 2x2 box sharing a suit.": rules.flush,
        "Simpleton: first announce its points p as a. a<p: you get a, next player p-a; a>p: 2p-a.": (rules.simpleton),
        f"End: {setup.filled} cards in play. Each card in hand costs its value, but {costs}.": True,
        f"Hand empty before that, after draws: the round is lost, worse than any score.{ratings}": alone,
        f"Match: {rules.num_rounds} rounds, added up.": rules.match,
    }
    return tuple(paragraph for paragraph, shown in paragraphs.items() if shown)


def examples(rules: Rules) -> list[Example]:
    """Return plays that show the rules of scoring; see `quincunx_env.play.web.rules_pictures`."""
    lines = "row or column" if rules.num_players == 1 else "row, column or diagonal"
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
    found = {
        "A card may be played to any empty cell.": not rules.touching,
        "A card must share an edge with a card in play.": rules.touching,
        "The grid grows in all directions, until it is a square of five by five cells.": rules.start == "open",
        "The Excuse has no suit and no rank: it scores nothing, and costs nothing in hand.": rules.excuse,
        "A Pawn counts 1, helps a low sum as an Ace does, and stands between 9 and Crown in a straight.": rules.pawns,
        "Four cards in line or in a box of two by two that share a suit are a flush, 10 points.": rules.flush,
        "Announce your points before they are counted. What you miss goes to the next player; what you claim too much "
        "is deducted.": rules.simpleton,
        f"The round ends with {rules.setup.filled} cards in the grid. Cards "
        "left in hand cost their numbers, a Crown 10, an Ace 15.": True,
        "If your hand is empty before that, the round is lost.": alone,
        f"A match has {rules.num_rounds} rounds; the points add up.": rules.match,
        "Most points win.": not alone,
    }
    return [text for text, shown in found.items() if shown]
