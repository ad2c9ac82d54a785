"""Comparison of policies in games for several players, on paired deals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from quincunx_env.arena.games import LineupGames, require_writable_file, write_games
from quincunx_env.arena.matches import (
    Deals,
    MatchConfig,
    MatchResults,
    concatenate,
    one_against_others,
    play_matches,
    seatings,
)
from quincunx_env.arena.runner import Run, conversations_of, refuse_forfeits, with_run
from quincunx_env.arena.statistics import Estimate, in_words
from quincunx_env.core.arrays import Bools, Floats, Ints
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.envs.rewards import win_shares
from quincunx_env.policies import check_name, display_name, resolve
from quincunx_env.policies.conversations import Counts, counts_table, marked
from quincunx_env.registry import DEFAULT_GAME, GAMES
from quincunx_env.utils.markdown import markdown_table

RULES: BaseRules = GAMES[DEFAULT_GAME].multiplayer_rules()
"""Rules that are played if none are given."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Results of N policies on D paired deals.

    Each deal is played from S seatings of P seats. Figures of a policy are averaged over the seatings of each deal
    first; intervals are Student's t over deals.

    Attributes:
        names: names of the N policies.
        seatings: int64 [S, P], number of the policy that plays each seat.
        totals: int64 [D, S, P], final points of each seat; a match counts as one game.
        config: game and deals.
        answers: decisions and illegal answers of language models, by name.
    """

    names: tuple[str, ...]
    seatings: Ints
    totals: Ints
    config: MatchConfig
    answers: Mapping[str, Counts] = field(default_factory=dict)

    @classmethod
    def from_results(
        cls,
        names: Sequence[str],
        seats: Sequence[int],
        results: MatchResults,
        config: MatchConfig,
        answers: Mapping[str, Counts] | None = None,
    ) -> Self:
        """Make the comparison of a lineup from games of all its `seatings`."""
        return cls(tuple(names), seatings(seats), results.totals, config, answers or {})

    @property
    def deals(self) -> int:
        """Number of deals D, the sample size."""
        return len(self.totals)

    @property
    def games(self) -> int:
        """Number of games, D x S."""
        return len(self.totals) * len(self.seatings)

    @property
    def even(self) -> Floats:
        """float64 [N]: a policy's share of the seats. It is the expected share of wins of equally strong policies."""
        even: Floats = self._seats[:, 0].mean(axis=1)
        return even

    @cached_property
    def points(self) -> Floats:
        """float64 [D, N]: mean points of a policy in a game. The mean is over its seats and the seatings of a deal."""
        return self._means(self.totals, self._seats)

    @cached_property
    def margins(self) -> Floats:
        """float64 [D, N]: points of a policy minus the other seats' mean."""
        margins: Floats = self.points - self._means(self.totals, ~self._seats)
        return margins

    @cached_property
    def wins(self) -> Floats:
        """float64 [D, N]: share of the win of a policy's seats. Each of the W seats with most points has 1/W."""
        wins: Floats = self._means(win_shares(self.totals), self._seats) * self._seats[:, 0].sum(axis=1)
        return wins

    @cached_property
    def beats(self) -> Floats:
        """float64 [D, N, N]: how often policy n beats policy m.

        Seats of both are compared in the same game: more points count 1, ties half. It is 1/2 on the diagonal, and for
        two players the share of the win.
        """
        ahead = np.sign(self.totals[:, :, :, None] - self.totals[:, :, None, :]) / 2 + 0.5
        players = range(len(self.names))
        pairs = [[self._seats[n][:, :, None] & self._seats[m][:, None, :] for m in players] for n in players]
        return np.stack([np.stack([ahead[:, pair].mean(axis=1) for pair in row], axis=1) for row in pairs], axis=1)

    @property
    def _seats(self) -> Bools:
        """[N, S, P], the seats of each policy."""
        seats: Bools = np.arange(len(self.names))[:, None, None] == self.seatings
        return seats

    @staticmethod
    def _means(by_seat: npt.NDArray[Any], seats: Bools) -> Floats:
        """Average [D, S, P] over each policy's ``seats``, equally many in every seating: [D, N]."""
        return np.stack([by_seat[:, chosen].mean(axis=1) for chosen in seats], axis=1)

    def margin(self, policy: int = 0) -> Estimate:
        """Average a policy's `margins` over deals. It is exactly 0 if all are, as of a policy against itself."""
        margins = self.margins[:, policy]
        return Estimate.of_mean(margins) if margins.any() else Estimate(0.0, 0.0, 0.0)

    def win_rate(self, policy: int = 0) -> Estimate:
        """Average a policy's `wins` over deals, see `Estimate.of_share`. It is exactly `even` if all margins are 0."""
        if not self.margins.any():
            return Estimate(*3 * [float(self.even[policy])])
        return Estimate.of_share(self.wins[:, policy])

    def figures(self) -> dict[str, Any]:
        """Return the figures of each policy, as JSON values."""
        return {
            "policies": [
                {
                    "name": name,
                    "margin": self.margin(number).to_json(),
                    "win_rate": self.win_rate(number).to_json(),
                    "even": float(self.even[number]),
                    "points": float(self.points[:, number].mean()),
                }
                for number, name in enumerate(self.names)
            ]
        }

    def to_json(self) -> dict[str, Any]:
        """Return all figures except for single deals, as JSON values."""
        return {
            **self.figures(),
            "interval": "95 %, Student's t, over deals",
            "games": self.games,
            "seatings": self.seatings.tolist(),
            **self.config.to_json(),
            **({"answers": {name: each._asdict() for name, each in self.answers.items()}} if self.answers else {}),
        }

    def __repr__(self) -> str:
        wins = (f"{name} {in_words(self.wins[:, n], percent=True)}" for n, name in enumerate(self.names))
        return f"Comparison, % of wins: {', '.join(wins)}; {self.deals:,} deals"

    def _repr_markdown_(self) -> str:
        return self.table()

    def table(self) -> str:
        """Return a Markdown table with a row for each policy. The column ``even`` is `Comparison.even`."""
        rows = []
        for number, name in enumerate(self.names):
            margin, wins = self.margin(number).cells("+.1f"), self.win_rate(number).cells(".1%")
            points, even = f"{self.points[:, number].mean():z.1f}", f"{self.even[number]:.1%}"
            rows.append((marked(name, self.answers), points, *margin, *wins, even, self.deals, self.games))
        header = ("policy", "points", "margin", "95 % interval", "wins", "95 % interval", "even", "deals", "games")
        table = markdown_table(header, rows)
        return f"{table}\n\n{counts_table(self.answers)}" if self.answers else table


@with_run
def compare(
    policies: Mapping[str, Agent | str] | Sequence[Agent | str],
    deals: Deals | int = Deals(),
    *,
    rules: BaseRules = RULES,
    names: Sequence[str] | None = None,
    run: Run = Run(),
) -> Comparison:
    """Play policies against each other on paired deals.

    Each deal is played from every seating, which cancels the luck of cards and seats (duplicate games, as in duplicate
    bridge).

    Args:
        policies: two of them: the first in one seat against the second in all others, from every seat. Or one for each
            seat: the rotations where all differ, otherwise (A, A, B, B) every distinct seating, where a policy that
            occurs several times counts as one. Agents, or names as `quincunx_env.arena.resolve` takes them; a mapping
            gives their names in tables.
        deals: numbered deals; an integer means the first ones of the benchmark.
        rules: rules for several players.
        names: names of the policies in tables.
        run: how the games are played: in this process, so ``workers`` and ``ray`` are for `tournament` alone. Games are
            not stored in ``out``, but conversations with language models are.

    Raises:
        ValueError: for rules of the solitaire, a wrong number of policies, an unknown policy or a wrong name; with
            ``records`` also for two policies of the same name.
        IllegalAction: if a policy chooses an illegal action.
    """
    run.allow("compare", "seed", "chunk", "out", "records", "progress")
    config = run.config(rules, deals)
    if rules.num_players < 2:
        raise ValueError("rules for several players are needed, got the solitaire; use evaluate")
    if isinstance(policies, str):
        raise ValueError(f"two policies are needed, got the string {policies!r}")
    if isinstance(policies, Mapping):
        names, policies = names or [*policies], [*policies.values()]
    names = list(map(check_name, map(display_name, policies) if names is None else names))
    if len(names) != len(policies):
        raise ValueError(f"got {len(policies)} policies and {len(names)} names")
    found = [resolve(policy) for policy in policies]
    lineup = _line_up(found, rules.num_players)
    players = [lineup.index(number) for number in range(max(lineup) + 1)]
    names = [names[at] for at in players]
    if run.records is not None and len(set(names)) < len(names):
        raise ValueError(f"a file of games needs different names, got {', '.join(names)}: set one as 'name=...'")
    require_writable_file(run.records)
    refuse_forfeits(found, run)
    playing = [found[at] for at in players]
    kept = conversations_of(dict(zip(names, playing, strict=True)), config, run)
    results = concatenate(
        play_matches(playing, seatings(lineup), config, number, names, kept) for number in run.progress(config.chunks)
    )
    comparison = Comparison.from_results(names, lineup, results, config, kept.counts(config.deals.numbers))
    if run.records is not None:
        games = LineupGames.from_results(names, lineup, results, comparison.figures())
        write_games(run.records, config, [games], {names[n]: policies[at] for n, at in enumerate(players)})
    return comparison


def _line_up(policies: Sequence[Agent], num_players: int) -> list[int]:
    """Return the number of each seat's policy in the first seating. Policies are numbered in order of appearance."""
    if len(policies) == 2:
        return one_against_others(2, num_players)
    if len(policies) != num_players:
        raise ValueError(f"compare takes 2 policies or one for each of the {num_players} seats, got {len(policies)}")
    distinct = list(dict.fromkeys(map(id, policies)))
    if len(distinct) == 1:
        raise ValueError(f"{num_players} times the same policy is not a comparison; pass it twice")
    return [distinct.index(id(policy)) for policy in policies]
