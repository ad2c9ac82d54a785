"""Running a subcommand, which ends with one line after an error."""

import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from quincunx_env.cli.options import GameOptions
from quincunx_env.cli.parser import parse
from quincunx_env.policies import UntrustedFileError
from quincunx_env.policies.chat import ModelError
from quincunx_env.utils.errors import fail, one_line_errors, raised_by_policy


def resumed_by(line: str, out: Path) -> AbstractContextManager[None]:
    """Name the command line that resumes, if games are stored in ``out``."""

    def remedy() -> str:
        kept = [
            *(["finished games"] if any(out.rglob("[!.]*.npz")) else ()),
            *(["conversations"] if any((out / "conversations").glob("*.jsonl")) else ()),
        ]
        return f"{' and '.join(kept)} are stored, this resumes: {line}" if kept else ""

    return one_line_errors(ModelError, remedy=remedy)


def run(command: type[Any], description: str | None, name: str, arguments: Sequence[str]) -> None:
    """Run a subcommand.

    ``command`` is the dataclass of its options. Its method ``run`` gets the whole command line.
    """
    line = f"quincunx {shlex.join([name, *arguments])}"
    with one_line_errors():
        try:
            options = parse(command, f"quincunx {name}", description, arguments)
            if isinstance(options, GameOptions):
                options.refuse_other_game(arguments)
            options.run(line)
        except UntrustedFileError as error:
            fail(f"{error}: {line} --trust")
        except (ValueError, ImportError) as error:
            if raised_by_policy(error):
                raise
            fail(error)
