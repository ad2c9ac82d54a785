"""What is installed, and the environments: the text of ``quincunx`` and ``quincunx envs``."""

import inspect
import platform
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import groupby, starmap
from textwrap import fill
from typing import Any, Literal, get_args, get_origin

import gymnasium
from gymnasium.envs.registration import load_env_creator

import quincunx_env
from quincunx_env.cli.parser import parse
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import registered_policies
from quincunx_env.registry import GAMES

WIDTH = 100
"""Columns of the text."""

OVERVIEW = """\
quincunx_env {version}, Python {python}, {libraries}

Environments
  gymnasium.make("Quincunx/Solitaire-v0")  the solitaire; gymnasium.make_vec steps many games at once
  gymnasium.make("Quincunx/VsOpponents-v0", opponents="greedy", num_players=2)
                                           one agent against policies; game="spiral" for the spiral game
  "Quincunx/SolitaireFlat-v0", "Quincunx/VsOpponentsFlat-v0"
                                           the same as float32 vectors, for programs that take an id alone;
  "Quincunx/SolitaireMasked-v0", "Quincunx/VsOpponentsMasked-v0"
                                           the same with the mask in the observation
  gymnasium.make("Quincunx/Text-v0")       prompts and answers for language models; opponents= as above
  quincunx_env.quincunx_v0.env()           Quincunx for two to four players (PettingZoo)
  quincunx_env.spiral_v0.env()             the spiral game for two players (PettingZoo)
  quincunx_env.BatchedGames(1024)          many games for several players, stepped together

Agents
{agents}

Extras
{extras}"""

PETTINGZOO = ("quincunx_v0", "spiral_v0")
"""Modules of `quincunx_env` with PettingZoo environments."""


def installation() -> str:
    """Versions, environments, agents and extras of this installation. No agent is imported."""
    return OVERVIEW.format(
        version=quincunx_env.__version__,
        python=platform.python_version(),
        libraries=", ".join(f"{name} {version(name)}" for name in ("numpy", "gymnasium", "pettingzoo")),
        agents="\n".join(_agents()),
        extras="\n".join(_extras()),
    )


def environments() -> Iterator[str]:
    """Yield a text for each environment: how to make it, the shapes of its spaces, and its options with defaults."""
    for name in sorted(name for name in gymnasium.registry if name.startswith("Quincunx/")):
        spec = gymnasium.spec(name)
        calls = [f'gymnasium.make("{name}")']
        if spec.vector_entry_point:
            calls.append(f'gymnasium.make_vec("{name}", num_envs=1024)')
        make: Callable[..., Any] = partial(gymnasium.make, name)
        env, parameters = make(), inspect.signature(load_env_creator(str(spec.entry_point))).parameters
        env.reset(seed=0)
        observation = _shape(env.observation_space)
        if spec.kwargs:
            [base] = (
                each.id
                for each in gymnasium.registry.values()
                if each.entry_point == spec.entry_point and not each.kwargs
            )
            rows = {"observation": observation, "action": _shape(env.action_space)}
            rows["options"] = ", ".join([f"as {base}", *(f"{key}={_literal(it)}" for key, it in spec.kwargs.items())])
            yield "\n".join([*calls, *starmap(_row, rows.items())])
            continue
        if "observation" in parameters:
            observation += f'; with observation="flat": {_shape(make(observation="flat").observation_space)}'
        rules = env.unwrapped.game.rules
        yield _described(calls, observation, _shape(env.action_space), parameters.values(), rules)
    for name in PETTINGZOO:
        make = import_module(f"quincunx_env.{name}").env
        env, parameters = make(), inspect.signature(make).parameters
        observation, action = (
            _shape(space(env.possible_agents[0])) for space in (env.observation_space, env.action_space)
        )
        yield _described([f"quincunx_env.{name}.env()"], observation, action, parameters.values())


@dataclass
class Arguments:
    """No options."""


def main(name: str, arguments: Sequence[str]) -> None:
    """Print `environments`; ``arguments`` may only ask for help, which needs an extra."""
    if arguments:
        parse(Arguments, f"quincunx {name}", "List the environments.", arguments)
    print(*environments(), "help() of an environment explains its options.", sep="\n\n")


def _described(
    calls: Sequence[str],
    observation: str,
    action: str,
    options: Collection[inspect.Parameter],
    default: BaseRules | None = None,
) -> str:
    """The text of an environment; ``default`` are its rules where its options leave those of a game open."""
    own = [option for option in options if option.kind != option.VAR_KEYWORD]
    rows = {"observation": observation, "action": action, "options": ", ".join(map(_option, own))}
    if len(own) < len(options):  # the others are the options of the rules
        for spec in GAMES.values():
            rules = default if isinstance(default, spec.Rules) else spec.multiplayer_rules()
            of_rules = inspect.signature(spec.Rules).parameters.values()
            given = (option.replace(default=getattr(rules, option.name)) for option in of_rules)
            rows[f"of {spec.name}"] = ", ".join(map(_option, given))
    return "\n".join([*calls, *starmap(_row, rows.items())])


def _row(label: str, text: str) -> str:
    kept = re.sub(r"(?<![,;]) ", "\0", text)  # a line is broken after a comma or semicolon only
    line = fill(f"  {label:<13}{kept}", WIDTH, subsequent_indent=" " * 15, break_on_hyphens=False)
    return line.replace("\0", " ")


def _option(parameter: inspect.Parameter) -> str:
    """An option with its default, which comes first of the values that it may have."""
    values = [parameter.default]
    if get_origin(parameter.annotation) is Literal:
        values += [value for value in get_args(parameter.annotation) if value != parameter.default]
    return f"{parameter.name}={' | '.join(map(_literal, values))}"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _shape(space: gymnasium.Space[Any]) -> str:
    """A space by dtype and shape; a dictionary by those of its entries."""
    if isinstance(space, gymnasium.spaces.Dict):
        return ", ".join(f"{name} {_shape(part)}" for name, part in space.items())
    if isinstance(space, gymnasium.spaces.Text):
        return f"text of at most {space.max_length} characters"
    return f"{space.dtype} {space.shape}" if isinstance(space, gymnasium.spaces.Box) else str(space)


def _agents() -> Iterator[str]:
    """Yield the names of the registered policies, by the package that declares them. No policy is imported."""
    policies = registered_policies()

    def package(name: str) -> str:
        return policies[name].module.partition(".")[0]

    for declared_by, names in groupby(sorted(policies, key=lambda name: (package(name), name)), package):
        text = f"{declared_by}: {', '.join(names)}"
        yield fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    yield '  Any other policy has the name "module:attribute", or is the path of a file.'


def _extras() -> Iterator[str]:
    """Yield whether each extra is installed, or which libraries are missing and how to install them."""
    try:
        requirements = requires("quincunx_env") or []
    except PackageNotFoundError:
        yield "  unknown, because the package is not installed: pip install ."
        return
    missing: dict[str, list[str]] = {}
    for requirement in requirements:
        library, extra = re.match(r"[\w.-]+", requirement), re.search(r"extra\s*==\s*['\"]([\w-]+)", requirement)
        if library and extra:
            missing.setdefault(extra[1], []).extend([] if _installed(library[0]) else [library[0]])
    for name, libraries in sorted(missing.items()):
        command = f'pip install "quincunx_env[{name}]"'.replace(" ", "\0")  # not broken over two lines
        status = f"missing {', '.join(libraries)}: {command}" if libraries else "installed"
        line = fill(f"  {name:<10}{status}", WIDTH, subsequent_indent=" " * 12, break_on_hyphens=False)
        yield line.replace("\0", " ")


def _installed(library: str) -> bool:
    try:
        version(library)
    except PackageNotFoundError:
        return False
    return True
