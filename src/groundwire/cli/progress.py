"""How far a long run is: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

#: Pause between two lines where there is no terminal.
LINE_EVERY_S = 10.0

#: Told the line of the input that is done, and how many rows this run has judged.
Report = Callable[[int, int], None]


@contextmanager
def progress(count: Callable[[], int | None], *, is_interactive: bool) -> Iterator[Report]:
    """Report progress on standard error while the block runs.

    Args:
        count: How many lines there are; ``None`` if nobody knows. Only a terminal asks.
        is_interactive: Whether there is a terminal to draw on.
    """
    if not is_interactive:
        yield _lines()
        return
    # Rich costs a tenth of a second to import, and only a terminal can show what it draws.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rows]}"),
        TextColumn("{task.fields[rate]} rows/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=count(), rows=count_rows(0), rate="-")
        start = time.monotonic()

        def report(line: int, n_rows: int) -> None:
            rate = n_rows / max(time.monotonic() - start, 1e-9)
            bar.update(task, completed=line, rows=count_rows(n_rows), rate=f"{rate:.1f}")

        yield report


def count_rows(n_rows: int) -> str:
    """A number of rows for people."""
    return f"{n_rows:,} {'row' if n_rows == 1 else 'rows'}"


def _lines() -> Report:
    start = last = time.monotonic()

    def report(line: int, n_rows: int) -> None:
        nonlocal last
        del line
        now = time.monotonic()
        if now - last >= LINE_EVERY_S:
            last = now
            click.echo(f"{count_rows(n_rows)}, {n_rows / (now - start):.1f} rows/s", err=True)

    return report
