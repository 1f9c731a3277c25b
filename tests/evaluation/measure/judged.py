"""Results of measured answers, made without a model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.detection.values import DetectorInfo
from groundwire.evaluation.judged_row import Header, JudgedRow
from groundwire.evaluation.results_file import RowWriter

READER = DetectorInfo(name="reader", revision="0" * 12, operating_point="balanced", threshold=0.3)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A judged answer; spans are labels with severities."""

    outcome: str = "grounded"
    context: str = ""
    model: str = "m"
    task: str = "QA"
    spans: Sequence[tuple[str, int]] = ()
    finish_reason: str = "stop"
    tokens: tuple[object, object] = (100, 10)


def results(path: Path, rows: Sequence[Row], info: DetectorInfo = READER) -> Path:
    """A file of results."""
    with path.open("wb") as stream:
        writer = RowWriter(stream, Header(detector=info, data={"answers.jsonl": "a" * 64}))
        for number, row in enumerate(rows, 1):
            writer.write(_row(number, row))
    return path


def _row(number: int, row: Row) -> JudgedRow:
    has_failed = row.outcome == "failed"
    spans = list(row.spans)
    if row.outcome == "hallucinated" and not spans:
        spans = [("unsupported", 2)]
    own = {
        "question_id": f"q{number}",
        "model": row.model,
        "finish_reason": row.finish_reason,
        "prompt_tokens": str(row.tokens[0]),
        "completion_tokens": str(row.tokens[1]),
    }
    detection: dict[str, Any] = {
        "outcome": row.outcome,
        "spans": [{"label": label, "severity": severity} for label, severity in spans],
    }
    return JudgedRow(
        row=number,
        id=f"a{number}",
        task=row.task,
        context_id=row.context or f"c{number}",
        columns=own,
        question=None if has_failed else "When?",
        answer="" if has_failed else "It was.",
        sources=() if has_failed else ({"id": "S0", "chars": 1, "sha256": "b" * 64},),
        known="nothing",
        hallucinated=None,
        detection=None if has_failed else json.loads(json.dumps(detection)),
        error={"type": "RowError", "message": "no"} if has_failed else None,
        sha256="f" * 16,
    )
