"""Chooses the rows to judge: all rows, those of some tasks, or a random sample of contexts."""

import random
from array import array
from collections.abc import Callable, Collection, Iterator
from functools import partial
from hashlib import sha256

from groundwire.errors import InputError
from groundwire.evaluation.datasets.files import AnyRow, FailedRow

#: A function that reads the rows of a table, from its beginning.
Read = Callable[[], Iterator[AnyRow]]

_SEED = 0


class NoSuchTaskError(InputError):
    """Some of the tasks that were asked for are in no row of the data."""


def choose(read: Read, *, tasks: Collection[str] = (), limit: int | None = None) -> Read:
    """Choose rows of a table.

    Args:
        read: Reads the table. It may be called several times, so that rows need not be kept in
            memory.
        tasks: The tasks whose rows are chosen; by default all. An unreadable row is chosen as well
            if its task is unknown.
        limit: Highest number of rows to choose; by default all. Whole contexts are drawn at
            random, with a fixed seed; only the last one may be cut to fit.

    Returns:
        A function that reads the chosen rows, in the order of the table.

    Raises:
        NoSuchTaskError: If one of the tasks is in no row of the table.
    """
    _require_tasks(read, tasks)
    kept = partial(_of_tasks, read, tasks) if tasks else read
    if limit is None:
        return kept
    numbers = _sample(kept(), limit)
    return lambda: (row for row in kept() if row.row in numbers)


def _require_tasks(read: Read, tasks: Collection[str]) -> None:
    there: set[str] = set()
    for row in read() if tasks else ():
        there.add(_task(row))
        if there.issuperset(tasks):
            break
    missing = set(tasks) - there
    if not missing:
        return
    asked, known = (", ".join(map(repr, sorted(names))) for names in (missing, there - {""}))
    raise NoSuchTaskError(f"No row has the task {asked}. Tasks in the data: {known or 'none'}.")


def _of_tasks(read: Read, tasks: Collection[str]) -> Iterator[AnyRow]:
    for row in read():
        task = _task(row)
        if task in tasks or (not task and isinstance(row, FailedRow)):
            yield row


def _task(row: AnyRow) -> str:
    return row.task if isinstance(row, FailedRow) else row.answer.task


def _sample(rows: Iterator[AnyRow], limit: int) -> frozenset[int]:
    """Draw contexts at random, and return the numbers of their rows, at most ``limit``.

    Contexts are drawn whole, except that the last one may be cut to fit.
    """
    of_context: dict[bytes, array[int]] = {}
    for row in rows:
        # A row that cannot be read has no context: it is drawn as a context of its own.
        name = f"row {row.row}" if isinstance(row, FailedRow) else f"id {row.answer.context_id}"
        key = sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]
        of_context.setdefault(key, array("q")).append(row.row)
    groups = list(of_context.values())
    random.Random(_SEED).shuffle(groups)
    drawn: list[int] = []
    for group in groups:
        if len(drawn) >= limit:
            break
        drawn.extend(group[: limit - len(drawn)])
    return frozenset(drawn)
