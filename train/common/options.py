"""Options that several training scripts share. The ``Arguments`` of a script inherit from these classes."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import tyro

from quincunx_env.quincunx.rules import Rules

T = TypeVar("T")

EmbeddedRules = Annotated[Rules, tyro.conf.arg(name="")]
"""Type of a field ``rules`` whose options become flags of the script itself: ``--num-players``, ``--start`` ..."""


@dataclass
class RunOptions:
    """A run and its process."""

    name: str
    """the run's folder below ``runs``; an earlier run of that name is renamed"""
    resume: bool = False
    """continue from the last checkpoint of the run"""
    seed: int = 0
    """of the deals, the initial weights and the exploration"""
    threads: int = 1
    """of PyTorch; more than one helps little and slows down other programs. Runs are repeatable with the same number"""
    progress: bool = True
    """show a progress bar"""


@dataclass
class PPOOptions:
    """Hyperparameters of PPO (Schulman et al. 2017) with GAE (Schulman et al. 2016)."""

    rollout: int = 24
    """steps of each game between two updates"""
    batch_size: int = 2048
    """steps in a minibatch"""
    epochs: int = 4
    """passes over a rollout"""
    learning_rate: float = 2e-3
    """of Adam at the start; it falls linearly to 0"""
    gamma: float = 1.0
    """discount factor; 1 because a round's score is an undiscounted sum"""
    gae_lambda: float = 0.95
    """lambda of GAE"""
    clip_range: float = 0.2
    """of the clipped objective"""
    entropy: float = 0.01
    """weight of the entropy bonus"""


def rules_options(rules: Rules) -> dict[str, Any]:
    """Return the options of ``rules`` that differ from the defaults, as the environments take them."""
    given, default = dataclasses.asdict(rules), dataclasses.asdict(Rules())
    return {name: value for name, value in given.items() if value != default[name]}


def parse(arguments: type[T], description: str | None, args: Sequence[str] | None = None) -> T:
    """Parse the command line.

    Args:
        arguments: the dataclass of the script.
        description: of the script.
        args: in place of the command line.

    Raises:
        SystemExit: with one line if the flags contradict each other, as some options of rules do.
    """
    try:
        return tyro.cli(arguments, description=description, args=args)
    except ValueError as error:
        raise SystemExit(f"error: {error}") from None
