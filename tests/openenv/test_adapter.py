"""The recipe for OpenEnv: a server, and scripted clients that play through it."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
import uvicorn
from openenv.core.generic_client import GenericEnvClient

from quincunx_env.envs.text import TextEnv
from quincunx_env.notation.text import print_action
from tests.variants import random_action
from train.recipes.openenv_server import QuincunxAction, QuincunxClient, server

VARIANTS: dict[str, dict[str, Any]] = {
    "solitaire": {},
    "three players": {"opponents": "greedy", "num_players": 3, "simpleton": True, "names": ["Ada", "Ben", "Cy"]},
    "spiral": {"opponents": "greedy", "game": "spiral", "deals": 1, "max_mistakes": 100},
}


@contextmanager
def serving(**options: Any) -> Iterator[str]:
    """The address of a server in a thread of this process."""
    config = uvicorn.Config(server(**options), port=0, log_level="error")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        while not running.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join()


def answers(env: TextEnv, seed: int) -> Iterator[str]:
    """Answers to an environment in its state at that time: a fifth are mistakes."""
    rng, game = random.Random(seed), cast(Any, env)
    while True:
        yield "nonsense" if rng.random() < 0.2 else print_action(env.game, random_action(game.game, rng)).lower()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_client_plays_the_games_of_the_text_environment(name: str) -> None:
    options = VARIANTS[name]
    local = TextEnv(**options)
    with serving(**options) as address, QuincunxClient(base_url=address).sync() as env:
        for seed in range(5):
            result, (prompt, info) = env.reset(seed=seed), local.reset(seed=seed)
            assert (result.observation.prompt, result.metadata, result.done) == (prompt, info, False)
            for number, answer in enumerate(answers(local, seed), 1):
                result = env.step(QuincunxAction(answer=answer))
                prompt, reward, over, _, info = local.step(answer)
                assert (result.observation.prompt, result.reward, result.done) == (prompt, reward, over)
                assert result.metadata == info
                state = env.state()
                assert (state.totals, state.seat, state.step_count) == (local.game.totals, local.seat, number)
                if over:
                    break


def test_clients_have_games_of_their_own() -> None:
    """A client that knows no types, as libraries use it, beside another one."""
    with serving() as address:
        clients = [GenericEnvClient(base_url=address).sync() for _ in range(2)]
        with clients[0] as one, clients[1] as other:
            first = [client.reset(seed=seed).observation["prompt"] for seed, client in enumerate((one, other))]
            assert first[0] != first[1]
            assert one.step({"answer": "legal"}).observation["prompt"].startswith("player_0 may play ")
            assert other.state()["step_count"] == 0
            with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
                one.step({"text": "legal"})


def test_wrong_options_are_refused_before_the_server_starts() -> None:
    with pytest.raises(ValueError, match="several players need opponents="):
        server(game="spiral")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        server(colour=True)
