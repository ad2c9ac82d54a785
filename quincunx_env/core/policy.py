"""Protocols of policies and policy factories, which environments and the arena accept."""

import hashlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from quincunx_env.core.game import IllegalAction
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules


class PolicyError(ValueError):
    """A policy that cannot choose; the message says why."""


class NotFiniteError(PolicyError):
    """A policy that computes NaN or infinite numbers for legal actions. It has no choice then."""


class Policy(Protocol):
    """A function that chooses a joint action in each of n positions.

    With an attribute ``preview`` that is False it reads no preview, and its observations may lack it.
    """

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator, /
    ) -> npt.NDArray[np.int64]:
        """Choose legal actions.

        Args:
            observation: pieces [n, ...] from the seats to move, preview included.
            mask: bool [n, actions], True = legal; at least one in each row.
            rng: the only source of randomness.

        Returns:
            int64 [n], actions.
        """
        ...


class ValuedPolicy(Policy, Protocol):
    """A policy that returns the values by which it chooses, too."""

    def action_values(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator, /
    ) -> npt.NDArray[np.floating]:
        """Return values of the joint actions in each of n positions.

        They are points, or for a policy from a file its logits or Q-values. Arguments are as in a call.

        Returns:
            Floating [n, actions], -inf for actions that are illegal or that it does not consider.
        """
        ...


class PolicyFactory(Protocol):
    """An agent that needs the rules, for example to simulate games."""

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return a policy for games with these rules.

        The arena asks for one for each seat of each seating.

        Raises:
            ValueError: if the agent does not support these rules.
        """
        ...


Agent = Policy | PolicyFactory
"""A policy, or a factory of policies."""


@contextmanager
def naming(policy: str, *explained: type[Exception]) -> Iterator[None]:
    """Name a policy in what it raises.

    Exceptions of the kinds ``explained``, whose message suffices, are left as they are. Others get a note, by which
    `quincunx_env.utils.errors.raised_by_policy` knows them.

    Raises:
        PolicyError: if the policy ends the program.
    """
    try:
        yield
    except explained:
        raise
    except (IllegalAction, PolicyError) as error:
        raise type(error)(f"the policy {policy}: {error}") from error
    except SystemExit as error:
        raise PolicyError(f"the policy {policy} ends the program ({error!r:.100}): let it raise an error") from error
    except Exception as error:
        from quincunx_env.utils.errors import RAISED_BY  # environments do without

        error.add_note(f"{RAISED_BY} {policy}")
        raise


def choose(
    policy: Any, observation: Any, mask: npt.NDArray[np.bool_], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return the actions that a policy chooses in n positions, int64 [n].

    Raises:
        IllegalAction: if they are not one integer for each position.
        PolicyError: if the policy takes the dictionary of pieces for an array.
    """
    try:
        actions = np.asarray(policy(observation, mask, rng))
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if not isinstance(observation, dict) or not any(sign in str(error) for sign in _NOT_AN_ARRAY):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise PolicyError(
            f"it cannot read the pieces of an observation ({reason}): if it reads a vector, wrap it as "
            "quincunx_env.policies.EncodedPolicy(policy, observation='vector'), or add --observation vector"
        ) from error
    if actions.shape != (len(mask),) or actions.dtype.kind not in "iu":
        raise IllegalAction(f"{len(mask)} integer actions are needed, got {actions.dtype} of shape {actions.shape}")
    return actions.astype(np.int64, copy=False)


_NOT_AN_ARRAY = ("dict", "slice", "unhashable", "(has 0, gufunc core")
"""Words of errors that Python, NumPy and PyTorch raise for a dictionary in place of an array."""


def definition(policy: Agent) -> str:
    """Return ``module:name`` of a function, or of the class of an instance.

    The fields of a dataclass follow. The attribute ``definition`` takes its place if there is one. It is for
    information: policies of one definition may differ in their `quincunx_env.policies.identity`.
    """
    stated = getattr(policy, "definition", None)
    if isinstance(stated, str):
        return stated
    thing: Any = policy if hasattr(policy, "__qualname__") else type(policy)
    name = f"{thing.__module__}:{thing.__qualname__}"
    if not is_dataclass(policy) or thing is policy:
        return name
    values = {field.name: getattr(policy, field.name) for field in fields(policy) if field.compare}
    plain = bool, int, float, str, type(None)
    shown = (
        f"{name}={value!r:.100}" if isinstance(value, plain) else f"{name}={definition(value)}"
        for name, value in values.items()
    )
    return f"{name}({', '.join(shown)})"


def policy_generator(*numbers: int) -> np.random.Generator:
    """Make a policy's generator from numbers.

    A hash hides the numbers, for a policy may not read the seed of a deal from its generator. It has no secret: a
    policy that tries all small seeds still finds one.
    """
    digest = hashlib.sha256(repr(numbers).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest))


def policy_for(agent: Agent, rules: BaseRules) -> Policy:
    """Return the policy of an agent for games with these rules.

    Raises:
        ValueError: if the agent does not support these rules, or if the policy takes other arguments.
    """
    with naming(getattr(agent, "__name__", type(agent).__name__), ValueError):
        policy = agent.for_rules(rules) if hasattr(agent, "for_rules") else agent
    try:
        signature = inspect.signature(policy)
    except ValueError:  # of a function in C
        return policy
    try:
        signature.bind(None, None, None)
    except TypeError as error:
        name = getattr(policy, "__name__", type(policy).__name__)
        call = "is called as policy(observation, mask, rng)"
        raise ValueError(f"the policy {name}{signature} has the wrong arguments: it {call}") from error
    return policy
