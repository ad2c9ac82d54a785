"""Other processes, which end with their parent, however it ends."""

import faulthandler
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

_Result = TypeVar("_Result")

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
        ChildProcessError: if a process is killed.
    """
    if sys.platform == "win32":
        count = min(count, _MOST_ON_WINDOWS)
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with reader, writer, single_threaded(), ProcessPoolExecutor(count, context, _end_with_parent, (reader,)) as pool:
        try:
            yield pool
        except BaseException as error:
            writer.close()
            pool.shutdown(cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                raise ChildProcessError(
                    "a worker process was killed, perhaps because memory ran out: use fewer workers"
                ) from error
            raise


def results_in_order(
    pool: ProcessPoolExecutor, function: Callable[..., _Result], calls: Iterable[tuple[Any, ...]]
) -> Iterator[_Result]:
    """Yield the results of the calls of ``function``, in order.

    Use it instead of ``Executor.map``, which cancels calls when the program is interrupted. Python before 3.12 prints
    ``InvalidStateError`` for a call that is cancelled before its worker ends.

    Args:
        pool: runs the calls.
        function: importable by the worker processes.
        calls: positional arguments of each.
    """
    futures = [pool.submit(function, *call) for call in calls]
    for future in futures:
        yield future.result()


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
    """Start a worker process that ends with its parent.

    It also ends when the parent closes the other end of the pipe.
    """

    def wait() -> None:
        reader.poll(None)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
    # A terminal interrupts all processes of a command; the parent alone decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class TimedProcess:
    """Another process that runs functions within a time limit.

    Unlike `worker_processes` it does not import the main module of the program, and works in any process.
    """

    def __init__(self) -> None:
        self._process: Any = None
        self._lock = threading.Lock()

    def run(self, seconds: float, function: Callable[..., Any], *args: Any) -> Any:
        """Return the result of a function that the process can import.

        Raises:
            TimeoutError: after ``seconds``; the next call starts another process.
            ChildProcessError: if the process ends.
            Exception: any that the function raises.
        """
        with self._lock:
            process = self._process = self._process or _start()
            begun = time.monotonic()
            try:
                pickle.dump((seconds, pickle.dumps((function, args))), process.stdin)
                process.stdin.flush()
                done, result = pickle.load(process.stdout)
            except BaseException as error:  # also an interrupt, whose answer must not be the next call's
                self.close()
                if not isinstance(error, EOFError | OSError | pickle.UnpicklingError):
                    raise
                if time.monotonic() - begun >= seconds:
                    raise TimeoutError(f"no answer within {seconds:g} seconds") from error
                raise ChildProcessError(f"its process ended with status {process.returncode}") from error
        if not done:
            raise result
        return result

    def close(self) -> None:
        """End the process; the next call starts another."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError), process:  # its pipes are closed, too
                process.kill()


def _start() -> Any:
    path = os.pathsep.join(map(os.path.abspath, sys.path))  # an empty entry is the current folder
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import _serve; _serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        start_new_session=True,  # a terminal interrupts all processes of a command; the parent decides what happens
    )


def _serve() -> None:
    """Run the functions that the parent sends. A thread reads them, and ends the process with the parent."""
    requests, answers = SimpleQueue[tuple[float, bytes]](), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library may print

    def receive() -> None:
        try:
            while True:
                requests.put(pickle.load(sys.stdin.buffer))
        finally:
            os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    with Path(os.devnull).open("w") as nowhere:
        while True:
            seconds, call = requests.get()
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)  # ends any call, also of a library in C
            try:
                function, args = pickle.loads(call)
                answer = True, function(*args)
            except Exception as error:
                answer = False, error
            faulthandler.cancel_dump_traceback_later()
            pickle.dump(answer, answers)
            answers.flush()
