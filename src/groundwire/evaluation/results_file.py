"""Reads and writes results files: JSON Lines with a header and a result for each row of the data.

Rows are appended one by one, so that a run can be continued after an interruption. Scores,
thresholds and reports are computed from the file, without judging any answer again.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

from groundwire.evaluation.judged_row import (
    BATCH_KEY,
    Header,
    JudgedRow,
    ResultsError,
    require_same,
    requiring_results,
)
from groundwire.text.files.reading import DAMAGE, open_lines
from groundwire.text.files.writing import Writer, drop_cut_line


def read_header(path: Path) -> Header:
    """Read the header of a results file, or make one for output of ``groundwire check --batch``.

    Raises:
        ResultsError: If the first line is neither a header nor a row of ``check --batch``, no row
            of ``check --batch`` was checked, or the file is damaged.
    """
    with _undamaged(path), open_lines(path) as lines:
        first = next(iter(lines), b"")
        if not _is_of_batch(first):
            return _header(path, first)
        try:
            return Header.of_batch(map(json.loads, chain([first], lines)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ResultsError(path, None, f"it has no results ({error})") from error


def read_judged(path: Path) -> Iterator[JudgedRow]:
    """Yield the rows of a results file, one by one.

    The output of ``groundwire check --batch`` can be read too, although it has no header and no
    labels.

    Raises:
        ResultsError: If a line is neither the header nor a row of results, such as a last line that
            was cut off, or if the file is damaged. (Without this error, rows would silently be
            missing from the scores.)
    """
    read = JudgedRow.from_dict
    with _undamaged(path), open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            if number == 1 and _is_of_batch(line):
                read = JudgedRow.from_batch
            elif number == 1:
                _header(path, line)
                continue
            yield _row(path, number, line, read)


def resume(path: Path, header: Header) -> dict[int, str]:
    """Prepare a results file to be continued, if it exists: cut off an incomplete last line.

    ``header`` is the header of the run that continues the file.

    Returns:
        Number → fingerprint of each row that has a result.

    Raises:
        ResultsError: If a line is not of a results file, the results are from other data, or two
            rows have the same number.
        DifferentDetectorError: If the results were made by another detector, or at another
            threshold.
        WrittenError: If the file is compressed with gzip, or its only line is incomplete and does
            not begin as results do.
    """
    found: dict[int, str] = {}

    def take(number: int, line: bytes) -> None:
        if number == 1:
            require_same(path, _header(path, line), header)
            return
        row = _row(path, number, line, JudgedRow.from_dict)
        if row.row in found:
            raise ResultsError(path, None, f"row {row.row:,} is there twice")
        found[row.row] = row.sha256

    if path.exists():
        drop_cut_line(path, take)
    return found


class RowWriter:
    """A writer that appends rows to a file of results, and flushes each row at once."""

    def __init__(self, stream: IO[bytes], header: Header) -> None:
        """Write to an open file, beginning with the header if the file is empty."""
        self._writer = Writer(stream)
        if stream.tell() == 0:
            self._writer.write(header.to_dict())

    def write(self, row: JudgedRow) -> None:
        """Append one row."""
        self._writer.write(row.to_dict())


@contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        text = f"it is damaged, and rows are missing ({error}). Fetch the file again"
        raise ResultsError(path, None, text) from error


def _header(path: Path, line: bytes) -> Header:
    with requiring_results(path, 1, "this is no file of results"):
        return Header.from_dict(json.loads(line))


def _is_of_batch(line: bytes) -> bool:
    try:
        return BATCH_KEY in json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return False


def _row(
    path: Path, number: int, line: bytes, read: Callable[[dict[str, Any]], JudgedRow]
) -> JudgedRow:
    with requiring_results(path, number, "this is no row of results"):
        row = read(json.loads(line))
        if type(row.row) is not int or not 0 <= row.row < 2**63:
            raise ValueError(f"row is {row.row!r}")
        int(row.sha256, 16)
    return row
