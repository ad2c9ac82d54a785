"""Ask language models tasks with exact answers over verifiers, which evaluates and trains: docs/language_models.md."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import openai
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

from quincunx_agents.tasks import make_task

__all__ = ["Chat", "Tasks"]


class Question(vf.TaskData):  # type: ignore[misc]  # types are checked without verifiers
    """A question, with the arguments of `make_task`."""

    arguments: dict[str, int]


class Asked(vf.Task[Question, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """A question with its reward."""

    @vf.reward  # type: ignore[untyped-decorator]
    async def worth(self, trace: Any) -> float:
        """Return the worth of the last answer, from 0 to 1."""
        return make_task(**self.data.arguments).score(trace.last_reply)


class TasksConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Arguments of `make_task`."""

    level: int = 1
    renamed: bool = False


class Tasks(vf.Taskset[Asked, TasksConfig]):  # type: ignore[misc]
    """The tasks of a level, without end."""

    INFINITE = True

    def load(self) -> Iterator[Asked]:
        """Yield the tasks."""
        for number in count():
            arguments = {"level": self.config.level, "number": number, "renamed": self.config.renamed}
            yield Asked(Question(prompt=make_task(**arguments).question, arguments=arguments), self.config.task)


class Chat(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
    """Conversations without tools, in this process."""

    SUPPORTS_RESUME, EXECUTES_CODE, NEEDS_CONTAINER = True, False, False

    async def launch(self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp: Any, data: Any) -> Any:
        """Send the conversation; verifiers keeps the answer."""
        sent = (vf.UserMessage(content=data.prompt),) if isinstance(data.prompt, str) else data.prompt
        async with openai.AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            await client.chat.completions.create(model=ctx.model, messages=[*map(message_to_wire, sent)])
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")
