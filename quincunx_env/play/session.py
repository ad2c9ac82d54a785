"""People and agents at one table: what every interface to play needs, and nothing that shows it.

>>> from quincunx_env import Rules
>>> session = Session(Rules(num_players=2), [None, None], Seeded(0))
>>> session.play(session.parse("AV (0, 1)")).gains
[3, 0]
>>> session.candidates()[0].text, str(session.candidates()[0].score)
('CV (1, 3)', '+30 (three +30)')
>>> session.undo()
>>> session.game.totals, session.mover
([0, 0], 0)
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np

from quincunx_env.core.game import BaseGame
from quincunx_env.core.policy import Agent, Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Deals, Record, RecordedAction, Seeded, apply_action
from quincunx_env.notation.text import PlayScore, parse_action, play_score, print_action
from quincunx_env.policies import display_name, registered_policies, resolve
from quincunx_env.registry import make_observer, spec_of

PERSON = "human"
"""What records, and whoever names players, call a person."""

_USUAL = {"quincunx": "heuristic-v0", "spiral": "spiral-heuristic-v0"}


def usual_agent(rules: BaseRules) -> str:
    """The name of an agent that plays quickly and well by these rules; without a checkout there is none: `PERSON`."""
    name = _USUAL[spec_of(rules).name]
    return name if name in registered_policies() else PERSON


def seated(rules: BaseRules, seat: int = 0, opponents: Sequence[str] = ()) -> list[str | None]:
    """Players by seat, as a `Session` takes them.

    Args:
        rules: which game.
        seat: the seat of a person.
        opponents: names of agents, or `PERSON`: one for all other seats, or one for each that follows ``seat``; by
            default the `usual_agent`.

    Raises:
        ValueError: if there is no such seat, or there are too few or too many opponents.
    """
    others = rules.num_players - 1
    if not 0 <= seat <= others:
        raise ValueError(f"these rules have the seats 0 to {others}, got {seat}")
    names = [*(opponents or [usual_agent(rules)])]
    names = names * others if len(names) == 1 else names
    if len(names) != others:
        raise ValueError(f"name one opponent for all other seats or {others}, got {len(names)}")
    players = [None, *(None if name == PERSON else name for name in names)]
    return players[-seat:] + players[:-seat] if seat else players


def adviser_of(rules: BaseRules, name: str | None = None) -> str | None:
    """The agent that gives hints: this one, or the `usual_agent` if there is any."""
    name = name or usual_agent(rules)
    return None if name == PERSON else name


def free_path(folder: Path) -> Path:
    """A file for a new game, named by the time, that there is not yet."""
    stem = f"{datetime.now():%Y%m%d-%H%M%S}"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 100)))
    return next(path for name in names if not (path := folder / f"{name}.txt").exists())


def seated_again(record: Record) -> list[str | None]:
    """Players by seat, as a record names them; people where it names nobody."""
    return [None if name == PERSON else name for name in record.seats or [PERSON] * record.rules.num_players]


class Candidate(NamedTuple):
    """A legal play of the seat to move."""

    action: int
    text: str
    score: PlayScore | None
    """What it scores at once; None where plays score nothing."""


class Session:
    """A game in progress between people and agents.

    An interface shows ``game`` from ``seat``, and ``turns``. While ``person_to_move`` it asks somebody and calls
    ``play``; otherwise ``play(session.choose())``. `choose` and `advise` may take long and change nothing: they may run
    in another thread, and what they say is to be thrown away if the number of turns has changed meanwhile.

    Args:
        rules: which game.
        players: who plays each seat: an agent, its name as `quincunx_env.arena.resolve` knows it, or None for
            a person.
        dealt: where the deals come from, or the deals; a new seed by default.
        adviser: the agent that `advise` asks, likewise.
        seed: of the agents' randomness. What an agent plays follows from it and the position, also after an undo.

    Raises:
        ValueError: if an agent is unknown or cannot play by these rules, or there are too many or too few players.

    Attributes:
        rules: which game.
        names: of the players, by seat.
        game: as it stands; to be looked at and copied, not to be changed.
        turns: what has been done, in order.
    """

    def __init__(
        self,
        rules: BaseRules,
        players: Sequence[Agent | str | None],
        dealt: Seeded | Deals | None = None,
        adviser: Agent | str | None = None,
        seed: int = 0,
    ) -> None:
        if len(players) != rules.num_players:
            raise ValueError(f"these rules have {rules.num_players} seats, got {len(players)} players")
        self.rules = rules
        self.names = tuple(PERSON if player is None else display_name(player) for player in players)
        self._players, self._advised_by = tuple(players), adviser
        self._policies = [_policy(player, rules) for player in players]
        self._adviser = _policy(adviser, rules)
        self._dealt = Seeded(int(np.random.default_rng().integers(2**31))) if dealt is None else dealt
        self._seed = seed
        self._asking = Lock()  # agents may keep something from one question to the next: one at a time
        self._observer = make_observer(rules, preview=True)
        self.turns: list[RecordedAction] = []
        self.game: BaseGame[Any, Any] = self.record.game()

    @classmethod
    def resume(
        cls,
        record: Record,
        players: Sequence[Agent | str | None],
        adviser: Agent | str | None = None,
        seed: int = 0,
    ) -> Self:
        """Go on where a record stops."""
        session = cls(record.rules, players, record.dealt, adviser, seed)
        for action in record.actions:
            session.play(action)
        return session

    def again(self) -> Self:
        """A new game of the same players, from another deal."""
        return type(self)(self.rules, self._players, None, self._advised_by, self._seed)

    # --- Who looks, who moves ----------------------------------------------------------------------------------------

    @property
    def people(self) -> tuple[int, ...]:
        """The seats of people."""
        return tuple(seat for seat, policy in enumerate(self._policies) if policy is None)

    @property
    def mover(self) -> int | None:
        """The seat to move; None when the game is over."""
        return None if self.game.over else self.game.mover

    @property
    def person_to_move(self) -> bool:
        """Whether somebody has to be asked."""
        return self.mover in self.people

    @property
    def seat(self) -> int | None:
        """The seat to show the game from: the person to move, or who moved last.

        None shows all hands: when the game is over, or no people play.
        """
        if self.game.over or not self.people:
            return None
        if self.person_to_move:
            return self.mover
        return next((turn.seat for turn in reversed(self.turns) if turn.seat in self.people), self.people[0])

    # --- Play --------------------------------------------------------------------------------------------------------

    def parse(self, text: str) -> int:
        """The legal action that a text says; see `quincunx_env.notation.text.parse_action`."""
        return parse_action(self.game, text)

    def play(self, action: int) -> RecordedAction:
        """Take an action for the seat to move, whoever chose it.

        Raises:
            IllegalAction: if it is illegal, saying what would be legal; nothing has changed then.
        """
        turn = apply_action(self.game, len(self.turns) + 1, action, explain=True)
        self.turns.append(turn)
        return turn

    def choose(self) -> int:
        """What the agent to move plays.

        Raises:
            ValueError: if a person is to move, or the game is over.
        """
        policy = None if self.mover is None else self._policies[self.mover]
        if policy is None:
            raise ValueError("no agent is to move")
        return self._ask(policy)

    def undo(self) -> None:
        """Go back to the last decision that a person made; where no people play, to the last one of all.

        Raises:
            ValueError: if there is none.
        """
        for number in reversed(range(len(self.turns))):
            if not self.people or self.turns[number].seat in self.people:
                del self.turns[number:]
                self.game = self.record.game()
                return
        raise ValueError("there is nothing to take back")

    # --- Hints -------------------------------------------------------------------------------------------------------

    def candidates(self) -> list[Candidate]:
        """The legal plays, those with most points first; none while an announcement is due."""
        game = self.game
        plays = [
            Candidate(play, print_action(game, play), play_score(game, play))
            for play in spec_of(self.rules).notation.legal_plays(game)
        ]
        return sorted(plays, key=lambda play: play.score is not None and (-play.score.points, -play.score.draws))

    def advise(self) -> int | None:
        """What the adviser would do in the place of the seat to move; None without an adviser.

        Raises:
            ValueError: if the game is over.
        """
        if self.game.over:
            raise ValueError("the game is over")
        return None if self._adviser is None else self._ask(self._adviser)

    def _ask(self, policy: Policy) -> int:
        game, observer = self.game.copy(), self._observer
        observation = {name: piece[None] for name, piece in observer.observe(game, game.mover).items()}
        rng = np.random.default_rng([self._seed, game.mover, len(self.turns)])
        with self._asking:
            return int(policy(observation, observer.mask(game)[None].astype(bool), rng)[0])

    # --- Records -----------------------------------------------------------------------------------------------------

    @property
    def record(self) -> Record:
        """The game so far."""
        names = tuple(name.replace(",", ";").replace("#", "") for name in self.names)
        return Record(self.rules, self._dealt, tuple(turn.action for turn in self.turns), names)

    def save(self, path: Path) -> None:
        """Write the game so far to a file."""
        self.record.write(path)


def _policy(player: Agent | str | None, rules: BaseRules) -> Policy | None:
    return None if player is None else policy_for(resolve(player), rules)
