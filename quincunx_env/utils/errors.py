"""Ends of programs: one line for an error, and an exit status."""

import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from quincunx_env.utils.extras import needs_extra

ERROR = 2
"""Exit status for errors that the message explains, as for a wrong command line."""


AT_ONCE = 0.2
"""Seconds within which several signals count as one: ``timeout`` sends SIGTERM to a process and to its group."""


class Terminated(KeyboardInterrupt):
    """SIGTERM has arrived, which batch systems, containers and ``timeout`` send."""


def fail(message: object, status: int = ERROR) -> NoReturn:
    """End the program with one line on stderr and an exit status."""
    _end(f"error: {message}", status)


def printable(text: object) -> str:
    r"""Escape characters that a terminal would follow.

    A message may have them from a file.

    >>> print(printable("a\x1b[2Jb, é"))
    a\x1b[2Jb, é
    """
    shown = (each if each.isprintable() else each.encode("unicode_escape").decode() for each in str(text))
    return "".join(shown)


def _end(message: str, status: int) -> NoReturn:
    print(printable(re.sub(r"\s*\n\s*", " ", message.strip())), file=sys.stderr)
    raise SystemExit(status)


@contextmanager
def one_line_errors(*kinds: type[Exception], remedy: Callable[[], str] = str) -> Iterator[None]:
    """End the program with one line if the block fails.

    The line goes to stderr in place of a traceback, also after an interrupt.

    The exit status is `ERROR` after errors of files (`OSError`: full disk, read-only folder, ...) and of the given
    kinds. It is 130 after an interrupt and 143 after SIGTERM, which raises `Terminated` in the block. Other exceptions
    are faults of the program and keep their traceback. A second signal ends the process wherever it is.

    Args:
        kinds: other exceptions whose message explains the error.
        remedy: returns how to continue, which is appended to every message.
    """
    errors: tuple[type[Exception], ...] = (OSError, *kinds)
    main_thread = threading.current_thread() is threading.main_thread()
    previous = signal.signal(signal.SIGTERM, _terminate) if main_thread else None
    try:
        with _second_signal_ends() if main_thread else nullcontext():
            yield
    except BrokenPipeError:  # the reader of the output has seen enough: no error of the program
        raise
    except errors as error:
        fail(_with(remedy, str(error)))
    except Terminated:
        _end(_with(remedy, "terminated"), 128 + signal.SIGTERM)
    except KeyboardInterrupt:
        _end(_with(remedy, "interrupted"), 128 + signal.SIGINT)
    finally:
        if main_thread:
            signal.signal(signal.SIGTERM, previous)


def _with(remedy: Callable[[], str], message: str) -> str:
    return "; ".join(filter(None, (message, remedy())))


if hasattr(os, "register_at_fork"):  # otherwise signals of a fork would be the parent's, too
    os.register_at_fork(after_in_child=partial(signal.set_wakeup_fd, -1))


@contextmanager
def _second_signal_ends() -> Iterator[None]:
    """End the process at a second signal, even in C code."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def watch() -> None:
        first = 0.0
        while number := reader.recv(1):
            if number[0] in (signal.SIGINT, signal.SIGTERM):
                first = first or time.monotonic()
                if time.monotonic() - first > AT_ONCE:
                    os._exit(128 + number[0])
        reader.close()

    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()


def _terminate(number: int, frame: Any) -> NoReturn:
    signal.signal(number, lambda *_: None)  # once is enough: ``timeout`` sends it to the process and to its group
    raise Terminated


def require_writable(folder: Path, option: str = "--out") -> None:
    """Check that results can be written, before games are played; creates nothing.

    Raises:
        ValueError: if the folder is a file.
        OSError: if nothing can be written there.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise ValueError(f"{existing} is a file: choose another folder for the results with {option}")
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"0")
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"nothing can be written to {folder} ({reason}): choose another folder with {option}") from error


@contextmanager
def requires_extra(extra: str, feature: str = "this program") -> Iterator[None]:
    """End the program if a library that the block imports is missing.

    The message is the command that installs its extra.
    """
    try:
        with needs_extra(extra, feature):
            yield
    except ModuleNotFoundError as error:
        fail(error)
