"""The recipes for verifiers: its command evaluates scripted models behind an endpoint of this process."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from quincunx_agents.tasks import make_task
from quincunx_env import Game, Rules, rules_card

ROOT = Path(__file__).parents[2]
Model = Callable[[list[dict[str, str]]], str]
"""Returns the answer to messages."""


@contextmanager
def endpoint(models: dict[str, Model]) -> Iterator[str]:
    """The address of chat completions by these models."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": models[request["model"]](request["messages"])}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            head = {"id": "1", "object": "chat.completion", "created": 0, "model": request["model"]}
            body = json.dumps(head | {"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def evaluated(folder: Path, address: str, *options: str) -> list[dict[str, Any]]:
    """The traces that the command of verifiers writes."""
    command = [
        str(Path(sys.executable).parent / "vf-eval"),
        *options,
        "--client.base-url",
        address,
        "--output-dir",
        ".",
    ]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "train" / "recipes")]),
        **{"PRIME_API_KEY": "none", "HOME": str(folder), "XDG_CACHE_HOME": str(folder)},
    }
    run = subprocess.run(
        [*command, "--no-push", "--no-rich", "--run.dir", "run"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3_000:]
    lines = [line for path in folder.rglob("traces.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def test_rewards_are_the_worth_of_the_answers(tmp_path: Path) -> None:
    """Every second answer is the best one; others are another play, or none."""
    tasks = [make_task(4, number, renamed=True) for number in range(6)]
    plays = [[*task.metadata["values"]] for task in tasks]
    answers = [task.answer if number % 2 else plays[number][0] for number, task in enumerate(tasks)]
    answers[0] = "I pass."
    by_question = {
        task.question: f"<think>Hm.</think>{answer}</s>" for task, answer in zip(tasks, answers, strict=True)
    }
    options = ("--env.taskset.level", "4", "--env.taskset.renamed", "True", "--env.agent.runtime.type", "subprocess")
    with endpoint({"scripted": lambda messages: by_question[messages[-1]["content"]]}) as address:
        episodes = evaluated(tmp_path, address, "verifiers_tasks", "--model", "scripted", "-n", "6", *options)
    found = {each["task"]["data"]["idx"]: each["traces"][0]["rewards"]["worth"]["score"] for each in episodes}
    assert found == {number: task.score(answers[number]) for number, task in enumerate(tasks)}
    assert (found[0], found[1]) == (0, 1)


def first_play(messages: list[dict[str, str]], last: bool = False) -> str:
    """A model that asks for the legal actions, and plays the first (or last) card into the first cell."""
    words = re.search(r"may play (.*) at (\(\d, \d\))", messages[-1]["content"])
    return f"{words[1].split()[-last]} {words[2]}<|im_end|>" if words else "legal"


def last_play(messages: list[dict[str, str]]) -> str:
    """Another one: the last card."""
    return first_play(messages, last=True) if " may play " in messages[-1]["content"] else "legal"


def test_two_models_play_each_other(tmp_path: Path) -> None:
    seen: list[list[dict[str, str]]] = []

    def keeping(messages: list[dict[str, str]]) -> str:
        seen.append(messages)
        return last_play(messages)

    options = ("--model", "first", "--env.player-1.model", "last", "-n", "3")
    with endpoint({"first": first_play, "last": keeping}) as address:
        episodes = evaluated(tmp_path, address, "verifiers_game", *options)
    assert len(episodes) == 3
    for episode in episodes:
        game = Game.from_seed(Rules(2), episode["task"]["data"]["idx"])
        while not game.over:
            game.play(game.legal_cards()[-game.mover], game.legal_cells()[0])
        won = {trace["agent"]["name"]: trace["rewards"]["won"] for trace in episode["traces"]}
        assert {name: each["score"] for name, each in won.items()} == {
            f"player_{seat}": (seat in game.winners) / len(game.winners) for seat in range(2)
        }
        assert {trace["metrics"]["mistakes"] for trace in episode["traces"]} == {0}
    first = seen[0][0]["content"]
    assert first.startswith(rules_card(Rules(2)))
    assert "\nplayer_0: " in first, "the opponent's play follows the rules"


def test_too_many_mistakes_lose_the_game(tmp_path: Path) -> None:
    with endpoint({"first": first_play, "fool": lambda messages: "I pass."}) as address:
        options = ("--model", "first", "--env.player-1.model", "fool", "--env.mistakes", "2", "-n", "1")
        [episode] = evaluated(tmp_path, address, "verifiers_game", *options)
    by_name = {trace["agent"]["name"]: trace for trace in episode["traces"]}
    assert {name: trace["rewards"]["won"]["score"] for name, trace in by_name.items()} == {"player_0": 1, "player_1": 0}
    assert by_name["player_1"]["metrics"]["mistakes"] == 3
    assert by_name["player_0"]["metrics"]["mistakes"] == 0
