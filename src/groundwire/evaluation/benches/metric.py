"""The metrics of benchmarks, each with its interval.

Most are scores that :mod:`.scores` has too. They are computed over all answers, over those of one
task, or as the unweighted mean of the tasks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from groundwire.evaluation.columns import Columns
from groundwire.evaluation.intervals import SEED, Bootstrap, Replicates
from groundwire.evaluation.metrics import Floats, f1_of, ratios
from groundwire.evaluation.scores import defined, rankings
from groundwire.evaluation.sums import answer_sums, score

#: Computes a score of answers (at least one) with the bootstrap of their contexts.
Statistic = Callable[[Columns, Bootstrap], Replicates]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchScore:
    """A score in [0, 1] with its 95 % interval; ``None`` where it is undefined.

    Attributes:
        value: The metric of all answers, without resampling.
        low: Lower end.
        high: Upper end.
        n: Answers.
        n_undefined: Resamples in which it is undefined; they are left out.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    n_undefined: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        ends = [self.low, self.high]
        return {"value": self.value, "ci95": ends, "n": self.n, "n_undefined": self.n_undefined}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of a benchmark.

    Attributes:
        name: Its name; published scores are found by it.
        statistic: How it is computed.
        task: The task whose answers count; empty for all tasks.
        is_mean_of_tasks: Whether it is the unweighted mean of the tasks.
    """

    name: str
    statistic: Statistic
    task: str = ""
    is_mean_of_tasks: bool = False

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read the name of a metric: ``F1``, ``F1, QA`` of one task, ``mean F1`` of all tasks.

        ``balanced accuracy, pooled`` is that of all answers, beside a mean of tasks.
        """
        score, _, task = name.removeprefix("mean ").partition(", ")
        return cls(
            name=name,
            statistic=STATISTICS[score],
            task="" if task == "pooled" else task,
            is_mean_of_tasks=name.startswith("mean "),
        )

    @property
    def needs_spans(self) -> bool:
        """Whether only answers count of which the hallucinated characters are known."""
        return self.statistic in (characters_f1, characters_iou)

    def of(self, answers: Columns, *, seed: int = SEED) -> BenchScore:
        """Score answers; the seed is that of the resampling."""
        nothing = BenchScore(value=None, low=None, high=None, n=0)
        if self.task:
            if self.task not in (by_task := answers.by_task()):
                return nothing
            answers = by_task[self.task]
        if self.needs_spans:
            answers = answers.take(answers.has_spans)
        if not len(answers):
            return nothing
        found = self._mean(answers, seed) if self.is_mean_of_tasks else self._one(answers, seed)
        ends = found.interval()
        value, low, high = map(defined, (found.value, ends.low, ends.high))
        n_undefined = ends.n_undefined
        return BenchScore(value=value, low=low, high=high, n=len(answers), n_undefined=n_undefined)

    def of_flagging_all(self, answers: Columns) -> BenchScore | None:
        """Score a detector that flags every answer; ``None`` where it would have to mark words."""
        if self.needs_spans:
            return None
        # Only answers that scores count, so that the two compare.
        answers = answers.take(answers.counted)
        every = np.ones(len(answers), np.bool_)
        flagged = replace(answers, flagged=every, failed=~every, probability=every.astype(float))
        return self.of(flagged)

    def _one(self, answers: Columns, seed: int) -> Replicates:
        return self.statistic(answers, Bootstrap.of(answers.contexts, seed=seed))

    def _mean(self, answers: Columns, seed: int) -> Replicates:
        # Each task draws its own contexts, so each has a seed of its own.
        found = [
            self._one(of_task, seed + i) for i, of_task in enumerate(answers.by_task().values())
        ]
        whole = Bootstrap.of(answers.contexts, seed=seed)
        draws = np.mean([each.draws for each in found], axis=0)
        return Replicates(float(np.mean([each.value for each in found])), draws, whole)


def f1(answers: Columns, drawn: Bootstrap) -> Replicates:
    """F1 of the hallucinated answers."""
    return score("f1", drawn.sums(_sums(answers)))


def accuracy(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Share of answers that are flagged if, and only if, they are hallucinated."""
    return drawn.sums(_sums(answers)).of_share(_accuracy)


def balanced_accuracy(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Mean of the shares of hallucinated and of grounded answers with the right verdict."""
    return score("balanced_accuracy", drawn.sums(_sums(answers)))


def auroc(answers: Columns, drawn: Bootstrap) -> Replicates:
    """P(a hallucinated answer scores above a grounded one), ties half."""
    (found,) = drawn.of_weights_each(rankings(answers)["auroc"])
    return found


def characters_f1(answers: Columns, drawn: Bootstrap) -> Replicates:
    """F1 of hallucinated characters of all answers together, range against range.

    As LettuceDetect's evaluator counts, which published scores come from; see
    :func:`.metrics.count_pairs`.
    """
    return drawn.of_sums(answers.pairs * answers.counted[:, None], f1_of)


def characters_iou(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Mean over answers of the intersection over union of hallucinated characters."""
    columns = np.column_stack([answers.ious, np.ones(len(answers))]) * answers.counted[:, None]
    return drawn.of_sums(columns, lambda sums: ratios(sums[..., 0], sums[..., 1]))


def _sums(answers: Columns) -> Floats:
    return answer_sums(answers.flagged, answers.hallucinated, answers.failed)


def _accuracy(sums: Floats) -> Floats:
    both, flagged, hallucinated, n = np.moveaxis(sums, -1, 0)
    return ratios(n - flagged - hallucinated + 2 * both, n)


#: Score of a metric → how it is computed.
STATISTICS: Mapping[str, Statistic] = {
    "F1": f1,
    "accuracy": accuracy,
    "balanced accuracy": balanced_accuracy,
    "AUROC": auroc,
    "characters F1": characters_f1,
    "characters IoU": characters_iou,
}
