"""Options that commands of several modules have."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from quincunx_env.core.rules import BaseRules, accepts, changed_options
from quincunx_env.policies.files import ModelOptions
from quincunx_env.registry import DEFAULT_GAME, GAMES, spec_of

Seed = Annotated[int, tyro.conf.arg(help="seed of the policies' generators")]

Chunk = Annotated[
    int,
    tyro.conf.arg(
        help="number of deals played side by side, the unit of work of a process; an interruption loses at most these. "
        "The actions of randomised policies depend on it"
    ),
]

Trust = Annotated[
    bool,
    tyro.conf.arg(help="load models of stable-baselines3, too, which executes any code in them"),
]

Trained = Annotated[ModelOptions, tyro.conf.arg(name="")]
"""Options of models without a JSON file, without a prefix."""

Workers = Annotated[int, tyro.conf.arg(help="number of processes")]

Adjusted = Annotated[
    bool,
    tyro.conf.arg(
        help="also print means of the solitaire without the luck of the cards, 20 ms a deal; "
        "always with at most 300 deals"
    ),
]

Ray = Annotated[
    str | None, tyro.conf.arg(help="address of a Ray cluster that replaces these processes: host:port, or auto")
]

Out = Annotated[Path, tyro.conf.arg(help="directory of the results")]

RecordsFile = Annotated[Path | None, tyro.conf.arg(help="file for all games, which the command verify replays")]

OTHER_GAMES = [name for name in GAMES if name != DEFAULT_GAME]
"""Names of the games whose options of rules have the name of the game as a prefix."""

if TYPE_CHECKING:
    GameName = str
    DefaultRules = BaseRules
    OtherRules = Any
else:
    GameName = Literal[tuple(GAMES)]
    DefaultRules = Annotated[GAMES[DEFAULT_GAME].Rules, tyro.conf.arg(name="")]
    OtherRules = make_dataclass(
        "OtherRules",
        [(name, GAMES[name].Rules, field(default_factory=GAMES[name].Rules)) for name in OTHER_GAMES],
    )


def refused_options(make_rules: Callable[..., BaseRules]) -> tuple[str, ...]:
    """Return the names of the default game's options of which ``make_rules`` takes the default alone."""
    default, options = make_rules(), GAMES[DEFAULT_GAME].Rules.options
    others = {each.name: [value for value in each.meanings if value != getattr(default, each.name)] for each in options}
    return tuple(
        name for name, values in others.items() if not any(accepts(make_rules, **{name: value}) for value in values)
    )


def cores() -> int:
    """Count the cores that this process may use, the default of `Workers`."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(kw_only=True)
class GameOptions:
    """The rules of any game."""

    rules: DefaultRules = field(default_factory=GAMES[DEFAULT_GAME].Rules)
    game: GameName = DEFAULT_GAME
    """the game; options of the spiral game begin with ``--spiral``, the other options of rules belong to Quincunx"""
    others: Annotated[OtherRules, tyro.conf.arg(name="")] = field(default_factory=lambda: OtherRules())

    @property
    def chosen_rules(self) -> BaseRules:
        """The rules of the chosen game."""
        rules: BaseRules = self.rules if self.game == DEFAULT_GAME else getattr(self.others, self.game)
        return rules

    def refuse_other_game(self, arguments: Sequence[str]) -> None:
        """Refuse options of another game, which would be ignored.

        Raises:
            ValueError: naming the option.
        """
        plain = {option.name for option in fields(GAMES[DEFAULT_GAME].Rules)}
        for argument in arguments:
            flag = argument.partition("=")[0].replace("_", "-")
            if not flag.startswith("--"):
                continue
            game, dot, _ = flag.removeprefix("--").partition(".")
            if dot and game in OTHER_GAMES and game != self.game:
                raise ValueError(f"{flag} is an option of the {game} game: add --game {game}")
            name = flag.removeprefix("--").removeprefix("no-").replace("-", "_")
            if self.game != DEFAULT_GAME and name in plain:
                raise ValueError(
                    f"{flag} is an option of {DEFAULT_GAME.title()}: leave out --game {self.game}, or the option"
                )


def rules_arguments(rules: BaseRules) -> list[str]:
    """Return the arguments that choose rules, the inverse of `GameOptions`."""
    spec = spec_of(rules)
    words, prefix = ([], "--") if spec.name == DEFAULT_GAME else (["--game", spec.name], f"--{spec.name}.")
    default = spec.Rules() if rules.num_players == 1 else spec.multiplayer_rules()
    for option, value in changed_options(rules, default).items():
        words += [f"{prefix}{option.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words
