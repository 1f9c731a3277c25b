"""Summarizes a results file; all reports are written from the summary."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.detection.values import DetectorInfo
from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import Header, JudgedRow, requiring_results
from groundwire.evaluation.reports.curves import Curves, curves_of
from groundwire.evaluation.reports.kinds import ReportRow, RowKind
from groundwire.evaluation.results_file import read_header, read_judged

#: Default limit on the examples of a page; an example takes a few kilobytes.
N_EXAMPLES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The contents of a report.

    Attributes:
        header: The detector and the data.
        scores: Scores and counts, as :meth:`.evaluation.Evaluation.to_dict` returns them.
        curves: Curves over all thresholds; ``None`` unless some answers are hallucinated and some
            are not.
        counts: Number of rows of each kind.
        examples: The worst rows, in the order of :attr:`.kinds.ReportRow.rank`.
    """

    header: Header
    scores: Mapping[str, Any]
    curves: Curves | None
    counts: Mapping[RowKind, int]
    examples: tuple[ReportRow, ...]

    @property
    def n_left_out(self) -> int:
        """Number of rows that are not among the examples."""
        return sum(self.counts.values()) - len(self.examples)


def summarize(path: Path, *, n_examples: int = N_EXAMPLES) -> Summary:
    """Summarize a results file.

    Args:
        path: The file.
        n_examples: Highest number of examples to keep.

    Raises:
        ResultsError: If the file is not a file of results.
    """
    reading = _Reading(n_examples)
    scores = reading.scores(path)
    return Summary(
        header=read_header(path),
        scores=scores,
        curves=curves_of(reading.judged),
        counts={kind: reading.counts[kind] for kind in RowKind},
        examples=reading.examples(),
    )


def examples_of(path: Path) -> Iterator[ReportRow]:
    """Yield the rows of a results file, each compared with its label.

    Raises:
        ResultsError: If the file is not a file of results.
    """
    detector = read_header(path).detector
    with requiring_results(path):
        for row in read_judged(path):
            yield ReportRow.of(row, detector)


class _Reading:
    """One pass over a results file, which computes scores and keeps the worst examples."""

    def __init__(self, n_examples: int) -> None:
        self.n_examples = n_examples
        self.counts: Counter[RowKind] = Counter()
        self.judged: list[ComparedAnswer] = []
        # A heap with the least bad of the kept examples on top; a worse example replaces it.
        self._kept: list[tuple[tuple[int, float, int], int, ReportRow]] = []

    def scores(self, path: Path) -> dict[str, Any]:
        with requiring_results(path):
            header = read_header(path)
            return Evaluation.of(header, self._watched(path, header.detector)).to_dict()

    def examples(self) -> tuple[ReportRow, ...]:
        return tuple(sorted((each for *_, each in self._kept), key=lambda each: each.rank))

    def _watched(self, path: Path, detector: DetectorInfo) -> Iterator[JudgedRow]:
        for row in read_judged(path):
            example = ReportRow.of(row, detector)
            self.counts[example.kind] += 1
            if example.judged is not None:
                self.judged.append(example.judged)
            self._keep(example)
            yield row

    def _keep(self, example: ReportRow) -> None:
        tier, badness, row = example.rank
        entry = ((-tier, -badness, -row), sum(self.counts.values()), example)
        if len(self._kept) < self.n_examples:
            heapq.heappush(self._kept, entry)
        elif self._kept and entry[0] > self._kept[0][0]:
            heapq.heapreplace(self._kept, entry)
