"""Writes a report as JUnit XML, which CI systems show as tests.

Each row is a test. A row without a verdict is an error, and a wrong verdict is a failure. If some
rows have labels, rows with a verdict but no label are skipped. If no row has a label, flagged
answers are failures, and others with a verdict pass. The XML is valid against Jenkins' schema
``junit-10.xsd``.
"""

from collections import Counter
from pathlib import Path
from typing import IO, Any

from groundwire.evaluation.reports.kinds import ReportRow, RowKind
from groundwire.evaluation.reports.summary import Summary, examples_of
from groundwire.evaluation.reports.words import marked_text
from groundwire.render.html import stream_template
from groundwire.text.screen import one_line, visible


def write_junit(summary: Summary, results: Path, stream: IO[str]) -> None:
    """Write a test for each row, one by one, since the rows may not fit in memory together.

    Raises:
        ResultsError: If ``results`` is not a file of results.
    """
    has_labels, n = bool(summary.scores["example"]), Counter[str]()
    for kind, n_rows in summary.counts.items():
        n[_verdict(kind, has_labels=has_labels)] += n_rows
    pieces = stream_template(
        "junit.xml",
        name=f"groundwire evaluate: {one_line(summary.header.detector.name)}",
        n=n,
        seconds=summary.scores["seconds"],
        tests=(_test(example, has_labels=has_labels) for example in examples_of(results)),
    )
    stream.writelines(pieces)


def _verdict(kind: RowKind, *, has_labels: bool) -> str:
    """Return the status of a row as a test: ``passed``, ``failure``, ``error`` or ``skipped``."""
    match kind:
        case RowKind.FAILED | RowKind.UNCHECKED:
            return "error"
        case RowKind.NOT_FLAGGED | RowKind.FLAGGED if has_labels:
            return "skipped"
        case RowKind.FLAGGED | RowKind.FALSE_NEGATIVE | RowKind.FALSE_POSITIVE:
            return "failure"
        case _:
            return "passed"


def _test(example: ReportRow, *, has_labels: bool) -> dict[str, Any]:
    row, verdict = example.row, _verdict(example.kind, has_labels=has_labels)
    if row.error is not None:
        type_, message = row.error["type"], one_line(row.error["message"])
    else:
        type_, message = str(example.kind), example.kind.meaning
    return {
        "id": one_line(row.id),
        "row": row.row,
        "task": one_line(row.task),
        "seconds": row.seconds,
        "verdict": verdict,
        "type": type_,
        "message": message,
        "body": visible(marked_text(example)) if verdict == "failure" else "",
    }
