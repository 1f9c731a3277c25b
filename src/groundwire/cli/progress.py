"""Shows the progress of a long run on standard error: a bar on a terminal, else lines of text."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from groundwire.text.screen import count_of

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

#: Minimum number of seconds between two lines of progress. A line that is marked as the last is
#: printed without delay.
LINE_EVERY_S = 10.0

#: While a check reads sources of at least this many characters, a terminal shows the elapsed time.
LONG_CHARS = 2_000_000

#: A function that is called after each row, with the number of rows that are done, including those
#: of earlier runs.
Report = Callable[[int], None]


@contextmanager
def progress(
    count: Callable[[], int | None], *, is_interactive: bool, hint: str = ""
) -> Iterator[Report]:
    """Show how many rows this run has done, during a ``with`` block.

    After Ctrl-C, the number of all rows that are done is printed, with those of earlier runs.

    Args:
        count: Returns the number of rows in the input; ``None`` if it is unknown. It is called
            only if ``is_interactive``.
        is_interactive: Whether to draw a bar on a terminal; if not, lines are printed.
        hint: How to continue, printed after Ctrl-C.
    """
    start, n_done, n_new = time.monotonic(), 0, 0
    with ExitStack() as stack:
        say = lines()
        if is_interactive:
            drawn = stack.enter_context(bar("{task.percentage:>3.0f}%", "{task.description}"))
            task = drawn.add_task(count_rows(0), total=count())

        def report(n_rows: int) -> None:
            nonlocal n_done, n_new
            n_done, n_new = n_rows, n_new + 1
            text = f"{count_rows(n_new)}, {n_new / max(time.monotonic() - start, 1e-9):.1f} rows/s"
            if is_interactive:
                drawn.update(task, completed=n_done, description=text)
            else:
                say(lambda: text)

        try:
            yield report
        except KeyboardInterrupt:
            click.echo(f"Stopped after {count_rows(n_done)}.{hint}", err=True)
            raise


@contextmanager
def waiting(n_chars: int) -> Iterator[None]:
    """Show on a terminal that long sources are read, and for how long, during a ``with`` block.

    ``n_chars`` is the length of the sources; below :data:`LONG_CHARS` nothing is shown.
    """
    if n_chars < LONG_CHARS or not sys.stderr.isatty():
        yield
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    what = f"Reading {n_chars / 1e6:,.0f} million characters of sources"
    with _drawn(SpinnerColumn(), TextColumn(what), TimeElapsedColumn()) as drawn:
        drawn.add_task("", total=None)
        yield


def bar(*texts: str) -> "Progress":
    """Make a progress bar for a ``with`` block, with texts and the remaining time beside it."""
    # Rich takes a tenth of a second to import, and is needed only for a terminal.
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    return _drawn(BarColumn(bar_width=None), *map(TextColumn, texts), TimeRemainingColumn())


def _drawn(*columns: "ProgressColumn") -> "Progress":
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(file=sys.stderr), transient=True)


def lines() -> Callable[..., None]:
    """Return a function that prints a line at most every :data:`LINE_EVERY_S` seconds.

    Lines that come sooner are skipped, but a line with ``is_last`` is always printed.
    """
    last = time.monotonic()

    def say(text: Callable[[], str], *, is_last: bool = False) -> None:
        nonlocal last
        now = time.monotonic()
        if is_last or now - last >= LINE_EVERY_S:
            last = now
            click.echo(text(), err=True)

    return say


def count_rows(n_rows: int) -> str:
    """Format a number of rows, such as ``1,200 rows``."""
    return count_of(n_rows, "row")
