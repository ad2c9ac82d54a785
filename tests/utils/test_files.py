"""Atomic file writes."""

import errno
import os
import platform
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from quincunx_env.arena.games import require_writable_file
from quincunx_env.utils.files import ABANDONED, remove_unfinished, write_atomically, write_text

KILLED = """
import os, signal, sys
from pathlib import Path
from quincunx_env.utils.files import write_atomically

def write(unfinished):
    unfinished.write_text("ne")
    os.kill(os.getpid(), signal.SIGKILL)

write_atomically(Path("file.txt"), write)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_atomically(path, lambda unfinished: unfinished.write_text("old"))

    def fail(unfinished: Path) -> None:
        unfinished.write_text("ne")
        raise OSError(errno.ENOSPC, "disk full")

    with pytest.raises(OSError, match=r"disk full: '.*/file\.txt'$"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("old", ["old", None])
def test_a_link_stays_and_its_target_is_written(old: str | None, tmp_path: Path) -> None:
    link, target = tmp_path / "link.txt", tmp_path / "folder" / "target.txt"
    link.symlink_to(target)
    if old is not None:
        target.parent.mkdir()
        target.write_text(old)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path / "folder") == ["target.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_stays_and_gets_the_content(linked: bool, tmp_path: Path) -> None:
    pipe, path = tmp_path / "pipe", tmp_path / ("link" if linked else "pipe")
    os.mkfifo(pipe)
    if linked:
        path.symlink_to(pipe)
    require_writable_file(path)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(path, "new")
        assert os.read(reading, 10) == b"new"
    finally:
        os.close(reading)
    assert pipe.is_fifo()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes devices")
def test_a_device_stays(tmp_path: Path) -> None:
    null = tmp_path / "null"
    try:
        os.mknod(null, 0o600 | stat.S_IFCHR, os.makedev(1, 3))  # a null device of our own, never the machine's
        null.write_bytes(b"")
    except OSError:
        pytest.skip("no devices here")
    require_writable_file(null)
    write_text(null, "new")
    assert null.is_char_device()


def test_threads_that_write_the_same_file_have_temporary_files_of_their_own(tmp_path: Path) -> None:
    path, both = tmp_path / "file.txt", Barrier(2)

    def write(text: str) -> None:
        def slowly(unfinished: Path) -> None:
            unfinished.write_text(text)
            both.wait(timeout=60)
            assert unfinished.read_text() == text

        write_atomically(path, slowly)

    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(write, ("one", "two"))] == [None, None]
    assert path.read_text() in ("one", "two")
    assert names(tmp_path) == ["file.txt"]


@pytest.mark.skipif(os.name == "nt", reason="processes cannot be killed by a signal")
def test_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("old")
    subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert len(names(tmp_path)) == 2, "a killed process leaves its temporary file"
    # Those of a process that runs, here and elsewhere, of another machine, and files of any other name are kept.
    kept = [f".file.unfinished-{platform.node()}-{os.getppid()}.txt", ".file.unfinished-elsewhere-1.txt", ".file.1.txt"]
    for name in (*kept, ".old.unfinished-elsewhere-1"):
        (tmp_path / name).touch()
    os.utime(tmp_path / ".old.unfinished-elsewhere-1", (ABANDONED, ABANDONED))
    write_atomically(tmp_path / "other.txt", lambda unfinished: unfinished.write_text("new"))
    assert names(tmp_path) == sorted([*kept, "file.txt", "other.txt"])
    assert (tmp_path / "file.txt").read_text() == "old"


def test_a_folder_that_is_missing_has_no_temporary_files(tmp_path: Path) -> None:
    remove_unfinished(tmp_path / "missing")


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"/file'$"):
        write_atomically(tmp_path / "file" / "below.txt", Path.touch)
