"""The end of any game in words, for any user interface.

>>> from quincunx_env import Game, Rules
>>> game = Game.from_seed(Rules(), seed=7)
>>> while not game.over:
...     gains = game.step(game.legal_cards()[0] * game.rules.num_cells + game.legal_cells()[0])
>>> ending(game, you=0).headline
'The round is lost: the hand ran out before the grid was full.'
"""

from collections.abc import Sequence
from typing import NamedTuple

from quincunx_env.core.game import SomeGame
from quincunx_env.registry import solitaire_of, spec_of


class Ending(NamedTuple):
    """The end of a game, or of a round of a match."""

    points: str
    """Points of all seats, to be printed large: ``131 : 117``; empty if they do not count, as in a lost solitaire."""
    headline: str
    """The result in a sentence: who wins and by how much; in a solitaire the rating class."""
    notes: tuple[str, ...]
    """Further lines: the round, the points lost for cards left in hand."""


def ending(game: SomeGame, names: Sequence[str] = (), you: int | None = None) -> Ending | None:
    """Describe the end of a game.

    Args:
        game: the game.
        names: of the players, by seat; empty if unknown.
        you: the seat of the reader, if it is one of them.

    Returns:
        The end; None while the game is in progress.
    """
    if not game.over:
        return None
    spec = spec_of(game.rules)
    notes = tuple(note for note in spec.scene(game).notes if not note.startswith("over:"))
    points = " : ".join(map(str, game.totals))
    if not game.decided and game.ply < game.rules.num_plays:
        return Ending(points, "The game was forfeited.", notes)
    if not game.decided:  # a record that stops at the end of a round
        return Ending(points, f"The end of {notes[0]}.", notes[1:])
    if game.rules.num_players > 1:
        return Ending(points, _result(game, names, you), notes)
    state = spec.notation.public_state(game)
    if state["lost"]:
        return Ending("", "The round is lost: the hand ran out before the grid was full.", notes)
    rating, ratings = state["rating"], solitaire_of(spec.name).ratings
    number = f"class {ratings.index(rating)} of {len(ratings) - 1} ({rating.replace('-', ' to ')})"
    headline = f"{_player(names, 0, you)} score{'s' * (you != 0)} {_points(game.totals[0])}, {number}."
    return Ending(points, _sentence(headline), notes)


def _result(game: SomeGame, names: Sequence[str], you: int | None) -> str:
    """Say who wins, and by how much."""
    winners, best = game.winners, max(game.totals)
    players = " and ".join(_player(names, seat, you) for seat in sorted(winners, key=lambda seat: seat != you))
    if len(winners) == game.rules.num_players:
        return f"A draw: all have {_points(best)}."
    if len(winners) > 1:
        verdict = f"{players} share the win"
    else:
        margin = best - max(total for seat, total in enumerate(game.totals) if seat not in winners)
        verdict = f"{players} win{'s' * (you not in winners)} by {_points(margin)}"
    if you is not None and you not in winners and game.rules.num_players > 2:
        verdict += f"; you are {_points(best - game.totals[you])} behind"
    return _sentence(f"{verdict}.")


def _player(names: Sequence[str], seat: int, you: int | None) -> str:
    return "you" if seat == you else names[seat] if names else f"seat {seat}"


def _points(number: int) -> str:
    return f"{number} point{'s' * (abs(number) != 1)}"


def _sentence(text: str) -> str:
    """Begin a sentence with a capital, unless it begins with a name."""
    return text[0].upper() + text[1:] if text.startswith(("you ", "seat ")) else text
