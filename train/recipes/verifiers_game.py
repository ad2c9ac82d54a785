"""Let language models play each other over verifiers, which evaluates and trains: docs/language_models.md."""

from itertools import count
from typing import Any

import verifiers.v1 as vf

from quincunx_env import Game, IllegalAction, Rules, rules_card
from quincunx_env.notation.prompts import answer_of, prompt, read_action, with_names
from quincunx_env.notation.record import apply_action
from quincunx_env.registry import spec_of
from train.recipes.verifiers_tasks import Chat

__all__ = ["Chat", "Deals", "TwoPlayers"]


class Deals(vf.Taskset[vf.Task, vf.TasksetConfig]):  # type: ignore[misc]  # types are checked without verifiers
    """Deals of the two-player game, without end."""

    INFINITE = True

    def load(self) -> Any:
        """Yield tasks; their number ``idx`` is the seed of the deal."""
        return (vf.Task(vf.TaskData(), self.config.task) for _ in count())


class Players(vf.EnvConfig):  # type: ignore[misc]
    """The models by seat, and the number of mistakes that a game forgives a player; legal and rules are none."""

    player_0: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig(), max_turns=50)
    player_1: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig(), max_turns=50)
    mistakes: int = 3


class TwoPlayers(vf.Env[Players]):  # type: ignore[misc]
    """A game, in which each player has a conversation. The reward is 1 for a win, 0.5 for a draw."""

    async def run(self, task: Any, agents: Any) -> None:
        """Play a deal. Who makes too many mistakes, or no longer answers, loses it."""
        game, loser, mistakes = Game.from_seed(Rules(num_players=2), task.data.idx), None, [0, 0]
        names = ["player_0", "player_1"]
        reports = [card := rules_card(game.rules), card]
        async with agents.player_0.interaction(task) as first, agents.player_1.interaction(task) as second:
            while not game.over and loser is None:
                seat, legal = game.mover, with_names(spec_of(game.rules).notation.describe_legal(game), names)
                reply = await (first, second)[seat].turn(prompt(game, seat, names, reports[seat]))
                try:
                    reports[seat] = {"LEGAL": legal, "RULES": card}.get(answer_of(reply.last_reply), "")
                    if not reports[seat]:
                        turn = apply_action(game, 0, read_action(game, reply.last_reply), explain=True)
                        reports[seat] = f"{names[seat]}: {turn.text}, {turn.score}"
                        reports[1 - seat] += f"\n{reports[seat]}"
                except IllegalAction as error:
                    mistakes[seat] += 1
                    reports[seat] = with_names(f"Illegal: {error}.", names)
                    loser = seat if reply.terminated or mistakes[seat] > self.config.mistakes else None
            winners = game.winners if loser is None else (1 - loser,)
            for seat, player in enumerate((first, second)):
                player.trace.record_reward("won", (seat in winners) / len(winners))
                player.trace.record_metric("mistakes", mistakes[seat])
