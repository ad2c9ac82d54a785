"""Keyword arguments of environments, and options of ``reset``.

Names, types and defaults of the options of a game's rules stand in the rules' dataclass alone. An environment takes
them as ``**options``, and `with_options` checks their names, or all together as ``rules=``
(`quincunx_env.core.rules.choose_rules`).
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import WRAPPER_ASSIGNMENTS
from inspect import Parameter
from typing import Any, TypeVar, cast

from quincunx_env.core.integers import as_plain, check_names
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import GAMES

Info = dict[str, Any]

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def options_of(source: Callable[..., Any], *, without: Sequence[str] = (), **defaults: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a class or function as keyword-only parameters.

    Args:
        source: a dataclass of rules, or an environment.
        without: names of parameters to leave out.
        defaults: defaults that replace the ones in ``source``.
    """
    return tuple(
        parameter.replace(kind=Parameter.KEYWORD_ONLY, default=defaults.get(name, parameter.default))
        for name, parameter in inspect.signature(source).parameters.items()
        if name not in without and parameter.kind != Parameter.VAR_KEYWORD
    )


def with_options(*options: Parameter, of_game: bool = False) -> Callable[[AnyFunction], AnyFunction]:
    """Return a decorator that replaces ``**kwargs`` in signatures by these parameters.

    Values become plain Python (`as_plain`). Any other keyword is refused by `check_names`.

    Args:
        options: keyword-only parameters.
        of_game: keep ``**kwargs`` for the options of the rules of the game that the argument ``game`` names.
    """

    def decorate(function: AnyFunction) -> AnyFunction:
        own = inspect.signature(function)
        parameters = [each for each in own.parameters.values() if of_game or each.kind != Parameter.VAR_KEYWORD]
        first = [each for each in parameters if each.kind == Parameter.POSITIONAL_OR_KEYWORD]
        signature = own.replace(parameters=[*first, *options, *parameters[len(first) :]])
        keywords = [name for name, each in signature.parameters.items() if each.kind != Parameter.VAR_KEYWORD]
        keywords.remove("self") if "self" in keywords else None

        def checked(*args: Any, **kwargs: Any) -> Any:
            known, kwargs = keywords, as_plain(kwargs)
            if of_game and kwargs.keys() - set(known):
                given = signature.bind_partial(*args, **kwargs)
                given.apply_defaults()
                game = given.arguments["game"]
                exists = isinstance(game, str) and game in GAMES  # `make_rules` refuses other games
                known = known + ([each.name for each in fields(GAMES[game].Rules)] if exists else [*kwargs])
            check_names(function.__qualname__.removesuffix(".__init__"), kwargs, known)
            return function(*args, **kwargs)

        for name in WRAPPER_ASSIGNMENTS:  # but not __wrapped__, in whose source Sphinx would look for the defaults
            setattr(checked, name, getattr(function, name))
        checked.__signature__ = signature  # type: ignore[attr-defined]
        return cast(AnyFunction, checked)

    return decorate


def check_finite(name: str, value: Any) -> None:
    """Check that the value of an option is a finite number.

    Raises:
        ValueError: naming the option.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name} must be a finite number, got {value!r}")


def check_step_limit(max_episode_steps: Any, rules: BaseRules) -> None:
    """Check a limit of steps: None, or a number that no game reaches.

    Raises:
        ValueError: for any other value.
    """
    longest = rules.num_plays * rules.num_rounds * len(rules.decisions)
    if max_episode_steps is not None and not (type(max_episode_steps) is int and max_episode_steps > longest):
        raise ValueError(
            f"max_episode_steps must be None or above {longest}, since a game ends by itself, got {max_episode_steps!r}"
        )


def reset_options(options: Mapping[str, Any] | None, *known: str) -> Mapping[str, Any]:
    """Return the options of ``reset`` after checking their names.

    Raises:
        ValueError: if they are not a mapping, or naming unknown options.
    """
    names = ", ".join(map(repr, known))
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"the options of reset() must be a mapping with the keys {names}, got {options!r}")
    if unknown := [name for name in options if name not in known]:
        raise ValueError(f"reset() has the options {names}, got {', '.join(map(repr, unknown))}")
    return options
