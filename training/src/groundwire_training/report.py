"""What a run tells about itself while it goes."""

import logging
import time
from typing import Protocol

log = logging.getLogger(__name__)


class Report(Protocol):
    """Who wants to know how far a run is."""

    def begin(self, done: int, total: int) -> None:
        """Steps done by an earlier run, and steps in all."""

    def step(self, number: int, loss: float) -> None:
        """A step is done, the first being 1."""

    def saved(self, number: int) -> None:
        """A checkpoint was written after this step."""

    def say(self, text: str) -> None:
        """What else there is to know: scores on validation, what comes next."""


class Logged:
    """Writes to the log, every tenth step."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def begin(self, done: int, total: int) -> None:
        """Steps done by an earlier run, and steps in all."""
        log.info("from step %d to %d", done, total)

    def step(self, number: int, loss: float) -> None:
        """A step is done."""
        if number % 10 == 0:
            log.info("step %d loss %.4f, %.0f s", number, loss, time.perf_counter() - self._start)

    def saved(self, number: int) -> None:
        """A checkpoint was written."""

    def say(self, text: str) -> None:
        """Scores and the like."""
        log.info("%s", text)
