"""Information, in bits or nats: how much a claim needs, and how much its evidence provides.

A claim that has the probability p₀ without its evidence needs the information KL(τ ‖ p₀) to reach
the target τ; evidence that moves the probability from p₀ to p₁ provides KL(p₁ ‖ p₀). The divergence
has no sign: evidence that makes a claim less likely provides information too. So
:mod:`~groundwire.verify.rule` decides by the divergence only if the rule ``kl`` is chosen.

The probabilities p₀ and p₁ are given as intervals, and results as bounds. The divergence is convex
in both probabilities, and 0 where they are equal. So the bounds of the divergence are its values at
ends of the intervals, except that the lower bound is 0 if the intervals overlap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from math import log, log2

from groundwire.verify.interval import ProbabilityInterval

#: Probabilities are kept at least this far from 0 and 1, where the divergence may be infinite.
CLIP = 1e-12


class Units(StrEnum):
    """Units of information; a bit is ln 2 nats."""

    BITS = "bits"
    NATS = "nats"

    @property
    def log(self) -> Callable[[float], float]:
        """The logarithm whose results are in this unit."""
        return log2 if self is Units.BITS else log


@dataclass(frozen=True, slots=True)
class Amount:
    """Bounds of an amount of information: it is at least ``min`` and at most ``max``."""

    min: float
    max: float


def kl(to: float, start: float, units: Units = Units.BITS) -> float:
    """Return KL(to ‖ start): the information that moves ``start`` to ``to``; 0 or more.

    >>> round(kl(0.95, 0.3), 3), round(kl(0.5, 0.5), 3)
    (1.389, 0.0)
    """
    a, b, log_of = _clipped(to), _clipped(start), units.log
    # Where the two terms cancel out, rounding can make their sum negative.
    return max(0.0, a * log_of(a / b) + (1 - a) * log_of((1 - a) / (1 - b)))


def observed(
    posterior: ProbabilityInterval, prior: ProbabilityInterval, units: Units = Units.BITS
) -> Amount:
    """Return bounds of the information that evidence provides.

    The information is KL(p₁ ‖ p₀), for the posterior p₁ and the prior p₀.

    >>> observed(ProbabilityInterval.exactly(0.97), ProbabilityInterval.exactly(0.97)).max
    0.0
    """
    corners = product((posterior.low, posterior.high), (prior.low, prior.high))
    values = [kl(to, start, units) for to, start in corners]
    return Amount(0.0 if posterior.overlaps(prior) else min(values), max(values))


def required(target: float, prior: ProbabilityInterval, units: Units = Units.BITS) -> Amount:
    """Return bounds of the information that a claim needs.

    The information is KL(τ ‖ p₀), for the target τ and the prior p₀, which is the probability
    without the evidence. A claim with a prior above the target needs information too, because KL is
    above 0 wherever target and prior differ.
    """
    return observed(ProbabilityInterval.exactly(target), prior, units)


def gap(needed: Amount, brought: Amount) -> Amount:
    """Return bounds of the information that a claim lacks: ``needed`` minus ``brought``.

    If both bounds are negative, the evidence surely provides more than the claim needs.
    """
    return Amount(needed.min - brought.max, needed.max - brought.min)


def log_odds_gain(posterior: ProbabilityInterval, prior: ProbabilityInterval) -> Amount:
    """Return bounds of how much the evidence raises the log-odds of a claim, in nats.

    The gain is logit(p₁) − logit(p₀) of posterior p₁ and prior p₀; it is negative if the evidence
    lowers the log-odds.

    >>> gain = log_odds_gain(ProbabilityInterval.exactly(0.01), ProbabilityInterval.exactly(0.99))
    >>> round(gain.min, 2)
    -9.19
    """
    return Amount(
        log_odds(posterior.low) - log_odds(prior.high),
        log_odds(posterior.high) - log_odds(prior.low),
    )


def log_odds(probability: float) -> float:
    """Return ln(p / (1 − p)); 0 and 1 are clipped, so the result is finite."""
    p = _clipped(probability)
    return log(p) - log(1 - p)


def _clipped(probability: float) -> float:
    return min(max(probability, CLIP), 1 - CLIP)
