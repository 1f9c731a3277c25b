"""Chooses the rows to judge: all rows, or a random sample of contexts."""

import random
from array import array
from collections.abc import Callable, Iterator
from hashlib import sha256

from groundwire.evaluation.datasets.files import AnyRow, FailedRow

#: A function that reads the rows of a table, from its beginning.
Read = Callable[[], Iterator[AnyRow]]

_SEED = 0


def choose(read: Read, *, limit: int | None = None) -> Read:
    """Choose rows of a table.

    Args:
        read: Reads the table. With a limit, ``read`` is called more than once, so that rows need
            not be kept in memory.
        limit: Highest number of rows to choose; by default all rows are chosen. Contexts are drawn
            at random, with a fixed seed. To keep the limit, rows of the last context drawn may be
            left out.

    Returns:
        A function that reads the chosen rows, in the order of the table.
    """
    if limit is None:
        return read
    numbers = _sample(read(), limit)
    return lambda: (row for row in read() if row.row in numbers)


def _sample(rows: Iterator[AnyRow], limit: int) -> frozenset[int]:
    """Draw contexts at random, and return the numbers of their rows, at most ``limit``."""
    of_context: dict[bytes, array[int]] = {}
    for row in rows:
        # A row that cannot be read has no known context, so it counts as a context of its own.
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
