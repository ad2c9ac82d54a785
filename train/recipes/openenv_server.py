"""Serve the text environment to language models over OpenEnv.

The module has an environment, its server and its client.

    pip install . openenv --constraint constraints/openenv.txt    # more than 100 packages: use a new environment

OpenEnv (Hugging Face and Meta) serves environments over the network. TRL, verifiers and other libraries that train or
evaluate language models use its clients::

    import uvicorn
    from train.recipes.openenv_server import server

    uvicorn.run(server(opponents="greedy", max_mistakes=3), port=8000)

In the program that asks the model::

    from train.recipes.openenv_server import QuincunxAction, QuincunxClient

    with QuincunxClient(base_url="http://localhost:8000").sync() as env:
        result = env.reset(seed=0)
        while not result.done:
            result = env.step(QuincunxAction(answer=chat(result.observation.prompt)))
"""

import uuid
from functools import partial
from typing import Any

from fastapi import FastAPI
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
from pydantic import Field

from quincunx_env.envs.text import TextEnv


class QuincunxAction(Action):  # type: ignore[misc]  # types are checked without OpenEnv
    """An answer to a prompt."""

    answer: str = Field(description="the text of a language model: its last line, or <action>, holds one action")


class QuincunxObservation(Observation):  # type: ignore[misc]
    """A prompt. ``metadata`` is the info of `TextEnv`, ``reward`` the reward of the last answer, ``done`` the end."""

    prompt: str = Field(description="what happened, the position, and how to answer")


class QuincunxState(State):  # type: ignore[misc]
    """The episode and its score so far."""

    seat: int = Field(description="the seat of the agent")
    totals: list[int] = Field(description="points of each seat in the game so far")
    mistakes: int = Field(description="illegal answers in this episode")


class QuincunxEnvironment(Environment[QuincunxAction, QuincunxObservation, QuincunxState]):  # type: ignore[misc]
    """`TextEnv` with the interface of OpenEnv.

    Args:
        options: options of `quincunx_env.envs.text.TextEnv`.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.env = TextEnv(**options)
        self._episode, self._steps = "", 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> QuincunxObservation:
        """Deal a game.

        Args:
            seed: as in `TextEnv.reset`.
            episode_id: name of the episode; a random one by default.
            options: of `TextEnv.reset`: ``deal``. Rules and opponents are options of the `server`.

        Raises:
            ValueError: as `TextEnv.reset` does.
        """
        prompt, info = self.env.reset(seed=seed, options=options or None)
        self._episode, self._steps = episode_id or str(uuid.uuid4()), 0
        return QuincunxObservation(prompt=prompt, metadata=info)

    def step(self, action: QuincunxAction, timeout_s: float | None = None, **options: Any) -> QuincunxObservation:
        """Read an answer; ``timeout_s`` and other options are not used."""
        prompt, reward, terminated, _, info = self.env.step(action.answer)
        self._steps += 1
        return QuincunxObservation(prompt=prompt, reward=reward, done=terminated, metadata=info)

    @property
    def state(self) -> QuincunxState:
        """The episode and its score so far.

        Raises:
            ResetNeeded: before the first reset.
        """
        env, episode = self.env, {"episode_id": self._episode, "step_count": self._steps}
        return QuincunxState(**episode, seat=env.seat, totals=[*env.game.totals], mistakes=env.mistakes)

    def get_metadata(self) -> EnvironmentMetadata:
        """Return name, version and description."""
        about = (TextEnv.__doc__ or "").partition("\n")[0]
        return EnvironmentMetadata(name="quincunx", version="v0", description=about)

    def close(self) -> None:
        """Close the window, if there is one."""
        self.env.close()


class QuincunxClient(EnvClient[QuincunxAction, QuincunxObservation, QuincunxState]):  # type: ignore[misc]
    """Client of a `server`, asynchronous; ``.sync()`` is the other one."""

    def _step_payload(self, action: QuincunxAction) -> dict[str, Any]:
        return {"answer": action.answer}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[QuincunxObservation]:
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = QuincunxObservation(**payload["observation"], reward=reward, done=done)
        return StepResult(observation=observation, reward=reward, done=done, metadata=observation.metadata)

    def _parse_state(self, payload: dict[str, Any]) -> QuincunxState:
        return QuincunxState(**payload)


def server(max_concurrent_envs: int = 64, **options: Any) -> FastAPI:
    """Return a web application that serves games, each client its own.

    Args:
        max_concurrent_envs: most clients at the same time.
        options: options of `quincunx_env.envs.text.TextEnv`.

    Raises:
        ValueError: for an invalid option.
        TypeError: for an unknown option.
    """
    TextEnv(**options).close()  # wrong options are refused here, not at the first request
    make = partial(QuincunxEnvironment, **options)
    return create_fastapi_app(
        *(make, QuincunxAction, QuincunxObservation),
        max_concurrent_envs=max_concurrent_envs,
        env_name="quincunx",
        state_cls=QuincunxState,
    )
