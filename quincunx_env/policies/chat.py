"""Language models as policies: prompts out, answers in."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of

Message = dict[str, str]
"""``{"role": "user" or "assistant", "content": text}``."""

PREFIX = "chat:"
"""Beginning of the name of a `ChatPolicy`: ``"chat:module:attribute"``."""


@dataclass(frozen=True)
class ChatPolicy:
    """A language model as an agent; a `quincunx_env.core.policy.PolicyFactory`.

    Each decision is a new conversation. The prompt is the rules card and the position as the seat knows it. The
    model answers with an action, or asks for ``legal`` actions or ``rules``. After any other answer it reads why that
    is illegal, and answers again.

    Args:
        chat: returns the answer to messages.
        name: its name in tables, by default the name of ``chat``.
        answers: most answers in a decision, questions included.
        illegal: what happens if none of them is a legal action: ``"next"`` plays the first legal one, ``"raise"``
            raises `IllegalAction`.
        transcript: file to which each conversation is appended, as a line of JSON: ``messages``, ``illegal`` (the
            number of illegal answers) and ``action`` (as text, None without a legal answer).

    Raises:
        ValueError: for another ``illegal``, or if there is no answer.
    """

    chat: Callable[[list[Message]], str]
    name: str = ""
    answers: int = 4
    illegal: Literal["next", "raise"] = "next"
    transcript: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.illegal not in ("next", "raise") or self.answers < 1:
            options = f"illegal={self.illegal!r}, answers={self.answers!r}"
            raise ValueError(f"illegal is 'next' or 'raise', and answers at least 1, got {options}")

    @property
    def __name__(self) -> str:
        """Its name in tables."""
        return self.name or getattr(self.chat, "__name__", type(self.chat).__name__)

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the policy for games with these rules."""
        return _Chat(self, rules)

    def decide(self, game: SomeGame) -> int:
        """Ask for the action of the seat to move.

        Raises:
            IllegalAction: if no answer is a legal action, with ``illegal="raise"``.
        """
        from quincunx_env.notation.prompts import answer_of, prompt, read_action, with_names
        from quincunx_env.notation.rules_card import rules_card
        from quincunx_env.notation.text import print_action

        names, notation = [f"player_{seat}" for seat in range(game.rules.num_players)], spec_of(game.rules).notation
        messages, action, mistakes = list[Message](), None, list[str]()
        reply = prompt(game, game.mover, names, rules_card(game.rules))
        for _ in range(self.answers):
            messages.append({"role": "user", "content": reply})
            answer = self.chat([*messages])
            messages.append({"role": "assistant", "content": answer})
            question = answer_of(answer)
            if question == "LEGAL":
                reply = with_names(notation.describe_legal(game), names)
            elif question == "RULES":
                reply = rules_card(game.rules)
            else:
                try:
                    action = read_action(game, answer)
                    break
                except IllegalAction as error:
                    mistakes.append(with_names(str(error), names))
                    reply = f"Illegal: {mistakes[-1]}."
        self._keep(
            {
                "messages": messages,
                "illegal": len(mistakes),
                "action": None if action is None else print_action(game, action),
            }
        )
        if action is not None:
            return action
        if self.illegal == "raise":
            raise IllegalAction(f"no legal action in {self.answers} answers: {(mistakes or ['questions alone'])[-1]}")
        return game.legal_actions()[0]

    def _keep(self, conversation: Mapping[str, Any]) -> None:
        if self.transcript is not None:
            path = Path(self.transcript)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(conversation) + "\n")


class _Chat:
    """The policy of a `ChatPolicy` under some rules. It asks for one position after the other."""

    preview = False

    def __init__(self, agent: ChatPolicy, rules: BaseRules) -> None:
        self.agent, self.observer = agent, make_observer(rules)

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n]."""
        seen = {piece.name: observation[piece.name] for piece in self.observer.pieces}
        games = resample(self.observer, seen, rng)  # prompts show what the seat knows
        return np.array([self.agent.decide(games.to_game(row)) for row in range(len(mask))])
