"""Metrics of a detector on labelled answers, computed from counts or from rankings.

An undefined metric is ``nan``, such as the precision if nothing was flagged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Range: TypeAlias = tuple[int, int]


class Overlap(NamedTuple):
    """Counts of characters: predicted by the detector, gold (labelled), and both."""

    both: int
    predicted: int
    gold: int

    @property
    def iou(self) -> float:
        """Intersection over union, in [0, 1]; 1 if both sets are empty."""
        union = self.predicted + self.gold - self.both
        return self.both / union if union else 1.0


def f1_of(sums: ArrayLike) -> Floats:
    """Compute F1 from counts: shape ``(..., 3)`` in, ``(...)`` out.

    Args:
        sums: Three counts on the last axis: of items that are both predicted and gold, of predicted
            ones, and of gold ones.
    """
    both, predicted, gold = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
    return ratios(2 * both, predicted + gold)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCounts:
    """Counts of answers: all, flagged, hallucinated, and both flagged and hallucinated."""

    n: int
    n_both: int
    n_flagged: int
    n_hallucinated: int

    @classmethod
    def of(cls, flagged: ArrayLike, hallucinated: ArrayLike) -> Self:
        """Count answers.

        Args:
            flagged: Whether each answer was flagged, shape ``(n,)``.
            hallucinated: Whether each answer is hallucinated, shape ``(n,)``.

        Raises:
            ValueError: If the arrays are not one-dimensional and of equal length.
        """
        said, so = np.asarray(flagged, np.bool_), np.asarray(hallucinated, np.bool_)
        require_paired(said, so)
        return cls(
            n=said.size,
            n_both=int((said & so).sum()),
            n_flagged=int(said.sum()),
            n_hallucinated=int(so.sum()),
        )

    @property
    def precision(self) -> float:
        """Share of flagged answers that are hallucinated."""
        return ratio(self.n_both, self.n_flagged)

    @property
    def recall(self) -> float:
        """Share of hallucinated answers that are flagged."""
        return ratio(self.n_both, self.n_hallucinated)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return ratio(2 * self.n_both, self.n_flagged + self.n_hallucinated)

    @property
    def false_positive_rate(self) -> float:
        """Share of grounded answers that are flagged."""
        return ratio(self.n_flagged - self.n_both, self.n - self.n_hallucinated)

    @property
    def flag_all_f1(self) -> float:
        """F1 of flagging every answer: the baseline that a detector has to beat."""
        return ratio(2 * self.n_hallucinated, self.n + self.n_hallucinated)

    def precision_at(self, prevalence: float) -> float:
        """Compute the precision if the share ``prevalence`` of answers, in [0, 1], is hallucinated.

        It is computed from recall and false-positive rate. In production, hallucinations are
        usually rarer than in labelled data, and the precision is lower.
        """
        hit = self.recall * prevalence
        return ratio(hit, hit + self.false_positive_rate * (1 - prevalence))


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Answers sorted by score, for metrics that need no threshold.

    Attributes:
        order: Indices of the answers from the highest score to the lowest, shape ``(n,)``.
        starts: For each distinct score, the index in ``order`` where its answers begin.
        hallucinated: Whether each answer is hallucinated, in the order of ``order``.
    """

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    hallucinated: Bools

    @classmethod
    def of(cls, scores: ArrayLike, hallucinated: ArrayLike) -> Self:
        """Make a ranking: sort answers by score, the highest first.

        Args:
            scores: The score of each answer, shape ``(n,)``; higher is more doubtful.
            hallucinated: Whether each answer is hallucinated, shape ``(n,)``.

        Raises:
            ValueError: If the arrays are not one-dimensional and of equal length, or a score is
                not a number.
        """
        values, so = np.asarray(scores, np.float64), np.asarray(hallucinated, np.bool_)
        require_paired(values, so)
        if np.isnan(values).any():
            raise ValueError(f"score {int(np.isnan(values).argmax())} is not a number")
        order = np.argsort(-values, kind="stable")
        sorted_ = values[order]
        is_first = np.append(True, sorted_[1:] != sorted_[:-1])[: values.size]
        return cls(order, np.flatnonzero(is_first), so[order])

    def auroc(self) -> float:
        """Area under the ROC curve: P(a hallucinated answer scores above a grounded one).

        A tie counts half (Mann & Whitney 1947, https://doi.org/10.1214/aoms/1177730491). The area
        is in [0, 1]; ``nan`` if all answers are hallucinated or none is.
        """
        return float(self.aurocs(np.ones(self.order.size)))

    def aurocs(self, weights: Floats) -> Floats:
        """Compute the area under the ROC curve in each of several resamples; a tie counts half.

        ``weights`` says how often each of the ``n`` answers is drawn in a resample, shape
        ``(..., n)``; the areas have the shape ``(...)``.
        """
        wrong, right = self._by_score(weights)
        # Weight of the grounded answers with a higher score, plus half of those with an equal one.
        above = right.cumsum(axis=-1) - right / 2
        n_right = right.sum(axis=-1)
        hits = (wrong * (n_right[..., None] - above)).sum(axis=-1)
        return ratios(hits, wrong.sum(axis=-1) * n_right)

    def average_precisions(self, weights: Floats) -> Floats:
        """Compute the area under the precision-recall curve in each of several resamples.

        ``weights`` says how often each of the ``n`` answers is drawn in a resample, shape
        ``(..., n)``; the areas have the shape ``(...)``. An area is in [0, 1]; ``nan`` if no drawn
        answer is hallucinated. It is a sum of steps, one per distinct score: joining the points by
        straight lines would overestimate it (https://doi.org/10.1145/1143844.1143874).
        """
        wrong, right = self._by_score(weights)
        found, flagged = wrong.cumsum(axis=-1), (wrong + right).cumsum(axis=-1)
        precision = np.divide(found, flagged, out=np.zeros_like(found), where=flagged > 0)
        return ratios((wrong * precision).sum(axis=-1), wrong.sum(axis=-1))

    def _by_score(self, weights: Floats) -> tuple[Floats, Floats]:
        """Sum the weights of hallucinated and of grounded answers by score, highest first."""
        if not self.order.size:
            return weights, weights
        sorted_ = weights[..., self.order]
        wrong = np.add.reduceat(np.where(self.hallucinated, sorted_, 0.0), self.starts, axis=-1)
        return wrong, np.add.reduceat(sorted_, self.starts, axis=-1) - wrong


# Functions that count marked characters.


def count_characters(predicted: Iterable[Range], gold: Iterable[Range], text: str) -> Overlap:
    """Compare two sets of ranges over one answer, character by character.

    White space at the ends of a range does not count.

    Args:
        predicted: Half-open ranges of characters that the detector marked.
        gold: Half-open ranges of characters that people marked. The ranges of one set may overlap;
            a character counts once.
        text: The answer.

    Raises:
        ValueError: If a range is not in the answer.
    """
    # Masks, because annotators' ranges may overlap: summing range by range would count the shared
    # characters twice and let precision exceed 1.
    marked, wanted = mask(predicted, text), mask(gold, text)
    return Overlap(
        both=int((marked & wanted).sum()), predicted=int(marked.sum()), gold=int(wanted.sum())
    )


def count_pairs(predicted: Sequence[Range], gold: Sequence[Range]) -> Overlap:
    """Compare ranges as LettuceDetect's evaluator does, so that scores are comparable.

    That evaluator (``models/evaluator.py`` of https://github.com/KRLabsOrg/LettuceDetect) sums the
    overlap of every predicted with every annotated range, white space included. So a character that
    two annotated ranges share counts twice, and precision can exceed 1.
    """
    return Overlap(
        both=sum(max(0, min(b, d) - max(a, c)) for a, b in predicted for c, d in gold),
        predicted=sum(end - start for start, end in predicted),
        gold=sum(end - start for start, end in gold),
    )


def mask(ranges: Iterable[Range], text: str) -> Bools:
    """Return a mask of the characters of a text that lie in a range.

    White space at the ends of a range is left out.

    Raises:
        ValueError: If a range is not in the text.
    """
    found = np.zeros(len(text), np.bool_)
    for start, end in ranges:
        if not 0 <= start <= end <= len(text):
            raise ValueError(f"the range {start}-{end} is not in a text of {len(text)} characters")
        words = text[start:end]
        start += len(words) - len(words.lstrip())
        found[start : start + len(words.strip())] = True
    return found


# Helpers that other modules use too.


def require_paired(first: NDArray[np.generic], second: NDArray[np.generic]) -> None:
    """Raise a ValueError unless two arrays are one-dimensional and of equal length."""
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"there must be one value for each, and the shapes are {first.shape} and {second.shape}"
        )


def ratio(part: float, whole: float) -> float:
    """Divide a part by the whole; ``nan`` if the whole is 0."""
    return part / whole if whole else nan


def ratios(parts: ArrayLike, wholes: ArrayLike) -> Floats:
    """Divide each part by its whole; ``nan`` where the whole is 0."""
    above, below = np.asarray(parts, np.float64), np.asarray(wholes, np.float64)
    shares: Floats = np.divide(above, below, out=np.full(below.shape, nan), where=below != 0)
    return shares
