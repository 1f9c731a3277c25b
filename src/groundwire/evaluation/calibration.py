"""Calibration of forecasts: whether events are as frequent as the forecast probabilities say."""

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from groundwire.evaluation.metrics import Floats, ratio, ratios, require_paired


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A bin of a reliability diagram: forecasts with probabilities in ``[low, high)``.

    The last bin includes 1.

    Attributes:
        low: Lower edge.
        high: Upper edge.
        n: Number of forecasts.
        confidence: Mean probability of the forecasts; ``nan`` in an empty bin.
        frequency: Share of forecasts whose event happened; ``nan`` in an empty bin.
    """

    low: float
    high: float
    n: int
    confidence: float
    frequency: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """A reliability diagram: forecasts sorted into bins by their probability."""

    bins: tuple[Bin, ...]

    @property
    def n(self) -> int:
        """Number of forecasts."""
        return sum(part.n for part in self.bins)

    @property
    def ece(self) -> float:
        """Expected calibration error: mean distance between a bin's confidence and frequency.

        Bins are weighted by their number of forecasts (https://arxiv.org/abs/1706.04599). ``nan``
        without forecasts.
        """
        gaps = sum(abs(part.confidence - part.frequency) * part.n for part in self.bins if part.n)
        return ratio(gaps, self.n)


def reliability(
    probabilities: ArrayLike, outcomes: ArrayLike, *, n_bins: int = 10, lowest: float = 0.0
) -> Reliability:
    """Make a reliability diagram: sort forecasts by probability into bins of equal width.

    Args:
        probabilities: Forecast probabilities, in [0, 1], shape ``(n,)``.
        outcomes: Whether the event of each forecast happened, shape ``(n,)``.
        n_bins: Number of bins over [0, 1].
        lowest: Forecasts below this probability are left out. If the forecasts are about tokens,
            most probabilities are near 0, where calibration is easy; these forecasts would hide
            errors at higher probabilities.

    Raises:
        ValueError: If the arrays are not one-dimensional and of equal length, or a probability is
            outside [0, 1].
    """
    said, so = _forecasts(probabilities, outcomes, lowest)
    edges = np.arange(n_bins + 1) / n_bins  # linspace would give 0.30000000000000004 for 0.3
    of_bin = np.minimum(np.searchsorted(edges, said, side="right") - 1, n_bins - 1)
    n = np.bincount(of_bin, minlength=n_bins)
    confidence = ratios(np.bincount(of_bin, said, n_bins), n)
    frequency = ratios(np.bincount(of_bin, so, n_bins), n)
    columns = (edges[:-1], edges[1:], n, confidence, frequency)
    return Reliability(
        bins=tuple(
            Bin(low=low, high=high, n=size, confidence=mean, frequency=share)
            for low, high, size, mean, share in zip(*(c.tolist() for c in columns), strict=True)
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Brier:
    """The Brier score: mean squared distance of forecasts from outcomes, 0 at best (Brier 1950).

    Attributes:
        score: The score; ``nan`` without forecasts.
        skill: Brier skill score: 1 for perfect forecasts, 0 for forecasts as good as the base rate
            (the mean outcome), negative for worse ones; ``nan`` unless both outcomes occur.
    """

    score: float
    skill: float


def brier(probabilities: ArrayLike, outcomes: ArrayLike, *, lowest: float = 0.0) -> Brier:
    """Compute the Brier score of forecasts.

    Args:
        probabilities: Forecast probabilities, in [0, 1], shape ``(n,)``.
        outcomes: Whether the event of each forecast happened, shape ``(n,)``.
        lowest: Forecasts below this probability are left out.

    Raises:
        ValueError: If the arrays are not one-dimensional and of equal length, or a probability is
            outside [0, 1].
    """
    said, so = _forecasts(probabilities, outcomes, lowest)
    if not said.size:
        return Brier(score=nan, skill=nan)
    rate = so.mean()
    score, of_base_rate = float(((said - so) ** 2).mean()), float(rate * (1 - rate))
    return Brier(score=score, skill=1 - ratio(score, of_base_rate))


def _forecasts(
    probabilities: ArrayLike, outcomes: ArrayLike, lowest: float
) -> tuple[Floats, Floats]:
    said, so = np.asarray(probabilities, np.float64), np.asarray(outcomes, np.float64)
    require_paired(said, so)
    if not ((said >= 0) & (said <= 1)).all():
        raise ValueError("a probability lies between 0 and 1, and one here does not")
    kept = said >= lowest
    return said[kept], so[kept]
