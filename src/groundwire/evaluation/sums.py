"""Scores of answers as ratios of sums: what can be resampled context by context."""

from collections.abc import Callable, Mapping

import numpy as np

from groundwire.evaluation.metrics import Bools, Floats, f1_of, ratios


def answer_sums(flagged: Bools, hallucinated: Bools) -> Floats:
    """What :data:`STATISTICS` take, of each answer: both, flagged, hallucinated, and 1."""
    both = flagged & hallucinated
    columns = [both, flagged, hallucinated, np.ones(len(both), np.bool_)]
    return np.column_stack(columns).astype(np.float64)


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
