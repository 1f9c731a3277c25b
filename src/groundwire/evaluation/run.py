"""Runs of a detector over labelled answers, into results that can be continued.

Answers to one context are judged one after the other, so that its sources are read once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from groundwire.evaluation.datasets.files import AnyRow, FailedRow
from groundwire.evaluation.judged_row import Header, ResultsError
from groundwire.evaluation.judging import Block, Judging, judge_block
from groundwire.evaluation.loading import AnyDetector
from groundwire.evaluation.results_file import ResultsFile, resume
from groundwire.text.files.reading import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS

#: Called with the number of rows that are done, those of earlier runs included.
OnRow = Callable[[int], None]


_REMEDY = (
    "Continue with the options of the first run, name another --output, or start over with --force "
    "in place of --resume."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The outcome of a run.

    Attributes:
        n_rows: Rows in the file of results now.
        n_new: Those among them that this call judged.
    """

    n_rows: int
    n_new: int


def here(detector: AnyDetector) -> Judging:
    """Make a function that judges in this process, with the threads of the detector."""
    return lambda blocks: (judge_block(detector, block) for block in blocks)


def run(
    judging: Judging | AnyDetector,
    rows: Iterable[AnyRow],
    *,
    output: Path,
    header: Header,
    replace: bool = False,
    retry_failed: bool = False,
    on_row: OnRow = lambda _: None,
    block_rows: int = MAX_BLOCK_ROWS,
) -> Run:
    """Judge all rows that have no result yet, and append their results.

    Args:
        judging: A detector to judge with in this process, or an engine of :mod:`.scale`.
        rows: All of the data, from its beginning.
        output: The file of results, which is made or continued.
        header: The data and the detector.
        replace: Whether earlier results are replaced, once a row of the data has been read.
        retry_failed: Whether rows that failed are judged again; their results go at once.
        on_row: Called after each row.
        block_rows: About how many rows are judged together.

    Raises:
        ResultsError: If the results belong to another run, or are packed.
        DifferentDetectorError: If they were made by another detector.
    """
    judge = judging if callable(judging) else here(judging)
    if output.suffix in (".gz", ".parquet"):
        raise ResultsError(output, None, "results are appended to a file of JSON Lines, not packed")
    results = ResultsFile(output)
    if retry_failed and not replace:
        resume(output, header)  # refuses results that cannot be continued
        results.drop_failed()
    done: Mapping[int, str] = {} if replace else resume(output, header)
    remaining = Remaining(rows, done, output)
    n_done, n_new = len(remaining.done), 0
    blocks = in_contexts(remaining, block_rows)
    first = [*islice(blocks, 1)]  # errors of the data come before the file is made
    with (
        results.writer(header, replace=replace) as writer,
        closing(judge(chain(first, blocks))) as batches,
    ):
        for judged in batches:
            for row in judged:
                writer.write(row)
                n_new += 1
                on_row(n_done + n_new)
    remaining.require_all_judged(n_new)
    remaining.require_all_met()
    return Run(n_rows=n_done + n_new, n_new=n_new)


def in_contexts(rows: Iterable[AnyRow], n_rows: int = MAX_BLOCK_ROWS) -> Iterator[Block]:
    """Group rows into blocks; neighbours of one context stay together.

    Args:
        rows: Any number.
        n_rows: A block of so many, or of :data:`MAX_BLOCK_BYTES`, ends where its last context
            does, and at the latest at twice the size.
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
    """The rows without a result; the others must be those that the results were made from."""

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
        """Refuse to end the run if rows have no result.

        Raises:
            ResultsError: If there are any.
        """
        if n := self._n_given - n_judged:
            raise ResultsError(
                self._output, None, f"{n:,} rows have no result. Judge them with --resume."
            )

    def require_all_met(self) -> None:
        """Refuse results of rows that are not in the data, once all of it has been read.

        Raises:
            ResultsError: If there are any.
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
