"""The policies of all seats but the agent's."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Floats, Ints
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.integers import as_array, check_option
from quincunx_env.core.policy import Agent, Policy, PolicyError, policy_for, policy_generator
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import display_name, resolve
from quincunx_env.registry import heading

DEFAULT_OPPONENT = "greedy"
"""The policy of the other seats where none is given: registered by this distribution, and fast."""


class Opponents:
    """The policies of all other seats.

    Args:
        rules: rules of the games.
        opponents, pool, seat: as in `VsOpponentsVectorEnv`.

    Raises:
        ValueError: naming an option and its allowed values, or a policy that cannot be found.

    Attributes:
        policies: of the other seats, or of the pool.
        pooled: whether each game samples one of them.
        fixed_seat: the agent's seat, or None if it rotates.
        rng: the policies' generator. Its seed is a hash: the deals do not follow from it.
    """

    def __init__(
        self,
        rules: BaseRules,
        opponents: Agent | str | Sequence[Agent | str] | None,
        pool: Sequence[Agent | str] | None,
        seat: Any,
    ) -> None:
        self.rules, others = rules, rules.num_players - 1
        check_option("seat", seat, "rotate", *range(rules.num_players))
        self.fixed_seat: int | None = None if seat == "rotate" else seat
        agents: Sequence[Agent | str]
        if pool is None:
            opponents = DEFAULT_OPPONENT if opponents is None else opponents
            several = isinstance(opponents, Sequence) and not isinstance(opponents, str)
            agents = cast(Sequence[Agent | str], opponents if several else [opponents] * others)
            if len(agents) != others:
                raise ValueError(
                    f"opponents must be one policy for all other seats or a sequence of {others}, got "
                    f"{len(agents)}; a policy is a registered name, 'module:attribute', a function or an instance"
                )
        elif opponents is None:
            agents = check_pool(pool)
        else:
            raise ValueError("opponents and pool exclude each other: give one of them")
        self.pooled = pool is not None
        self.policies = self._policies(agents)
        self._probabilities: Floats | None = None
        self.rng = np.random.default_rng()

    def seed(self, seed: int | None) -> None:
        """Seed the policies' generator with a hash of the seed of ``reset``. None changes nothing."""
        if seed is not None:
            self.rng = policy_generator(seed)

    def _policies(self, agents: Sequence[Agent | str]) -> list[Policy]:
        return [policy_of(agent, self.rules) for agent in map(resolve, agents)]

    def set_pool(self, policies: Sequence[Agent | str], probabilities: npt.ArrayLike | None) -> None:
        """Replace the pool; see `VsOpponentsVectorEnv.set_pool`."""
        if not self.pooled:
            raise ValueError("this environment was made with opponents=: make it with pool= to change the opponents")
        if len(check_pool(policies)) < len(self.policies):
            raise ValueError(f"games in progress may need all {len(self.policies)} policies, got {len(policies)}")
        given = None if probabilities is None else as_array(probabilities)
        if given is not None:
            numbers = given.shape == (len(policies),) and given.dtype.kind in "iuf"
            if not numbers or not (given >= 0).all() or not np.isclose(given.sum(), 1):
                raise ValueError(
                    f"probabilities must be {len(policies)} numbers from 0 on that add up to 1, got {probabilities!r}"
                )
            given = given / given.sum()
        self.policies = self._policies(policies)
        self._probabilities = given

    def draw(self, seats: Ints, num_players: int, rng: np.random.Generator) -> Ints:
        """Return each seat's policy index in new games, int64 [n, P].

        Args:
            seats: int64 [n], the agent's; its own entry is -1 or without meaning.
            num_players: P.
            rng: samples from the pool.
        """
        if not self.pooled:
            return (np.arange(num_players) - seats[:, None]) % num_players - 1
        count, probabilities = len(self.policies), self._probabilities
        drawn = (
            rng.integers(count, size=len(seats))
            if probabilities is None
            else rng.choice(count, len(seats), p=probabilities)
        )
        return np.repeat(drawn[:, None], num_players, axis=1)


def blame(policy: Policy, error: BaseException) -> None:
    """Raise a `RuntimeError` that names the opponent, if it is at fault."""
    if isinstance(error, IllegalAction | PolicyError):
        raise RuntimeError(f"the opponent {display_name(policy)} is at fault: {error}") from error


def policy_of(agent: Agent, rules: BaseRules) -> Policy:
    """Return an agent's policy for the rules."""
    try:
        return policy_for(agent, rules)
    except ValueError as error:
        raise ValueError(f"{error}; leave {heading(rules)!r} out of rules=, or choose other opponents") from error


def check_pool(pool: Sequence[Agent | str]) -> Sequence[Agent | str]:
    """Return a pool of policies.

    Raises:
        ValueError: if it is not a sequence, or is empty.
    """
    if isinstance(pool, str) or not isinstance(pool, Sequence) or not pool:
        raise ValueError(f"pool must be a sequence of at least one policy, got {pool!r}")
    return pool
