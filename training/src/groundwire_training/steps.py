"""Shows the progress of a training run, as a bar on a terminal, otherwise in lines of text."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from groundwire.cli.progress import bar, lines


class Steps:
    """Receives the progress of a training run, and shows it.

    Attributes:
        n_done: Number of steps that are done.
        n_saved: Number of steps that were done at the last checkpoint.
    """

    def __init__(self, show: Callable[[int, int, str], None], say: Callable[[str], None]) -> None:
        self.n_done = self.n_saved = self._n_before = self._n_total = 0
        self._show, self.say = show, say
        self._start = time.monotonic()

    def begin(self, done: int, total: int) -> None:
        """Take the number of steps that an earlier run has done, and the number of all steps."""
        self.n_done = self.n_saved = self._n_before = done
        self._n_total, self._start = total, time.monotonic()
        if done:
            self.say(f"Going on after step {done:,} of {total:,}.")

    def step(self, number: int, loss: float) -> None:
        """Show the number of a finished step, from 1, its loss, and the time left."""
        self.n_done = number
        rate = (number - self._n_before) / max(time.monotonic() - self._start, 1e-9)
        left = duration((self._n_total - number) / rate)
        self._show(number, self._n_total, f"loss {loss:.4f}, {rate:.2g} steps/s, {left} left")

    def saved(self, number: int) -> None:
        """Note the step after which a checkpoint was written."""
        self.n_saved = number


@contextmanager
def steps() -> Iterator[Steps]:
    """Show the steps on standard error while the block of the context manager runs."""
    if not sys.stderr.isatty():
        say = lines()

        def show(number: int, total: int, text: str) -> None:
            say(lambda: f"step {number:,} of {total:,}: {text}", is_last=number == total)

        yield Steps(show, lambda text: click.echo(text, err=True))
        return
    with bar("{task.completed}/{task.total}", "{task.description}") as drawn:
        task = drawn.add_task("reading the data", total=None)

        def draw(number: int, total: int, text: str) -> None:
            drawn.update(task, completed=number, total=total, description=text)

        yield Steps(draw, lambda text: drawn.console.print(text, markup=False, highlight=False))


def duration(seconds: float) -> str:
    """Format a time for people: ``3 h 20 min``, ``5 min``, ``40 s``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
