"""Keyword arguments of environments that come from somewhere else: the options of a game's rules.

Names, types and defaults of these options stand in the rules' dataclass alone. An environment takes them as
``**rules``; `takes_options` shows them in its signature and checks their names.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import Any, TypeVar, cast

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def options_of(source: Callable[..., Any], *, without: Sequence[str] = (), **defaults: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a class or function as keyword-only parameters.

    Args:
        source: a dataclass of rules, or an environment.
        without: names of parameters to leave out.
        defaults: defaults that replace those of ``source``.
    """
    return tuple(
        parameter.replace(kind=Parameter.KEYWORD_ONLY, default=defaults.get(name, parameter.default))
        for name, parameter in inspect.signature(source).parameters.items()
        if name not in without
    )


def takes_options(*options: Parameter) -> Callable[[AnyFunction], AnyFunction]:
    """Return a decorator that replaces ``**kwargs`` in the signature of a function by these parameters.

    A call with any other keyword raises a `TypeError` that names the keyword and those that exist.
    """

    def decorate(function: AnyFunction) -> AnyFunction:
        own = inspect.signature(function)
        parameters = [each for each in own.parameters.values() if each.kind != Parameter.VAR_KEYWORD]
        first = [each for each in parameters if each.kind != Parameter.KEYWORD_ONLY]
        signature = own.replace(parameters=[*first, *options, *parameters[len(first) :]])
        keywords = [name for name in signature.parameters if name != "self"]

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if unknown := kwargs.keys() - set(keywords):
                name = function.__qualname__.removesuffix(".__init__")
                raise TypeError(
                    f"{name}() has no option {', '.join(map(repr, sorted(unknown)))}; its options are "
                    f"{', '.join(keywords)}"
                )
            return function(*args, **kwargs)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        del checked.__wrapped__  # Sphinx would look for the defaults of `options` in the source of ``function``
        return cast(AnyFunction, checked)

    return decorate
