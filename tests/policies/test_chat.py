"""Language models as policies, by a scripted chat."""

import json
import pickle
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quincunx_env import Rules, make_observer, resample, spiral
from quincunx_env.arena import Deals, Run, compare, evaluate, evaluate_all, table, tournament
from quincunx_env.arena.benchmark import evaluate_on_task
from quincunx_env.cli import main
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.prompts import MAX_KEPT
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.notation.text import print_action
from quincunx_env.policies import ChatPolicy, definition, display_name, resolve
from quincunx_env.policies.chat import FORFEIT, ModelError, first_prompt
from quincunx_env.policies.conversations import MARK
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


@pytest.mark.parametrize("rules", [Rules(num_players=3, match=True), spiral.Rules(deals=4)], ids=["match", "spiral"])
def test_the_prompt_is_the_same_of_a_game_and_of_what_a_seat_knows_of_it(rules: Any) -> None:
    """The arena makes its prompts from resampled games, `Quincunx/Text-v0` from true ones."""
    game, observer, rng = new_game(rules, 0), make_observer(rules), np.random.default_rng(0)
    while not game.over:
        known = resample(observer, observer.observe(game, game.mover), rng).to_game(0)
        assert first_prompt(known) == first_prompt(game)
        game.step(game.legal_actions()[0])
    assert game.round > 1


def test_what_is_no_legal_action_is_counted_and_answered() -> None:
    game, answers, read = new_game(Rules(num_players=2), 0), ["Hm?", "AM (2, 2)", "rules", "LEGAL"], list[str]()
    legal = f"{card_name(game.hand(0)[0])} (0, 1)"

    def chat(messages: Any) -> str:
        read.append(messages[-1]["content"])
        return script.pop(0)

    script = [*answers, legal]
    found = ChatPolicy(chat, answers=5).decide(game)
    assert found.action in game.legal_actions()
    assert (found.illegal, found.fallback) == (2, False)
    assert [message["role"] for message in found.messages] == ["user", "assistant"] * 5
    assert read[0].startswith(rules_card(game.rules))
    assert [text.partition(":")[0] for text in read[1:3]] == ["Illegal", "Illegal"]
    assert "seat 0" not in "".join(read), "names stand for seats"
    assert read[3] == rules_card(game.rules)
    assert " may play " in read[4]
    for illegal, action in (("fallback", game.legal_actions()[0]), ("forfeit", FORFEIT)):
        script = [*answers]
        found = ChatPolicy(chat, illegal=illegal).decide(game)  # type: ignore[arg-type]
        assert (found.action, found.illegal, found.fallback) == (action, 2, True)
    script = [*answers]
    with pytest.raises(IllegalAction, match="no legal action in 4 answers: AM cannot be played"):
        ChatPolicy(chat, illegal="raise").decide(game)


async def sleepy(messages: Any) -> str:
    return "legal"


class Sleepy:
    """A client with an asynchronous call."""

    async def __call__(self, messages: Any) -> str:
        """Answer later."""
        return "legal"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"illegal": "next"}, "illegal must be one of 'fallback', 'forfeit', 'raise', got 'next'"),
        ({"answers": 0}, "answers must be"),
        ({"at_once": 0}, "at_once must be"),
        ({"retries": -1}, "retries must be"),
        ({"chat": sleepy}, "sleepy is a coroutine function: pass one that calls it by asyncio.run"),
        ({"chat": Sleepy()}, "Sleepy is a coroutine function"),
    ],
)
def test_wrong_options_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChatPolicy(**{"chat": first_legal} | options)


def test_models_answer_in_several_forms() -> None:
    """Content parts are a text, nothing is an illegal answer, a number is an error of the program."""
    game = new_game(Rules(), 0)
    legal = print_action(game, game.legal_actions()[0])
    script: list[Any] = [None, "", [{"type": "image"}, 3], [{"type": "text", "text": legal}]]
    found = ChatPolicy(lambda messages: script.pop(0)).decide(game)
    assert (found.action, found.illegal) == (game.legal_actions()[0], 3)
    read = list[Any]()

    def endless(messages: Any) -> str:
        read.append(messages)
        return "x" * 2_000_000 if len(messages) == 1 else legal

    assert ChatPolicy(endless).decide(game).illegal == 1
    assert len(read[1][1]["content"]) == MAX_KEPT, "of a long answer the end is sent back"
    with pytest.raises(ModelError, match="the model returned 7: return the text of the answer"):
        ChatPolicy(lambda messages: 7, retries=0).decide(game)


# --- In the arena ----------------------------------------------------------------------------------------------------


class Model:
    """A model of varying honesty, which fails at one of its calls.

    It lies in every third decision of a game's first card, by four illegal answers. It counts for itself.
    """

    def __init__(self, lies: bool, fails_at: int = 0) -> None:
        self.lies, self.fails_at, self.calls, self.lied = lies, fails_at, 0, 0
        self.asked = list[str]()
        self.lock = threading.Lock()

    def __reduce__(self) -> Any:
        return Model, (self.lies,)  # whether it fails is no part of what it is

    def __call__(self, messages: Any) -> str:
        """Answer, lie or fail."""
        with self.lock:
            self.calls += 1
            if self.calls == self.fails_at:
                raise TimeoutError("too slow")
            if len(messages) == 1:
                self.asked.append(messages[0]["content"])
            if self.lies and zlib.crc32(messages[0]["content"].encode()) % 3 == 0:
                self.lied += 1
                return "I pass"
        return first_legal(messages)


def evaluated(model: Model, at_once: int, out: Path) -> Any:
    policy = ChatPolicy(model, "m", at_once=at_once, retries=0)
    found = evaluate(policy, 20, run=Run(out=out, chunk=8))
    return found.scores.tolist(), found.answers


def compared(model: Model, at_once: int, out: Path) -> Any:
    policies: Any = {"m": ChatPolicy(model, "m", at_once=at_once, retries=0), "g": "greedy"}
    found = compare(policies, 6, rules=Rules(num_players=3), run=Run(out=out, chunk=4))
    return found.totals.tolist(), found.answers


def held(model: Model, at_once: int, out: Path) -> Any:
    policies: Any = {"m": ChatPolicy(model, "m", at_once=at_once, retries=0), "g": "greedy", "u": "uniform"}
    found = tournament(policies, 4, run=Run(out=out, chunk=3))
    totals = {pair: each.totals.tolist() for pair, each in found.comparisons.items()}
    return totals, found.answers


@pytest.mark.parametrize("at_once", [1, 16])
@pytest.mark.parametrize("play", [evaluated, compared, held])
def test_answers_are_never_lost(play: Any, at_once: int, tmp_path: Path) -> None:
    whole, failing, second = Model(True), Model(True, 151), Model(True)
    expected = play(whole, at_once, tmp_path / "whole")
    with pytest.raises(ModelError, match=r"^the policy m: deal \d+, seat \d: TimeoutError in its call: too slow$"):
        play(failing, at_once, tmp_path / "torn")
    [*files] = (tmp_path / "torn" / "conversations").iterdir()
    kept = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert len(kept) >= 151 // 5 - at_once
    with files[-1].open("a") as file:
        file.write('{"policy": "m", "dea')  # a kill in mid-line
    assert play(second, at_once, tmp_path / "torn") == expected
    assert sorted([record["messages"][0]["content"] for record in kept] + second.asked) == sorted(whole.asked)


def test_counts_are_of_each_model(tmp_path: Path) -> None:
    honest, liar = Model(False), Model(True)
    policies = {"honest": ChatPolicy(honest), "liar": ChatPolicy(liar)}
    found = evaluate_all(policies, 10, run=Run(out=tmp_path))
    for name, model in (("honest", honest), ("liar", liar)):
        counts = found[name].answers
        assert counts is not None
        assert counts == (len(model.asked), model.lied, model.lied // 4)
        assert counts.suspicious == model.lies
        [path] = (tmp_path / "conversations").glob(f"{name}.*.jsonl")
        records = [json.loads(line) for line in path.read_text().splitlines()]
        assert len(records) == counts.decisions
        assert sum(record["illegal"] for record in records) == counts.illegal
        assert {record["policy"] for record in records} == {name}
        assert all(record["fallback"] == (record["illegal"] == 4) for record in records)
    shown = table(found)
    assert f"| liar {MARK} |" in shown
    assert "| honest |" in shown
    assert f"{MARK} liar: no answer was legal in" in shown
    again = evaluate_all({"liar": policies["liar"]}, 10, run=Run(out=tmp_path))
    assert again["liar"].answers == found["liar"].answers, "from the records"
    assert evaluate("greedy", 10, run=Run(out=tmp_path)).answers is None
    both = compare(policies, 4, rules=Rules(num_players=2), run=Run(out=tmp_path))
    assert both.answers.keys() == {"honest", "liar"}
    assert f"| liar {MARK} |" in both.table()
    result = evaluate_on_task("solitaire", policies["liar"], deals=4, name="liar", run=Run(out=tmp_path))
    assert result.answers is not None
    assert result.answers.decisions > 0


def test_a_forfeit_ends_the_game_as_lost(tmp_path: Path) -> None:
    passing = ChatPolicy(lambda messages: "I pass", "p", illegal="forfeit")
    alone = evaluate(passing, 2)
    assert alone.lost.all()
    assert alone.answers == (2, 8, 2)
    several = compare([passing, "greedy"], 2, rules=Rules(num_players=3))
    assert (several.wins[:, 0] == 0).all()
    assert (several.margins[:, 0] < 0).all()
    for play in (lambda run: evaluate(passing, 2, run=run), lambda run: compare([passing, "greedy"], 2, run=run)):
        with pytest.raises(ValueError, match="p may forfeit games, which no file of games can hold"):
            play(Run(records=tmp_path / "games.npz"))


def test_failures_are_repeated_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = list[float]()
    monkeypatch.setattr(time, "sleep", pauses.append)
    game = new_game(Rules(), 0)
    model = Model(False, fails_at=2)
    assert ChatPolicy(model).decide(game).action in game.legal_actions()
    assert pauses == [1]

    def broken(messages: Any) -> str:
        raise ConnectionResetError(104, "reset by peer")

    pauses.clear()
    with pytest.raises(ModelError, match="ConnectionResetError in 4 calls:"):
        ChatPolicy(broken).decide(game)
    assert pauses == [1, 2, 4]


def test_the_command_line_names_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And keeps its conversations beside the results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "its_chat.py").write_text(
        "from quincunx_env.policies import ChatPolicy\n"
        "def chat(messages):\n    return 'I pass'\n"
        "def slow(messages):\n    raise TimeoutError('too slow')\n"
        "late = ChatPolicy(slow, 'late', at_once=4, retries=0)\n"
        "def disk(observation, mask, rng):\n    raise OSError(28, 'No space', 'its/file')\n"
    )
    monkeypatch.delitem(sys.modules, "its_chat", raising=False)
    name = "chat:its_chat:chat"
    line = ["compare", f"a={name}", f"b={name}", "--num-players", "2", "--deals", "2", "--out", "out"]
    for _ in range(2):
        main(line)
        printed = capsys.readouterr().out
        assert "| a | 40 | 160 | 40 |" in printed
        assert "| b | 40 | 160 | 40 |" in printed
    main(["evaluate", "greedy", "--deals", "2", "--workers", "1", "--out", "out"])
    assert "language model" not in capsys.readouterr().out
    main(["evaluate", f"mine={name}", "--deals", "2", "--workers", "1", "--out", "one"])
    assert f"| mine {MARK} |" in capsys.readouterr().out
    assert json.loads(Path("one/result.json").read_text())["evaluations"]["mine"]["answers"]["decisions"] > 0
    with pytest.raises(SystemExit):
        main(["evaluate", "late=its_chat:late", "--deals", "2", "--workers", "1", "--out", "two"])
    told = capsys.readouterr().err
    assert "error: the policy late: deal " in told
    with pytest.raises(OSError, match="its/file") as caught:
        main(["compare", "disk=its_chat:disk", "greedy", "--deals", "2"])
    assert caught.value.__notes__ == ["raised by the policy disk"]
    agent = resolve(name)
    assert pickle.loads(pickle.dumps(agent)) == agent
    shown = f"quincunx_env.policies.chat:ChatPolicy(chat=its_chat:chat, name='{name}', answers=4, illegal='fallback')"
    assert (display_name(agent), definition(agent)) == (name, shown)
