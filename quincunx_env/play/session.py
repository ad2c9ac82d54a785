"""Games between humans and agents, independent of any user interface.

>>> from quincunx_env import Rules
>>> session = Session(Rules(num_players=2), [None, None], Seeded(0))
>>> session.play(session.parse("AV (0, 1)")).gains
[3, 0]
>>> session.candidates()[0].text, str(session.candidates()[0].score)
('CV (1, 3)', '+30 (three +30)')
>>> hint = next(session.hints())
>>> hint.text, str(hint.score), hint.others
('CV (1, 3)', '+30 (three +30)', ())
>>> session.undo()
>>> session.game.totals, session.mover
([0, 0], 0)
"""

import itertools
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from quincunx_env.core.deal import Deals
from quincunx_env.core.game import SomeGame
from quincunx_env.core.policy import Agent, Policy, naming, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import ScoredPlay
from quincunx_env.notation.ending import Ending, ending
from quincunx_env.notation.record import HUMAN, Record, RecordedAction, Seeded, apply_action
from quincunx_env.notation.text import PlayScore, parse_action, play_score, print_action
from quincunx_env.policies import display_name, registered_policies, resolve
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.render.words import players as players_for_people
from quincunx_env.utils.files import write_text

LEVELS = {
    "Easiest": ("uniform",),
    "Easy": ("greedy",),
    "Medium": ("heuristic",),
    "Hard": ("value", "monte-carlo"),
    "Hardest": ("search",),
}
"""Policies by level of play. The first that can play the rules plays at the level; see `levels`."""

DEFAULT_LEVEL, ADVISING_LEVEL = "Medium", "Hard"
"""The levels of opponents and of the adviser where none is named."""

HINTS = 5
"""Plays that user interfaces list as hints. Not tuned."""

_UNCOUNTED = "# not counted: "
"""Beginning of the last line of a file whose points do not count for the player's best."""


def can_play(policy: Agent | str, rules: BaseRules) -> bool:
    """Return whether a policy is installed and can play by these rules."""
    try:
        policy_for(resolve(policy), rules)
    except Exception:  # whatever the packages of others raise
        return False
    return True


@lru_cache(maxsize=64)
def levels(rules: BaseRules) -> Mapping[str, str]:
    """Return the names of the policies that can play, by level."""
    found = {level: next((name for name in names if can_play(name, rules)), "") for level, names in LEVELS.items()}
    return {level: name for level, name in found.items() if name}


def level_of(rules: BaseRules, name: str) -> str:
    """Return the level of a policy; its name if it has none."""
    return next((level for level, policy in levels(rules).items() if policy == name), name)


def seat_players(rules: BaseRules, seat: int = 0, opponents: Sequence[Agent | str] = ()) -> list[Agent | str | None]:
    """Return players by seat, as a `Session` takes them.

    Args:
        rules: the rules of the game.
        seat: the seat of the human.
        opponents: agents, their names, or `HUMAN`: one for all other seats, or one for each seat, beginning with the
            one after ``seat``; by default the policy of `DEFAULT_LEVEL`.

    Raises:
        ValueError: if there is no such seat, or there are too few or too many opponents.
    """
    others = rules.num_players - 1
    if not 0 <= seat <= others:
        raise ValueError(f"these rules have the seats 0 to {others}, got {seat}")
    names = [*(opponents or [levels(rules)[DEFAULT_LEVEL]] * bool(others))]
    names = names * others if len(names) == 1 else names
    if len(names) != others:
        raise ValueError(f"name one opponent for all other seats or {others}, got {len(names)}")
    players: list[Agent | str | None] = [None, *(None if name == HUMAN else name for name in names)]
    return players[-seat:] + players[:-seat] if seat else players


def adviser_name(rules: BaseRules, name: Agent | str | None = None) -> Agent | str | None:
    """Return ``name``, by default the policy of `ADVISING_LEVEL`; None for `HUMAN`."""
    return None if name == HUMAN else name or levels(rules).get(ADVISING_LEVEL)


def new_path(folder: Path, taken: Collection[str] = ()) -> Path:
    """Return a file for a new game, named by the current time, with a stem that is new and not ``taken``."""
    stem = f"{datetime.now():%Y%m%d-%H%M%S}"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(path for name in names if name not in taken and not (path := folder / f"{name}.txt").exists())


def unregistered(record: Record) -> list[str]:
    """List names of players that are not registered policies, by seat. Such a name may stand for any code."""
    known = {HUMAN, *registered_policies()}
    return [name for name in record.seats if name not in known]


def recorded_players(record: Record, others: Sequence[Agent | str] = ()) -> list[Agent | str | None]:
    """Return players by seat, as a `Session` takes them.

    Without names in the record they are humans. A file never chooses code: only registered names in it are followed.

    Args:
        record: the game.
        others: players of the seats whose names are not registered, in the same order; or one for all of them.

    Raises:
        ValueError: if there are too few or too many of them.
    """
    names = unregistered(record)
    chosen = [*others] * len(names) if len(others) == 1 else [*others]
    if len(chosen) != len(names) or (others and not names):
        problem = f"names {len(names)} players that are not registered policies{': ' * bool(names)}{', '.join(names)}"
        raise ValueError(f"the game {problem}; got {len(others)} policies in their place")
    players = iter(chosen)
    named = (next(players) if name in names else name for name in record.seats or [HUMAN] * record.rules.num_players)
    return [None if player == HUMAN else player for player in named]


def resuming(record: Record, path: Path) -> str:
    """Return the options of ``quincunx play`` that continue a game."""
    # A name that begins with a dash would be an option.
    names = ["POLICY" if name.startswith("-") else name for name in unregistered(record)]
    return shlex.join(["--resume", str(path), *(["--opponents", *names] if names else [])])


def file_of(record: Record, uncounted: Sequence[str] = ()) -> str:
    """Return the file of a game. A comment says why its points do not count for the player's best."""
    return f"{record}\n" + (f"{_UNCOUNTED}{', '.join(uncounted)}\n" if uncounted else "")


def uncounted(text: str) -> tuple[str, ...]:
    """Return why the points in a file do not count; see `file_of`."""
    last = text.rstrip().rpartition("\n")[2]
    return tuple(last.removeprefix(_UNCOUNTED).split(", ")) if last.startswith(_UNCOUNTED) else ()


class Hint(NamedTuple):
    """A legal play, and other cells in which it is the same."""

    action: int
    text: str
    score: PlayScore | None
    """Its immediate score; None in games that are scored at the end, and of announcements."""
    others: tuple[int, ...] = ()
    """Cells in which the same card scores the same with the same cards, as mirror images of a play do."""

    def __str__(self) -> str:
        """Return text such as ``AV (0, 1): +3 (basic -2, pair +5)``."""
        return self.text + ("" if self.score is None else f": {self.score}")


class Session:
    """A game in progress between humans and agents.

    A user interface shows ``game`` from ``seat``, and ``turns``. While ``human_to_move`` it reads an action and
    calls ``play``; otherwise it calls ``play(session.choose())``. `choose` and each step of `hints` may take long. They
    leave the game as it is and may run in another thread. Discard results if the number of turns has changed since.
    An agent's action is a function of the position, also after an undo.

    Args:
        rules: the rules of the game.
        players: by seat: an agent, its name as `quincunx_env.policies.resolve` takes it, or None for a human.
        dealt: the seed of the deals, or the deals; a random seed by default.
        adviser: the agent that `hints` calls, or its name.

    Raises:
        ValueError: if an agent is unknown or cannot play by these rules, or the number of players is wrong.

    Attributes:
        rules: the rules of the game.
        names: names of the players, by seat.
        players: the players by seat; None for a human.
        adviser: name of the adviser; None without one.
        game: the current position; read or copy it, but do not change it.
        turns: the actions taken, in order.
        uncounted: why the points do not count for the player's best: ``hints`` or ``undo``, say.
    """

    def __init__(
        self,
        rules: BaseRules,
        players: Sequence[Agent | str | None],
        dealt: Seeded | Deals | None = None,
        adviser: Agent | str | None = None,
    ) -> None:
        if len(players) != rules.num_players:
            raise ValueError(f"these rules have {rules.num_players} seats, got {len(players)} players")
        self.rules = rules
        self.names = tuple(HUMAN if player is None else display_name(player) for player in players)
        self.adviser = None if adviser is None else display_name(adviser)
        self.players, self._adviser_agent = tuple(players), adviser
        self._policies = [_policy(player, rules) for player in players]
        self._adviser = _policy(adviser, rules)
        self._dealt = Seeded(int(np.random.default_rng().integers(2**31))) if dealt is None else dealt
        self._policy_lock = Lock()  # policies may keep state between calls: one call at a time
        self._observer = make_observer(rules, preview=True)
        self.turns: list[RecordedAction] = []
        self.uncounted: tuple[str, ...] = ()
        self.game: SomeGame = self.record.game()

    @classmethod
    def resume(
        cls,
        record: Record,
        players: Sequence[Agent | str | None],
        adviser: Agent | str | None = None,
    ) -> Self:
        """Continue a recorded game from its last action."""
        session = cls(record.rules, players, record.dealt, adviser)
        for action in record.actions:
            session.play(action)
        return session

    def new_game(self) -> Self:
        """Start a session with the same players and a new deal."""
        return type(self)(self.rules, self.players, None, self._adviser_agent)

    # --- Seats -------------------------------------------------------------------------------------------------------

    @property
    def human_seats(self) -> tuple[int, ...]:
        """The seats of humans."""
        return tuple(seat for seat, policy in enumerate(self._policies) if policy is None)

    @property
    def called(self) -> list[str]:
        """Names of the players for people, by seat: ``You``, levels, ``Player 2``."""
        return players_for_people([level_of(self.rules, name) for name in self.names], self.your_seat)

    @property
    def your_seat(self) -> int | None:
        """The seat of the only human; None for none or several."""
        return self.human_seats[0] if len(self.human_seats) == 1 else None

    @property
    def mover(self) -> int | None:
        """The seat to move; None when the game is over."""
        return None if self.game.over else self.game.mover

    @property
    def human_to_move(self) -> bool:
        """Whether a human is to move."""
        return self.mover in self.human_seats

    @property
    def seat(self) -> int | None:
        """The seat from which to show the game.

        It is the seat of the human to move, otherwise of the human who moved last. None shows all hands: when the game
        is over, or agents play all seats.
        """
        if self.game.over or not self.human_seats:
            return None
        if self.human_to_move:
            return self.mover
        return next((turn.seat for turn in reversed(self.turns) if turn.seat in self.human_seats), self.human_seats[0])

    # --- Actions -----------------------------------------------------------------------------------------------------

    def parse(self, text: str) -> int:
        """Return the legal action that a text denotes; see `quincunx_env.notation.text.parse_action`."""
        return parse_action(self.game, text)

    def play(self, action: int) -> RecordedAction:
        """Take an action for the seat to move.

        Raises:
            IllegalAction: if it is illegal, naming the legal ones; nothing has changed then.
        """
        turn = apply_action(self.game, len(self.turns) + 1, action, explain=True)
        self.turns.append(turn)
        return turn

    def choose(self) -> int:
        """Return the action of the agent to move.

        Raises:
            ValueError: if a human is to move, or the game is over.
        """
        policy = None if self.mover is None else self._policies[self.mover]
        if policy is None:
            raise ValueError("no agent is to move")
        game = self.game.copy()
        return self._ask(policy, game, len(self.turns), self._observer.mask(game).astype(bool))

    def undo(self) -> None:
        """Go back to the last decision of a human, or of an agent where agents play all seats.

        Raises:
            ValueError: if there is none.
        """
        for number in reversed(range(len(self.turns))):
            if not self.human_seats or self.turns[number].seat in self.human_seats:
                self.not_counted("undo")
                del self.turns[number:]
                self.game = self.record.game()
                return
        raise ValueError("there is nothing to take back")

    @property
    def ending(self) -> Ending | None:
        """The end of the game in words; None before the end."""
        return ending(self.game, self.called, self.your_seat)

    # --- Hints -------------------------------------------------------------------------------------------------------

    def candidates(self) -> list[Hint]:
        """Return the legal plays by decreasing immediate score; none while an announcement is due."""
        game = self.game
        legal = spec_of(self.rules).notation.legal_plays(game)
        plays = (Hint(play, print_action(game, play), play_score(game, play)) for play in legal)
        return sorted(plays, key=_by_points)

    def scores(self, card: int) -> dict[int, ScoredPlay]:
        """Return the legal plays of a card by cell; none in games that are scored at the end."""
        return {play.cell: play for play in scored_plays(self.game, card).values() if play.scored}

    def hints(self) -> Iterator[Hint]:
        """Iterate over the legal plays, those that the adviser prefers first.

        The adviser ranks them by choosing again without the plays that it has chosen before, so that each hint takes
        one call. Without an adviser they are ordered by immediate score. Plays that score the same with the same cards
        are one hint. While an announcement is due, the only hint is the adviser's announcement.

        Raises:
            ValueError: if the game is over.
        """
        if self.game.over:
            raise ValueError("the game is over")
        self.not_counted("hints")
        plays = scored_plays(self.game)
        if self._adviser is None:
            hints = (_hint(self.game, plays, group[0], group) for group in alike(plays))
            return iter(sorted(hints, key=_by_points))
        return self._ranked(self._adviser, self.game.copy(), len(self.turns), plays)

    def _ranked(self, policy: Policy, game: SomeGame, number: int, plays: Mapping[int, ScoredPlay]) -> Iterator[Hint]:
        groups = {action: group for group in alike(plays) for action in group}
        mask = self._observer.mask(game).astype(bool)
        while mask.any():
            action = self._ask(policy, game, number, mask)
            if not mask[action]:
                return  # a policy that chooses among all legal actions, whatever the mask
            group = groups.get(action, [])
            yield _hint(game, plays, action, group)
            if not group:
                return  # an announcement
            mask[group] = False

    def _ask(self, policy: Policy, game: SomeGame, number: int, mask: npt.NDArray[np.bool_]) -> int:
        """Return a policy's action after ``number`` actions, one of the actions of a mask, bool [actions]."""
        observation = {name: piece[None] for name, piece in self._observer.observe(game, game.mover).items()}
        rng = np.random.default_rng([0, game.mover, number])
        with self._policy_lock, naming(display_name(policy)):
            return int(policy(observation, mask[None].copy(), rng)[0])

    # --- Records -----------------------------------------------------------------------------------------------------

    @property
    def record(self) -> Record:
        """The game so far."""
        return Record(self.rules, self._dealt, tuple(turn.action for turn in self.turns), self.names)

    def save(self, path: Path) -> None:
        """Write the game so far to a file."""
        write_text(path, file_of(self.record, self.uncounted))

    def not_counted(self, *reasons: str) -> None:
        """Add reasons why the points do not count for the player's best."""
        self.uncounted = tuple(dict.fromkeys((*self.uncounted, *reasons)))


def _policy(player: Agent | str | None, rules: BaseRules) -> Policy | None:
    return None if player is None else policy_for(resolve(player), rules)


def _by_points(play: Hint) -> tuple[int, int]:
    """Sort plays by decreasing score; plays without one keep their order."""
    return (0, 0) if play.score is None else (-play.score.points, -play.score.draws)


def scored_plays(game: SomeGame, card: int | None = None) -> dict[int, ScoredPlay]:
    """Return the legal plays by action, with the parts of their scores. With ``card`` only the plays of this card."""
    spec = spec_of(game.rules)
    places = {action: spec.notation.decode_play(game, action) for action in spec.notation.legal_plays(game)}
    return {action: spec.candidate(game, *place) for action, place in places.items() if card in (None, place[0])}


def alike(plays: Mapping[int, ScoredPlay]) -> list[list[int]]:
    """Group actions that play one card for the same parts and cells, as mirror images of a play do."""
    groups: dict[object, list[int]] = {}
    for action, play in plays.items():
        parts = sorted(part._replace(cells=tuple(sorted(part.cells))) for part in play.parts)
        groups.setdefault((play.card, play.scored, tuple(parts)), []).append(action)
    return [*groups.values()]


def _hint(game: SomeGame, plays: Mapping[int, ScoredPlay], action: int, group: Sequence[int]) -> Hint:
    score = play_score(game, action) if action in plays else None
    return Hint(
        action, print_action(game, action), score, tuple(plays[other].cell for other in group if other != action)
    )
