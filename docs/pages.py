"""The pages that follow from the code: observations, environments, reference."""

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docstring_parser

import quincunx_env
from quincunx_env import Observer, Rules, quincunx_v0, spiral, spiral_v0
from quincunx_env.adapters import sb3
from quincunx_env.core.observation import Observer as AnyObserver
from quincunx_env.envs.aec import CardGameAEC
from quincunx_env.envs.batched import BatchedGames
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from quincunx_env.envs.vector import GamesVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv
from quincunx_env.quincunx import PaddedObserver

HERE = Path(__file__).parent

# --- Observations ----------------------------------------------------------------------------------------------------

OBSERVATIONS = """\
# Observations

*Written by `make docs` from the observers of the games.*

An observation is a list of named pieces. `pieces` is a dictionary of them; `flat` is one int16 vector in which each
piece has its slice, in C order. `Observer.flatten` and `Observer.unflatten` turn one into the other without loss.
Seats are counted from the observing one: seat 0 is oneself, seat 1 plays next. Rounds, totals and seats are left out
where the rules leave them nothing to say. `env.unwrapped.observer.table()` prints the table of any environment.

Cards are the ids of `quincunx_env.quincunx.cards` and `quincunx_env.spiral.cards`; cells count from the top left, row
by row. `padded=True` pads observations and actions of every form of Quincunx to four seats, 41 cards and the 81
cells of the open start, smaller grids in the middle, so that one network can play them all; `form` tells which it is.
"""

EXAMPLES: dict[str, AnyObserver] = {
    "Solitaire": Observer(Rules()),
    "Solitaire with the preview": Observer(Rules(), preview=True),
    "Solitaire with the extended deck": Observer(Rules(excuse=True, pawns=True)),
    "Two players from corners": Observer(Rules(num_players=2)),
    "Three players, open start, Simpleton, a match": Observer(
        Rules(num_players=3, start="open", simpleton=True, match=True)
    ),
    "Any form of Quincunx with fixed width": PaddedObserver(Rules()),
    "The spiral game, two deals": spiral.Observer(spiral.Rules()),
    "The spiral game, a single deal, with the preview": spiral.Observer(spiral.Rules(deals=1), preview=True),
}


# --- Environments ----------------------------------------------------------------------------------------------------

ENVIRONMENT = """\
# {title}

*Written by `make docs` from the docstrings of {sources}.*

{summary} [The rules](../../RULES.md#{rules}) · [all environments](index.md)

```python
{make}
```

{picture}

{facts}
"""

SECTIONS = (
    *("Description", "Agents", "Actions", "Mask", "Observation", "Rewards", "End", "Reset"),
    *("Arguments", "Version History"),
)
"""The order in which every page has them."""


@dataclass(frozen=True)
class Page:
    """The page of an environment, put together from docstrings.

    Attributes:
        title: its headline.
        make: lines that make the environment ``env``. They are run.
        facts: attributes or calls of the environment that the page shows.
        told: whose docstrings tell of it, those that decide first.
        signatures: functions whose parameters are the arguments.
        left_out: parameters that are none.
        observer: where the environment has its observer, whose table is shown.
        picture: one of ``docs.pictures.GAMES``.
        rules: heading of the rules of the game in RULES.md.
    """

    title: str
    make: str
    facts: tuple[str, ...]
    told: tuple[Any, ...]
    signatures: tuple[Callable[..., Any], ...]
    left_out: tuple[str, ...] = ()
    observer: str = "unwrapped.observer"
    picture: str = "solitaire"
    rules: str = "part-1--quincunx"

    def text(self) -> str:
        """The page as Markdown.

        Raises:
            ValueError: if a docstring has an unknown section, or none explains an argument.
        """
        docstrings = [docstring_parser.parse(_docstring(each)) for each in self.told]
        sections: dict[str, str] = {}
        for docstring in reversed(docstrings):
            _, *headed = re.split(r"^## (.*)\n", docstring.long_description or "", flags=re.MULTILINE)
            sections |= {title: text.strip() for title, text in zip(headed[::2], headed[1::2], strict=True)}
        names: dict[str, Any] = {}
        exec(self.make, names)
        sections["Observation"] += f"\n\nHere, as one vector:\n\n{eval(f'env.{self.observer}', names).table()}"
        sections["Arguments"] = self._arguments(docstrings)
        if unknown := set(sections) - set(SECTIONS):
            raise ValueError(f"{self.title}: sections {unknown} are unknown: put them into SECTIONS")
        facts = [f"| `env.{fact}` | `{eval(f'env.{fact}', names)}` |" for fact in self.facts]
        return ENVIRONMENT.format(
            title=self.title,
            sources=", ".join(f"`{each.__name__.removeprefix('quincunx_env.')}`" for each in self.told),
            summary=docstrings[0].short_description,
            make=self.make,
            picture=f"![a game, as the environment paints it](../pictures/{self.picture}.png)",
            rules=self.rules,
            facts="\n".join(["| | |", "|---|---|", *facts]),
        ) + "".join(f"\n## {title}\n\n{sections[title]}\n" for title in SECTIONS if title in sections)

    def _arguments(self, docstrings: Iterable[docstring_parser.Docstring]) -> str:
        """A table of all parameters."""
        explained = {
            parameter.arg_name: " ".join((parameter.description or "").split())
            for docstring in reversed([*docstrings])
            for parameter in docstring.params
        }
        rows = {}
        for signature in self.signatures:
            for name, parameter in inspect.signature(signature).parameters.items():
                if name in self.left_out:
                    continue
                if name not in explained:
                    raise ValueError(f"{self.title}: no docstring explains {name!r}")
                empty = parameter.default is inspect.Parameter.empty
                default = "" if empty else f"`{_spelled(parameter.default)}`"
                stars = "**" if parameter.kind == inspect.Parameter.VAR_KEYWORD else ""
                rows[name] = f"| `{stars}{name}` | {default} | {explained[name]} |"
        return "\n".join(["| argument | default | meaning |", "|---|---|---|", *rows.values()])


def _docstring(source: Any) -> str:
    return inspect.getdoc(source) or ""


def _spelled(default: Any) -> str:
    """A default as one writes it: an enumeration by its name."""
    return str(getattr(default, "name", None) or repr(default))


ENVIRONMENTS = {
    "solitaire": Page(
        "Solitaire",
        'import gymnasium, quincunx_env\n\nenv = gymnasium.make("Quincunx/Solitaire-v0")',
        ("action_space",),
        (SolitaireEnv,),
        (SolitaireEnv,),
    ),
    "solitaire_vector": Page(
        "Solitaire, many games",
        'import gymnasium, quincunx_env\n\nenv = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=1024)',
        ("num_envs", "single_action_space"),
        (SolitaireVectorEnv, GamesVectorEnv, SolitaireEnv),
        (SolitaireVectorEnv,),
    ),
    "vs_opponents": Page(
        "One learner among opponents",
        "import gymnasium, quincunx_env\nfrom quincunx_agents.greedy import greedy  # from a checkout\n\n"
        'env = gymnasium.make("Quincunx/VsOpponents-v0", opponents=greedy, num_players=2)',
        ("action_space",),
        (VsOpponentsVectorEnv, GamesVectorEnv),
        (VsOpponentsVectorEnv,),
        picture="two-players",
    ),
    "quincunx": Page(
        "Quincunx for two to four players",
        "from quincunx_env import quincunx_v0\n\nenv = quincunx_v0.env(num_players=2)",
        ("possible_agents", 'action_space("player_0")', 'observation_space("player_0")["observation"].shape'),
        (quincunx_v0, CardGameAEC, quincunx_v0.raw_env),
        (quincunx_v0.raw_env, CardGameAEC),
        ("options", "name", "rules"),
        picture="open-start",
    ),
    "spiral": Page(
        "The spiral game",
        "from quincunx_env import spiral_v0\n\nenv = spiral_v0.env()",
        ("possible_agents", 'action_space("player_0")', 'observation_space("player_0")["observation"].shape'),
        (spiral_v0, CardGameAEC, spiral_v0.raw_env),
        (spiral_v0.raw_env, CardGameAEC),
        ("options", "name", "rules"),
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
"""By the names of the files in ``docs/environments``."""


# --- Reference -------------------------------------------------------------------------------------------------------

REFERENCE = """\
# {title}

*Written by `make docs`.*

{about}
"""

MODULE = """
## `{module}`

```{{eval-rst}}
.. automodule:: quincunx_env.{module}
   :members:
```
"""

MODULES = {
    "games": (
        "Games and engines",
        "`quincunx_env` exports most of these names. The modules of the spiral game correspond to those of "
        "[Quincunx](quincunx.md).",
        ("registry", "policies", "render", "oracle", "spiral."),
    ),
    "quincunx": ("Quincunx", "[The rules](../../RULES.md#part-1--quincunx) as code.", ("quincunx.",)),
    "play": ("Play, records, text", "[Play](../play.md) shows how to use them.", ("play.session", "notation.")),
    "core": (
        "What games have in common",
        "Bookkeeping of rounds, seats, seeds and copies; observations; what a policy is. "
        "[Adding a game](../adding_a_game.md) says what a game brings itself.",
        ("core.",),
    ),
    "environments": (
        "Classes of the environments",
        "[The pages of the environments](../environments/index.md) are easier to read; here every method stands.",
        ("envs.", "quincunx_v0", "spiral_v0", "adapters.", "testing"),
    ),
    "arena": (
        "The arena's functions",
        "[Measuring policies](../arena.md) shows how they go together.",
        ("arena", "arena.matches"),
    ),
}
"""Pages in ``docs/api``: title, what is said of them, and what is told there: a module, a package with ``__all__``, or
all modules of a package, which then ends with a dot."""


def reference() -> dict[Path, str]:
    """The pages of ``docs/api``, by path.

    Raises:
        ValueError: if a module or package has no page.
    """
    package = Path(quincunx_env.__file__).parent
    entries = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    told = {entry.partition(".")[0] for _, _, entries in MODULES.values() for entry in entries}
    if missing := {entry for entry in entries if not entry.startswith("_")} - told:
        raise ValueError(f"{', '.join(sorted(missing))} must have a page in docs/api: put it into MODULES")
    texts = {}
    for name, (title, about, asked) in MODULES.items():
        text = REFERENCE.format(title=title, about=about)
        for entry in asked:
            inside = sorted(path.stem for path in (package / entry[:-1]).glob("[!_]*.py")) if entry[-1] == "." else [""]
            text += "".join(MODULE.format(module=entry + module) for module in inside)
        texts[HERE / "api" / f"{name}.md"] = text
    return texts


def pages() -> dict[Path, str]:
    """The generated pages, by path."""
    tables = (f"\n## {title}\n\n{observer.table()}\n" for title, observer in EXAMPLES.items())
    environments = {HERE / "environments" / f"{name}.md": page.text() for name, page in ENVIRONMENTS.items()}
    return {HERE / "observations.md": OBSERVATIONS + "".join(tables)} | environments | reference()
