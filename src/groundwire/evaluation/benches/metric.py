"""The metrics of benchmarks, each with its confidence interval.

A metric is computed over all answers, over the answers of one task, or as the unweighted mean of
its values for the tasks.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import nan
from typing import Any, Self

import numpy as np

from groundwire.evaluation.columns import Columns
from groundwire.evaluation.intervals import SEED, Bootstrap, Replicates, ScoreInterval
from groundwire.evaluation.metrics import Floats, f1_of, ratios
from groundwire.evaluation.scores import defined, rankings
from groundwire.evaluation.sums import answer_sums, score, share_of

#: A function that computes a score of answers, and the same score for each bootstrap resample.
Statistic = Callable[[Columns, Bootstrap], Replicates]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchScore(ScoreInterval):
    """The value of a metric with its 95 % interval; an undefined number is ``nan``.

    Values are in [0, 1]. Only F1 of characters can be higher, if annotated ranges overlap.

    Attributes:
        n: Number of answers that the metric is about, with or without a verdict. In the baseline of
            :meth:`Metric.of_flagging_all`, answers that no score counts (:func:`.sums.counted`) are
            left out.
    """

    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return the score as JSON data."""
        value, *ends = map(defined, (self.value, self.low, self.high))
        return {"value": value, "ci95": ends, "n": self.n}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of a benchmark.

    Attributes:
        name: Name of the metric, such as ``F1, QA``. Published scores have the same names.
        statistic: The function that computes the score in the name, such as F1.
        task: The task whose answers the metric uses; empty for all tasks.
        is_mean_of_tasks: Whether the metric is the unweighted mean of its values for the tasks.
    """

    name: str
    statistic: Statistic
    task: str = ""
    is_mean_of_tasks: bool = False

    @classmethod
    def parse(cls, name: str) -> Self:
        """Parse the name of a metric.

        ``F1`` is computed over all answers, ``F1, QA`` over the answers of the task QA. ``mean F1``
        is the mean of the F1 of the tasks. ``F1, pooled`` means the same as ``F1``.

        Raises:
            KeyError: If the score in the name is not in :data:`STATISTICS`.
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
        """Whether the metric uses only answers whose hallucinated characters are known."""
        return self.statistic in (characters_f1, characters_iou)

    def of(self, answers: Columns) -> BenchScore:
        """Compute the metric of answers; the value is ``nan`` if the metric applies to none."""
        nothing = BenchScore(value=nan, low=nan, high=nan, n=0)
        if self.task:
            if self.task not in (by_task := answers.by_task()):
                return nothing
            answers = by_task[self.task]
        if self.needs_spans:
            answers = answers.take(answers.has_spans)
        if not len(answers):
            return nothing
        found = self._mean(answers) if self.is_mean_of_tasks else self._one(answers)
        return BenchScore(**asdict(found.interval()), n=len(answers))

    def of_flagging_all(self, answers: Columns) -> BenchScore | None:
        """Compute the metric of a detector that flags every answer, as a baseline.

        Return ``None`` for a metric of characters: this detector marks no characters.
        """
        if self.needs_spans:
            return None
        # The detector's score leaves out answers that do not count, so the baseline does too.
        answers = answers.take(answers.counted)
        every = np.ones(len(answers), np.bool_)
        flagged = replace(answers, flagged=every, failed=~every, probability=every.astype(float))
        return self.of(flagged)

    def _one(self, answers: Columns, seed: int = SEED) -> Replicates:
        return self.statistic(answers, Bootstrap.of(answers.contexts, seed=seed))

    def _mean(self, answers: Columns) -> Replicates:
        # Each task has a seed of its own, so that the draws of the tasks are independent.
        found = [
            self._one(of_task, SEED + i) for i, of_task in enumerate(answers.by_task().values())
        ]
        whole = Bootstrap.of(answers.contexts)
        draws = np.mean([each.draws for each in found], axis=0)
        return Replicates(float(np.mean([each.value for each in found])), draws, whole)


def f1(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute F1 of whole answers; a positive is a hallucinated answer."""
    return score("f1", drawn.sums(_sums(answers)))


def accuracy(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute the share of right answers among those that count (:func:`.sums.counted`).

    An answer is right if it is both flagged and hallucinated, or neither.
    """
    return drawn.sums(_sums(answers)).of_share(_accuracy)


def balanced_accuracy(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute the mean of the recall of hallucinated answers and the recall of grounded answers."""
    return score("balanced_accuracy", drawn.sums(_sums(answers)))


def auroc(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute AUROC: P(a hallucinated answer is doubted more than a grounded one).

    A tie counts half.
    """
    (found,) = drawn.of_weights(rankings(answers)["auroc"])
    return found


def characters_f1(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute F1 of hallucinated characters, over all answers together.

    Characters are counted as in LettuceDetect's evaluator; see :func:`.metrics.count_pairs`.
    Answers that do not count (:func:`.sums.counted`) are left out.
    """
    return drawn.of_sums(answers.pairs * answers.counted[:, None], f1_of)


def characters_iou(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute the IoU of predicted and gold hallucinated characters, as the mean over answers.

    Answers that do not count (:func:`.sums.counted`) are left out.
    """
    columns = np.column_stack([answers.ious, np.ones(len(answers))]) * answers.counted[:, None]
    return drawn.of_sums(columns, share_of)


def _sums(answers: Columns) -> Floats:
    return answer_sums(answers.flagged, answers.hallucinated, answers.failed)


def _accuracy(sums: Floats) -> Floats:
    both, flagged, hallucinated, n = np.moveaxis(sums, -1, 0)
    return ratios(n - flagged - hallucinated + 2 * both, n)


#: Name of a score → function that computes the score. The name of a metric contains the name of a
#: score: "F1, QA" contains "F1".
STATISTICS: Mapping[str, Statistic] = {
    "F1": f1,
    "accuracy": accuracy,
    "balanced accuracy": balanced_accuracy,
    "AUROC": auroc,
    "characters F1": characters_f1,
    "characters IoU": characters_iou,
}
