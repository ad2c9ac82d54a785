"""Policies by name.

Packages offer policies as entry points of the group ``quincunx_env.policies``; the baseline agents of
``quincunx_agents`` are declared that way, and any other package can add its own in its ``pyproject.toml``::

    [project.entry-points."quincunx_env.policies"]
    my-agent = "my_package.module:attribute"

Any policy that Python can import goes by ``"module:attribute"`` as well.
"""

import pkgutil
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

from quincunx_env.core.policy import Agent

GROUP = "quincunx_env.policies"
"""The group of entry points."""


def registered_policies() -> dict[str, EntryPoint]:
    """Entry points of all installed packages by policy name, in alphabetical order. None of them is imported.

    Raises:
        ValueError: if two packages offer different policies under one name.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise ValueError(
                f"two packages offer a policy named {entry.name!r}: {_origin(other)} and {_origin(entry)}; "
                "uninstall one of them, or name the policy as 'module:attribute'"
            )
    return found


def resolve(policy: Agent | str) -> Agent:
    """The policy that is meant.

    Args:
        policy: itself, the name of a registered policy, or ``"module:attribute"``.

    Raises:
        ValueError: if there is no such policy or it cannot be imported; the message says which policies there are, or
            what is missing.
    """
    if not isinstance(policy, str):
        return policy
    if ":" in policy:
        path, origin = policy, ""
    else:
        entries = registered_policies()
        if policy not in entries:
            known = ", ".join(entries) or "none"
            raise ValueError(
                f"unknown policy {policy!r}; registered policies: {known}; others are named as 'module:attribute'"
            )
        path, origin = entries[policy].value, f", offered by {_origin(entries[policy])},"
    try:
        found = pkgutil.resolve_name(path)
    except Exception as error:  # whatever the module raises when it is imported
        message = f"policy {policy!r}{origin} cannot be imported: {type(error).__name__}: {error}"
        raise ValueError(message) from error
    if isinstance(found, type) or not (callable(found) or hasattr(found, "for_rules")):
        raise ValueError(f"policy {policy!r}{origin} is {found!r}; name a function or an instance, not a class")
    resolved: Agent = found
    return resolved


def _origin(entry: EntryPoint) -> str:
    """The distribution that declares an entry point, and what it refers to."""
    distribution = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
    return f"{distribution} ({entry.value})"


def display_name(policy: Agent | str) -> str:
    """The name of a policy in tables."""
    return policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)


def by_display_name(policies: Mapping[str, Agent | str] | Iterable[Agent | str]) -> dict[str, Agent | str]:
    """Policies by their names in tables; ``"name=module:attribute"`` chooses one.

    Raises:
        ValueError: if two have the same name.
    """
    if isinstance(policies, Mapping):
        return dict(policies)
    result: dict[str, Agent | str] = {}
    for policy in policies:
        name, found, path = policy.partition("=") if isinstance(policy, str) else (display_name(policy), "", "")
        if name in result:
            raise ValueError(f"two policies are called {name!r}: tell them apart as 'name=module:attribute'")
        result[name] = path if found else policy
    return result
