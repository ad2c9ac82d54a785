"""Pages generated from the code: observation tables, environments, API reference."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import docstring_parser

import quincunx_env
from docs.models import models
from quincunx_env import Observer, Rules, quincunx, quincunx_v0, spiral, spiral_v0
from quincunx_env.adapters import sb3
from quincunx_env.core.observation import Observer as AnyObserver
from quincunx_env.envs.aec import CardGameAEC
from quincunx_env.envs.batched import BatchedGames
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from quincunx_env.envs.text import TextEnv
from quincunx_env.envs.vector import GamesVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv
from quincunx_env.quincunx import PaddedObserver
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
    "The spiral game, two deals": spiral.Observer(spiral.Rules()),
    "The spiral game, a single deal, with the preview": spiral.Observer(spiral.Rules(deals=1), preview=True),
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
        make: code that makes the environment ``env``; it is executed.
        facts: attributes and calls of the environment whose values the page shows.
        sources: objects whose docstrings the page is made of. A section that several of them have is taken from the
            first.
        signatures: functions whose parameters are the arguments.
        observer: attribute path of the environment's observer, whose table is shown; empty if it has none.
        picture: a name in ``docs.pictures.GAMES``.
        rules: anchor of the game's rules in RULES.md.
    """

    title: str
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
        facts = [f"| `env.{fact}` | `{eval(f'env.{fact}', names)}` |" for fact in self.facts]
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
    """Return the parsed docstring; that of a dataclass includes the docstrings of its fields."""
    if is_dataclass(source):
        return docstring_parser.parse_from_object(source)
    return docstring_parser.parse(inspect.getdoc(source) or "")


def _literal(default: Any) -> str:
    """Return a default as it is written in code; a member of an enumeration by its name."""
    return str(getattr(default, "name", None) or repr(default))


ENVIRONMENTS = {
    "solitaire": Page(
        "Solitaire",
        'import gymnasium, quincunx_env\n\nenv = gymnasium.make("Quincunx/Solitaire-v0")',
        ("action_space",),
        (SolitaireEnv, Rules),
        (SolitaireEnv,),
    ),
    "solitaire_vector": Page(
        "Solitaire, many games",
        'import gymnasium, quincunx_env\n\nenv = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=1024)',
        ("num_envs", "single_action_space"),
        (SolitaireVectorEnv, GamesVectorEnv, SolitaireEnv, Rules),
        (SolitaireVectorEnv,),
    ),
    "vs_opponents": Page(
        "One learner among opponents",
        "import gymnasium, quincunx_env\n\n"
        'env = gymnasium.make("Quincunx/VsOpponents-v0", opponents="greedy", num_players=2)',
        ("action_space",),
        (VsOpponentsVectorEnv, GamesVectorEnv),
        (VsOpponentsVectorEnv,),
        picture="two-players",
    ),
    "text": Page(
        "Text, for language models",
        'import gymnasium, quincunx_env\n\nenv = gymnasium.make("Quincunx/Text-v0", opponents="greedy", num_players=2)',
        ("observation_space.max_length", "action_space.max_length"),
        (TextEnv,),
        (TextEnv,),
        observer="",
        picture="two-players",
    ),
    "quincunx": Page(
        "Quincunx for two to four players",
        "from quincunx_env import quincunx_v0\n\nenv = quincunx_v0.env(num_players=2)",
        ("possible_agents", 'action_space("player_0")', 'observation_space("player_0")["observation"].shape'),
        (quincunx_v0, CardGameAEC, Rules),
        (quincunx_v0.env,),
        picture="open-start",
    ),
    "spiral": Page(
        "The spiral game",
        "from quincunx_env import spiral_v0\n\nenv = spiral_v0.env()",
        ("possible_agents", 'action_space("player_0")', 'observation_space("player_0")["observation"].shape'),
        (spiral_v0, CardGameAEC, spiral.Rules),
        (spiral_v0.env,),
        rules="part-2--the-spiral-game",
        picture="spiral",
    ),
    "batched": Page(
        "Many games for several players",
        "from quincunx_env.envs.batched import BatchedGames\n\nenv = BatchedGames(1024, num_players=3)",
        ("num_games", "observer.num_actions"),
        (BatchedGames,),
        (BatchedGames,),
        observer="observer",
        picture="open-start",
    ),
    "sb3": Page(
        "stable-baselines3",
        "from quincunx_env.adapters.sb3 import VsOpponentsVecEnv, SolitaireVecEnv\n\n"
        'env = SolitaireVecEnv(64, observation="flat")',
        ("num_envs", "action_space"),
        (sb3.SolitaireVecEnv, sb3.GamesVecEnv, SolitaireEnv),
        (sb3.SolitaireVecEnv,),
        observer="envs.observer",
    ),
}
"""Pages by file name in ``docs/environments``."""


# --- Reference -------------------------------------------------------------------------------------------------------

REFERENCE = """\
# {title}

{about}
"""

MODULE = """
## `{module}`

```{{eval-rst}}
.. automodule:: {path}
{members}```
"""

MEMBERS = "   :members:\n"

MODULES = {
    "games": (
        "Games and engines",
        "`quincunx_env` exports most of these names. The modules of the spiral game correspond to those of "
        "[Quincunx](quincunx.md).",
        (
            *("registry", "policies", "policies.files"),
            *("render", "render.svg", "render.animation", "render.replay_page", "oracle.", "spiral."),
        ),
    ),
    "quincunx": ("Quincunx", "The engines of [Quincunx](../../RULES.md#part-1--quincunx).", ("quincunx.",)),
    "play": (
        "Play, records, text",
        "[Play](../play.md) shows how to use them.",
        ("play.session", "notation."),
    ),
    "core": (
        "Shared by all games",
        "Base classes for rounds, seats, seeds and copies; observations; the policy protocol. "
        "[Adding a game](../adding_a_game.md) lists what a game implements itself.",
        ("core.",),
    ),
    "environments": (
        "Classes of the environments",
        "Every class and method; [the pages of the environments](../environments/index.md) are the introduction.",
        ("envs.", "quincunx_v0", "spiral_v0", "adapters.", "testing"),
    ),
    "arena": (
        "The arena's functions",
        "[Measuring policies](../arena.md) shows how they are used together.",
        (
            "arena",
            "arena.matches",
            "arena.games",
            "arena.verification",
            "arena.leaderboard",
            "arena.sealed",
            "arena.benchmark",
            "arena.statistics",
        ),
    ),
    "agents": (
        "Baseline agents",
        "[Agents](../agents.md) describes and measures them.",
        ("quincunx_agents", "quincunx_agents.networks.", "quincunx_agents.search."),
    ),
}
"""Pages in ``docs/api`` by file name: title, introduction, and the documented modules, of ``quincunx_env`` if no other
package is named: packages with ``__all__`` or, with a dot at the end, packages with all their modules."""

INTERNAL = {"cli", "utils"}
"""Packages that users do not import."""


def reference() -> dict[Path, str]:
    """Return the pages of ``docs/api`` by path.

    Raises:
        ValueError: if a module or package has no page.
    """
    package = Path(quincunx_env.__file__).parent
    entries = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    listed = {entry.partition(".")[0] for _, _, documented in MODULES.values() for entry in documented}
    if missing := {entry for entry in entries if not entry.startswith("_")} - listed - INTERNAL:
        raise ValueError(f"{', '.join(sorted(missing))} must have a page in docs/api: add it to MODULES")
    texts = {}
    for name, (title, about, documented) in MODULES.items():
        text = REFERENCE.format(title=title, about=about)
        for entry in documented:
            if not entry.endswith("."):
                text += _module(entry, MEMBERS)
                continue
            text += _module(entry[:-1], "")
            (folder,) = import_module(_path(entry[:-1])).__path__
            for path in sorted(Path(folder).glob("[!_]*.py")):
                text += _module(entry + path.stem, MEMBERS)
        texts[HERE / "api" / f"{name}.md"] = f"{text}\n*Generated by `make docs` from the docstrings of the modules.*\n"
    return texts


def pages() -> dict[Path, str]:
    """Return all generated pages by path."""
    tables = (f"\n## {title}\n\n{observer.table()}\n" for title, observer in EXAMPLES.items())
    environments = {HERE / "environments" / f"{name}.md": page.text() for name, page in ENVIRONMENTS.items()}
    foot = "\n*Generated by `make docs` from the observers of the games.*\n"
    observations = OBSERVATIONS + "".join(tables) + foot
    return {HERE / "observations.md": observations, HERE / "models.md": models()} | environments | reference()


def _module(entry: str, members: str) -> str:
    return MODULE.format(module=entry, path=_path(entry), members=members)


def _path(entry: str) -> str:
    return entry if entry.startswith("quincunx_agents") else f"quincunx_env.{entry}"
