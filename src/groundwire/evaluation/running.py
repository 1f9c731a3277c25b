"""Labelled answers through a detector, into a file of results: however often it is cut short.

Answers to one context are judged one after the other, so that its sources are read once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

from groundwire.cli.batch import judge_all
from groundwire.cli.detectors import AnyDetector
from groundwire.cli.rows import in_blocks
from groundwire.detection import Detection, Outcome
from groundwire.errors import GroundwireError
from groundwire.evaluation.datasets.files import AnyRow, FailedRow, NumberedAnswer
from groundwire.evaluation.datasets.labelled import Known, LabelledAnswer
from groundwire.evaluation.judged import Header, JudgedRow, ResultsError, ResultsWriter, resume

#: Told how many rows are done, those of earlier runs included.
OnRow = Callable[[int], None]

_REMEDY = (
    "Continue with the options of the first run, name another --output, or start over with --force "
    "in place of --resume."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one call did.

    Attributes:
        n_rows: Rows in the file of results now.
        n_new: Those among them that this call judged.
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
    """Judge all rows that have no result yet, and append what comes of them.

    Args:
        detector: What judges.
        rows: All of the data, from its beginning.
        output: The file of results; it is made, or continued.
        header: What is judged, and by what.
        replace: Whether what is in the file goes; it does once a row of the data has been read.
        on_row: Told of each row.

    Raises:
        ResultsError: If the file belongs to another run, or is packed.
        DifferentDetectorError: If it was made by another detector.
    """
    if output.suffix == ".gz":
        raise ResultsError(output, None, "results are appended to, so they are not packed")
    done: Mapping[int, str] = {} if replace else resume(output, header).rows
    remaining = Remaining(rows, done, output)
    n_done, n_new = len(remaining.done), 0
    blocks = in_blocks(remaining, _size)
    first = [*islice(blocks, 1)]  # what can fail comes before the file is there
    with output.open("wb" if replace else "ab") as stream:
        writer = ResultsWriter(stream, header)
        for block in chain(first, blocks):
            for row in judge_block(detector, block):
                writer.write(row)
                n_new += 1
                on_row(n_done + n_new)
    remaining.require_all_met()
    return Run(n_rows=n_done + n_new, n_new=n_new)


class Remaining:
    """The rows that have no result yet; those that have one must be what it was made from."""

    def __init__(self, rows: Iterable[AnyRow], done: Mapping[int, str], output: Path) -> None:
        self.done = done
        self._rows, self._output = rows, output
        self._n_met = 0

    def __iter__(self) -> Iterator[AnyRow]:
        for row in self._rows:
            if row.row not in self.done:
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


def judge_block(detector: AnyDetector, block: Sequence[AnyRow]) -> Iterator[JudgedRow]:
    """Judge rows, those of one context together; rows that cannot be read come first."""
    yield from (failed_row(row) for row in block if isinstance(row, FailedRow))
    numbered = [row for row in block if isinstance(row, NumberedAnswer)]
    first: dict[str, int] = {}
    for row in numbered:
        first.setdefault(row.answer.context_id, row.row)
    numbered.sort(key=lambda row: (first[row.answer.context_id], row.row))
    verdicts = judge_all(detector, [row.answer.example for row in numbered])
    for row, verdict in zip(numbered, verdicts, strict=True):
        yield judged_row(row, verdict)


def judged_row(row: NumberedAnswer, verdict: Detection | GroundwireError) -> JudgedRow:
    """What a detector made of an answer, as a row of results."""
    answer, detection, error = row.answer, None, None
    if isinstance(verdict, Detection):
        detection = verdict.to_dict()
        if verdict.outcome is Outcome.UNAVAILABLE:
            error = {"type": "DetectionError", "message": "the outcome is unavailable"}
    else:
        error = {"type": type(verdict).__name__, "message": str(verdict)}
    is_known = answer.known is not Known.NOTHING
    return JudgedRow(
        row=row.row,
        id=answer.id,
        task=answer.task,
        context_id=answer.context_id,
        columns=dict(answer.columns),
        question=answer.example.question,
        answer=answer.example.answer,
        sources=_sources(answer),
        known=str(answer.known),
        hallucinated=answer.is_hallucinated if is_known else None,
        gold=tuple(
            {"start": each.start, "end": each.end, "label": str(each.label), "kind": each.kind}
            for each in answer.spans
        ),
        detection=detection,
        error=error,
        seconds=_seconds(verdict),
        sha256=row.sha256,
    )


def failed_row(row: FailedRow) -> JudgedRow:
    """A row that could not be read, as a row of results: a failure is told, never left out."""
    return JudgedRow(
        row=row.row,
        id=row.id,
        task=row.task,
        context_id="",
        columns=dict(row.columns),
        answer="",
        known=str(Known.NOTHING),
        hallucinated=None,
        detection=None,
        error={"type": row.kind, "message": row.message},
        sha256=row.sha256,
    )


def _size(row: AnyRow) -> int:
    if isinstance(row, FailedRow):
        return 0
    example = row.answer.example
    return len(example.answer) + sum(len(source.text) for source in example.sources)


def _sources(answer: LabelledAnswer) -> tuple[dict[str, object], ...]:
    return tuple(
        {
            "id": each.id,
            "chars": len(each.text),
            "sha256": sha256(each.text.encode()).hexdigest(),
        }
        for each in answer.example.sources
    )


def _seconds(verdict: Detection | GroundwireError) -> float:
    if not isinstance(verdict, Detection):
        return 0.0
    return round(verdict.timings_ms.get("total", 0.0) / 1000, 6)
