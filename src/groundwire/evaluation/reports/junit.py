"""A report as JUnit XML, which CI systems show as tests.

Each row is a test: a wrong verdict is a failure, a row that could not be checked an error, a row
without a label is skipped. Beside a baseline a verdict that was wrong before is skipped as well, so
that the failures are what a change broke. The shape is what Jenkins' schema ``junit-10.xsd``
demands.
"""

from collections import Counter
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element

from groundwire.evaluation.reports.kinds import MEANINGS, ReportRow, RowKind
from groundwire.evaluation.reports.markup import element, write_xml
from groundwire.evaluation.reports.summary import Summary, examples_of
from groundwire.evaluation.reports.words import marked_text
from groundwire.text.screen import one_line, visible


def write_junit(summary: Summary, results: Path, stream: IO[str]) -> None:
    """Write a test for each row, one by one: there may be more of them than fit in memory.

    Args:
        summary: Of the results.
        results: The file of results, which is read again.
        stream: Where to write.

    Raises:
        ResultsError: If it is no file of results.
    """
    name = f"groundwire evaluate: {one_line(summary.header.detector.name)}"
    n: Counter[str] = Counter()
    seconds = 0.0
    for example in examples_of(results):
        n[_verdict(example, summary)] += 1
        seconds += example.row.seconds
    totals: dict[str, str | int] = {
        "name": name,
        "tests": n.total(),
        "failures": n["failure"],
        "errors": n["error"],
    }
    # A tree of its own for each test, so the elements around them are written by hand.
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(_opened(element("testsuites", **totals, time=f"{seconds:.3f}")))
    stream.write(
        _opened(element("testsuite", **totals, skipped=n["skipped"], time=f"{seconds:.3f}"))
    )
    for example in examples_of(results):
        stream.write(write_xml(_test(example, summary)) + "\n")
    stream.write("</testsuite>\n</testsuites>\n")


def _opened(tree: Element) -> str:
    return write_xml(tree).removesuffix(" />") + ">\n"


def _verdict(example: ReportRow, summary: Summary) -> str:
    """What a row is as a test: ``passed``, ``failure``, ``error`` or ``skipped``."""
    comparison = summary.comparison
    match example.kind:
        case RowKind.FAILED | RowKind.UNCHECKED:
            return "error"
        case RowKind.UNLABELLED:
            return "skipped"
        case RowKind.FALSE_NEGATIVE | RowKind.FALSE_POSITIVE:
            before = None if comparison is None else comparison.kinds.get(example.key)
            return "skipped" if before is example.kind else "failure"
        case _:
            return "passed"


def _test(example: ReportRow, summary: Summary) -> Element:
    row, verdict = example.row, _verdict(example, summary)
    return element(
        "testcase",
        None if verdict == "passed" else _why(example, verdict),
        classname=f"groundwire.{one_line(row.task) or '(none)'}",
        name=f"{one_line(row.id)} (row {row.row})",
        time=f"{row.seconds:.3f}",
    )


def _why(example: ReportRow, verdict: str) -> Element:
    error = example.row.error
    if error is not None:
        type_, message = error["type"], one_line(error["message"])
    else:
        type_, message = str(example.kind), MEANINGS[example.kind]
    if verdict == "skipped" and example.kind is not RowKind.UNLABELLED:
        message += "; so it was in the baseline"
    body = visible(marked_text(example)) if verdict == "failure" else None
    return element(verdict, body, type=type_, message=message)
