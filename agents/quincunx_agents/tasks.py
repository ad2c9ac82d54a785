r"""Questions with exact answers, for language models: from the points of a play to the best of the last three plays.

>>> task = make_task(3, number=0)
>>> print(task.question.partition("\n\n")[2])
     0    1    2
  0  AV   AL   AM
  1  .    .    .
  2  AS   CS   5ML
  pile: 4 cards
You, player_0: 31 points, hand: CM CL
The pile holds 4MS 4VL 5SV CV, every order equally likely.
Which play has the highest final score on average, if you play on as well as possible? Lost rounds have score 0.
End with a line that holds the play alone: card (row, column).
>>> task.answer, task.score(task.answer), task.score("CL (1, 0)"), task.score("I pass.")
('CM (1, 2)', 1.0, 0.25, 0.0)
"""

import random
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from quincunx_agents.exact import action_values
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.integers import check_integer, check_option
from quincunx_env.notation.prompts import prompt, read_action, read_points
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.notation.text import print_action
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import SUITS, print_cards
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules


class Level(NamedTuple):
    """Tasks of one kind."""

    name: str
    rules: Rules
    plays: range
    """Numbers of plays that are left in the positions."""
    exact: bool
    """Whether a play is worth the mean final points under optimal play, instead of its own points."""
    points: bool = False
    """Whether the answer is the number of points of a given play, instead of a play."""


LEVELS = {
    1: Level("points of a play", Rules(), range(1, 13), exact=False, points=True),
    2: Level("play with most points now", Rules(), range(1, 13), exact=False),
    3: Level("best play, mini variant, three left", Rules(mini=True), range(3, 4), exact=True),
    4: Level("best play, two left", Rules(), range(2, 3), exact=True),
    5: Level("best play, three left", Rules(), range(3, 4), exact=True),
}
"""Levels by number."""

_POINTS = "How many points does {} score? End with a line that holds the number alone."
_NOW = "Which play scores most points now, whatever follows? "
_BEST = (
    "The pile holds {}, every order equally likely.\nWhich play has the highest final score on average, if you play on "
    "as well as possible? Lost rounds have score 0.\n"
)
_END = "End with a line that holds the play alone: card (row, column)."
_DIGITS = 9
"""Decimal places of values. Beyond them sums in another order may differ."""


@dataclass(frozen=True)
class Task:
    """A question, with the worth of every answer."""

    question: str
    """The prompt: rules, position and question, in ASCII."""
    answer: str
    """A best answer."""
    metadata: dict[str, Any]
    """JSON values: ``level``, its ``name``, ``number``, ``renamed``, and ``values``: points or mean final points by
    legal play."""
    game: Game = field(repr=False, compare=False)
    """The position."""
    values: dict[int, float] = field(repr=False, compare=False)
    """The values by action."""
    names: "Names" = field(repr=False, compare=False)

    def score(self, answer: str) -> float:
        """Return the worth of an answer, from 0 to 1.

        The worst legal play is worth 0, a best one 1, and others in proportion to their values. A wrong number of
        points loses its error as a share of the same difference. An illegal or unreadable answer is worth 0.
        """
        worst, best = min(self.values.values()), max(self.values.values())
        try:
            if LEVELS[self.metadata["level"]].points:
                gap = abs(read_points(answer) - float(self.answer))
            else:
                gap = best - self.values[read_action(self.game, self.names.original(answer))]
        except IllegalAction:
            return 0.0
        return round(max(0.0, 1 - gap / (best - worst)), _DIGITS)


class Names:
    """Other names of cards and suits: letters that change places with others.

    Args:
        number: decides the names; None for the usual ones.
    """

    def __init__(self, number: int | None = None) -> None:
        rng = random.Random(f"names {number}")
        usual, other = f"AC{SUITS}", "".join(rng.sample("BDFGHNRWZ", 8))  # neither vowels nor ranks
        self._table = str.maketrans(usual + other, other + usual) if number is not None else {}
        words = dict(zip(("Ace", "Crown"), rng.sample(("Tower", "Wheel", "Bridge", "Comet", "Anchor"), 2), strict=True))
        self._words = words | {"QUINCUNX": "CARD GAME"} if number is not None else {}
        self._ranks, self._suits = f"2-9{usual[:2]}{other[:2]}", f"{usual[2:]}{other[2:]}"

    def renamed(self, text: str) -> str:
        """Give cards, ranks and suits in a prompt their other names."""
        text = re.sub("Ace|Crown|QUINCUNX", lambda word: self._words.get(word[0], word[0]), text)
        return re.sub(rf"\b[2-9]?[AC{SUITS}]+\b", lambda name: name[0].translate(self._table), text)

    def original(self, answer: str) -> str:
        """Return an answer with the usual names. The usual names in it become others, which are not read."""
        name = rf"(?<![^\W_])(?<!\\)(?!MY\b)(?:[{self._ranks}][{self._suits}]{{0,3}}|[{self._suits}]{{1,3}})(?![^\W_])"
        return re.sub(name, lambda found: found[0].upper().translate(self._table), answer, flags=re.IGNORECASE)


def make_task(level: int, number: int, renamed: bool = False) -> Task:
    """Make a task, the same in every process.

    Args:
        level: one of `LEVELS`.
        number: of the task, from 0.
        renamed: give cards and suits other names in question, rules and answer, so that nothing can be recalled.

    Raises:
        ValueError: for another level or a negative number.
    """
    check_option("level", level, *LEVELS)
    kind, number = LEVELS[level], check_integer("number", number, 0, 2**63 - 1)
    rng, names = random.Random(f"{level} {number}"), Names(number if renamed else None)
    game, values = _position(kind, rng)
    plays = {names.renamed(print_action(game, action)): value for action, value in values.items()}
    if kind.points:
        points = rng.choice(sorted({*plays.values()}))
        answer, play = f"{points:.0f}", rng.choice([play for play, value in plays.items() if value == points])
        question = _POINTS.format(play)
    else:
        answer = max(plays, key=plays.__getitem__)
        question = (_BEST.format(names.renamed(print_cards(sorted(game.pile)))) if kind.exact else _NOW) + _END
    position, _, _ = prompt(game, 0, ["player_0"], rules_card(kind.rules)).rpartition("\n")
    metadata = {"level": level, "name": kind.name, "number": number, "renamed": renamed, "values": plays}
    return Task(f"{names.renamed(position)}\n{question}", answer, metadata, game, values, names)


def _position(kind: Level, rng: random.Random) -> tuple[Game, dict[int, float]]:
    """Return a position whose plays differ in value, and their values. Half of the plays before it are greedy."""
    while True:
        game, left = Game.from_seed(kind.rules, rng.randrange(2**31)), rng.choice(kind.plays)
        while not game.over and kind.rules.num_plays - game.ply > left:
            values = _points(game)
            best = max(values, key=values.__getitem__)
            game.step(best if rng.random() < 0.5 else rng.choice([*values]))
        if not game.over:
            values = _means(game) if kind.exact else _points(game)
            if len({*values.values()}) > 1:
                return game, values


def _points(game: Game) -> dict[int, float]:
    return {action: game.value(*divmod(action, game.rules.num_cells))[0] for action in game.legal_actions()}


def _means(game: Game) -> dict[int, float]:
    [values] = action_values(Batch.of_games([game]))
    return {action: round(float(values[action]), _DIGITS) for action in game.legal_actions()}
