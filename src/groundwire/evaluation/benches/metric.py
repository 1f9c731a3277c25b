"""The metrics of benchmarks, each with its confidence interval.

Most of these metrics are also among the scores that :mod:`.evaluation.scores` computes for any
labelled data. A metric is computed over all answers, over the answers of one task, or as the
unweighted mean of its values for the tasks.
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
from groundwire.evaluation.sums import answer_sums, score

#: A function that computes a score of answers, and the same score for each bootstrap resample.
Statistic = Callable[[Columns, Bootstrap], Replicates]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchScore(ScoreInterval):
    """The value of a metric with its 95 % interval; ``nan`` where it is undefined.

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
        is the mean of the F1 of the tasks. ``F1, pooled`` is another name of ``F1``, for benchmarks
        that also have ``mean F1``.

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
        # The baseline has to use the same answers as the score of the detector.
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
    """Compute the share of answers that are both flagged and hallucinated, or neither."""
    return drawn.sums(_sums(answers)).of_share(_accuracy)


def balanced_accuracy(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute the mean of two recalls: that of hallucinated answers and that of grounded ones."""
    return score("balanced_accuracy", drawn.sums(_sums(answers)))


def auroc(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute AUROC: P(a hallucinated answer is doubted more than a grounded one).

    A tie counts half.
    """
    (found,) = drawn.of_weights(rankings(answers)["auroc"])
    return found


def characters_f1(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute F1 of hallucinated characters, over all answers together.

    Characters are counted with the method of LettuceDetect's evaluator, with which published scores
    were computed; see :func:`.metrics.count_pairs`.
    """
    return drawn.of_sums(answers.pairs * answers.counted[:, None], f1_of)


def characters_iou(answers: Columns, drawn: Bootstrap) -> Replicates:
    """Compute the IoU of predicted and gold hallucinated characters, as the mean over answers.

    Grounded answers without a verdict are left out, as :func:`.sums.counted` says.
    """
    columns = np.column_stack([answers.ious, np.ones(len(answers))]) * answers.counted[:, None]
    return drawn.of_sums(columns, lambda sums: ratios(sums[..., 0], sums[..., 1]))


def _sums(answers: Columns) -> Floats:
    return answer_sums(answers.flagged, answers.hallucinated, answers.failed)


def _accuracy(sums: Floats) -> Floats:
    both, flagged, hallucinated, n = np.moveaxis(sums, -1, 0)
    return ratios(n - flagged - hallucinated + 2 * both, n)


#: Name of a score → function that computes the score. The name of a metric contains such a name:
#: "F1, QA" contains "F1".
STATISTICS: Mapping[str, Statistic] = {
    "F1": f1,
    "accuracy": accuracy,
    "balanced accuracy": balanced_accuracy,
    "AUROC": auroc,
    "characters F1": characters_f1,
    "characters IoU": characters_iou,
}
