"""Exact tails and bounds of the binomial distribution; the counted events are called losses."""

from math import ceil, log, log1p

import numpy as np

from groundwire.evaluation.metrics import Floats


def lower_tail(losses: int, n: int, rate: float) -> float:
    """Compute P(at most ``losses`` losses) in ``n`` independent trials.

    >>> round(lower_tail(0, 299, 0.01), 4), round(lower_tail(1, 2, 0.5), 2)
    (0.0495, 0.75)

    Args:
        losses: Number of losses, at most ``n``; if it is negative, the probability is 0.
        n: Number of trials; for up to a million, the computation takes milliseconds.
        rate: Probability of a loss in one trial, in (0, 1).
    """
    if losses < 0:
        return 0.0
    return 1.0 if losses >= n else min(1.0, float(np.exp(_log_terms(losses, n, rate)).sum()))


def most_losses(n: int, rate: float, alpha: float) -> int:
    """Compute the highest number of losses with which ``n`` trials prove a rate below ``rate``.

    The result is -1 if ``n`` is too small: then even trials without a loss prove nothing.

    >>> most_losses(298, 0.01, 0.05), most_losses(299, 0.01, 0.05), most_losses(1000, 0.01, 0.05)
    (-1, 0, 4)

    Args:
        n: Number of trials.
        rate: The bound below which the rate of losses is to be proved, in (0, 1).
        alpha: The allowed probability that the proof is wrong, in (0, 0.5).
    """
    if n == 0:
        return -1
    # Not all terms are needed. The terms up to the expected number of losses, rounded up, already
    # sum to at least one half, which is above any alpha. One more term is a margin.
    tails = np.cumsum(np.exp(_log_terms(min(n, ceil(n * rate) + 1), n, rate)))
    return int(np.searchsorted(tails, alpha, side="right")) - 1


def least_trials(rate: float, alpha: float) -> int:
    """Compute how many trials are needed to prove a rate below ``rate`` if none of them is a loss.

    ``rate`` is in (0, 1). ``alpha`` is the allowed probability that the proof is wrong, in
    (0, 0.5).

    >>> least_trials(0.01, 0.05), least_trials(0.1, 0.05)
    (299, 29)
    """
    return ceil(log(alpha) / log1p(-rate))


def upper_bound(losses: int, n: int, alpha: float) -> float:
    """Compute a one-sided upper bound on the rate of losses (Clopper & Pearson 1934).

    With probability ``alpha`` at most, the true rate is above the bound.

    >>> round(upper_bound(0, 10, 0.05), 4), upper_bound(3, 3, 0.05)
    (0.2589, 1.0)
    """
    if losses >= n:
        return 1.0
    low, high = losses / n, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        is_above = lower_tail(losses, n, middle) > alpha
        low, high = (middle, high) if is_above else (low, middle)
    return high


def _log_terms(losses: int, n: int, rate: float) -> Floats:
    """Compute the logarithms of P(0 losses), P(1 loss), and so on up to ``losses`` losses."""
    counts = np.arange(1, losses + 1, dtype=np.float64)
    odds = log(rate) - log1p(-rate)
    steps = np.log((n - counts + 1) / counts) + odds
    return np.concatenate([[0.0], np.cumsum(steps)]) + n * log1p(-rate)
