"""Atomic file writes."""

import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: ``path`` holds either the old content or the new, whatever interrupts the write.

    Args:
        path: where the file goes; missing folders are created.
        write: writes the content to the temporary path it gets, which replaces ``path`` once it is on disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
