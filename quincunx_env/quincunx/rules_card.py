"""The rules of Quincunx in short, for given options. See RULES.md Part 1. All numbers are the engine's."""

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
