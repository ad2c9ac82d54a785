"""Positions of any game as text and as JSON, from any seat, and actions as people write them.

For logs, for people, and for players that read: what a seat may not know is not in it.

>>> from quincunx_env import Game, Rules
>>> game = Game.from_seed(Rules(num_players=2), seed=0)
>>> print(to_text(game, seat=0))
     0    1    2    3    4
  0  AK   .    .    .    CL
  1  .    .    .    .    .
  2  .    .    CY   .    .
  3  .    .    .    .    .
  4  3MV  .    .    .    4YK
> seat 0:    0 points, hand: AV AL 2MK 2VL 4VL 5YK 7VY 8MS 9LK CS
  seat 1:    0 points, hand: 10 cards
  pile: 11 cards
>>> gains = game.step(parse_action(game, "9LK (0, 3)"))
>>> to_text(game, seat=0).splitlines()[-1]
'  last: seat 0 played 9LK (0, 3), worth +9 (basic +9)'
>>> to_json(game, seat=1)["last"]["worth"]
{'points': 9, 'draws': 0, 'parts': {'basic': 9}}
>>> parse_action(game, "9LK (0, 3)")  # doctest: +ELLIPSIS
Traceback (most recent call last):
quincunx_env.core.game.IllegalAction: 9LK cannot be played at (0, 3): it is not in the hand ...
"""

from dataclasses import asdict
from typing import Any

from quincunx_env.core.game import BaseGame
from quincunx_env.core.notation import BaseNotation, Json
from quincunx_env.games import kind_of, name_of

Game = BaseGame[Any, Any]


def to_text(game: Game, seat: int | None = None, legal: bool = False) -> str:
    """A position as people read it: grid, hands, scores, the last play and what it scored.

    Args:
        game: what to show.
        seat: the seat that looks: other hands show as numbers of cards. None shows all hands.
        legal: list the legal plays, if it is this seat's turn, with what each scores at once.
    """
    rules, notation = game.rules, _notation(game)
    lines = [kind_of(rules).ansi(game, seat)]
    if last := notation.last(game):
        scored = "" if last.worth is None else f", worth {last.worth}"
        lines.append(f"  last: seat {last.seat} played {notation.print_action(rules, last.action)}{scored}")
    if legal and seat in (None, game.mover):
        lines.append(f"  {notation.legal(game)}")
        for play in notation.plays(game):
            worth = notation.worth(game, play)
            lines.append(f"    {notation.print_action(rules, play)}" + ("" if worth is None else f": {worth}"))
    return "\n".join(lines)


def to_json(game: Game, seat: int | None = None, legal: bool = False) -> Json:
    """A position as plain data, which ``json.dumps`` takes.

    The keys are always the same for one game. Cards are their names, cells lists of row and column from the top left;
    null stands for what there is none of, and for hands that the seat cannot see.

    | key | what it is |
    |---|---|
    | ``game`` | ``"quincunx"`` or ``"spiral"`` |
    | ``rules`` | its options by name |
    | ``seat`` | the seat that looks, null: all of them |
    | ``round``, ``first`` | number of the round from 0, the seat that began it |
    | ``ply`` | cards played in this round |
    | ``mover`` | the seat to move, null when the game is over |
    | ``over``, ``winners`` | whether the game has ended; then the seats that won |
    | ``totals``, ``scores`` | points of each seat in the whole game so far, and in this round |
    | ``hand_sizes``, ``hands`` | for each seat: how many cards it holds, and which, null if hidden |
    | ``board`` | rows of cards |
    | ``last`` | last play of this round: ``seat``, ``action`` as written, its ``number`` for the engines, ``worth`` |
    | ``legal`` | if asked for: the legal plays, if it is this seat's turn, as in ``last`` but for the seat |
    | Quincunx: ``order`` | rows of the plies on which the cards came, 0 for those dealt face up |
    | ``pile`` | cards left in it |
    | ``pending`` | Simpleton: the ``action`` whose points are to be announced, ``least`` and ``most``; ``worth`` if |
    | | legal plays are asked for |
    | ``lost``, ``rating`` | solitaire: whether the hand ran out; how a finished round is rated |
    | The spiral game: ``dealer``, ``next`` | the seat that deals; the cell of the next card |

    ``worth`` is what a play scores at once: ``points``, ``draws``, and the ``parts`` that are not 0; null where the
    full square is scored. With Simpleton these are the true points.

    Args:
        game: what to show.
        seat: the seat that looks. None shows all hands.
        legal: with the legal plays.
    """
    return {"game": name_of(game.rules), "rules": asdict(game.rules)} | _notation(game).to_json(game, seat, legal)


def print_action(game: Game, action: int) -> str:
    """Write an action of the engine: ``2MK (1, 3)``, in the spiral game ``9H``, with Simpleton also ``announce 12``."""
    return _notation(game).print_action(game.rules, action)


def parse_action(game: Game, text: str) -> int:
    """The legal action that a text says; the inverse of `print_action`.

    Brackets and comma, and the word ``announce``, may be left out.

    Raises:
        IllegalAction: if it says none, naming the mistake and what is legal.
    """
    return _notation(game).parse_action(game, text)


def _notation(game: Game) -> BaseNotation[Any]:
    return kind_of(game.rules).notation
