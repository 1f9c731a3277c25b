"""Curves over all thresholds: precision and recall, ROC, risk and coverage."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.metrics import AnswerCounts, Floats, Ranking

Point = tuple[float, float]

#: Limit on the points of a curve, to which :func:`curves_of` may add an end point. On a screen, a
#: curve with more points would look the same.
MAX_POINTS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One curve of a chart; both coordinates are in [0, 1].

    Attributes:
        name: Title of the chart.
        axes: Names of the horizontal and the vertical axis.
        points: The points of the curve, from left to right.
        at: The point at the detector's own threshold; ``None`` if it is undefined.
        chance: The two ends of the line of a detector that flags answers at random.
        is_stepped: Whether points are joined by steps instead of straight lines.
        is_fitted: Whether the vertical axis ends below 1 if the whole curve is low.
    """

    name: str
    axes: tuple[str, str]
    points: tuple[Point, ...]
    at: Point | None
    chance: tuple[Point, Point]
    is_stepped: bool = False
    is_fitted: bool = False


def curves_of(judged: Sequence[ComparedAnswer]) -> tuple[Curve, ...]:
    """Compute the curves: precision and recall, ROC, risk and coverage.

    Answers without a verdict are left out: they may have no probability to be sorted by. There are
    no curves if the remaining answers are all hallucinated or all grounded, or if none remains.
    """
    judged = [answer for answer in judged if answer.has_verdict]
    hallucinated = np.array([answer.is_hallucinated for answer in judged], np.bool_)
    if not len(judged) or hallucinated.all() or not hallucinated.any():
        return ()
    flagged = np.array([answer.is_flagged for answer in judged], np.bool_)
    counts = AnswerCounts.of(flagged, hallucinated)
    wrong, right = _above(Ranking.of([answer.probability for answer in judged], hallucinated))
    n, n_hallucinated, n_passed = counts.n, counts.n_hallucinated, counts.n - counts.n_flagged
    recall, rate = wrong / n_hallucinated, n_hallucinated / n
    passed = (n - wrong - right)[-2::-1]  # without the lowest threshold, at which no answer passes
    missed = (n_hallucinated - wrong)[-2::-1]
    return (
        Curve(
            name="Precision and recall",
            axes=("Recall", "Precision"),
            points=_points(recall, wrong / (wrong + right)),
            at=(counts.recall, counts.precision) if counts.n_flagged else None,
            chance=((0, rate), (1, rate)),
            is_stepped=True,
        ),
        Curve(
            name="ROC",
            axes=("False-positive rate", "Recall"),
            points=((0.0, 0.0), *_points(right / (n - n_hallucinated), recall)),
            at=(counts.false_positive_rate, counts.recall),
            chance=((0, 0), (1, 1)),
        ),
        Curve(
            name="Risk and coverage",
            axes=("Let through", "Hallucinated among them"),
            points=(*_points(passed / n, missed / passed), (1.0, rate)),
            at=(n_passed / n, (n_hallucinated - counts.n_both) / n_passed) if n_passed else None,
            chance=((0, rate), (1, rate)),
            is_fitted=True,
        ),
    )


def _above(ranking: Ranking) -> tuple[Floats, Floats]:
    """Count, for each distinct score, the hallucinated and the grounded answers at or above it."""
    wrong = np.add.reduceat(ranking.hallucinated.astype(np.float64), ranking.starts).cumsum()
    n = np.append(ranking.starts[1:], ranking.order.size)
    return wrong, n - wrong


def _points(x: Floats, y: Floats) -> tuple[Point, ...]:
    last = x.size - 1
    if last < 0:
        return ()
    kept = np.unique(np.linspace(0, last, min(x.size, MAX_POINTS)).round().astype(int))
    return tuple(zip(x[kept].tolist(), y[kept].tolist(), strict=True))
