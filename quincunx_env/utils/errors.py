"""Ends of programs: one line for an error, and an exit status."""

import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from quincunx_env.utils.extras import needs_extra
from quincunx_env.utils.files import followed, is_special

ERROR = 2
"""Exit status for errors that the message explains, as for a wrong command line."""


LONGEST_NAME = 200
"""Characters of the name of a file in a message."""


RAISED_BY = "raised by the policy"
"""Beginning of the note on an exception that a policy raises."""


def raised_by_policy(error: BaseException) -> bool:
    """Return whether a policy raised this exception. Then its author needs the traceback."""
    return any(note.startswith(RAISED_BY) for note in getattr(error, "__notes__", ()))


class Terminated(KeyboardInterrupt):
    """SIGTERM has arrived, which batch systems, containers and ``timeout`` send."""


def fail(message: object, status: int = ERROR) -> NoReturn:
    """End the program with one line on stderr and an exit status."""
    _end(f"error: {message}", status)


def printable(text: object) -> str:
    r"""Escape characters that a terminal would follow, as a message may have them from a file.

    >>> print(printable("a\x1b[2Jb, é"))
    a\x1b[2Jb, é
    """
    shown = (each if each.isprintable() else each.encode("unicode_escape").decode() for each in str(text))
    return "".join(shown)


def without_middle(text: str, most: int) -> str:
    """Return a text; of one with more than ``most`` characters only the beginning and the end.

    >>> without_middle("abcdefgh", 4)
    'ab...gh'
    """
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 2 :]}"


def in_words(error: OSError) -> str:
    """Return the message of an error of a file, without its number.

    >>> in_words(FileNotFoundError(2, "No such file or directory", "a.toml"))
    "No such file or directory: 'a.toml'"
    >>> in_words(OSError(28, "No space left on device"))
    'No space left on device'
    """
    if error.strerror is None or error.filename is None:
        return error.strerror or str(error)
    return f"{error.strerror}: {without_middle(str(error.filename), LONGEST_NAME)!r}"


def _end(message: str, status: int) -> NoReturn:
    print(printable(re.sub(r"\s*\n\s*", " ", message.strip())), file=sys.stderr)
    raise SystemExit(status)


@contextmanager
def one_line_errors(*kinds: type[Exception], remedy: Callable[[], str] = str) -> Iterator[None]:
    """End the program with one line on stderr, without a traceback, if the block fails or is interrupted.

    The exit status is `ERROR` after errors of files (`OSError`: full disk, read-only folder, ...) and of the given
    kinds. What a policy raises keeps its traceback. The status is 130 after an interrupt and 143 after SIGTERM, which
    raises `Terminated` in the block. Other exceptions are faults of the program and keep their traceback.

    Args:
        kinds: other exceptions whose message explains the error.
        remedy: returns how to continue, which is appended to every message.
    """
    previous = signal.getsignal(signal.SIGTERM)
    outermost = threading.current_thread() is threading.main_thread() and previous is not _terminate
    if outermost:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except BrokenPipeError:  # the reader of the output has seen enough: no error of the program
        raise
    except OSError as error:
        if raised_by_policy(error):  # such as a time-out of its server: no error of our files
            raise
        fail(_with(remedy, in_words(error)))
    except kinds as error:
        fail(_with(remedy, str(error)))
    except Terminated:
        _end(_with(remedy, "terminated"), 128 + signal.SIGTERM)
    except KeyboardInterrupt:
        _end(_with(remedy, "interrupted"), 128 + signal.SIGINT)
    finally:
        if outermost:
            signal.signal(signal.SIGTERM, previous)


def _with(remedy: Callable[[], str], message: str) -> str:
    return "; ".join(filter(None, (message, remedy())))


def _terminate(number: int, frame: Any) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # ``timeout`` sends it to the process and to its group
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


def require_writable_path(path: Path, option: str) -> None:
    """Check, as `require_writable`, that a file can be written; through a link its target. A pipe is not tried."""
    if not is_special(path):
        require_writable(followed(path).parent, option)


@contextmanager
def requires_extra(extra: str, feature: str = "this program") -> Iterator[None]:
    """End the program if a library that the block imports is missing, and name the command that installs its extra."""
    try:
        with needs_extra(extra, feature):
            yield
    except ModuleNotFoundError as error:
        fail(error)
