"""Atomic file writes; texts that people edit; files of packages."""

import codecs
import csv
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import get_ident

UNFINISHED = re.compile(r"\..*\.unfinished-(?P<host>.*)-(?P<process>\d+)(_\d+)?(\.[^.]*)?")
"""Names of temporary files; they name the writing process."""

ABANDONED = 86_400.0
"""Age in seconds from which a temporary file of another machine counts as abandoned; longer than any write takes."""


MOST_BYTES = 2**20
"""Upper limit of a text that is read, in bytes; not tuned. Parsed, JSON takes up to thirty times as much memory."""


def write_atomically(path: Path | str, write: Callable[[Path], object]) -> None:
    """Write a file atomically: ``path`` holds the old content or the new, whatever interrupts the write.

    A link stays, and its target is written. A device or a pipe is written straight. The first write of a process to a
    folder removes the temporary files that killed processes left there.

    Args:
        path: where the file goes; missing folders are created.
        write: writes the content to the temporary path it gets, which replaces ``path`` once it is on disk.

    Raises:
        OSError: if the file cannot be written, naming it or its folder.
    """
    path = Path(path)
    if is_special(path):
        write(path)
        return
    path = followed(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_once(path.parent.resolve())
    unfinished = path.with_name(f".{path.stem}.unfinished-{platform.node()}-{os.getpid()}_{get_ident()}{path.suffix}")
    try:
        write(unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        if error.errno is None:
            raise
        # The failing call names the temporary file, or none where the disk is full.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)


def exists(path: Path) -> bool:
    """Return whether a file or folder exists. One whose name is too long does not."""
    try:
        return path.exists()
    except OSError:
        return False


def is_special(path: Path) -> bool:
    """Return whether a path is a device or a pipe."""
    return path.exists() and not (path.is_file() or path.is_dir())


def followed(path: Path) -> Path:
    """Return the target of a link, or the path itself."""
    return path.resolve() if path.is_symlink() else path


def write_text(path: Path | str, text: str) -> None:
    """Write a text in UTF-8, atomically."""
    write_atomically(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


def decode(content: bytes) -> str:
    """Decode UTF-8, or UTF-16 with the byte order mark that editors and shells of Windows write.

    Raises:
        UnicodeDecodeError: a ValueError, if it is not such a text.
    """
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if marked else "utf-8-sig")


def read_bytes(path: Path | str, most: int = MOST_BYTES) -> bytes:
    """Read a whole file.

    Raises:
        ValueError: if it has more than ``most`` bytes.
        OSError: if it cannot be read.
    """
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{Path(path).name} has more than {most:,} bytes")
    return content


def read_text(path: Path | str) -> str:
    """Read a text that people may have edited; see `decode`, and `read_bytes` for its limit."""
    return decode(read_bytes(path))


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV, atomically."""

    def write(unfinished: Path) -> None:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *rows])

    write_atomically(path, write)


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files of `write_atomically` whose process has ended.

    A missing folder has none. Whether a process runs cannot be seen on another machine, which may share the folder, nor
    on Windows: such files are removed after a day.
    """
    with suppress(OSError):  # the folder may permit no removal
        for path in folder.iterdir():
            name = UNFINISHED.fullmatch(path.name)
            if name and not _may_be_written(path, name["host"], int(name["process"])):
                path.unlink(missing_ok=True)


_remove_once = cache(remove_unfinished)


def _may_be_written(path: Path, host: str, process: int) -> bool:
    if host != platform.node() or os.name == "nt":  # there os.kill ends processes
        return time.time() - path.stat().st_mtime < ABANDONED
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # of another user
    return True


@cache
def package_file(package: str, *names: str) -> Path:
    """Return the path of a file in a package."""
    return Path(str(files(package).joinpath(*names)))
