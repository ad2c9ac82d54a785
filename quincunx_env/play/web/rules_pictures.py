"""The rules of a game in pictures, for people. `quincunx_env.notation.rules_card` is for language models."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import Scene, ScoredPlay
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import GAMES, spec_of
from quincunx_env.render.svg import draw_part
from quincunx_env.spiral.rules import Rules as SpiralRules


class Example(NamedTuple):
    """A play that shows a rule."""

    text: str
    """The rule in a sentence."""
    rows: Sequence[str]
    """Cards by row, ``.`` for an empty cell; the card that is played has an asterisk."""
    points: int
    draws: int = 0


def examples(rules: BaseRules) -> list[Example]:
    """Return six plays that show the rules. There are none for games of other packages."""
    if isinstance(rules, SpiralRules):
        return [
            Example(
                "Your card goes to the next cell of the spiral, around the centre and outwards; you choose only the "
                "card.",
                [". . 7S", ". JS 4H", ". . 9D*"],
                0,
            ),
            Example(
                "Cards of its rank in its row or column: two score 2, three score 6, four score 12.",
                ["8H . 8S 3D 8C*"],
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
    if not isinstance(rules, Rules):
        return []
    lines = "row or column" if rules.num_players == 1 else "row, column or diagonal"
    return [
        Example("A card scores with each neighbour: a sum of 12 to 19 scores what is above 10.", ["9MS 8VL*"], 7),
        Example(
            "A sum of 11 or 20 draws a card, a sum of 10 does nothing; a Crown counts 10, an Ace 1.", ["6SY 5ML*"], 0, 1
        ),
        Example("A sum below 10 is lost, but won if one card is an Ace and the two share a suit.", ["3MV 4YK* AY"], -2),
        Example(f"Two neighbours of one rank are a pair, 5 points; three in a {lines} score 30.", ["7SK 7VY* 7ML"], 38),
        Example(f"Three or more in order in a {lines} are a straight, 20 points.", ["4MS 5YK 6LK*"], 20, 1),
        Example(
            "An Ace beside the Crown of its suit is a power play: the other cards of the suit in the grid count.",
            ["9LK . 4YK", "AK CK* ."],
            13,
            1,
        ),
    ]


def scene_of(rules: BaseRules, example: Example) -> tuple[Scene, ScoredPlay]:
    """Return the scene of an example, and its play with score."""
    # Only whether diagonals count depends on the options, and the pictures have none.
    plain = GAMES["spiral"].Rules() if isinstance(rules, SpiralRules) else Rules(min(rules.num_players, 2))
    spec, game = spec_of(plain), GAMES[spec_of(plain).name].Game.from_seed(plain, 0)
    side, ids = spec.scene(game).side, {face.name: card for card, face in enumerate(spec.scene(game).faces)}
    played, board = (0, 0), {}
    for row, names in enumerate(example.rows):
        for column, name in enumerate(names.split()):
            if name.endswith("*"):
                played = ids[name[:-1]], row * side + column
            elif name != ".":
                board[row * side + column] = ids[name]
    for cell in range(len(game.board)):
        game.board[cell] = board.get(cell, EMPTY)
    columns = max(len(names.split()) for names in example.rows)
    scene = replace(
        spec.scene(game),
        board=board,
        rows=range(len(example.rows)),
        columns=range(columns),
        max_side=max(columns, len(example.rows), 3),
        legal=frozenset(),
        face_down=isinstance(rules, SpiralRules),
        last=None,
    )
    return scene, spec.candidate(game, *played)


@lru_cache(maxsize=32)
def pictures(rules: BaseRules) -> list[tuple[str, str]]:
    """Return (picture as SVG, sentence) of each example."""
    return [(draw_part(*scene_of(rules, example)), example.text) for example in examples(rules)]


def sentences(rules: BaseRules) -> list[str]:
    """Return sentences on the end of the game and on its options."""
    if isinstance(rules, SpiralRules):
        found = {
            "Nothing scores during play: at the end the dealer scores the columns, the other player the rows, in the "
            "same way.": rules.scoring == "end",
            "Two points for each set of cards in the line that adds up to 15, with the card played.": rules.fifteens,
            "Each player plays 12 cards; the last one stays in hand and costs nothing.": True,
            f"There are {rules.deals} deals; the points add up.": rules.deals > 1,
            "Most points win.": True,
        }
        return [text for text, shown in found.items() if shown]
    if not isinstance(rules, Rules):
        return [*spec_of(rules).rules_card(rules)]
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
