"""The terminal interface in a real terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyte
import pytest
from rich.console import Console as Rich
from textual.renderables.digits import Digits as LargeDigits

from quincunx_env.notation.record import Record
from quincunx_env.play.session import Session, recorded_players

ROOT = Path(__file__).parents[2]


class Console:
    """A program in a terminal of its own."""

    def __init__(self, *arguments: str, size: tuple[int, int] = (90, 28)) -> None:
        self.leader, self.follower = pty.openpty()
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.resize(*size)
        self.before = termios.tcgetattr(self.follower)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "quincunx_env", "play", "--terminal", *arguments],
            stdin=self.follower,
            stdout=self.follower,
            stderr=self.follower,
            cwd=ROOT,
            # Where these are set, as pytest-xdist sets them, they hold instead of the terminal's own size.
            env={name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
            | {"TERM": "xterm-256color"},
            start_new_session=True,
        )
        self.output = ""
        """Everything that the program has written."""

    @property
    def shown(self) -> str:
        """The screen as text, on one line for each of its own."""
        return "\n".join(self.screen.display)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size; the program learns of it at its start or by a signal."""
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        """Send the characters of these keys."""
        os.write(self.leader, keys.encode())

    def until(self, condition: Callable[[], object], again: Callable[[], object] = lambda: None) -> None:
        """Read the output of the program until a condition holds.

        Args:
            condition: what to wait for.
            again: called now, and every five seconds: keys have no effect while agents run, and a signal may wait for
                the program's main thread to wake up.
        """
        start, done = time.monotonic(), 0
        while not condition():
            waited = time.monotonic() - start
            assert waited < 120, self.shown
            if waited >= 5 * done:
                again()
                done += 1
            if select.select([self.leader], [], [], 0.02)[0]:
                written = os.read(self.leader, 65536)
                self.output += written.decode(errors="replace")
                self._stream.feed(written)

    def left_in_order(self, again: Callable[[], object]) -> bool:
        """Whether the program ended, and the terminal is as it was."""
        self.until(lambda: self.process.poll() is not None, again)
        self.until(lambda: not select.select([self.leader], [], [], 0.05)[0])
        return termios.tcgetattr(self.follower) == self.before and "\x1b[?1049l" in self.output

    def close(self) -> None:
        """Kill the program and close the terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self.leader)
        os.close(self.follower)


@pytest.mark.parametrize(
    ("size", "options", "card", "hint", "plays"),
    [
        ((60, 20), ["--num-players", "4", "--start", "open", "--pawns", "--opponents", "greedy"], "e", False, (4, 24)),
        ((80, 24), [], "a", True, (1, 12)),
        ((140, 45), ["--num-players", "2", "--opponents", "greedy"], "b", False, (2, 20)),
    ],
    ids=["60x20", "80x24", "140x45"],
)
def test_a_whole_game_on_a_real_screen(
    size: tuple[int, int], options: list[str], card: str, hint: bool, plays: tuple[int, int], tmp_path: Path
) -> None:
    """Draws can be seen beside points; at the end the result stands there in words and in large digits."""
    step, last = plays
    console = Console(*options, "--seed", "0", "--out", str(tmp_path), size=size)
    try:
        console.until(lambda: "choose a card" in console.shown)
        console.press("p" + card)
        console.until(lambda: re.search(r" [-+]\d+d ", console.shown))
        for number in range(step, last + 1, step):
            if hint:
                console.until(lambda: "prefers:" in console.shown, lambda: console.press("h"))
            logged = re.compile(rf"\b{number}\. seat|game is kept in")
            console.until(lambda play=logged: play.search(console.shown), lambda: console.press("\r"))  # type: ignore[misc]
        console.until(lambda: "The game is kept in" in console.shown)
        [path] = tmp_path.iterdir()
        record = Record.read(path)
        end = Session.resume(record, recorded_players(record)).ending
        assert end is not None
        assert end.headline in " ".join(console.shown.split())
        points = end.points.replace(" ", "") if record.rules.num_players == 4 else end.points
        for line in Rich(width=size[0]).render_lines(LargeDigits(points, "bold")):
            assert "".join(segment.text for segment in line).rstrip() in console.shown
        assert console.left_in_order(lambda: console.press("q"))
    finally:
        console.close()


def test_a_game_in_a_real_terminal(tmp_path: Path) -> None:
    """Interrupted by Ctrl-C, resumed from the file, resized, played on."""

    def actions() -> int:
        files = [*tmp_path.glob("[!.]*.txt")]  # one that is being written begins with a dot
        return len(Record.read(files[0]).actions) if files else 0

    options = ["--num-players", "2", "--opponents", "uniform", "--seed", "0"]
    console = Console(*options, "--out", str(tmp_path))
    try:
        console.until(lambda: "choose a card" in console.output)
        for plays in (2, 4):
            console.until(lambda plays=plays: actions() >= plays, lambda: console.press("b\r"))  # type: ignore[misc]
        assert console.left_in_order(lambda: console.press("\x03"))
        assert console.process.returncode == 0
        [path] = tmp_path.iterdir()
        assert f"--resume {path}" in console.output
    finally:
        console.close()

    console = Console("--resume", str(path))
    try:
        console.until(lambda: "choose a card" in console.output)
        console.resize(40, 10)
        resized = partial(console.process.send_signal, signal.SIGWINCH)
        console.until(lambda: "The table needs 60 columns" in console.output, resized)
        console.output = ""
        console.resize(90, 28)
        console.until(lambda: "choose a card" in console.output, resized)
        console.press("\x00\x7f\x1bOP~")
        console.until(lambda: actions() >= 6, lambda: console.press("\r"))
        assert console.left_in_order(console.process.terminate)
        assert [*tmp_path.iterdir()] == [path]
    finally:
        console.close()
