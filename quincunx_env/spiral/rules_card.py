"""The rules of the spiral game in short, for given options. See RULES.md Part 2. All numbers are the engine's."""

from quincunx_env.spiral.cards import RANKS, SUITS
from quincunx_env.spiral.rules import HAND, PLAYS, SIDE, Rules
from quincunx_env.spiral.scoring import FIFTEEN, FIFTEEN_POINTS, KINDS, LEAST_FLUSH, LEAST_RUN


def rules_card(rules: Rules) -> tuple[str, ...]:
    """Return the paragraphs of the rules card; see `quincunx_env.notation.rules_card.rules_card`."""
    at_end = rules.scoring == "end"
    kinds = ", ".join(f"{count} score {KINDS[count]}" for count in (2, 3, 4))
    withit = "" if at_end else " with it"
    return (
        f"SPIRAL GAME, 2 players, {rules.deals} deal{'s' * (rules.deals > 1)}. Most points in total win.",
        f"Cards: {len(rules.deck)}, rank {RANKS} (A low) then suit {SUITS}, as TD, the ten of diamonds.",
        f"Start: {SIDE * SIDE} cards face down as {SIDE}x{SIDE}, never seen; a starter face up on the centre; "
        f"{HAND} in each hand.",
        "Turn: play a card face up on the next cell of the spiral: from right of the centre clockwise outwards "
        "(right, down, left, up) to the top right. You choose the card only. Non-dealer first, then in turn.",
        "Score: nothing during play. At the end the dealer scores the five columns, the other player the five rows, "
        "for each line:"
        if at_end
        else "Score its row and its column, face-up cards only, and add:",
        "  Kinds: " + (f"cards of one rank: {kinds}" if at_end else f"cards of its rank, it included: {kinds}"),
        f"  Run: the longest set of n >= {LEAST_RUN} consecutive ranks{withit}, in any order: "
        "n times the product of how many cards each of these ranks has",
        f"  Flush: n >= {LEAST_FLUSH} touching cards of one suit{withit}: n",
        *[f"  Fifteens: {FIFTEEN_POINTS} for each set of cards{withit} that sums to {FIFTEEN} (A 1; T J Q K 10)"]
        * rules.fifteens,
        f"End: {PLAYS} plays. The last card of each hand costs nothing."
        + " Then deal again; the players deal in turn." * (rules.deals > 1),
    )
