"""Draws a random sample of questions."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from heapq import nsmallest
from typing import TypeAlias

from groundwire.evaluation.datasets.files import FailedRow, NumberedQuestion

#: A question, or a row that could not be read.
AnyQuestion: TypeAlias = NumberedQuestion | FailedRow


def drawn(rows: Iterable[AnyQuestion], limit: int | None) -> Iterator[AnyQuestion]:
    """Draw at most ``limit`` rows at random, in the order of the table; all rows for ``None``.

    The draw depends only on ``limit`` and on the fingerprints and numbers of the rows, so it is the
    same each time.
    """
    if limit is None:
        return iter(rows)
    kept = nsmallest(limit, rows, key=lambda row: (sha256(row.sha256.encode()).digest(), row.row))
    return iter(sorted(kept, key=lambda row: row.row))
