"""Policies by name."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping

from quincunx_env.core.policy import Agent


def resolve(policy: Agent | str) -> Agent:
    """The policy that is meant.

    Args:
        policy: itself, ``"module:attribute"``, or a short name from the dictionary ``NAMES`` of the package ``agents``,
            which lies beside this one in a checkout and holds ``"module:attribute"`` for each.

    Raises:
        ValueError: if there is no such policy; the message says what there is.
    """
    if not isinstance(policy, str):
        return policy
    names = {} if ":" in policy else short_names()
    path = names.get(policy, policy)
    if ":" not in path:
        known = (
            f"the short names here are {', '.join(sorted(names))}"
            if names
            else "short names need a checkout, whose package `agents` must be on the path"
        )
        raise ValueError(f"unknown policy {policy!r}: {known}; any policy can be named as 'module:attribute'")
    try:
        found = pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"policy {policy!r} cannot be found: {error}") from error
    if isinstance(found, type) or not (callable(found) or hasattr(found, "for_rules")):
        raise ValueError(f"policy {policy!r} is {found!r}, which takes no observations: name a function or an instance")
    resolved: Agent = found
    return resolved


def short_names() -> dict[str, str]:
    """The short names of a checkout, and what they stand for; empty without one."""
    try:  # other packages are called ``agents``, too
        names: dict[str, str] = getattr(importlib.import_module("agents"), "NAMES", {})
    except ModuleNotFoundError:
        return {}
    return names


def name_of(policy: Agent | str) -> str:
    """How a policy is called in tables."""
    return policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)


def named(policies: Mapping[str, Agent | str] | Iterable[Agent | str]) -> dict[str, Agent | str]:
    """Policies by their names in tables; ``"name=module:attribute"`` gives one.

    Raises:
        ValueError: if two have the same name.
    """
    if isinstance(policies, Mapping):
        return dict(policies)
    result: dict[str, Agent | str] = {}
    for policy in policies:
        name, found, path = policy.partition("=") if isinstance(policy, str) else (name_of(policy), "", "")
        if name in result:
            raise ValueError(f"two policies are called {name!r}: tell them apart as 'name=module:attribute'")
        result[name] = path if found else policy
    return result
