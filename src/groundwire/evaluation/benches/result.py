"""What a detector reached on a benchmark, and whether that compares with what others reached."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from groundwire.evaluation.benches.checking import Counts, FileCheck, check_counts
from groundwire.evaluation.benches.metric import BenchScore
from groundwire.evaluation.benches.registry import Bench
from groundwire.evaluation.columns import Collector, Columns
from groundwire.evaluation.confusion import Judged, detection_in
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import JudgedRow
from groundwire.evaluation.no_verdict import told
from groundwire.evaluation.results_file import read_judged

#: Name of a metric → score.
Scores = Mapping[str, BenchScore | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What was left out on purpose.

    Attributes:
        limit: So many answers were drawn.
        tasks: Only these were judged.
    """

    limit: int | None = None
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """What a detector reached on a benchmark.

    Attributes:
        bench: The benchmark.
        split: The part of it.
        commit: Of the hub, if the files are from there.
        scores: By metric, of all answers.
        variants: The same of some of them, by the name of the variant.
        flag_all: Of a detector that flags every answer.
        check: Whether the answers are those of the benchmark.
        differences: Why the scores do not compare with published ones; empty if they do.
        evaluation: All other scores.
    """

    bench: Bench
    split: str
    commit: str
    scores: Scores
    variants: Mapping[str, Scores]
    flag_all: Scores
    check: FileCheck
    differences: tuple[str, ...]
    evaluation: Evaluation

    @classmethod
    def read(
        cls,
        path: Path,
        bench: Bench,
        split: str,
        *,
        sample: LeftOut | None = None,
        commit: str = "",
    ) -> Self:
        """Make it from a file of results.

        Raises:
            ResultsError: If it is none.
        """
        evaluation = Evaluation.read(path)
        gathered = _Gathered.of(read_judged(path), bench, split)
        answers, tasks = gathered.columns, gathered.tasks
        check = check_counts(bench.expected.get(split, {}), *_counts(answers, tasks))
        return cls(
            bench=bench,
            split=split,
            commit=commit,
            scores=_scores(bench, answers, tasks),
            variants={
                name: _scores(bench, found.columns(), found.tasks)
                for name, found in gathered.variants.items()
            },
            flag_all={each.name: each.of_flagging_all(answers, tasks) for each in bench.metrics},
            check=check,
            differences=(
                *gathered.differences,
                *_differences(sample or LeftOut(), check, evaluation),
            ),
            evaluation=evaluation,
        )

    @property
    def is_comparable(self) -> bool:
        """Whether the same answers were judged as published scores are of, as far as is known."""
        return not self.differences

    def to_dict(self, *, wall_s: float | None = None) -> dict[str, Any]:
        """As JSON data; ratios are in [0, 1], published scores in per cent as printed."""
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
            "results": _plain(self.scores),
            "variants": {name: _plain(scores) for name, scores in self.variants.items()},
            "flag_all": _plain(self.flag_all),
            "check": self.check.to_dict(),
            "is_comparable": self.is_comparable,
            "differences": list(self.differences),
            "published": [{"note": "", **each} for each in bench.published],
            "scores": self.evaluation.to_dict(wall_s=wall_s),
        }


def _differences(sample: LeftOut, check: FileCheck, evaluation: Evaluation) -> Iterable[str]:
    if sample.limit is not None:
        yield f"at most {sample.limit:,} answers were drawn"
    if sample.tasks:
        yield f"only {', '.join(sample.tasks)} was judged"
    if check.counts == "different" and sample == LeftOut():
        yield f"the answers are not those of the benchmark ({'; '.join(check.differences)})"
    if check.counts == "unknown":
        yield "nobody here knows how many answers there should be"
    yield from told(evaluation.to_dict())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gathered:
    """The numbers of all answers, and of those of each variant."""

    columns: Columns
    tasks: Sequence[str]
    variants: Mapping[str, Collector]
    differences: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[JudgedRow], bench: Bench, split: str) -> Self:
        """Read rows once."""
        every, other = Collector(), ""
        variants = {variant["name"]: Collector() for variant in bench.variants}
        for row in rows:
            # A file of one's own may say what it is a part of.
            said = row.columns.get("split", split)
            if said != split and not other:
                other = f"row {row.row:,} says that it is of the split {said!r}, not {split!r}"
            if row.hallucinated is None:
                continue
            judged = Judged.of(row, detection_in(row))
            every.add(row.row, judged)
            for variant in bench.variants:
                if row.columns.get(variant["column"]) not in variant["drops"]:
                    variants[variant["name"]].add(row.row, judged)
        return cls(
            columns=every.columns(),
            tasks=every.tasks,
            variants=variants,
            differences=(other,) if other else (),
        )


def _scores(bench: Bench, answers: Columns, tasks: Sequence[str]) -> Scores:
    return {each.name: each.of(answers, tasks) for each in bench.metrics}


def _counts(answers: Columns, tasks: Sequence[str]) -> tuple[Counts, dict[str, Counts]]:
    of_task = {name: _count(answers.take(answers.tasks == i)) for i, name in enumerate(tasks)}
    return _count(answers), of_task


def _count(answers: Columns) -> Counts:
    return len(answers), int(answers.hallucinated.sum())


def _plain(scores: Scores) -> dict[str, Any]:
    return {
        name: None
        if each is None
        else {
            "value": each.value,
            "ci95": [each.low, each.high],
            "n": each.n,
            "n_undefined": each.n_undefined,
        }
        for name, each in scores.items()
    }
