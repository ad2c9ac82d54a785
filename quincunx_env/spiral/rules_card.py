"""The rules of the spiral game (RULES.md Part 2) in short, for given options. All numbers are the engine's."""

from quincunx_env.core.rules import option_sentences
from quincunx_env.core.scene import Example
from quincunx_env.spiral.cards import RANKS, SUITS
from quincunx_env.spiral.rules import HAND, PLAYS, SIDE, Rules
from quincunx_env.spiral.scoring import KINDS, LEAST_FLUSH, LEAST_RUN

WOVEN = ("scoring",)
"""Options that the paragraphs and sentences below name."""


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
        *option_sentences(rules, without=WOVEN),
        f"End: {PLAYS} plays. The last card of each hand costs nothing."
        + " Then deal again; the players deal in turn." * (rules.deals > 1),
    )


def examples(rules: Rules) -> list[Example]:
    """Return plays that show the rules of scoring; see `quincunx_env.play.web.rules_pictures`."""
    return [
        Example(
            "Your card goes to the next cell of the spiral, around the centre and outwards; you choose only the card.",
            [". . 7S", ". JS 4H", ". . 9D*"],
            0,
        ),
        Example(
            "Cards of its rank in its row or column: two score 2, three score 6, four score 12.",
            ["8H . 8S 8C*"],
            6,
        ),
        Example("Three ranks or more in order score 1 each, wherever they lie in the line.", ["5H 3S 9D 4C*"], 3),
        Example(
            "If a rank lies there twice, so does the run: with two fours 3, 4 and 5 score 6, and the pair 2.",
            ["4H 5S 4D* 3C"],
            8,
        ),
        Example("Three touching cards or more of one suit are a flush, 1 point each.", ["2H 9H KH*"], 3),
        Example("A card scores in its row and in its column.", ["8S . .", "8D* 9H TC"], 5),
    ]


def sentences(rules: Rules) -> list[str]:
    """Return sentences on the options and the end of the game."""
    found = {
        "Nothing scores during play: at the end the dealer scores the columns, the other player the rows, in the "
        "same way.": rules.scoring == "end",
        **dict.fromkeys(option_sentences(rules, without=WOVEN), True),
        "Each player plays 12 cards; the last one stays in hand and costs nothing.": True,
        f"There are {rules.deals} deals; the points add up.": rules.deals > 1,
        "Most points win.": True,
    }
    return [text for text, shown in found.items() if shown]
