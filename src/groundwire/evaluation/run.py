"""Runs a detector over answers and writes a results file that can be continued."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from groundwire.detection.any_detector import AnyDetector
from groundwire.evaluation.datasets.files import AnyRow, FailedRow
from groundwire.evaluation.judged_row import Header, ResultsError
from groundwire.evaluation.judging import Block, judge_block
from groundwire.evaluation.results_file import RowWriter, resume
from groundwire.text.files.reading import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS

#: A function that is called with the number of rows done, including those of earlier runs.
OnRow = Callable[[int], None]


_REMEDY = (
    "Continue with the options of the first run, name another --output, or start over with --force "
    "in place of --resume."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Counts of a finished run.

    Attributes:
        n_rows: Number of rows in the file of results.
        n_new: Number of rows that this run added to the file.
    """

    n_rows: int
    n_new: int


def run(
    detector: AnyDetector,
    rows: Iterable[AnyRow],
    *,
    output: Path,
    header: Header,
    replace: bool = False,
    on_row: OnRow = lambda _: None,
) -> Run:
    """Judge all rows that have no result yet, and append their results.

    ``rows`` are all rows chosen from the data, with or without a result. With ``replace``, a new
    file takes the place of earlier results. If reading the first rows of the data fails, the
    earlier results are kept.

    Raises:
        ResultsError: If existing results are broken, or were made from other data or rows, or the
            name of the output ends in ``.gz`` or ``.parquet``.
        DifferentDetectorError: If the existing results were made by another detector, or at another
            threshold.
        WrittenError: If the existing file is compressed with gzip, or its only line is incomplete
            and does not begin as results do.
    """
    if output.suffix in (".gz", ".parquet"):
        raise ResultsError(output, None, "results are appended to a file of JSON Lines, not packed")
    left = {} if replace else resume(output, header)
    n_before, n_new = len(left), 0
    blocks = in_contexts(_remaining(rows, left, output))
    first = [*islice(blocks, 1)]  # before opening, so that an error here keeps earlier results
    with output.open("wb" if replace else "ab") as stream:
        writer = RowWriter(stream, header)
        for block in chain(first, blocks):
            for row in judge_block(detector, block):
                writer.write(row)
                n_new += 1
                on_row(n_before + n_new)
    if left:
        problem = f"it has {len(left):,} results of rows that are not chosen now. {_REMEDY}"
        raise ResultsError(output, None, problem)
    return Run(n_rows=n_before + n_new, n_new=n_new)


def in_contexts(rows: Iterable[AnyRow]) -> Iterator[Block]:
    """Group rows into blocks; neighbouring rows of one context stay together where possible.

    A block is full if it has :data:`MAX_BLOCK_ROWS` rows, or texts of :data:`MAX_BLOCK_BYTES`
    characters. A full block is extended until its last context ends, or until the block reaches
    twice one of these sizes.
    """
    block: list[AnyRow] = []
    n_bytes = 0
    for row in rows:
        fill = max(len(block) / MAX_BLOCK_ROWS, n_bytes / MAX_BLOCK_BYTES)
        if fill >= 2 or (fill >= 1 and _context(row) != _context(block[-1])):
            yield block
            block, n_bytes = [], 0
        block.append(row)
        n_bytes += _size(row)
    if block:
        yield block


def _remaining(rows: Iterable[AnyRow], done: dict[int, str], output: Path) -> Iterator[AnyRow]:
    """Yield the rows of the data that are not in ``done``, and remove the other rows from ``done``.

    ``done`` has number → fingerprint of each row that has a result.

    Raises:
        ResultsError: If a row is not the same as when its result was made.
    """
    for row in rows:
        if row.row not in done:
            yield row
        elif done.pop(row.row) != row.sha256:
            raise ResultsError(
                output,
                None,
                f"row {row.row:,} of the data is not the one that it was made from, or its "
                f"columns are read otherwise. {_REMEDY}",
            )


def _context(row: AnyRow) -> str | None:
    return None if isinstance(row, FailedRow) else row.answer.context_id


def _size(row: AnyRow) -> int:
    if isinstance(row, FailedRow):
        return 0
    example = row.answer.example
    return len(example.answer) + sum(len(source.text) for source in example.sources)
