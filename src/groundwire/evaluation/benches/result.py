"""A detector's result on a benchmark, and reasons not to compare it with published results."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from groundwire.detection.values import as_data
from groundwire.evaluation.benches.checking import Counts, FileCheck, check_counts
from groundwire.evaluation.benches.metric import BenchScore
from groundwire.evaluation.benches.registry import Bench
from groundwire.evaluation.columns import Columns
from groundwire.evaluation.confusion import ComparedAnswer, detection_in
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.no_verdict import counts_without_verdict
from groundwire.evaluation.results_file import read_judged

#: Name of a metric → score, in the order of the benchmark's metrics.
Scores = Mapping[str, BenchScore]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The result of a detector on a benchmark.

    Attributes:
        bench: The benchmark.
        split: Name of the split.
        commit: Commit of the dataset on the hub; empty if the files are not from the hub.
        scores: Values of the benchmark's metrics for all labelled answers in the results.
        variants: Name of a part of the split → values of the metrics for the answers of that part.
        flag_all: Values of the metrics for a detector that flags every answer, as a baseline;
            ``None`` for metrics of characters.
        check: Comparison of the numbers of answers with the numbers on record.
        differences: Known reasons why the scores are not comparable with published ones.
        evaluation: The scores that are computed for any labelled data, benchmark or not.
    """

    bench: Bench
    split: str
    commit: str
    scores: Scores
    variants: Mapping[str, Scores]
    flag_all: Mapping[str, BenchScore | None]
    check: FileCheck
    differences: tuple[str, ...]
    evaluation: Evaluation

    @classmethod
    def read(
        cls, path: Path, bench: Bench, split: str, *, limit: int | None = None, commit: str = ""
    ) -> Self:
        """Read a file of results, and compute the benchmark's metrics from it.

        ``limit`` is the highest number of answers that the run was allowed to draw; ``None`` if the
        run had no limit.

        Raises:
            ResultsError: If the file is not a file of results.
        """
        evaluation, other = Evaluation.read(path), list[str]()
        dropped: dict[str, list[int]] = {variant["name"]: [] for variant in bench.variants}

        def labelled() -> Iterator[ComparedAnswer]:
            for row in read_judged(path):
                # A user's own file may have a column that names the split of each row. Scores of
                # rows from another split are not comparable with published scores of this split.
                said = row.columns.get("split", split)
                if said != split and not other:
                    other.append(
                        f"row {row.row:,} says that it is of the split {said!r}, not {split!r}"
                    )
                for variant in bench.variants:
                    if row.columns.get(variant["column"]) in variant["drops"]:
                        dropped[variant["name"]].append(row.row)
                if row.hallucinated is not None:
                    yield ComparedAnswer.of(row, detection_in(row))

        answers = Columns.of(labelled())
        of_task = {name: _count(found) for name, found in answers.by_task().items()}
        check = check_counts(bench.expected.get(split, {}), _count(answers), of_task)
        return cls(
            bench=bench,
            split=split,
            commit=commit,
            scores=_scores(bench, answers),
            variants={
                name: _scores(bench, answers.take(~np.isin(answers.rows, rows)))
                for name, rows in dropped.items()
            },
            flag_all={each.name: each.of_flagging_all(answers) for each in bench.metrics},
            check=check,
            differences=(*other, *_differences(check, evaluation, limit)),
            evaluation=evaluation,
        )

    @property
    def is_comparable(self) -> bool:
        """Whether the scores are comparable with published ones: no difference is known."""
        return not self.differences

    def to_dict(self, *, wall_s: float | None = None) -> dict[str, Any]:
        """Return the result as JSON data: own scores as ratios, published scores in per cent.

        ``wall_s`` is the number of seconds that the whole run took; by default the sum of the
        durations of all checks.
        """
        bench = self.bench
        return {
            "bench": {
                "name": bench.name,
                "title": bench.title,
                "split": self.split,
                "commit": self.commit or None,
                "metric": bench.metrics[0].name,
                "hallucinated": bench.hallucinated,
                "licence": bench.licence,
                "citation": bench.citation,
                "url": bench.url,
            },
            "results": as_data(self.scores),
            "variants": as_data(self.variants),
            "flag_all": as_data(self.flag_all),
            "check": self.check.to_dict(),
            "is_comparable": self.is_comparable,
            "differences": list(self.differences),
            "published": [{"note": "", **each} for each in bench.published],
            "scores": self.evaluation.to_dict(wall_s=wall_s),
        }


def _differences(check: FileCheck, evaluation: Evaluation, limit: int | None) -> Iterable[str]:
    if limit is not None:
        yield f"at most {limit:,} answers were drawn"
    if check.counts == "different" and limit is None:
        yield f"the answers are not those of the benchmark ({'; '.join(check.differences)})"
    if check.counts == "unknown":
        yield "nobody here knows how many answers there should be"
    yield from counts_without_verdict(evaluation.to_dict())


def _scores(bench: Bench, answers: Columns) -> Scores:
    return {each.name: each.of(answers) for each in bench.metrics}


def _count(answers: Columns) -> Counts:
    return len(answers), int(answers.hallucinated.sum())
