"""Policies by name."""

import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from quincunx_env.core.policy import Agent
from quincunx_env.policies.chat import PREFIX, ChatPolicy
from quincunx_env.policies.encoded import EncodedPolicy
from quincunx_env.policies.files import ModelOptions, PolicyFile, is_path, not_installed, same
from quincunx_env.utils.files import exists

GROUP = "quincunx_env.policies"
"""The group of entry points."""

NOT_NAMED = ModelOptions()
"""No options of a model's environment."""


def registered_policies() -> dict[str, EntryPoint]:
    """Return the entry points of all installed packages by policy name.

    They are in alphabetical order, and none of them is imported. Of several entry points of one name the first is
    listed; `resolve` refuses such a name.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found.setdefault(entry.name, entry)
    return found


def resolve(policy: Agent | str | Path, trust: bool = False, encoding: ModelOptions = NOT_NAMED) -> Agent:
    """Look up a policy by name, and import it.

    Args:
        policy: the name of a registered policy, ``"module:attribute"``, ``"chat:module:attribute"`` of a language model
            (`ChatPolicy`), or the path of a file, which is loaded on first use; an agent is returned as it is. A
            registered name is not taken for a path.
        trust: load files whose loading executes any code in them; see `PolicyFile`.
        encoding: options of the environment of ``"module:attribute"``, unless it is an `EncodedPolicy`, and of models
            in files; see `PolicyFile`.

    Raises:
        ValueError: if there is no such policy, with the registered names; if two packages offer different policies of
            this name; if it cannot be imported, with the reason; if it is neither a function nor an instance with
            ``for_rules`` or ``__call__``. Other policies are not affected.
        quincunx_env.policies.files.PolicyFileError: if there is no such file, or if it is not a policy; a `ValueError`.
    """
    if isinstance(policy, Path):
        return same(PolicyFile(str(policy), trust, **asdict(encoding)))
    if not isinstance(policy, str):
        return _checked(policy, f"{policy!r} is not a policy")
    if _is_file(policy):
        return same(PolicyFile(policy, trust, **asdict(encoding)))
    if ":" in policy:
        path, origin = policy.removeprefix(PREFIX) if _is_chat(policy) else policy, ""
    else:
        entries = registered_policies()
        if policy not in entries:
            if problem := not_installed():
                raise ValueError(f"unknown policy {policy!r:.220}: {problem}")
            known = ", ".join(entries) or "none"
            meant = "".join(f"did you mean {each!r}? " for each in get_close_matches(policy, entries, n=1))
            raise ValueError(
                f"unknown policy {policy!r:.220}; {meant}registered policies: {known}; "
                "others are named as 'module:attribute', or by the path of a file"
            )
        entry = entries[policy]
        for other in entry_points(group=GROUP, name=policy):
            if other.value != entry.value:
                raise ValueError(
                    f"two packages offer a policy named {policy!r}: {_origin(entry)} and {_origin(other)}; "
                    "uninstall one of them, or name the policy as 'module:attribute'"
                )
        path, origin = entry.value, f", offered by {_origin(entry)},"
    try:
        found = pkgutil.resolve_name(path)
    except (Exception, SystemExit) as error:  # importing a module of another package may raise anything
        reason = "; ".join(filter(None, (f"{type(error).__name__}: {error}", not_installed())))
        raise ValueError(f"policy {policy!r}{origin} cannot be imported: {reason}") from error
    agent = _checked(found, f"policy {policy!r}{origin} is {found!r}")
    if _is_chat(policy):
        return ChatPolicy(found, policy)
    if ":" not in policy or encoding == NOT_NAMED or isinstance(agent, EncodedPolicy):
        return agent
    return EncodedPolicy(agent, policy, **encoding.options)


def _checked(found: Any, problem: str) -> Agent:
    """Return ``found`` if it can be an agent.

    Raises:
        ValueError: beginning with ``problem``.
    """
    if isinstance(found, type) or not (callable(found) or hasattr(found, "for_rules")):
        way_out = "a function or an instance is needed, not a class or a value"
        if hasattr(found, "save") and not isinstance(found, type):  # a model of stable-baselines3
            way_out = (
                "save the model by quincunx_env.adapters.sb3.save(model, 'model.zip'), pass PolicyFile('model.zip', "
                "trust=True)"
            )
        raise ValueError(f"{problem}: {way_out}")
    agent: Agent = found
    return agent


def load_path(policy: Agent | str | Path, trust: bool, encoding: ModelOptions = NOT_NAMED) -> Agent | str:
    """Load a file, a language model, or a policy with an ``encoding``.

    See `resolve`. Agents and other names are returned as they are.

    Raises:
        ValueError: as `resolve`.
    """
    plain = isinstance(policy, str) and not _is_file(policy) and not _is_chat(policy)
    encoded = ":" in str(policy) and encoding != NOT_NAMED
    return policy if plain and not encoded else resolve(policy, trust, encoding)  # type: ignore[return-value]


def _is_chat(policy: str) -> bool:
    """Return whether a string is ``"chat:module:attribute"``."""
    return policy.startswith(PREFIX) and ":" in policy.removeprefix(PREFIX)


def _is_file(policy: str) -> bool:
    """Return whether a string names a file, not a registered policy."""
    return is_path(policy) and policy not in registered_policies()


def _origin(entry: EntryPoint) -> str:
    """Name the distribution and the object of an entry point."""
    distribution = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
    return f"{distribution} ({entry.value})"


def display_name(policy: Agent | str | Path) -> str:
    """Return the name of a policy in tables.

    It is the string itself, the path, or the name of the function or of the class.
    """
    if isinstance(policy, PolicyFile):
        return policy.path
    if isinstance(policy, Path):
        return str(policy)
    return policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)


NAME = "text of 1 to 1000 printable characters without '|', and without blanks at its ends"
"""Valid names of policies in tables and in files of games; ``|`` separates columns."""


def is_name(name: object) -> bool:
    """Return whether this is a ``NAME``."""
    if not isinstance(name, str) or not name.isprintable() or name != name.strip():
        return False
    return 0 < len(name) <= 1000 and "|" not in name


def check_name(name: str) -> str:
    """Return the name of a policy.

    Raises:
        ValueError: if it is not a ``NAME``.
    """
    if not is_name(name):
        raise ValueError(f"the name of a policy is {NAME}, got {name!r:.220}: set another one as 'name=...'")
    return name


def by_display_name(
    policies: Mapping[str, Agent | str] | Iterable[Agent | str], trust: bool = False, encoding: ModelOptions = NOT_NAMED
) -> dict[str, Agent | str]:
    """Return policies by their names in tables.

    A string ``"name=..."``, such as ``"name=module:attribute"``, sets the name.

    Args:
        policies: agents, and strings that `resolve` takes.
        trust: as in `resolve`.
        encoding: as in `resolve`.

    Raises:
        ValueError: if two have the same name, one a name that `check_name` refuses, or for a string in place of them.
    """
    if isinstance(policies, str):
        raise ValueError(f"several policies are needed, got the string {policies!r}: give a list, [{policies!r}]")
    if isinstance(policies, Mapping):
        return {check_name(name): policy for name, policy in policies.items()}
    result: dict[str, Agent | str] = {}
    for policy in policies:
        name, found = split_name(policy) if isinstance(policy, str) else (display_name(policy), policy)
        if check_name(name) in result:
            raise ValueError(f"two policies are called {name!r}: rename one of them as 'name=module:attribute'")
        result[name] = load_path(found, trust, encoding)
    return result


def split_name(policy: str) -> tuple[str, str]:
    """Split the name of a policy in tables from the policy.

    Without ``"name=..."``, and for the path of an existing file, both are the same string.

    >>> split_name("mine=my_module:policy"), split_name("greedy"), split_name("runs/lr=0.1/model.zip")
    (('mine', 'my_module:policy'), ('greedy', 'greedy'), ('runs/lr=0.1/model.zip', 'runs/lr=0.1/model.zip'))

    Raises:
        ValueError: if the name is empty.
    """
    name, equals, found = policy.partition("=")
    if not name:
        raise ValueError(f"a policy needs a name before the '=', got {policy!r}")
    # In a path an equals sign belongs to the name of a folder or file.
    named = equals and not ("/" in name or "\\" in name or (is_path(policy) and exists(Path(policy))))
    return (name, found) if named else (policy, policy)
