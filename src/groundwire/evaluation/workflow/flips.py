"""Is a difference chance? By the signs that contexts might as well have had."""

from math import lcm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundwire.evaluation.tuning.binomial import tosses

Numbers = NDArray[np.int64]

#: The finest unit in which differences of means are whole numbers: a common multiple of 1 to 10.
_FINEST = 2520
#: So many products of the exact test take a second; beyond that signs are drawn.
_MAX_PRODUCTS = 1e9
_N_FLIPS = 20_000


def sign_flip(differences: ArrayLike) -> float:
    """P of so large a sum if each context's difference had either sign alike, two-sided.

    Exact, over all signs (Fisher 1935). Answers to one context share its difficulties, so they take
    one sign together: ten questions of one context are no ten tosses of a coin. Where each context
    has one question this is the exact test of McNemar (1947).

    >>> round(sign_flip([1] * 9 + [-1]), 4), sign_flip([1, -1]), sign_flip([10]), sign_flip([])
    (0.0215, 1.0, 1.0, 1.0)

    Args:
        differences: Of each context, by how many answers one model is worse; whole numbers.
    """
    found = np.asarray(differences, np.int64)
    sizes, counts = np.unique(np.abs(found[found != 0]), return_counts=True)
    # Chances of what all positive ones come to, of 0, 1, ... to the sum of all sizes.
    chances = np.ones(1)
    for size, n in zip(sizes.tolist(), counts.tolist(), strict=True):
        of_size = np.zeros(size * n + 1)
        of_size[::size] = tosses(n)
        chances = np.convolve(chances, of_size)
    least = (len(chances) - 1 + abs(int(found.sum()))) // 2
    return min(1.0, 2 * float(chances[least:].sum()))


def differences(a: Numbers, b: Numbers) -> Numbers:
    """By how much the means of each question differ, in a unit in which all are whole numbers.

    Args:
        a: Of each question, how many of the first model's answers are hallucinated, of how many:
            shape ``(n, 2)``.
        b: The same of the second.
    """
    unit = lcm(*np.unique(np.concatenate([a[:, 1], b[:, 1]])).tolist())
    if unit > _FINEST:  # dozens of answers to one question, and of another number to each
        return np.rint((b[:, 0] / b[:, 1] - a[:, 0] / a[:, 1]) * _FINEST).astype(np.int64)
    return b[:, 0] * (unit // b[:, 1]) - a[:, 0] * (unit // a[:, 1])


def flipped(found: Numbers, context: Numbers) -> tuple[float, str]:
    """The P of :func:`sign_flip`, and how it was found: exactly, or where that is too much, drawn.

    Args:
        found: Difference of each question, in any unit.
        context: Which context it belongs to.
    """
    of_context = np.zeros(int(context.max()) + 1, np.int64)
    np.add.at(of_context, context, found)
    of_context //= np.gcd.reduce(of_context) or 1
    sizes, counts = np.unique(np.abs(of_context), return_counts=True)
    sums = sizes * counts
    # With each size, all sums so far are multiplied by all that it can add.
    products = (np.cumsum(sums) - sums + 1.0) * (sums + 1.0)
    if products.sum() <= _MAX_PRODUCTS:
        return sign_flip(of_context), "sign flips of contexts"
    p_value = _drawn_flips(sizes, counts, abs(int(of_context.sum())))
    return p_value, f"{_N_FLIPS:,} random sign flips of contexts"


def _drawn_flips(sizes: Numbers, counts: Numbers, least: int) -> float:
    """P of a sum of at least so much, of signs that are drawn."""
    rng = np.random.default_rng(0)
    sums = np.zeros(_N_FLIPS, np.int64)
    for size, n in zip(sizes.tolist(), counts.tolist(), strict=True):
        sums += size * (2 * rng.binomial(n, 0.5, _N_FLIPS) - n)
    # What was found is one of the draws (Phipson & Smyth 2010): none can make it impossible.
    return (1 + int((np.abs(sums) >= least).sum())) / (1 + _N_FLIPS)
