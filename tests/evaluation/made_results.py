"""Files of results for tests, made without a detector."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundwire.detection.values import DetectorInfo, Score
from groundwire.evaluation.judged_row import Header, JudgedRow
from groundwire.evaluation.results_file import RowWriter

READER = DetectorInfo(name="reader", revision="0" * 12, operating_point="custom", threshold=0.05)
SIMILARITY = DetectorInfo(
    name="similarity",
    revision="0" * 12,
    operating_point="balanced",
    threshold=0.5,
    score=Score.SIMILARITY,
)
ANSWER = "It is 330 m tall."


@dataclass(frozen=True, kw_only=True)
class Row:
    """A judged answer of one claim; without a score the check failed.

    The outcome is that of the score, unless another is given. With a reason nothing was checked.
    """

    score: float | None
    hallucinated: bool | None = False
    context: str = "c"
    task: str = "QA"
    columns: dict[str, str] = field(default_factory=dict)
    sha256: str = "f"
    outcome: str | None = None
    reason: str | None = None


def judged(rows: Sequence[Row], info: DetectorInfo = READER) -> list[JudgedRow]:
    """Rows of results."""
    return [_judged(number, row, info) for number, row in enumerate(rows, 1)]


def write(
    path: Path,
    rows: Sequence[Row],
    info: DetectorInfo = READER,
    *,
    data: str = "a" * 64,
) -> Path:
    """Write a file of results."""
    with path.open("wb") as stream:
        writer = RowWriter(stream, Header(detector=info, data={"data.jsonl": data}))
        for row in judged(rows, info):
            writer.write(row)
    return path


def _judged(number: int, row: Row, info: DetectorInfo) -> JudgedRow:
    is_known, is_failed = row.hallucinated is not None, row.score is None
    return JudgedRow(
        row=number,
        id=f"id-{number}",
        task=row.task,
        context_id=row.context,
        columns=row.columns,
        answer=ANSWER,
        known="answer" if is_known else "nothing",
        hallucinated=row.hallucinated,
        detection=None if is_failed else _detection(row, info),
        error={"type": "DetectionError", "message": "it failed"} if is_failed else None,
        seconds=0.1,
        sha256=row.sha256,
    )


def _detection(row: Row, info: DetectorInfo) -> dict[str, Any]:
    is_compared, is_read = info.score is Score.SIMILARITY, row.reason is None
    score = row.score or 0.0
    is_flagged = is_read and (score < info.threshold if is_compared else score >= info.threshold)
    scores = {
        "probability": None if is_compared or not is_read else score,
        "similarity": score if is_compared and is_read else None,
    }
    label = "unsupported" if is_flagged else "supported"
    place: dict[str, Any] = {
        "start": 0,
        "end": len(ANSWER),
        "text": ANSWER,
        **scores,
        "evidence": [],
    }
    n = len(ANSWER)
    return {
        "outcome": row.outcome or ("hallucinated" if is_flagged else "grounded"),
        **scores,
        "spans": [{**place, "label": "unsupported", "severity": 2}] if is_flagged else [],
        "claims": [
            {
                **place,
                "label": label if is_read else "unchecked",
                "entailment": None,
                "citations": [],
                "reason": row.reason,
            }
        ],
        "coverage": {
            "offered_chars": n,
            "indexed_chars": n,
            "attended_chars": n,
            "answer_chars": n,
            "read_chars": n if is_read else 0,
            "reasons": {} if row.reason is None else {row.reason: 1},
        },
        "detector": info.to_dict(),
        "timings_ms": {"total": 100.0},
    }
