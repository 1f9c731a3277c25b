"""Metrics of a detector on labelled answers, computed from counts or from rankings.

An undefined metric, such as the precision if nothing was flagged, is ``nan``.
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
    """Three counts of the characters that were marked as hallucinated.

    Attributes:
        both: Number of characters that both the detector and people marked.
        predicted: Number of characters that the detector marked.
        gold: Number of characters that people marked.
    """

    both: int
    predicted: int
    gold: int

    @property
    def iou(self) -> float:
        """Intersection over union of predicted and gold characters; 1 if nobody marked any.

        The value is in [0, 1] if the counts are from :func:`count_characters`.
        """
        union = self.predicted + self.gold - self.both
        return self.both / union if union else 1.0


def f1_of(sums: ArrayLike) -> Floats:
    """Compute F1 from counts: shape ``(..., 3)`` in, ``(...)`` out.

    Args:
        sums: Three counts on the last axis: of items that are both predicted and gold, of predicted
            items, and of gold items.
    """
    both, predicted, gold = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
    return ratios(2 * both, predicted + gold)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCounts:
    """Counts of answers, from which metrics such as precision and recall are computed.

    Attributes:
        n: Number of all answers.
        n_both: Number of answers that are both flagged and hallucinated.
        n_flagged: Number of answers that the detector flagged.
        n_hallucinated: Number of answers that are hallucinated by their labels.
    """

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
        """Compute the precision that the detector would have at another share of hallucinations.

        ``prevalence`` is the share of answers that are hallucinated, in [0, 1]. The precision
        follows from this share, the recall and the false-positive rate. In production,
        hallucinations are usually rarer than in labelled data, so the precision is lower.
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
        """Compute the area under the ROC curve, in [0, 1].

        The area is the probability that a hallucinated answer has a higher score than a grounded
        one; a tie counts half (Mann & Whitney 1947, https://doi.org/10.1214/aoms/1177730491). The
        area is ``nan`` if all answers are hallucinated or none is.
        """
        return float(self.aurocs(np.ones(self.order.size)))

    def aurocs(self, weights: Floats) -> Floats:
        """Compute the area under the ROC curve in each of several resamples; a tie counts half.

        ``weights`` says how often each of the ``n`` answers is drawn in a resample, shape
        ``(..., n)``; the areas have the shape ``(...)``.
        """
        wrong, right = self._by_score(weights)
        # `above` is the weight of the grounded answers with a higher score, plus half the weight of
        # those with an equal score.
        above = right.cumsum(axis=-1) - right / 2
        n_right = right.sum(axis=-1)
        hits = (wrong * (n_right[..., None] - above)).sum(axis=-1)
        return ratios(hits, wrong.sum(axis=-1) * n_right)

    def average_precisions(self, weights: Floats) -> Floats:
        """Compute the area under the precision-recall curve in each of several resamples.

        ``weights`` says how often each of the ``n`` answers is drawn in a resample, shape
        ``(..., n)``; the areas have the shape ``(...)``. An area is in [0, 1]; ``nan`` if no drawn
        answer is hallucinated. The curve has a step for each distinct score: joining its points by
        straight lines would overestimate the area (https://doi.org/10.1145/1143844.1143874).
        """
        wrong, right = self._by_score(weights)
        found, flagged = wrong.cumsum(axis=-1), (wrong + right).cumsum(axis=-1)
        precision = np.divide(found, flagged, out=np.zeros_like(found), where=flagged > 0)
        return ratios((wrong * precision).sum(axis=-1), wrong.sum(axis=-1))

    def _by_score(self, weights: Floats) -> tuple[Floats, Floats]:
        """Sum the weights of hallucinated answers, and of grounded ones, for each distinct score.

        The highest score comes first.
        """
        if not self.order.size:
            return weights, weights
        sorted_ = weights[..., self.order]
        wrong = np.add.reduceat(np.where(self.hallucinated, sorted_, 0.0), self.starts, axis=-1)
        return wrong, np.add.reduceat(sorted_, self.starts, axis=-1) - wrong


# Functions that count or find marked characters.


def count_characters(predicted: Iterable[Range], gold: Iterable[Range], text: str) -> Overlap:
    """Count the marked characters of an answer, each once, even if ranges overlap.

    White space at the ends of a range does not count.

    Args:
        predicted: Half-open ranges of characters that the detector marked.
        gold: Half-open ranges of characters that people marked.
        text: The answer.

    Raises:
        ValueError: If a range is not in the answer.
    """
    # Masks are used, because annotators' ranges may overlap: summing range by range would count the
    # shared characters twice and let precision exceed 1.
    marked, wanted = mask(predicted, text), mask(gold, text)
    return Overlap(
        both=int((marked & wanted).sum()), predicted=int(marked.sum()), gold=int(wanted.sum())
    )


def count_pairs(predicted: Sequence[Range], gold: Sequence[Range]) -> Overlap:
    """Count marked characters as LettuceDetect's evaluator does, to get comparable scores.

    That evaluator (``models/evaluator.py`` of https://github.com/KRLabsOrg/LettuceDetect) sums the
    overlaps of each predicted range with each annotated range, white space included. A character
    that two annotated ranges share therefore counts twice, and precision can exceed 1.
    """
    return Overlap(
        both=sum(max(0, min(b, d) - max(a, c)) for a, b in predicted for c, d in gold),
        predicted=sum(end - start for start, end in predicted),
        gold=sum(end - start for start, end in gold),
    )


def mask(ranges: Iterable[Range], text: str) -> Bools:
    """Return a mask of the characters of a text that lie in at least one of the ranges.

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
