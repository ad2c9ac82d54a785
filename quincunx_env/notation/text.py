"""Positions of any game as text or JSON, and actions as text.

For logs, human players and language models. A position may be observed by any seat: information hidden from it is left
out.

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
>>> print(to_text(game, seat=0).partition("last: ")[2])
seat 0 played 9LK at (0, 3): 9 points
    basic +9 (0, 4)
>>> to_json(game, seat=1)["last"]["score"]
{'points': 9, 'draws': 0, 'parts': {'basic': 9}}
>>> parse_action(game, "9LK (0, 3)")  # doctest: +ELLIPSIS
Traceback (most recent call last):
quincunx_env.core.game.IllegalAction: 9LK cannot be played at (0, 3): it is not in the hand ...
"""

from dataclasses import asdict
from typing import Any, NamedTuple

from quincunx_env.core.game import SomeGame
from quincunx_env.core.scene import ScoredPlay
from quincunx_env.registry import spec_of

Json = dict[str, Any]


class PlayScore(NamedTuple):
    """Immediate score of a play, by parts."""

    points: int
    """Sum of the parts."""
    draws: int
    """Cards earned, whether or not the pile holds as many."""
    parts: dict[str, int]
    """Points by the name of the part; only those that are not 0."""

    def __str__(self) -> str:
        parts = [f"{name} {points:+}" for name, points in self.parts.items()]
        draws = [f"{self.draws} draw{'s' * (self.draws > 1)}"] if self.draws else []
        return f"{self.points:+}" + (f" ({', '.join(parts + draws)})" if parts or draws else "")


def play_score(game: SomeGame, action: int) -> PlayScore | None:
    """Return the immediate score of an action.

    It is the true score of the play, also if the action is an announcement.

    Args:
        game: the game before the action.
        action: of the engine: a play in an empty cell, or an announcement that is due.

    Returns:
        The score; None where plays do not score.

    Raises:
        ValueError: for any other action.
    """
    spec = spec_of(game.rules)
    return _play_score(spec.candidate(game, *spec.notation.decode_play(game, action)))


def to_text(game: SomeGame, seat: int | None = None, legal: bool = False) -> str:
    """Return a position as text: grid, hands, scores, and the last play with its score.

    Args:
        game: the game to show.
        seat: the observing seat; other hands are shown as numbers of cards. None shows all hands.
        legal: list the legal plays with their immediate scores, if it is this seat's turn.

    Raises:
        ValueError: if there is no such seat.
    """
    spec, seat = spec_of(game.rules), game.check_seat(seat)
    lines = [spec.scene(game, seat).text()]
    if legal and seat in (None, game.mover):
        lines.append(f"  {spec.notation.describe_legal(game)}")
        for play in spec.notation.legal_plays(game):
            scores = play_score(game, play)
            lines.append(f"    {print_action(game, play)}" + ("" if scores is None else f": {scores}"))
    return "\n".join(lines)


def to_json(game: SomeGame, seat: int | None = None, legal: bool = False) -> Json:
    """Convert a position to plain data for ``json.dumps``.

    The keys are the same for all positions of a game. A card is its name, a cell a list of row and column from the top
    left. null stands for missing values, and for hands hidden from the seat.

    | key | value |
    |---|---|
    | ``game`` | ``"quincunx"`` or ``"spiral"`` |
    | ``rules`` | its options by name |
    | ``seat`` | the observing seat, null: all hands are shown |
    | ``round``, ``first`` | number of the round from 0, the seat that began it |
    | ``ply`` | cards played in this round |
    | ``mover`` | the seat to move, null when the game is over |
    | ``over`` | whether the game has ended |
    | ``winners`` | the seats that won it, none if a solitaire was lost; null before the end and after a forfeit |
    | ``previous_round`` | ``round``, ``scores``, ``hands`` left and ``penalties`` at its end; null in the first round |
    | ``totals``, ``scores`` | points of each seat in the whole game so far, and in this round |
    | ``hand_sizes``, ``hands`` | for each seat: number and names of the cards held, null if hidden |
    | ``board`` | rows of cards |
    | ``last`` | last play of this round: ``seat``, ``action`` as text, its ``number`` in the engines, ``score`` |
    | ``legal`` | with ``legal=True``: the legal plays, if it is this seat's turn, as in ``last`` without the seat |
    | Quincunx: ``order`` | rows of the plies on which the cards were played, 0 for face-up cards |
    | ``pile`` | number of cards in the pile |
    | ``pending`` | Simpleton: the play (``action``) whose points are to be announced, from ``least`` to ``most`` |
    | ``lost``, ``rating`` | solitaire: whether the hand ran out; rating of a finished round |
    | The spiral game: ``dealer``, ``next`` | the seat that deals; the cell of the next card |

    ``score`` is the immediate score of a play: ``points``, ``draws``, and the ``parts`` that are not 0; null where the
    full square is scored. With Simpleton these are the true points.

    Args:
        game: the game to show.
        seat: the observing seat. None shows all hands.
        legal: include the legal plays.

    Raises:
        ValueError: if there is no such seat.
    """
    rules, notation, seat = game.rules, spec_of(game.rules).notation, game.check_seat(seat)
    seats, to_move = range(rules.num_players), seat in (None, game.mover)
    last = spec_of(rules).scene(game, seat).last
    position = {
        "game": spec_of(rules).name,
        "rules": asdict(rules),
        "seat": seat,
        "round": game.round,
        "first": game.first,
        "ply": game.ply,
        "mover": None if game.over else game.mover,
        "over": game.over,
        "winners": [*game.winners] if game.decided else None,
        "previous_round": _previous_round(game, seat),
        "totals": [*game.totals],
        "scores": [*game.scores],
        "hand_sizes": [len(game.hand(player)) for player in seats],
        "hands": [notation.card_names(game.hand(player)) if seat in (None, player) else None for player in seats],
        "last": last and _action(game, notation.encode_play(rules, last.card, last.cell), _play_score(last)),
        "legal": None,
        **notation.public_state(game),
    }
    if last:
        position["last"]["seat"] = (game.first + game.ply - 1) % rules.num_players
    if legal:
        position["legal"] = [
            _action(game, play, play_score(game, play)) for play in notation.legal_plays(game) if to_move
        ]
    return position


def print_action(game: SomeGame, action: int) -> str:
    """Return the text of an engine action, legal or not: ``2MK (1, 3)``, ``announce 12``, in the spiral game ``9H``.

    Raises:
        ValueError: if the action is out of range.
    """
    return spec_of(game.rules).notation.print_action(game.rules, action)


def parse_action(game: SomeGame, text: str) -> int:
    """Parse a legal action; the inverse of `print_action`.

    Parentheses, the comma and the word ``announce`` are optional.

    Raises:
        IllegalAction: if the text is not a legal action; the message names the error and the legal actions.
    """
    return spec_of(game.rules).notation.parse_action(game, text)


def _play_score(play: ScoredPlay) -> PlayScore | None:
    if not play.scored:
        return None
    parts: dict[str, int] = {}
    for part in play.parts:
        parts[part.name] = parts.get(part.name, 0) + part.points
    return PlayScore(play.points, play.draws, {name: points for name, points in parts.items() if points})


def _previous_round(game: SomeGame, seat: int | None) -> Json | None:
    ended = game.previous_round
    if ended is None:
        return None
    names = spec_of(game.rules).notation.card_names
    hands = [names(hand) if seat in (None, player) else None for player, hand in enumerate(ended.hands)]
    return {"round": ended.round, "scores": [*ended.scores], "hands": hands, "penalties": [*ended.penalties]}


def _action(game: SomeGame, action: int, scores: PlayScore | None) -> Json:
    return {"action": print_action(game, action), "number": action, "score": scores and scores._asdict()}
