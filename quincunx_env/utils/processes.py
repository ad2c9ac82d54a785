"""Other processes, which end with their parent, however it ends."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

_MOST_ON_WINDOWS = 61
"""The most processes that Windows waits for at a time."""

_HELD = (signal.SIGINT, signal.SIGTERM)
"""Signals that wait until a process has started."""


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
    started = context.RawValue("b")
    with reader, writer, single_threaded():
        pool = _Pool(count, context, _end_with_parent, (reader, started))
        try:
            yield pool
            pool.shutdown()
        except BaseException as error:
            processes = [*(pool._processes or {}).values()]
            writer.close()
            with suppress(RuntimeError):  # a signal may come before the thread of the pool has started
                pool.shutdown(cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                raise ChildProcessError(_reason({each.exitcode for each in processes}, started.value)) from error
            raise


class _Pool(ProcessPoolExecutor):
    def submit(self, *args: Any, **options: Any) -> Future[Any]:
        """Submit a call, which may start a process."""
        with _uninterrupted():
            return super().submit(*args, **options)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold signals until the end of the block, so that a process which it starts gets all that it needs.

    The process inherits blocked interrupts: it cannot ignore a terminal's before it has imported its modules.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held = list[int]()
    handlers = {each: signal.signal(each, lambda number, _: held.append(number)) for each in _HELD}
    before = None if sys.platform == "win32" else signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if sys.platform != "win32" and before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for each, handler in handlers.items():
            signal.signal(each, handler)
        for number in held:
            signal.raise_signal(number)


def _reason(statuses: set[int | None], started: bool) -> str:
    """Say why a pool broke, from its processes' exit statuses and whether one has ``started``."""
    status = next(iter(statuses - {None, 0, -signal.SIGTERM}), None)
    if status == 1 and not started:
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


def _end_with_parent(reader: Connection, started: Any) -> None:
    """Start a worker process that ends with its parent, or when the parent closes the other end of the pipe."""

    def wait() -> None:
        reader.poll(None)
        os._exit(0)

    started.value = True
    threading.Thread(target=wait, daemon=True).start()
    # A terminal interrupts all processes of a command; the parent alone decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
