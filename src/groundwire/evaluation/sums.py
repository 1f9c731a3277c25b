"""Scores that are computed from sums over answers, which makes them cheap to resample."""

from collections.abc import Callable, Mapping

import numpy as np

from groundwire.evaluation.intervals import Replicates, Sums
from groundwire.evaluation.metrics import Bools, Floats, f1_of, ratios


def counted(hallucinated: Bools, failed: Bools) -> Bools:
    """Return a mask of the answers that scores count.

    ``failed`` is the mask of the answers without a verdict. A hallucinated answer without a verdict
    counts as missed. A grounded answer without a verdict is left out: otherwise an endpoint that is
    down would get credit for raising no false alarm. If no answer has a verdict, none counts.

    AUROC and AUPRC do not use this mask: they count exactly the answers with a verdict.
    """
    if failed.all():
        return np.zeros(len(failed), np.bool_)
    return hallucinated | ~failed


def answer_sums(flagged: Bools, hallucinated: Bools, failed: Bools) -> Floats:
    """Return the columns whose sums the functions of :data:`STATISTICS` take.

    The values are 0 or 1, shape ``(n, 4)``. The columns say whether an answer (1) is flagged and
    hallucinated, (2) is flagged, (3) is hallucinated, (4) counts at all. A row is all 0 if the
    answer does not count (:func:`counted`).
    """
    counts = counted(hallucinated, failed)
    columns = [flagged & hallucinated, flagged, hallucinated, counts]
    return np.column_stack([column & counts for column in columns]).astype(np.float64)


def share_of(sums: Floats) -> Floats:
    """Divide the first of the ``n`` sums by the second: shape ``(..., n)`` in, ``(...)`` out."""
    return ratios(sums[..., 0], sums[..., 1])


def _recall(sums: Floats) -> Floats:
    return ratios(sums[..., 0], sums[..., 2])


def _false_positive_rate(sums: Floats) -> Floats:
    return ratios(sums[..., 1] - sums[..., 0], sums[..., 3] - sums[..., 2])


def _f1(sums: Floats) -> Floats:
    return f1_of(sums[..., :3])


def _balanced_accuracy(sums: Floats) -> Floats:
    return (_recall(sums) + 1 - _false_positive_rate(sums)) / 2


#: Name of a score → function that computes it from the sums of the columns of :func:`answer_sums`:
#: shape ``(..., 4)`` in, ``(...)`` out.
STATISTICS: Mapping[str, Callable[[Floats], Floats]] = {
    "precision": share_of,
    "recall": _recall,
    "f1": _f1,
    "fpr": _false_positive_rate,
    "balanced_accuracy": _balanced_accuracy,
}

#: Scores that are shares, and so are computed with :meth:`.intervals.Sums.of_share`. For example,
#: precision is a share of the flagged answers.
_SHARES = frozenset({"precision", "recall", "fpr"})


def score(name: str, sums: Sums) -> Replicates:
    """Compute a score of all answers, and the same score of each resample.

    ``name`` is a name of :data:`STATISTICS`. ``sums`` are sums of columns in the order of
    :func:`answer_sums`. For precision, recall and F1 three columns are enough, such as the counts
    of :class:`.metrics.Overlap`.
    """
    return (sums.of_share if name in _SHARES else sums.of)(STATISTICS[name])
