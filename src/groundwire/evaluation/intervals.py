"""Confidence intervals of scores by the percentile bootstrap over contexts.

A context is the set of sources that answers were written from. Answers to a difficult context tend
to fail together, so whole contexts are resampled with all of their answers (Efron 1979,
https://doi.org/10.1214/aos/1176344552; for clusters Field & Welsh 2007,
https://doi.org/10.1111/j.1467-9868.2007.00593.x). Resampling answers one by one would give
intervals that are too narrow.

If all resamples have the same score, the bootstrap interval would have no width. A share that is 0
or 1 therefore gets Wilson's interval; each context in which the share is defined counts as one
trial. If any other score is the same in all resamples, it gets no interval.

With few contexts, bootstrap intervals are too narrow. In simulations, 95 % intervals from
two contexts contained the true score in half of the cases, from five contexts in 80 to 85 %, from
ten in about 90 %. A score from fewer than :data:`MIN_CONTEXTS` contexts therefore gets no bootstrap
interval.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import nan, sqrt
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundwire.evaluation.metrics import Floats

#: Default number of resamples, and default seed.
N_RESAMPLES, SEED = 2000, 0
#: Lowest number of contexts from which a bootstrap interval is computed.
MIN_CONTEXTS = 10
#: Limit on the number of weights in memory at a time. Each answer has a weight in each resample; a
#: single resample that has more weights than the limit is computed alone.
_MAX_WEIGHTS = 2**18
#: If the scores of all resamples differ by no more than this number, the scores count as equal: the
#: difference is a rounding error.
_SAME = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreInterval:
    """A score with its confidence interval.

    Attributes:
        value: The score, without resampling.
        low: Lower end; ``nan`` if the score has no interval.
        high: Upper end; ``nan`` if ``low`` is ``nan``.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A seeded plan to resample contexts with replacement; equal plans draw the same contexts.

    Attributes:
        of_answer: Number of the context of each answer, from 0 in order of appearance, shape
            ``(n,)``.
        contexts: Hash of the contexts of all answers, in order. Two plans are equal if this hash,
            ``n_resamples`` and ``seed`` are equal.
        n_resamples: Number of resamples; each draws as many contexts as the data have.
        seed: Seed of the draws.
    """

    of_answer: NDArray[np.intp] = field(repr=False, compare=False)
    contexts: str
    n_resamples: int = N_RESAMPLES
    seed: int = SEED

    @classmethod
    def of(
        cls,
        contexts: Sequence[str] | NDArray[np.uint64],
        *,
        n_resamples: int = N_RESAMPLES,
        seed: int = SEED,
    ) -> Self:
        """Make a plan to resample contexts; ``contexts`` is the context of each answer."""
        names = np.asarray(contexts)
        _, first, codes = np.unique(names, return_index=True, return_inverse=True)
        # Contexts are numbered as they appear, so that the draws do not depend on their names.
        rank = np.empty(len(first), np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        return cls(rank[codes], sha256(names.tobytes()).hexdigest(), n_resamples, seed)

    @property
    def n_contexts(self) -> int:
        """Number of contexts."""
        return int(self.of_answer.max()) + 1 if self.of_answer.size else 0

    def of_sums(self, columns: ArrayLike, statistic: Callable[[Floats], Floats]) -> "Replicates":
        """Resample a score that is computed from sums over answers, such as F1.

        Args:
            columns: Values to sum, shape ``(n_answers, k)``.
            statistic: Takes sums of shape ``(..., k)``, returns scores of shape ``(...)``.
        """
        return self.sums(columns).of(statistic)

    def sums(self, columns: ArrayLike) -> "Sums":
        """Sum values over all answers, over each resample, and over each context.

        Several scores can be computed from the same sums.

        Args:
            columns: Values to sum, shape ``(n_answers, k)``.
        """
        values = np.asarray(columns, np.float64)
        of_context = np.zeros((self.n_contexts, values.shape[1]))
        np.add.at(of_context, self.of_answer, values)
        drawn = np.concatenate([drawn @ of_context for drawn in self._draws()])
        return Sums(values.sum(axis=0), drawn, of_context, self)

    def of_weights(self, *statistics: Callable[[Floats], Floats]) -> "tuple[Replicates, ...]":
        """Resample several scores that are not functions of sums, with the same draws for all.

        Args:
            statistics: Functions, one for each score. The argument of a function says how often
                each answer is drawn in each of ``r`` resamples, shape ``(r, n_answers)``; the
                function returns the scores of these resamples, shape ``(r,)``.
        """
        drawn = [
            [statistic(weights) for statistic in statistics]
            for weights in (drawn[:, self.of_answer] for drawn in self._draws())
        ]
        once = np.ones((1, len(self.of_answer)))
        return tuple(
            Replicates(float(statistic(once)[0]), np.concatenate(draws), self)
            for statistic, draws in zip(statistics, zip(*drawn, strict=True), strict=True)
        )

    def _draws(self) -> Iterator[Floats]:
        """Yield how often each context is drawn, for ``r`` resamples at a time.

        Each array has the shape ``(r, n_contexts)``; ``r`` is limited by :data:`_MAX_WEIGHTS`.

        Raises:
            ValueError: If there are no answers.
        """
        rng, n = np.random.default_rng(self.seed), self.n_contexts
        if not n:
            raise ValueError("there are no answers, so there is nothing to resample")
        at_a_time = max(1, _MAX_WEIGHTS // len(self.of_answer))
        for start in range(0, self.n_resamples, at_a_time):
            r = min(at_a_time, self.n_resamples - start)
            drawn = rng.integers(n, size=(r, n)) + n * np.arange(r)[:, None]
            yield np.bincount(drawn.ravel(), minlength=r * n).reshape(r, n).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums of ``k`` columns over all answers, over each resample, and over each context.

    Attributes:
        value: Sums over all answers, shape ``(k,)``.
        draws: Sums over the answers of each resample, shape ``(n_resamples, k)``.
        of_context: Sums over the answers of each context, shape ``(n_contexts, k)``.
        bootstrap: The plan by which the resamples were drawn.
    """

    value: Floats
    draws: Floats
    of_context: Floats
    bootstrap: Bootstrap

    def of(self, statistic: Callable[[Floats], Floats]) -> "Replicates":
        """Compute a score of all answers, and the same score of each resample, from the sums.

        Args:
            statistic: Takes sums of shape ``(..., k)``, returns scores of shape ``(...)``.
        """
        return Replicates(float(statistic(self.value)), statistic(self.draws), self.bootstrap)

    def of_share(self, statistic: Callable[[Floats], Floats]) -> "Replicates":
        """Compute a share, such as precision, from the sums of all answers and of each resample.

        If the share is 0 or 1, :meth:`Replicates.interval` uses Wilson's interval. Each context in
        which the share is defined is then one trial.
        """
        n = int((~np.isnan(statistic(self.of_context))).sum())
        return replace(self.of(statistic), n_trials=n)


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """A score of all answers, and the same score of each resample.

    Attributes:
        value: The score of all answers, without resampling.
        draws: The score of each resample, shape ``(n_resamples,)``; ``nan`` where it is undefined.
        bootstrap: The plan by which the resamples were drawn.
        n_trials: For a share, the number of contexts in which it is defined; 0 for other scores.
    """

    value: float
    draws: Floats
    bootstrap: Bootstrap
    n_trials: int = 0

    def interval(self, level: float = 0.95) -> ScoreInterval:
        """Compute the confidence interval of the score from the scores of the resamples.

        The share ``level`` of the resampled scores lies in the interval; half of the rest is below
        the interval, half above. A score that is a share, such as precision, gets Wilson's interval
        instead if it is 0 or 1. Otherwise both ends are ``nan`` if all resamples in which the score
        is defined have the same score, or if the score rests on fewer than :data:`MIN_CONTEXTS`
        contexts. A share rests on the contexts in which the share is defined, any other score on
        all contexts.

        Args:
            level: The confidence level, in (0, 1).
        """
        known = self.draws[~np.isnan(self.draws)]
        # Only a share has trials: the contexts in which the share is defined.
        n_contexts = self.n_trials or self.bootstrap.n_contexts
        low = high = nan
        if self.n_trials and self.value in (0, 1):
            trials = wilson(round(self.value) * self.n_trials, self.n_trials, level)
            low, high = trials.low, trials.high
        elif n_contexts >= MIN_CONTEXTS and known.size and np.ptp(known) > _SAME:
            outside = (1 - level) / 2
            low, high = np.quantile(known, [outside, 1 - outside]).tolist()
        return ScoreInterval(value=self.value, low=low, high=high)


def wilson(n_right: int, n: int, level: float = 0.95) -> ScoreInterval:
    """Compute the share of successes in independent trials, with the interval of Wilson (1927).

    >>> found = wilson(5, 5)
    >>> found.value, round(found.low, 2), found.high
    (1.0, 0.57, 1.0)

    Args:
        n_right: Number of successes.
        n: Number of trials; if it is 0, share and interval are ``nan``.
        level: The confidence level, in (0, 1).
    """
    if not n:
        return ScoreInterval(value=nan, low=nan, high=nan)
    z, share = NormalDist().inv_cdf((1 + level) / 2), n_right / n
    middle = share + z * z / (2 * n)
    reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    whole = 1 + z * z / n
    # The low end is exactly 0 if no trial succeeds, and the high end exactly 1 if every trial does.
    # In these cases, the formula would be off by a rounding error.
    low = (middle - reach) / whole if n_right else 0.0
    high = (middle + reach) / whole if n_right < n else 1.0
    return ScoreInterval(value=share, low=low, high=high)


def difference(first: Replicates, second: Replicates) -> Replicates:
    """Subtract the second score from the first, resample by resample.

    If the scores are of two detectors, the same contexts are often hard for both. The interval of
    the difference may therefore exclude 0 although the intervals of the two scores overlap.

    Raises:
        ValueError: If the two scores were not resampled by the same plan.
    """
    if first.bootstrap != second.bootstrap:
        raise ValueError(
            "The two scores were resampled differently, so their resamples do not pair. "
            "Use one Bootstrap, on the same answers in the same order, for both."
        )
    return Replicates(first.value - second.value, first.draws - second.draws, first.bootstrap)
