"""Processor time of a training run."""

import time
from collections import defaultdict
from collections.abc import Mapping


class PhaseTimer:
    """Processor time of this process in seconds, by purpose."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)
        self._now = time.process_time()

    def skip(self) -> None:
        """Discard the time since the last call."""
        self._now = time.process_time()

    def add(self, phase: str) -> None:
        """Count the time since the last call for a phase."""
        now = time.process_time()
        self.seconds[phase] += now - self._now
        self._now = now

    def include(self, seconds: Mapping[str, float]) -> None:
        """Add processor time of other processes, or from before an interruption."""
        for phase, spent in seconds.items():
            self.seconds[phase] += spent
