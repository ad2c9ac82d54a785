"""Options that several training scripts share. The ``Arguments`` of a script inherit from these classes."""

import math
import sys
import threading
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import tyro

from quincunx_env.cli.parser import parse
from quincunx_env.policies import resolve
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.errors import fail, one_line_errors

EmbeddedRules = Annotated[Rules, tyro.conf.arg(name="")]
"""Type of a field ``rules`` whose options become flags of the script itself: ``--num-players``, ``--start`` ..."""

DEALS_APART = 10**12
"""Seeds between the first deals of runs with successive seeds: more than a run can use.

A vector environment seeds row i with s + i. Seeded 0 and 1, two runs would share nearly all deals.
"""

# --- Values of options -----------------------------------------------------------------------------------------------


class OptionError(ValueError):
    """An option that cannot be used. The message names it and the valid ones."""


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used. The message names the cause and the remedy."""


@dataclass(frozen=True)
class Valid:
    """The values that an option may have. It annotates the option's field; `CheckedOptions` refuses other values."""

    meaning: str
    """continues "must be" in the message"""
    accepts: Callable[[Any], bool]


Count = Annotated[int, Valid("at least 1", lambda value: value >= 1)]
CountOrZero = Annotated[int, Valid("at least 0", lambda value: value >= 0)]
BatchSize = Annotated[int, Valid("at least 2, to normalize advantages", lambda value: value >= 2)]
NumDeals = Annotated[int, Valid("at least 2, for an interval", lambda value: value >= 2)]
Seed = Annotated[int, Valid("from 0 to 1000000", lambda value: 0 <= value <= 10**6)]
Positive = Annotated[float, Valid("a positive number", lambda value: 0 < value < math.inf)]
PositiveOrZero = Annotated[float, Valid("a number of at least 0", lambda value: 0 <= value < math.inf)]
Finite = Annotated[float, Valid("a number", math.isfinite)]
Share = Annotated[float, Valid("from 0 to 1", lambda value: 0 <= value <= 1)]
PolicyName = Annotated[str, Valid("a policy", lambda value: resolve(value) is not None)]
"""Name of a registered policy, or ``module:attribute``."""


def _is_folder_name(name: str) -> bool:
    return name == Path(name).name and name not in ("", ".", "..")


RunName = Annotated[str, Valid("the name of a folder, without a path", _is_folder_name)]


@dataclass
class CheckedOptions:
    """Options whose values are checked.

    Raises:
        ValueError: if an option has a value that its annotation excludes, naming the flag.
    """

    def __post_init__(self) -> None:
        for name, hint in typing.get_type_hints(type(self), include_extras=True).items():
            value = getattr(self, name)
            for valid in getattr(hint, "__metadata__", ()):
                if isinstance(valid, Valid) and not valid.accepts(value):
                    raise OptionError(f"--{name.replace('_', '-')} must be {valid.meaning}, got {value!r}")


# --- Options ---------------------------------------------------------------------------------------------------------


@dataclass
class RunOptions(CheckedOptions):
    """A run, its process, and its evaluations."""

    name: RunName
    """the run's folder below ``runs``; an earlier run of that name is renamed"""
    resume: bool = False
    """continue from the last checkpoint of the run"""
    seed: Seed = 0
    """seed of the deals, the initial weights and the exploration"""
    threads: Count = 1
    """threads of PyTorch; more than one helps little. Runs are repeatable with the same number"""
    progress: bool = True
    """show a progress bar"""
    against: PolicyName = "heuristic"
    """several players: opponent in evaluations, a name of the arena"""
    eval_deals: NumDeals = 200
    """validation deals of an evaluation, for each variant; several players play each from every seat"""
    test_deals: NumDeals = 1000
    """benchmark deals of the final figures, for each variant"""
    eval_every: Count = 100_000
    """steps between evaluations"""
    checkpoint_every: Count = 50_000
    """steps between checkpoints"""

    @property
    def folder(self) -> Path:
        """The folder of the run's files."""
        return Path("runs") / self.name

    @property
    def weights(self) -> Path:
        """The file of the weights."""
        return self.folder / f"{self.name}.safetensors"

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint from which ``--resume`` continues."""
        return (self.folder / "checkpoint.pt").exists()


@dataclass
class PPOOptions(CheckedOptions):
    """Hyperparameters of PPO with GAE. See Schulman et al. 2017 and 2016."""

    rollout: Count = 24
    """steps of each game between two updates"""
    batch_size: BatchSize = 2048
    """steps in a minibatch"""
    epochs: Count = 4
    """passes over a rollout"""
    learning_rate: PositiveOrZero = 2e-3
    """learning rate of Adam at the start; it falls linearly to 0"""
    gamma: Share = 1.0
    """discount factor; 1 because a round's score is an undiscounted sum"""
    gae_lambda: Share = 0.95
    """lambda of GAE"""
    clip_range: Positive = 0.2
    """range of the clipped objective"""
    entropy: Finite = 0.01
    """weight of the entropy bonus"""


# --- Programs --------------------------------------------------------------------------------------------------------

AnyOptions = TypeVar("AnyOptions")


class Setting(NamedTuple):
    """A named setting of a script."""

    plays: str
    """Game that the agent learns."""
    options: Mapping[str, Any]
    """Options that differ from the defaults."""


def read_options(
    arguments: type[AnyOptions], module: str, description: str | None, words: Sequence[str] | None = None
) -> AnyOptions:
    """Read the options of a script. Where it has ``SETTINGS``, the first word names one; the first is the default."""
    words, default = list(sys.argv[1:] if words is None else words), None
    if settings := getattr(arguments, "SETTINGS", None):
        name = words.pop(0) if words and not words[0].startswith("-") else next(iter(settings))
        if name not in settings:
            fail(f"unknown setting {name!r}: choose one of {', '.join(settings)}")
        default = arguments(**{"name": name, **settings[name].options})
    return parse(arguments, f"python -m {module}", description, words, default)


def run_script(
    main: Callable[[AnyOptions], object],
    arguments: type[AnyOptions],
    module: str,
    description: str | None,
    *errors: type[Exception],
) -> None:
    """Run a script with the options of the command line.

    Errors that the user can repair, and ``errors``, end it with one line; see `quincunx_env.utils.one_line_errors`.
    """
    options = read_options(arguments, module, description)

    def remedy() -> str:
        resumable = isinstance(options, RunOptions) and options.has_checkpoint
        return "--resume continues from the last checkpoint" if resumable else ""

    # TensorBoard writes in a thread and raises its errors again in this one.
    threading.excepthook = lambda failed: (
        None if issubclass(failed.exc_type, OSError) else threading.__excepthook__(failed)
    )
    with one_line_errors(*errors, remedy=remedy):
        try:
            main(options)
        except (CheckpointError, OptionError) as error:  # whose message names the way out
            fail(error)
