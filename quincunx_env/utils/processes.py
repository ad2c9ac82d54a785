"""Other processes, which end with their parent, however it ends."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

_MOST_ON_WINDOWS = 61
"""The most processes that Windows waits for at a time."""


@contextmanager
def worker_processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Start an executor for the ``with`` block.

    If the block fails or is interrupted, work in progress is dropped.

    Args:
        count: number of processes, on Windows 61 at most. They are spawned: they share nothing with this one, so that
            all operating systems behave alike. Each computes with one thread.

    Raises:
        ChildProcessError: if a process ends before its work, with the reason.
    """
    if sys.platform == "win32":
        count = min(count, _MOST_ON_WINDOWS)
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with reader, writer, single_threaded():
        pool = ProcessPoolExecutor(count, context, _end_with_parent, (reader,))
        try:
            yield pool
            pool.shutdown()
        except BaseException as error:
            processes = [*(pool._processes or {}).values()]
            writer.close()
            with suppress(RuntimeError):  # a signal may come before the thread of the pool has started
                pool.shutdown(cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                raise ChildProcessError(_reason({process.exitcode for process in processes})) from error
            raise


def _reason(statuses: set[int | None]) -> str:
    """Say why a pool broke, from its processes' exit statuses, and terminate the processes that are left."""
    status = next(iter(statuses - {None, 0, -signal.SIGTERM}), None)
    if status == 1:
        return (
            "a worker process failed when it started, with the error above: a script that uses workers, which import "
            "it, begins its work below `if __name__ == '__main__':`"
        )
    if status == -9:  # SIGKILL, which Windows does not have
        return "a worker process was killed, perhaps because memory ran out: use fewer workers"
    if status is None:
        return "a worker process was terminated: repeat the command"
    ended = f"with status {status}" if status > 0 else f"by signal {-status}"
    return f"a worker process ended {ended}: use one worker to see where"


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit workers started in this block to one NumPy thread. Each has at best one core."""
    name = "OMP_NUM_THREADS"  # read when NumPy is imported
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _end_with_parent(reader: Connection) -> None:
    """Start a worker process that ends with its parent, or when the parent closes the other end of the pipe."""

    def wait() -> None:
        reader.poll(None)
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
    # A terminal interrupts all processes of a command; the parent alone decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
