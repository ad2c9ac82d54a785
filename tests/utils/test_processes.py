"""Other processes."""

import os
import signal
import subprocess
import sys
import time

import pytest

from quincunx_env.utils.processes import TimedProcess


def test_a_timed_process_is_killed_and_started_again() -> None:
    process = TimedProcess()
    first = process.run(60, os.getpid)
    assert first not in (os.getpid(), None)
    assert process.run(60, os.getpid) == first
    with pytest.raises(TimeoutError, match=r"^no answer within 0\.3 seconds$"):
        process.run(0.3, time.sleep, 60)
    second = process.run(60, os.getpid)
    assert second != first
    with pytest.raises(ValueError, match="invalid literal"):
        process.run(60, int, "x")
    assert process.run(60, os.getpid) == second, "an exception is an answer"
    assert process.run(60, os.write, 1, b"a library prints\n") == 17
    with pytest.raises(ChildProcessError, match="its process ended with status 3"):
        process.run(60, os._exit, 3)
    with pytest.raises(ChildProcessError, match="its process ended with status -11"):
        process.run(60, signal.raise_signal, signal.SIGSEGV)
    process.close()


def test_a_timed_process_needs_no_guard_and_ends_with_a_killed_parent() -> None:
    program = """
import os, time
from quincunx_env.utils.processes import TimedProcess
process = TimedProcess()
print(process.run(60, os.getpid), flush=True)
process.run(60, time.sleep, 60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        parent.kill()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the process goes on without its parent")
