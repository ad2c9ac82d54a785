"""Language models as policies, by a scripted chat."""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quincunx_env import Rules, spiral
from quincunx_env.arena import Deals, compare, evaluate
from quincunx_env.cli import main
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.policies import ChatPolicy, definition, display_name, resolve
from quincunx_env.quincunx.cards import card_name
from tests.variants import new_game


def first(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
    return mask.argmax(axis=1)


def first_legal(messages: Any) -> str:
    """Ask for the legal actions, then answer with the first."""
    last: str = messages[-1]["content"]
    if "announce points" in last:
        return "announce -64"
    if " may play " not in last:
        return "legal"
    card = last.split(" may play ")[1].split()[0].rstrip(".")
    return f"{card} {last.split(' at ')[1].split(')')[0]})" if " at " in last else card


@pytest.mark.parametrize(
    "rules",
    [Rules(), Rules(num_players=3, simpleton=True), spiral.Rules(deals=1), Rules(num_players=2, match=True)],
    ids=str,
)
def test_a_model_that_answers_with_the_first_action_plays_it(rules: BaseRules) -> None:
    """In every game, from every seat, on the same deals."""
    deals = Deals(2, "validation")
    if isinstance(rules, Rules) and rules.num_players == 1:
        one, other = (evaluate(agent, deals).scores for agent in (ChatPolicy(first_legal), first))
    else:
        one, other = (
            compare([agent, "greedy"], deals, rules=rules).totals for agent in (ChatPolicy(first_legal), first)
        )
    assert (one == other).all()


def test_what_is_no_legal_action_is_counted_and_answered(tmp_path: Path) -> None:
    game, answers, read = new_game(Rules(num_players=2), 0), ["Hm?", "AM (2, 2)", "rules", "LEGAL"], list[str]()
    legal = f"{card_name(game.hand(0)[0])} (0, 1)"

    def chat(messages: Any) -> str:
        read.append(messages[-1]["content"])
        return script.pop(0)

    kept = str(tmp_path / "new" / "transcript.jsonl")
    script = [*answers, legal]
    assert ChatPolicy(chat, answers=5, transcript=kept).decide(game) in game.legal_actions()
    assert read[0].startswith(rules_card(game.rules))
    assert [text.partition(":")[0] for text in read[1:3]] == ["Illegal", "Illegal"]
    assert "seat 0" not in "".join(read), "names stand for seats"
    assert read[3] == rules_card(game.rules)
    assert " may play " in read[4]
    script = [*answers]
    assert ChatPolicy(chat, transcript=kept).decide(game) == game.legal_actions()[0]
    script = [*answers]
    with pytest.raises(IllegalAction, match="no legal action in 4 answers: AM cannot be played"):
        ChatPolicy(chat, illegal="raise").decide(game)
    lines = [json.loads(line) for line in Path(kept).read_text().splitlines()]
    assert [(line["illegal"], line["action"]) for line in lines] == [(2, legal), (2, None)]
    assert [message["role"] for message in lines[0]["messages"]] == ["user", "assistant"] * 5
    with pytest.raises(ValueError, match=r"^illegal is 'next' or 'raise', and answers at least 1, got illegal='lose'"):
        ChatPolicy(chat, illegal="lose")  # type: ignore[arg-type]


def test_the_command_line_names_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And keeps its conversations beside the results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "its_chat.py").write_text("def chat(messages):\n    return 'I pass'\n")
    monkeypatch.delitem(sys.modules, "its_chat", raising=False)
    name = "chat:its_chat:chat"
    main(["compare", f"a={name}", f"b={name}", "--num-players", "2", "--deals", "2", "--out", "out"])
    assert "80 decisions by language models with 320 illegal answers, out/transcript.jsonl" in capsys.readouterr().out
    main(["evaluate", f"mine={name}", "--deals", "2", "--workers", "1", "--out", "one"])
    assert "| mine |" in capsys.readouterr().out
    assert (tmp_path / "one" / "transcript.jsonl").exists()
    agent = resolve(name)
    assert pickle.loads(pickle.dumps(agent)) == agent
    shown = f"quincunx_env.policies.chat:ChatPolicy(chat=its_chat:chat, name='{name}', answers=4, illegal='next')"
    assert (display_name(agent), definition(agent)) == (name, shown)
