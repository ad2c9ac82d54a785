"""Text of ``quincunx`` and ``quincunx envs``: the installation and the environments."""

import csv
import inspect
import json
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
from quincunx_env.utils.files import package_file

WIDTH = 100
"""Columns of the text."""

OVERVIEW = """\
quincunx_env {version}, Python {python}, {libraries}

Environments
  gymnasium.make("Quincunx/Solitaire-v0")    the solitaire; make_vec steps many games at once
  gymnasium.make("Quincunx/VsOpponents-v0")  one agent against policies
  "Quincunx/SolitaireFlat-v0", "Quincunx/VsOpponentsFlat-v0"       float32 vectors, for an id alone
  "Quincunx/SolitaireMasked-v0", "Quincunx/VsOpponentsMasked-v0"   the same, with the mask
  gymnasium.make("Quincunx/Text-v0")         prompts and answers for language models
  quincunx_env.quincunx_v0.env(), quincunx_env.spiral_v0.env()     several players (PettingZoo)

{agents}

Extras
{extras}"""

EXTRAS = {
    "arena": "evaluation, agents with networks",
    "play": "play in the browser and in the terminal",
    "render": "pictures as pixels, windows",
    "sb3": "stable-baselines3 and PyTorch",
    "train": "the training scripts of a checkout",
}
"""Extras for users, with their purposes."""

PETTINGZOO = ("quincunx_v0", "spiral_v0")
"""Modules of `quincunx_env` with PettingZoo environments."""


def installation(everything: bool = False) -> str:
    """List the versions, environments, agents and extras of this installation.

    No agent is imported. With ``everything`` extras have their missing libraries, and agents are listed by package.
    """
    return OVERVIEW.format(
        version=quincunx_env.__version__,
        python=platform.python_version(),
        libraries=", ".join(f"{name} {version(name)}" for name in ("numpy", "gymnasium", "pettingzoo")),
        agents="\n".join(_agents() if everything else _strengths()),
        extras="\n".join(_extras(everything)),
    )


def environments() -> Iterator[str]:
    """Yield a text for each environment. It has the call, the shapes of the spaces, and the options with defaults."""
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
    """Describe an environment. ``default`` has the defaults of options that it passes on to its rules."""
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
    """Format an option with its possible values, the default first."""
    values = [parameter.default]
    if get_origin(parameter.annotation) is Literal:
        values += [value for value in get_args(parameter.annotation) if value != parameter.default]
    return f"{parameter.name}={' | '.join(map(_literal, values))}"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _shape(space: gymnasium.Space[Any]) -> str:
    """Format a space, or a dictionary's entries, by dtype and shape."""
    if isinstance(space, gymnasium.spaces.Dict):
        return ", ".join(f"{name} {_shape(part)}" for name, part in space.items())
    if isinstance(space, gymnasium.spaces.Text):
        return f"text of at most {space.max_length} characters"
    return f"{space.dtype} {space.shape}" if isinstance(space, gymnasium.spaces.Box) else str(space)


def _agents() -> Iterator[str]:
    """Yield the registered policies by package, without importing them."""
    yield "Agents"
    for declared_by, names in _by_package():
        text = f"{declared_by}: {', '.join(names)}"
        yield fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    yield '  Any other policy has the name "module:attribute", or is the path of a file.'


def _strengths() -> Iterator[str]:
    """Yield agents with benchmark results and times, then other policies."""
    with package_file("quincunx_env.arena", "benchmark.csv").open(encoding="utf-8", newline="") as file:
        scores = {(row["task"], row["policy"]): float(row["score"]) for row in csv.DictReader(file)}
    times = package_file("quincunx_env.arena", "times.json").read_text(encoding="utf-8")
    seconds = json.loads(times)["seconds_per_action"]
    packages = dict(_by_package())
    yield "Agents         solitaire  2 players   time     (points; wins against heuristic; time relative to it)"
    for name in sorted(packages.pop("quincunx_agents", []), key=lambda name: -scores.get(("solitaire", name), 0.0)):
        mean, wins = (scores.get((task, name)) for task in ("solitaire", "2-corners"))
        shown = (
            "" if mean is None else f"{mean:.1f}",
            "" if wins is None else f"{wins:.1%}",
            f"{float(format(seconds[name] / seconds['heuristic'], '.2g')):g}" if name in seconds else "",
        )
        yield "  {:<13}{:>9}  {:>9}  {:>6}".format(name, *shown).rstrip()
    for package, names in packages.items():
        yield f"  {package}: {', '.join(names)}"


def _by_package() -> list[tuple[str, list[str]]]:
    """Group the registered policies by package, both sorted by name."""
    policies = registered_policies()

    def package(name: str) -> str:
        return policies[name].module.partition(".")[0]

    ordered = sorted(policies, key=lambda name: (package(name), name))
    return [(declared_by, [*names]) for declared_by, names in groupby(ordered, package)]


def _extras(everything: bool) -> Iterator[str]:
    """Yield whether each extra is installed, or how to install it. With ``everything`` list missing libraries, too."""
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
    if not everything:
        for name, purpose in EXTRAS.items():
            status = f'missing: pip install "quincunx_env[{name}]"' if missing.get(name) else "installed"
            yield f"  {name:<8}{purpose}: {status}"
        return
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
