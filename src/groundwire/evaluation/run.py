"""Runs a detector over labelled answers and writes a results file that can be continued.

Answers to one context are judged one after the other, so that its sources are read once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from groundwire.evaluation.datasets.files import AnyRow, FailedRow
from groundwire.evaluation.judged_row import Header, ResultsError
from groundwire.evaluation.judging import Block, judge_block
from groundwire.evaluation.loading import AnyDetector
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
        n_new: Number of rows that this run judged.
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

    Args:
        detector: The detector.
        rows: All rows of the data, including those that have a result.
        output: The file of results, which is created or continued.
        header: The data and the detector.
        replace: Whether earlier results are replaced. They are kept if reading the first rows of
            the data fails.
        on_row: Called after each row with the number of rows done.

    Raises:
        ResultsError: If the existing results are from other data, or the name of the output ends
            in ``.gz`` or ``.parquet``.
        DifferentDetectorError: If the existing results were made by another detector.
    """
    if output.suffix in (".gz", ".parquet"):
        raise ResultsError(output, None, "results are appended to a file of JSON Lines, not packed")
    done: Mapping[int, str] = {} if replace else resume(output, header)
    remaining = Remaining(rows, done, output)
    n_done, n_new = len(remaining.done), 0
    blocks = in_contexts(remaining)
    first = [*islice(blocks, 1)]  # errors of the data are raised before the file is created
    with output.open("wb" if replace else "ab") as stream:
        writer = RowWriter(stream, header)
        for block in chain(first, blocks):
            for row in judge_block(detector, block):
                writer.write(row)
                n_new += 1
                on_row(n_done + n_new)
    remaining.require_all_judged(n_new)
    remaining.require_all_met()
    return Run(n_rows=n_done + n_new, n_new=n_new)


def in_contexts(rows: Iterable[AnyRow], n_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
    """Group rows into blocks; neighbouring rows of one context stay together.

    Args:
        rows: The rows.
        n_rows: Size of a block. A block that has this many rows, or :data:`MAX_BLOCK_BYTES` of
            text, is extended until its last context ends, but not beyond twice the size.
    """
    block: list[AnyRow] = []
    n_bytes = 0
    for row in rows:
        fill = max(len(block) / n_rows, n_bytes / MAX_BLOCK_BYTES)
        if fill >= 2 or (fill >= 1 and _context(row) != _context(block[-1])):
            yield block
            block, n_bytes = [], 0
        block.append(row)
        n_bytes += _size(row)
    if block:
        yield block


class Remaining:
    """Iterates over the rows of the data that have no result yet.

    A row that has a result must have the fingerprint that is stored with the result: otherwise the
    data have changed, and iteration raises a :class:`ResultsError`.

    Attributes:
        done: Number → fingerprint of each row that has a result.
    """

    def __init__(self, rows: Iterable[AnyRow], done: Mapping[int, str], output: Path) -> None:
        self.done = done
        self._rows, self._output = rows, output
        self._n_met = self._n_given = 0

    def __iter__(self) -> Iterator[AnyRow]:
        for row in self._rows:
            if row.row not in self.done:
                self._n_given += 1
                yield row
                continue
            if self.done[row.row] != row.sha256:
                raise ResultsError(
                    self._output,
                    None,
                    f"row {row.row:,} of the data is not the one that it was made from, or its "
                    f"columns are read otherwise. {_REMEDY}",
                )
            self._n_met += 1

    def require_all_judged(self, n_judged: int) -> None:
        """Refuse to end the run if rows were left without a result.

        Args:
            n_judged: Number of rows that this run judged.

        Raises:
            ResultsError: If fewer rows were judged than this object yielded.
        """
        if n := self._n_given - n_judged:
            raise ResultsError(
                self._output, None, f"{n:,} rows have no result. Judge them with --resume."
            )

    def require_all_met(self) -> None:
        """Refuse results of rows that are not in the data; call this when all data have been read.

        Raises:
            ResultsError: If the file has results of such rows.
        """
        if n := len(self.done) - self._n_met:
            raise ResultsError(
                self._output,
                None,
                f"it has {n:,} results of rows that are not chosen now. {_REMEDY}",
            )


def _context(row: AnyRow) -> str | None:
    return None if isinstance(row, FailedRow) else row.answer.context_id


def _size(row: AnyRow) -> int:
    if isinstance(row, FailedRow):
        return 0
    example = row.answer.example
    return len(example.answer) + sum(len(source.text) for source in example.sources)
