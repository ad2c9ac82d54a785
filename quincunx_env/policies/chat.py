"""Language models as policies: prompts out, answers in."""

import inspect
import multiprocessing
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.integers import check_integer, check_option, with_checked_names
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import PolicyError
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies.conversations import Conversations
from quincunx_env.registry import make_observer, spec_of

Message = dict[str, str]
"""``{"role": "user" or "assistant", "content": text}``."""

PREFIX = "chat:"
"""Beginning of the name of a `ChatPolicy`: ``"chat:module:attribute"``."""

FORFEIT = -1
"""Stands for an action: the game ends as lost."""

PAUSE = 1.0
"""Seconds before a model is asked again after its first exception. Each further pause is twice as long."""


class ModelError(PolicyError):
    """A language model whose calls fail, also when they are repeated, or that returns something other than text."""


class Decision(NamedTuple):
    """A decision of a language model."""

    action: int
    """The action, or `FORFEIT`."""
    messages: list[Message]
    """The conversation."""
    illegal: int
    """Number of illegal answers."""
    fallback: bool
    """Whether no answer was legal."""


@with_checked_names
@dataclass(frozen=True)
class ChatPolicy:
    """A language model as an agent; a `quincunx_env.core.policy.PolicyFactory`.

    Each decision is a new conversation. The prompt is the rules card and the position as the seat knows it. The
    model answers with an action, or asks for ``legal`` actions or ``rules``. After any other answer it reads why that
    is illegal, and answers again.

    The arena keeps every decision in a file (`quincunx_env.policies.conversations`) and asks for none twice.

    Args:
        chat: returns the answer to messages: a text, content parts, or None for an empty one.
        name: its name in tables, by default the name of ``chat``.
        answers: most answers in a decision, questions included.
        illegal: what happens if none of them is a legal action: ``"fallback"`` plays the first legal one,
            ``"forfeit"`` ends the game as lost, ``"raise"`` raises `IllegalAction`.
        at_once: number of positions about which the model is asked side by side, in threads. Results do not depend on
            it, nor on ``retries``.
        retries: how often a call is repeated that raises an exception, after pauses of 1, 2, 4, ... seconds.

    Raises:
        ValueError: for another ``illegal``, a number out of bounds, or a coroutine function.
    """

    chat: Callable[[list[Message]], Any]
    name: str = ""
    answers: int = 4
    illegal: Literal["fallback", "forfeit", "raise"] = "fallback"
    at_once: int = field(default=1, compare=False)
    retries: int = field(default=3, compare=False)

    def __post_init__(self) -> None:
        check_option("illegal", self.illegal, "fallback", "forfeit", "raise")
        check_integer("answers", self.answers, 1, 1000)
        check_integer("at_once", self.at_once, 1, 1000)
        check_integer("retries", self.retries, 0, 1000)
        if inspect.iscoroutinefunction(self.chat) or inspect.iscoroutinefunction(type(self.chat).__call__):
            raise ValueError(f"{self.__name__} is a coroutine function: pass one that calls it by asyncio.run")

    @property
    def __name__(self) -> str:
        """Its name in tables."""
        return self.name or getattr(self.chat, "__name__", type(self.chat).__name__)

    def for_rules(self, rules: BaseRules) -> "ChatPlayer":
        """Return the policy for games with these rules."""
        return ChatPlayer(self, rules)

    def decide(self, game: SomeGame) -> Decision:
        """Ask for the action of the seat to move.

        Raises:
            IllegalAction: if no answer is a legal action, with ``illegal="raise"``.
            ModelError: if the model's calls fail.
        """
        from quincunx_env.notation.prompts import answer_of, read_action, shortened, text_of, with_names
        from quincunx_env.notation.rules_card import rules_card

        names, notation = names_of(game), spec_of(game.rules).notation
        messages, mistakes, reply = list[Message](), list[str](), first_prompt(game)
        for _ in range(self.answers):
            messages.append({"role": "user", "content": reply})
            given = self._ask(messages)
            messages.append({"role": "assistant", "content": ""})
            try:
                answer = text_of(given)
                messages[-1]["content"] = shortened(answer)
                question = answer_of(answer)
                if question == "LEGAL":
                    reply = with_names(notation.describe_legal(game), names)
                elif question == "RULES":
                    reply = rules_card(game.rules)
                else:
                    return Decision(read_action(game, answer), messages, len(mistakes), False)
            except IllegalAction as error:
                mistakes.append(with_names(str(error), names))
                reply = f"Illegal: {mistakes[-1]}."
        if self.illegal == "raise":
            raise IllegalAction(f"no legal action in {self.answers} answers: {(mistakes or ['questions alone'])[-1]}")
        action = FORFEIT if self.illegal == "forfeit" else game.legal_actions()[0]
        return Decision(action, messages, len(mistakes), True)

    def _ask(self, messages: list[Message]) -> Any:
        """Call the model, again after exceptions."""
        calls = 1
        while True:
            try:
                answer = self.chat([{**message} for message in messages])
                break
            except Exception as error:  # clients of models raise anything
                if calls > self.retries:
                    times = f"in {calls} calls" if calls > 1 else "in its call"
                    raise ModelError(f"{type(error).__name__} {times}: {error}") from error
                time.sleep(PAUSE * 2 ** (calls - 1))
                calls += 1
        if answer is not None and not isinstance(answer, str | list):
            raise ModelError(f"the model returned {answer!r:.60}: return the text of the answer")
        return answer


def names_of(game: SomeGame) -> list[str]:
    """Return the names of the players in prompts."""
    return [f"player_{seat}" for seat in range(game.rules.num_players)]


def first_prompt(game: SomeGame) -> str:
    """Return the prompt with which a conversation begins: rules card and position."""
    from quincunx_env.notation.prompts import prompt
    from quincunx_env.notation.rules_card import rules_card

    return prompt(game, game.mover, names_of(game), rules_card(game.rules))


class ChatPlayer:
    """The policy of a `ChatPolicy` under some rules."""

    preview = False

    def __init__(self, agent: ChatPolicy, rules: BaseRules) -> None:
        self.agent, self.observer = agent, make_observer(rules)

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose actions outside the arena, int64 [n]: legal ones, or `FORFEIT`. Nothing is kept."""
        place = {"policy": self.agent.__name__, "seating": 0, "seat": 0, "ply": 0}
        return self.choose(observation, rng, [{**place, "deal": row} for row in range(len(mask))])

    def choose(
        self,
        observation: Pieces,
        rng: np.random.Generator,
        places: Sequence[Mapping[str, Any]],
        kept: Conversations | None = None,
    ) -> Ints:
        """Choose actions, int64 [n]: legal ones, or `FORFEIT`.

        Args:
            observation: pieces of n positions.
            rng: completes what the seat does not know; prompts do not show it.
            places: the place of each decision, see `quincunx_env.policies.conversations.PLACE`.
            kept: decisions that are known, to which new ones are added.
        """
        from quincunx_env.notation.text import parse_action, print_action

        kept = kept or Conversations()
        seen = {piece.name: observation[piece.name] for piece in self.observer.pieces}
        batch = resample(self.observer, seen, rng)
        games = [batch.to_game(row) for row in range(len(places))]

        def ask(row: int) -> int:
            begun = time.monotonic()
            try:
                action, messages, illegal, fallback = self.agent.decide(games[row])
            except ModelError as error:
                raise ModelError(f"deal {places[row]['deal']}, seat {places[row]['seat']}: {error}") from error
            text = None if action == FORFEIT else print_action(games[row], action)
            result = {"messages": messages, "illegal": illegal, "fallback": fallback, "action": text}
            kept.add({**places[row], **result, "seconds": round(time.monotonic() - begun, 3)})
            return action

        actions = dict[int, int]()
        for row, place in enumerate(places):
            if (record := kept.find(place, first_prompt(games[row]))) is not None:
                text = record["action"]
                actions[row] = FORFEIT if text is None else parse_action(games[row], text)
        rest = [row for row in range(len(places)) if row not in actions]
        with ThreadPoolExecutor(self.agent.at_once) as pool:
            asked = {pool.submit(ask, row): row for row in rest}
            try:
                for future in _shown(as_completed(asked), len(asked), self.agent.__name__):
                    actions[asked[future]] = future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)  # answers that are under way are kept
                raise
        return np.array([actions[row] for row in range(len(places))], np.int64)


def _shown(futures: Iterable[Future[int]], total: int, name: str) -> Iterable[Future[int]]:
    """Show a progress bar of decisions in a terminal, if tqdm is installed and this is no worker process."""
    if multiprocessing.parent_process() is not None:
        return futures
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return futures
    return tqdm(futures, total=total, desc=name, unit="decision", leave=False, disable=None)
