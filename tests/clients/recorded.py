"""Environments that write the scores of a learner's rounds to a file, and ids that refuse illegal actions."""

from pathlib import Path
from typing import Any

import gymnasium
from pettingzoo.utils.wrappers import BaseWrapper

from quincunx_env import quincunx_v0

FILE = Path("scores.txt")


class Recorded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The environment, with a file of scores."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Append the score of a finished round to `FILE`; a lost round counts 0."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated:
            with FILE.open("a") as file:
                file.write(f"{0 if info['lost'] else info['score']}\n")
        return observation, reward, terminated, truncated, info


class RecordedPlayers(BaseWrapper):  # type: ignore[misc]  # PettingZoo comes without types
    """A game for two players, with a file of the last one's shares of the win."""

    def step(self, action: Any) -> None:
        """Append the share of a finished game to `FILE`, 1 for a win and 0.5 for a shared one."""
        playing = not self.env.unwrapped.game.over
        self.env.step(action)
        if playing and self.env.unwrapped.game.over:
            with FILE.open("a") as file:
                file.write(f"{(self.env.rewards[self.possible_agents[-1]] + 1) / 2}\n")


def env(**options: Any) -> RecordedPlayers:
    return RecordedPlayers(quincunx_v0.env(**options))


def make(recorded: str = "", **options: Any) -> Recorded:
    return Recorded(gymnasium.make(f"quincunx_env:{recorded}", **options))


def make_strict(strict: str = "", **options: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(f"quincunx_env:{strict}", **{"illegal": "raise"} | options)


def name_of(recorded: str, namespace: str = "Recorded") -> str:
    """Return the id of the environment with this id and a file of scores, or of a ``Strict`` one.

    The name of a class stays as it is.
    """
    return namespace + recorded[recorded.index("/") :] if "/" in recorded else recorded


for name in ("Quincunx/SolitaireFlat-v0", "Quincunx/SolitaireMasked-v0"):
    gymnasium.register(name_of(name), entry_point=make, kwargs={"recorded": name})
    gymnasium.register(name_of(name, "Strict"), entry_point=make_strict, kwargs={"strict": name})
