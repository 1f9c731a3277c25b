"""Judges blocks of answers and makes rows of results."""

from collections.abc import Iterator, Sequence
from hashlib import sha256

from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.values import Detection, Outcome, fields_as_data
from groundwire.errors import GroundwireError
from groundwire.evaluation.datasets.files import AnyRow, FailedRow, NumberedAnswer
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.judged_row import JudgedRow

#: A block: rows whose answers one call of the detector judges. It may have rows that could not be
#: read, which are not judged.
Block = Sequence[AnyRow]


def judge_block(detector: AnyDetector, block: Block) -> Iterator[JudgedRow]:
    """Judge the rows of a block and yield their results.

    Rows that could not be read come first. Answers with the same context id follow one another, so
    that a detector with a cache need not read the same sources again.
    """
    yield from (failed_row(row) for row in block if isinstance(row, FailedRow))
    numbered = [row for row in block if isinstance(row, NumberedAnswer)]
    first: dict[str, int] = {}
    for row in numbered:
        first.setdefault(row.answer.context_id, row.row)
    numbered.sort(key=lambda row: (first[row.answer.context_id], row.row))
    verdicts = detector.detect_batch([row.answer.example for row in numbered])
    for row, verdict in zip(numbered, verdicts, strict=True):
        yield judged_row(row, verdict)


def judged_row(row: NumberedAnswer, verdict: Detection | GroundwireError) -> JudgedRow:
    """Make a row of results from an answer and its detection or error.

    A row whose detection has the outcome ``unavailable`` has both the detection and an error.
    """
    answer, detection, error, seconds = row.answer, None, None, 0.0
    if isinstance(verdict, Detection):
        detection = verdict.to_dict()
        seconds = round(verdict.timings_ms.get("total", 0.0) / 1000, 6)
        if verdict.outcome is Outcome.UNAVAILABLE:
            error = {"type": "DetectionError", "message": "the outcome is unavailable"}
    else:
        error = {"type": type(verdict).__name__, "message": str(verdict)}
    is_known = answer.known is not Known.NOTHING
    hashed = [(each, sha256(each.text.encode()).hexdigest()) for each in answer.example.sources]
    return JudgedRow(
        row=row.row,
        id=answer.id,
        task=answer.task,
        context_id=answer.context_id,
        columns=dict(answer.columns),
        question=answer.example.question,
        answer=answer.example.answer,
        sources=tuple(
            {"id": each.id, "chars": len(each.text), "sha256": digest} for each, digest in hashed
        ),
        known=str(answer.known),
        hallucinated=answer.is_hallucinated if is_known else None,
        gold=tuple(map(fields_as_data, answer.spans)),
        detection=detection,
        error=error,
        seconds=seconds,
        sha256=row.sha256,
    )


def failed_row(row: FailedRow) -> JudgedRow:
    """Make a row of results for a row of the data that could not be read."""
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
        error={"type": "RowError", "message": row.message},
        sha256=row.sha256,
    )
