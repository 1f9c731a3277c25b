"""Summarizes a results file for reports."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from operator import attrgetter
from pathlib import Path
from typing import Any

from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import Header, requiring_results
from groundwire.evaluation.reports.curves import Curve, curves_of
from groundwire.evaluation.reports.kinds import ReportRow, RowKind
from groundwire.evaluation.results_file import read_header, read_judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The contents of a report.

    Attributes:
        header: The detector and the data.
        scores: Scores and counts, as :meth:`.evaluation.Evaluation.to_dict` returns them.
        curves: Curves over all thresholds, as :func:`.curves.curves_of` makes them.
        counts: Number of rows of each kind.
        examples: The worst rows, in the order of :attr:`.kinds.ReportRow.rank`.
    """

    header: Header
    scores: Mapping[str, Any]
    curves: tuple[Curve, ...]
    counts: Mapping[RowKind, int]
    examples: tuple[ReportRow, ...]

    @property
    def n_left_out(self) -> int:
        """Number of rows that are not among the examples."""
        return sum(self.counts.values()) - len(self.examples)


def summarize(path: Path, *, n_examples: int = 300) -> Summary:
    """Summarize a results file, with at most ``n_examples`` examples.

    Raises:
        ResultsError: If the file is not a file of results.
    """
    counts, judged = Counter[RowKind](), list[ComparedAnswer]()

    def counted() -> Iterator[ReportRow]:
        for example in examples_of(path):
            counts[example.kind] += 1
            if example.judged is not None:
                judged.append(example.judged)
            yield example

    evaluation = Evaluation.read(path)
    # At least 1: for 0, nsmallest would read no row, and no row would be counted.
    worst = nsmallest(max(n_examples, 1), counted(), key=attrgetter("rank"))
    return Summary(
        header=evaluation.header,
        scores=evaluation.to_dict(),
        curves=curves_of(judged),
        counts={kind: counts[kind] for kind in RowKind},
        examples=tuple(worst[:n_examples]),
    )


def examples_of(path: Path) -> Iterator[ReportRow]:
    """Yield the rows of a results file, each compared with its label if it has one.

    Raises:
        ResultsError: If the file is not a file of results.
    """
    detector = read_header(path).detector
    with requiring_results(path):
        for row in read_judged(path):
            yield ReportRow.of(row, detector)
