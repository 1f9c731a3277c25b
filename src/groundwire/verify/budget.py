"""Information, in bits: how much a claim needs, and how much its evidence brings.

A claim that is believed with probability p₀ without its evidence needs KL(τ ‖ p₀) bits to reach
the target τ; evidence that moves it from p₀ to p₁ brings KL(p₁ ‖ p₀). The divergence has no sign:
evidence against a claim brings bits as well, which is why :mod:`~groundwire.verify.rule` does not
decide by it unless asked to.

All bounds are true ones: whatever the probabilities in the given intervals are, the result lies
between them. The divergence is convex in both and 0 where they are equal, so its least value over a
box is 0 if the intervals overlap, and otherwise lies at the corner where they are nearest; its
greatest lies at one of the four corners.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from math import log, log2

from groundwire.verify.interval import ProbabilityInterval

#: Probabilities are kept this far from 0 and 1, where the divergence is infinite.
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
    """A range of an amount of information, from ``min`` to ``max``, both possible."""

    min: float
    max: float


def kl(to: float, start: float, units: Units = Units.BITS) -> float:
    """KL(to ‖ start): the information that moves one probability to another; 0 or more.

    >>> round(kl(0.95, 0.3), 3), round(kl(0.5, 0.5), 3)
    (1.389, 0.0)
    """
    a, b, log_of = _clipped(to), _clipped(start), units.log
    # Rounding can take the sum of two terms that cancel out below 0.
    return max(0.0, a * log_of(a / b) + (1 - a) * log_of((1 - a) / (1 - b)))


def kl_bits(to: float, start: float) -> float:
    """:func:`kl` in bits."""
    return kl(to, start)


def observed(
    posterior: ProbabilityInterval, prior: ProbabilityInterval, units: Units = Units.BITS
) -> Amount:
    """The information that the evidence brings: KL(p₁ ‖ p₀) over the box of both ranges.

    >>> observed(ProbabilityInterval.exactly(0.97), ProbabilityInterval.exactly(0.97)).max
    0.0
    """
    corners = product((posterior.low, posterior.high), (prior.low, prior.high))
    values = [kl(to, start, units) for to, start in corners]
    return Amount(0.0 if posterior.overlaps(prior) else min(values), max(values))


def required(target: float, prior: ProbabilityInterval, units: Units = Units.BITS) -> Amount:
    """The information that a claim needs: KL(τ ‖ p₀).

    Where the prior is above the target it grows again, with the wrong sign.
    """
    return observed(ProbabilityInterval.exactly(target), prior, units)


def gap(needed: Amount, brought: Amount) -> Amount:
    """The information that is missing; a value below 0 means that there is enough."""
    return Amount(needed.min - brought.max, needed.max - brought.min)


def log_odds_gain(posterior: ProbabilityInterval, prior: ProbabilityInterval) -> Amount:
    """The gain in log-odds of the claim by its evidence: logit(p₁) − logit(p₀), in nats, signed.

    >>> gain = log_odds_gain(ProbabilityInterval.exactly(0.01), ProbabilityInterval.exactly(0.99))
    >>> round(gain.min, 2)
    -9.19
    """
    return Amount(
        log_odds(posterior.low) - log_odds(prior.high),
        log_odds(posterior.high) - log_odds(prior.low),
    )


def log_odds(probability: float) -> float:
    """ln(p / (1 − p))."""
    p = _clipped(probability)
    return log(p) - log(1 - p)


def _clipped(probability: float) -> float:
    return min(max(probability, CLIP), 1 - CLIP)
