"""Options that commands of several modules have."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

import tyro

from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.rules import Rules
from quincunx_env.spiral.rules import Rules as SpiralRules

QuincunxRules = Annotated[Rules, tyro.conf.arg(name="")]
"""Options of rules without a prefix."""

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
    tyro.conf.arg(help="load files of stable-baselines3 and RLlib, too, which executes any code in them"),
]

Workers = Annotated[int, tyro.conf.arg(help="number of processes")]

Ray = Annotated[
    str | None, tyro.conf.arg(help="address of a Ray cluster that replaces these processes: host:port, or auto")
]

Out = Annotated[Path, tyro.conf.arg(help="directory of the results")]

RecordsFile = Annotated[Path | None, tyro.conf.arg(help="file for all games, which the command verify replays")]


def cores() -> int:
    """Count the cores, the default of `Workers`."""
    return os.cpu_count() or 1


@dataclass(kw_only=True)
class GameOptions:
    """The rules of either game."""

    rules: QuincunxRules = field(default_factory=Rules)
    game: Literal["quincunx", "spiral"] = "quincunx"
    """the game; options of the spiral game begin with ``--spiral``, the other options of rules belong to Quincunx"""
    spiral: SpiralRules = field(default_factory=SpiralRules)

    @property
    def chosen_rules(self) -> BaseRules:
        """The rules of the chosen game."""
        return self.rules if self.game == "quincunx" else self.spiral

    def refuse_other_game(self, arguments: Sequence[str]) -> None:
        """Refuse options of the other game, which would be ignored.

        Raises:
            ValueError: naming the option.
        """
        quincunx = {option.name for option in fields(Rules)}
        for argument in arguments:
            flag = argument.partition("=")[0].replace("_", "-")
            if self.game != "spiral" and flag.startswith("--spiral."):
                raise ValueError(f"{flag} is an option of the spiral game: add --game spiral")
            if self.game == "spiral" and flag.startswith("--"):
                name = flag.removeprefix("--").removeprefix("no-").replace("-", "_")
                if name in quincunx:
                    raise ValueError(f"{flag} is an option of Quincunx: leave out --game spiral, or the option")
