"""The interface that receives the progress of a training run, and one that logs it."""

import logging
import time
from typing import Protocol

log = logging.getLogger(__name__)


class Report(Protocol):
    """Receives the progress of a training run."""

    def begin(self, done: int, total: int) -> None:
        """Receive the number of steps that an earlier run has done, and the number of all steps."""

    def step(self, number: int, loss: float) -> None:
        """Receive the number of a finished step, from 1, and its loss."""

    def saved(self, number: int) -> None:
        """Receive the number of a step after which a checkpoint was written."""

    def say(self, text: str) -> None:
        """Receive a message, such as validation scores."""


class Logged:
    """Receives the progress of a training run, and logs every tenth step."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def begin(self, done: int, total: int) -> None:
        """Log the number of steps that an earlier run has done, and the number of all steps."""
        log.info("from step %d to %d", done, total)

    def step(self, number: int, loss: float) -> None:
        """Log the step if its number is a multiple of ten."""
        if number % 10 == 0:
            log.info("step %d loss %.4f, %.0f s", number, loss, time.perf_counter() - self._start)

    def saved(self, number: int) -> None:
        """Do nothing: checkpoints are not logged."""

    def say(self, text: str) -> None:
        """Log a message."""
        log.info("%s", text)
