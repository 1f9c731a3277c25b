"""Scores of answers as ratios of sums, which can be resampled by context."""

from collections.abc import Callable, Mapping

import numpy as np

from groundwire.evaluation.intervals import Replicates, Sums
from groundwire.evaluation.metrics import Bools, Floats, f1_of, ratios


def counted(hallucinated: Bools, failed: Bools) -> Bools:
    """Select the answers that scores count.

    An answer without a verdict counts as missed if it is hallucinated. A grounded one is left out:
    otherwise an endpoint that is down would get credit for raising no false alarm. If no answer has
    a verdict, none counts.

    Args:
        hallucinated: Whether each answer is.
        failed: Whether there is no verdict on it.
    """
    if failed.all():
        return np.zeros(len(failed), np.bool_)
    return hallucinated | ~failed


def answer_sums(flagged: Bools, hallucinated: Bools, failed: Bools) -> Floats:
    """Make the columns that :data:`STATISTICS` take: both, flagged, hallucinated, and 1.

    All four are 0 of an answer that is not :func:`counted`.
    """
    counts = counted(hallucinated, failed)
    columns = [flagged & hallucinated, flagged, hallucinated, counts]
    return np.column_stack([column & counts for column in columns]).astype(np.float64)


def _precision(sums: Floats) -> Floats:
    return ratios(sums[..., 0], sums[..., 1])


def _recall(sums: Floats) -> Floats:
    return ratios(sums[..., 0], sums[..., 2])


def _false_positive_rate(sums: Floats) -> Floats:
    return ratios(sums[..., 1] - sums[..., 0], sums[..., 3] - sums[..., 2])


def _f1(sums: Floats) -> Floats:
    return f1_of(sums[..., :3])


def _balanced_accuracy(sums: Floats) -> Floats:
    return (_recall(sums) + 1 - _false_positive_rate(sums)) / 2


#: Name → score of sums, shape ``(..., 4)`` in, ``(...)`` out.
STATISTICS: Mapping[str, Callable[[Floats], Floats]] = {
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "fpr": _false_positive_rate,
    "balanced_accuracy": _balanced_accuracy,
}

#: Scores that are shares of a count, such as precision, in [0, 1].
_SHARES = frozenset({"precision", "recall", "fpr"})


def score(name: str, sums: Sums) -> Replicates:
    """Resample one of :data:`STATISTICS`.

    Args:
        name: Which.
        sums: Of :func:`answer_sums`, or of both, predicted and gold, which is enough for some.
    """
    return (sums.of_share if name in _SHARES else sums.of)(STATISTICS[name])
