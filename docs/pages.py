"""Pages generated from the code: observation tables, environments, API reference."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import docstring_parser
from gymnasium.spaces import Box, Dict, Text

import quincunx_env
from docs.models import models
from quincunx_env import Observer, Rules, quincunx, quincunx_v0, registry, spiral, spiral_v0
from quincunx_env.adapters import sb3
from quincunx_env.core import policy
from quincunx_env.core.observation import Observer as AnyObserver
from quincunx_env.envs.aec import CardGameAEC
from quincunx_env.envs.batched import BatchedGames
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from quincunx_env.envs.text import TextEnv
from quincunx_env.envs.vector import GamesVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv
from quincunx_env.quincunx import PaddedObserver, scoring
from quincunx_env.utils.markdown import markdown_table

HERE = Path(__file__).parent

# --- Observations ----------------------------------------------------------------------------------------------------

DECKTET = "\n    ".join(textwrap.wrap(quincunx.cards.print_cards(range(41)), 100))

OBSERVATIONS = f"""\
# Observations

An observation is a list of named pieces. `pieces` is a dictionary of them; `flat` is one int16 vector in which each
piece has its slice, in C order; `float32` is the same vector as float32. `Observer.flatten` and `Observer.unflatten`
turn one into the other without loss. Seats are counted from the observing one: seat 0 is the observer, seat 1 plays
next. Counts that are constant under the rules, such as the round in a game of one round, are left out.

The tables below are examples; `env.unwrapped.observer.table()` returns the table of any environment. The piece
`preview` exists with `preview=True` only. With the extended deck `hand` has 41 entries.

Cells count from the top left, row by row. Cards of Quincunx have the ids 0 to 40, in this order:

    {DECKTET}

The id of a card of the spiral game is 13 · suit + rank, suits in the order {spiral.cards.SUITS}, ranks in the order
{spiral.cards.RANKS}. `card_name` and `parse_card` of `quincunx_env.quincunx.cards` and `quincunx_env.spiral.cards`
convert ids.

`padded=True` pads observations and actions of every variant of Quincunx to four seats, 41 cards and the 81 cells of the
open start, so that one network can play all of them. Smaller grids lie in the middle; the piece `form` encodes the
variant.
"""

EXAMPLES: dict[str, AnyObserver] = {
    "Solitaire with the preview": Observer(Rules(), preview=True),
    "Three players, open start, Simpleton, a match": Observer(
        Rules(num_players=3, start="open", simpleton=True, match=True)
    ),
    "Any variant of Quincunx, padded": PaddedObserver(Rules()),
}


# --- Environments ----------------------------------------------------------------------------------------------------

ENVIRONMENT = """\
# {title}

{summary} [The rules](../../RULES.md#{rules}) · [all environments](index.md)

```python
{make}
```

{picture}

{facts}
"""

SECTIONS = (
    *("Description", "Agents", "Action Space", "Observation Space", "Action Mask", "Rewards", "Starting State"),
    *("Episode End", "Information", "Arguments", "Version History"),
)
"""Headings of every page, in their order: Gymnasium's, and ``Agents`` for PettingZoo."""


@dataclass(frozen=True)
class Page:
    """The page of an environment, assembled from docstrings.

    Attributes:
        title: the heading of the page.
        interface: the class of a library that it implements.
        make: code that makes the environment ``env``; it is executed.
        facts: attributes and calls of the environment whose values the page shows. The last two are the actions and the
            observations.
        sources: objects whose docstrings the page is made of. A section that several of them have is taken from the
            first.
        signatures: functions whose parameters are the arguments.
        observer: attribute path of the environment's observer, whose table is shown; empty if it has none.
        picture: a name in ``docs.pictures.GAMES``.
        rules: anchor of the game's rules in RULES.md.
    """

    title: str
    interface: str
    make: str
    facts: tuple[str, ...]
    sources: tuple[Any, ...]
    signatures: tuple[Callable[..., Any], ...]
    observer: str = "unwrapped.observer"
    picture: str = "solitaire"
    rules: str = "part-1--quincunx"

    def text(self) -> str:
        """Return the page as Markdown.

        Raises:
            ValueError: if a docstring has an unknown section, or if an argument is not documented.
        """
        docstrings = [_docstring(source) for source in self.sources]
        sections: dict[str, str] = {}
        for docstring in reversed(docstrings):
            _, *headed = re.split(r"^## (.*)\n", docstring.long_description or "", flags=re.MULTILINE)
            sections |= {title: text.strip() for title, text in zip(headed[::2], headed[1::2], strict=True)}
        names: dict[str, Any] = {}
        exec(self.make, names)
        if self.observer:
            table = eval(f"env.{self.observer}", names).table()
            sections["Observation Space"] += f"\n\nIn this example, as one vector:\n\n{table}"
        sections["Arguments"] = self._arguments(docstrings)
        if unknown := set(sections) - set(SECTIONS):
            raise ValueError(f"{self.title}: unknown sections {unknown}: add them to SECTIONS")
        facts = [f"| `env.{fact}` | `{_shown(eval(f'env.{fact}', names))}` |" for fact in self.facts]
        sources = ", ".join(f"`{each.__name__.removeprefix('quincunx_env.')}`" for each in self.sources)
        start = ENVIRONMENT.format(
            title=self.title,
            summary=docstrings[0].short_description,
            make=self.make,
            picture=f"![a game of the greedy agent](../pictures/{self.picture}.svg)",
            rules=self.rules,
            facts="\n".join(["| | |", "|---|---|", *facts]),
        )
        parts = (f"\n## {title}\n\n{sections[title]}\n" for title in SECTIONS if title in sections)
        return f"{start}{''.join(parts)}\n*Generated by `make docs` from the docstrings of {sources}.*\n"

    def spaces(self) -> list[str]:
        """Return the actions and the observations, without the shapes of pieces."""
        names: dict[str, Any] = {}
        exec(self.make, names)
        found = [eval(f"env.{fact}", names) for fact in self.facts[-2:]]
        return [f"Dict({', '.join(each)})" if isinstance(each, Dict) else _shown(each) for each in found]

    def _arguments(self, docstrings: Iterable[docstring_parser.Docstring]) -> str:
        """Return the table of arguments: name, default, meaning."""
        meanings = {
            parameter.arg_name: " ".join((parameter.description or "").split())
            for docstring in reversed([*docstrings])
            for parameter in docstring.params
        }
        rows = {}
        for signature in self.signatures:
            for name, parameter in inspect.signature(signature).parameters.items():
                if name not in meanings:
                    raise ValueError(f"{self.title}: no docstring documents the argument {name!r}")
                empty = parameter.default is inspect.Parameter.empty
                default = "" if empty else f"`{_literal(parameter.default)}`"
                stars = "**" if parameter.kind == inspect.Parameter.VAR_KEYWORD else ""
                rows[name] = (f"`{stars}{name}`", default, meanings[name])
        return markdown_table(("argument", "default", "meaning"), rows.values())


def _docstring(source: Any) -> docstring_parser.Docstring:
    """Return the parsed docstring, of a dataclass with its fields."""
    if is_dataclass(source):
        return docstring_parser.parse_from_object(source)
    return docstring_parser.parse(inspect.getdoc(source) or "")


def _shown(value: Any) -> str:
    """Return a value as text, a space without its bounds."""
    match value:
        case Dict():
            return f"Dict({', '.join(f'{name}: {_shown(part)}' for name, part in value.items())})"
        case Box():
            return f"{value.dtype} {[*value.shape]}"
        case Text():
            return f"at most {value.max_length:,} characters"
    return str(value)


def _literal(default: Any) -> str:
    """Return a default as code, a member of an enumeration by name."""
    return str(getattr(default, "name", None) or repr(default))


ENVIRONMENTS = {
    "solitaire": Page(
        "Solitaire",
        "Gymnasium `Env`",
        'import gymnasium, quincunx_env\n\nenv = gymnasium.make("Quincunx/Solitaire-v0")',
        ("action_space", "observation_space"),
        (SolitaireEnv, Rules),
        (SolitaireEnv,),
    ),
    "solitaire_vector": Page(
        "Solitaire, many games",
        "Gymnasium `VectorEnv`",
        'import gymnasium, quincunx_env\n\nenv = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=1024)',
        ("num_envs", "single_action_space", "single_observation_space"),
        (SolitaireVectorEnv, GamesVectorEnv, SolitaireEnv, Rules),
        (SolitaireVectorEnv,),
    ),
    "vs_opponents": Page(
        "One learner among opponents",
        "Gymnasium `Env`, `VectorEnv`",
        "import gymnasium, quincunx_env\n\n"
        'env = gymnasium.make("Quincunx/VsOpponents-v0", opponents="greedy", num_players=2)',
        ("action_space", "observation_space"),
        (VsOpponentsVectorEnv, GamesVectorEnv),
        (VsOpponentsVectorEnv,),
        picture="two-players",
    ),
    "text": Page(
        "Text, for language models",
        "Gymnasium `Env`",
        'import gymnasium, quincunx_env\n\nenv = gymnasium.make("Quincunx/Text-v0", opponents="greedy", num_players=2)',
        ("action_space", "observation_space"),
        (TextEnv,),
        (TextEnv,),
        observer="",
        picture="two-players",
    ),
    "quincunx": Page(
        "Quincunx for two to four players",
        "PettingZoo `AECEnv`",
        "from quincunx_env import quincunx_v0\n\nenv = quincunx_v0.env(num_players=2)",
        ("possible_agents", 'action_space("player_0")', 'observation_space("player_0")'),
        (quincunx_v0, CardGameAEC, Rules),
        (quincunx_v0.env,),
        picture="open-start",
    ),
    "spiral": Page(
        "The spiral game",
        "PettingZoo `AECEnv`",
        "from quincunx_env import spiral_v0\n\nenv = spiral_v0.env()",
        ("possible_agents", 'action_space("player_0")', 'observation_space("player_0")'),
        (spiral_v0, CardGameAEC, spiral.Rules),
        (spiral_v0.env,),
        rules="part-2--the-spiral-game",
        picture="spiral",
    ),
    "batched": Page(
        "Many games for several players",
        "Python class",
        "from quincunx_env.envs.batched import BatchedGames\n\nenv = BatchedGames(1024, num_players=3)",
        ("num_games", "observer.num_actions", "reset(seed=0).observation[0].shape"),
        (BatchedGames,),
        (BatchedGames,),
        observer="observer",
        picture="open-start",
    ),
    "sb3": Page(
        "stable-baselines3",
        "`VecEnv`",
        "from quincunx_env.adapters.sb3 import VsOpponentsVecEnv, SolitaireVecEnv\n\n"
        'env = SolitaireVecEnv(64, observation="flat")',
        ("num_envs", "action_space", "observation_space"),
        (sb3.SolitaireVecEnv, sb3.GamesVecEnv, SolitaireEnv),
        (sb3.SolitaireVecEnv,),
        observer="envs.observer",
    ),
}
"""Pages by file name in ``docs/environments``."""


# --- Reference -------------------------------------------------------------------------------------------------------

REFERENCE = """\
# Reference

{{py:obj}}`quincunx_env` exports the names in the first table. Every other name is on the page of its package. Names
that are not on these pages may change without notice.

## Public names

{names}

## Packages

{packages}

## Introduction

```{{eval-rst}}
.. automodule:: quincunx_env
```

*Generated by `make docs` from the docstrings.*
"""

PACKAGE = """\
# {title}

{about} [All packages](index.md)
"""

MODULE = """
## `{module}`

```{{eval-rst}}
.. automodule:: {path}
{members}```
"""

PACKAGES: dict[str, tuple[str, str, dict[str, str]]] = {
    "envs": (
        "Classes of the environments",
        "The [pages of the environments](../environments/index.md) are the introduction.",
        {
            "envs.solitaire": "SolitaireEnv, SolitaireVectorEnv",
            "envs.vs_opponents": "VsOpponentsEnv, VsOpponentsVectorEnv",
            "quincunx_v0": "env, raw_env",
            "spiral_v0": "env, raw_env",
            "envs.aec": "CardGameAEC",
            "envs.batched": "BatchedGames, Position, StepResult",
            "envs.text": "TextEnv",
            "envs.vector": "GamesVectorEnv",
            "envs.codec": "sample_action, sampling_mask",
            "envs.rewards": "REWARDS",
        },
    ),
    "adapters": (
        "Adapters for libraries",
        "[Other libraries](../recipes.md) has first lines of code.",
        {
            "adapters.sb3": "SolitaireVecEnv, VsOpponentsVecEnv, GamesVecEnv",
            "adapters.minari": "write_dataset",
            "adapters.rllib": "",
            "adapters.openspiel": "",
        },
    ),
    "arena": (
        "Functions of the arena",
        "[The arena](../arena.md) shows how they are used together.",
        {
            "arena": "evaluate, evaluate_all, compare, tournament, report, explain, table, plot, regret, "
            "adjusted_mean, interquartile_mean, seconds_per_action, Evaluation, Comparison, Tournament, Report, "
            "Estimate",
            "arena.benchmark": "TASKS, Task, DealRange, TaskResult, evaluate_on_task, read_results, write_results, "
            "baselines",
            "arena.games": "Games, LineupGames",
            "arena.verification": "verify, rerun, Rerun, VerificationError",
            "arena.leaderboard": "VerifiedFile, sections, stored_baselines, plot_solitaires",
            "arena.sealed": "Secret, new, add, check",
            "arena.matches": "play_matches, MatchConfig, MatchResults",
        },
    ),
    "agents": (
        "Classes of the agents",
        "[Agents](../agents.md) describes and measures them.",
        {
            "quincunx_agents": "load",
            "quincunx_agents.networks.value": "value, ValueAgent, load",
            "quincunx_agents.networks.policy": "PolicyNetworkAgent",
            "quincunx_agents.networks.weights_io": "WeightsError",
            "quincunx_agents.search.monte_carlo": "MonteCarlo, FAST, STRONG",
            "quincunx_agents.search.network": "NetworkSearch, Search, FAST",
            "quincunx_agents.search.determinized": "DeterminizedSearch, SearchConfig",
            "quincunx_agents.search.pimc_beam": "PimcBeam, FAST, STRONG",
            "quincunx_agents.search.best_response": "best_response, BestResponse",
            "quincunx_agents.search.endgame": "Endgame, action_values, policy_values, distribution_of, "
            "uniform_distribution",
        },
    ),
    "policies": (
        "Policies by name and from files",
        "[Adding an agent](../adding_an_agent.md) shows how to name a policy.",
        {"policies": "resolve, registered_policies, PolicyFile, PolicyFileError, UntrustedFileError"},
    ),
    "quincunx": (
        "The engines of Quincunx",
        "[The rules](../../RULES.md#part-1--quincunx) decide what they do.",
        {
            "quincunx.rules": "Rules, multiplayer_rules, Setup",
            "quincunx.deal": "Deal",
            "quincunx.game": "Game, Pending",
            "quincunx.batch": "Batch, ratings",
            "quincunx.observation": "Observer",
            "quincunx.padded": "PaddedObserver",
            "quincunx.scoring": "Score, score, parts, penalty, rating, RATINGS",
            "quincunx.cards": "Card, CARDS, SUITS",
            "quincunx.grid": "Grid",
            "quincunx.notation": "Notation",
        },
    ),
    "spiral": (
        "The engines of the spiral game",
        "[The rules](../../RULES.md#part-2--the-spiral-game) decide what they do.",
        {
            "spiral.rules": "Rules",
            "spiral.deal": "Deal",
            "spiral.game": "Game",
            "spiral.batch": "Batch",
            "spiral.observation": "Observer",
            "spiral.scoring": "Score, score, score_hand, LineScore, score_line, parts",
            "spiral.cards": "Card, CARDS, SUITS, RANKS",
            "spiral.notation": "Notation",
        },
    ),
    "core": (
        "Shared by all games",
        "[Adding a game](../adding_a_game.md) lists what a game implements itself.",
        {
            "registry": "GAMES, spec_of, make_rules, make_observer",
            "core.policy": "Agent, Policy, PolicyFactory, ValuedPolicy, policy_for",
            "core.game": "BaseGame, FinishedRound, IllegalAction",
            "core.batch": "BaseBatch",
            "core.batch_state": "BatchState, state_array",
            "core.deal": "BaseDeal",
            "core.cards": "CardNames",
            "core.rules": "BaseRules",
            "core.observation": "BaseObserver, Observer, Piece, Count, Hidden",
            "core.resample": "resample",
            "core.notation": "BaseNotation",
            "core.scoring": "Part",
            "core.scene": "Scene, Seat, Face, Suit, ScoredPlay",
            "core.spec": "GameSpec",
        },
    ),
    "notation": (
        "Text, records, prompts",
        "[Records and text](../records.md) shows how to use them.",
        {
            "notation.text": "to_text, to_json, print_action, parse_action, play_score, PlayScore",
            "notation.record": "Record, RecordedAction, Seeded, RecordError",
            "notation.prompts": "prompt, read_action",
            "notation.rules_card": "rules_card",
            "notation.viewer": "Viewer",
            "notation.ending": "ending, Ending",
        },
    ),
    "render": (
        "Functions of the renderer",
        "[Rendering](../rendering.md) shows how to use them.",
        {"render": "to_svg, frame, text, save, animate, Renderer, Options", "render.replay_page": "replay_page"},
    ),
    "oracle": (
        "Functions of the oracle",
        "[Oracle scores](../oracle.md) explains them.",
        {"oracle": "read, write, benchmark_game, beam_search, oracle_scores, LineOfPlay, OracleEntry"},
    ),
    "play": (
        "Sessions of human play",
        "[Play](../play.md) is the introduction.",
        {"play.session": "Session, Hint, seat_players, adviser_name"},
    ),
    "testing": (
        "Checks for your own environments",
        "[Environments](../environments/index.md#environment-checkers) has more checks.",
        {"testing": "assert_no_leak, assert_resample_consistent, assert_same_information_set, permute_hidden"},
    ),
}
"""Pages in ``docs/api`` by file name: title, introduction, and the names documented of each module."""

INTERNAL = {"cli", "utils"}
"""Packages that users do not import."""


def reference() -> dict[Path, str]:
    """Return the pages of ``docs/api`` by path.

    Raises:
        ValueError: if a package is on none of them.
    """
    package = Path(quincunx_env.__file__).parent
    entries = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    listed = {module.partition(".")[0] for _, _, modules in PACKAGES.values() for module in modules}
    if missing := {entry for entry in entries if not entry.startswith("_")} - listed - INTERNAL:
        raise ValueError(f"{', '.join(sorted(missing))} must have a page in docs/api: add it to PACKAGES")
    texts: dict[Path, str] = {}
    documented: dict[int, str] = {}
    for name, (title, about, modules) in PACKAGES.items():
        text = PACKAGE.format(title=title, about=about)
        for module, members in modules.items():
            path = module if module.startswith("quincunx_agents") else f"quincunx_env.{module}"
            option = f"   :members: {members}\n" if members else ""
            text += MODULE.format(module=module, path=path, members=option)
            documented |= {id(resolve_name(f"{path}:{each}")): f"{path}.{each}" for each in members.split(", ") if each}
        texts[HERE / "api" / f"{name}.md"] = f"{text}\n*Generated by `make docs` from the docstrings of the modules.*\n"
    declared = (docstring_parser.parse_from_object(module) for module in (policy, registry, scoring))
    constants = {each.arg_name: each.description for docstring in declared for each in docstring.params}
    rows = []
    for name in quincunx_env.__all__:
        public = getattr(quincunx_env, name)
        summary = constants.get(name) or re.split(r"(?<=\.)\s", inspect.getdoc(public) or "")[0]
        link = f"{{py:obj}}`{name} <{documented[id(public)]}>`" if id(public) in documented else f"`{name}`"
        rows.append((link, summary))
    packages = [(f"[{title}]({name}.md)", _packages(modules)) for name, (title, _, modules) in PACKAGES.items()]
    texts[HERE / "api" / "index.md"] = REFERENCE.format(
        names=markdown_table(("name", "summary"), rows), packages=markdown_table(("page", "modules"), packages)
    )
    return texts


def _packages(modules: Iterable[str]) -> str:
    """Return the packages of modules, each once."""
    return ", ".join(dict.fromkeys(f"`{module.partition('.')[0]}`" for module in modules))


def environments() -> str:
    """Return the table of the environments with their spaces."""
    rows = [
        (f"[{page.title}]({name}.md)", page.interface, *(f"`{space}`" for space in page.spaces()))
        for name, page in ENVIRONMENTS.items()
    ]
    return markdown_table(("environment", "interface", "actions", "observations"), rows)


def pages() -> dict[Path, str]:
    """Return all generated pages by path."""
    tables = (f"\n## {title}\n\n{observer.table()}\n" for title, observer in EXAMPLES.items())
    environments = {HERE / "environments" / f"{name}.md": page.text() for name, page in ENVIRONMENTS.items()}
    foot = "\n*Generated by `make docs` from the observers of the games.*\n"
    observations = OBSERVATIONS + "".join(tables) + foot
    return {HERE / "observations.md": observations, HERE / "models.md": models()} | environments | reference()
