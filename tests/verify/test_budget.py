from itertools import pairwise
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.verify.budget import Units, gap, kl, log_odds_gain, observed, required
from groundwire.verify.interval import ProbabilityInterval

pytestmark = pytest.mark.merge

probability = st.floats(0, 1)
fraction = st.floats(0, 1)


@st.composite
def intervals(draw: st.DrawFn) -> ProbabilityInterval:
    return ProbabilityInterval(*sorted((draw(probability), draw(probability))))


def at(interval: ProbabilityInterval, share: float) -> float:
    """A probability in an interval."""
    return min(
        max(interval.low + share * (interval.high - interval.low), interval.low), interval.high
    )


@pytest.mark.parametrize(
    ("prior", "bits"),
    [
        (1e-12, 37.584),
        (0.01, 6.026),
        (0.05, 3.823),
        (0.1, 2.877),
        (0.3, 1.389),
        (0.5, 0.714),
        (0.9, 0.024),
    ],
)
def test_reference_what_a_claim_needs_to_reach_095(prior: float, bits: float) -> None:
    needed = required(0.95, ProbabilityInterval.exactly(prior))
    assert needed.min == needed.max == pytest.approx(bits, abs=5e-4)


@pytest.mark.parametrize(
    ("posterior", "prior", "bits"),
    [
        (0.97, 0.05, 4.000),
        (0.99, 0.05, 4.199),
        (0.97, 0.96, 0.002),
        (0.01, 0.99, 6.497),
        (0.5, 0.5, 0.0),
        (0.95, 0.3, 1.389),
        (0.01, 1e-12, 0.318),
    ],
)
def test_reference_what_evidence_brings(posterior: float, prior: float, bits: float) -> None:
    assert kl(posterior, prior) == pytest.approx(bits, abs=5e-4)


def test_reference_a_contradiction_brings_more_than_a_claim_above_its_target_needs() -> None:
    assert required(0.95, ProbabilityInterval.exactly(0.99)).min == pytest.approx(0.060, abs=5e-4)
    assert kl(0.01, 0.99) == pytest.approx(6.497, abs=5e-4)


def test_a_prior_of_nothing_is_clipped() -> None:
    assert kl(0.95, 0.0) == kl(0.95, 1e-12)


def test_nats_are_bits_times_the_logarithm_of_two() -> None:
    assert kl(0.97, 0.05, Units.NATS) == pytest.approx(kl(0.97, 0.05) * log(2))


def test_the_least_that_is_observed_where_ranges_overlap_is_nothing() -> None:
    # All four corners are above 0; within, both may be 0.5.
    brought = observed(ProbabilityInterval(0.4, 0.6), ProbabilityInterval(0.45, 0.55))
    assert brought.min == 0.0
    assert brought.max == pytest.approx(max(kl(0.4, 0.55), kl(0.6, 0.45)))


def test_a_range_that_may_be_the_target_may_need_nothing() -> None:
    assert required(0.95, ProbabilityInterval(0.0, 1.0)).min == 0.0


def test_a_gap_is_least_where_least_is_needed_and_most_is_brought() -> None:
    missing = gap(
        required(0.95, ProbabilityInterval(0.01, 0.05)),
        observed(ProbabilityInterval(0.9, 0.97), ProbabilityInterval(0.01, 0.05)),
    )
    assert missing.min == pytest.approx(3.823 - kl(0.97, 0.01), abs=5e-4)
    assert missing.max == pytest.approx(6.026 - kl(0.9, 0.05), abs=5e-4)


def test_evidence_against_a_claim_has_a_negative_gain() -> None:
    gain = log_odds_gain(ProbabilityInterval.exactly(0.01), ProbabilityInterval.exactly(0.99))
    assert gain.min == gain.max == pytest.approx(-2 * log(99))


@given(probability)
def test_evidence_that_adds_nothing_brings_nothing(p: float) -> None:
    brought = observed(ProbabilityInterval.exactly(p), ProbabilityInterval.exactly(p))
    assert brought.min == brought.max == 0.0


@given(intervals(), intervals())
def test_the_least_is_nothing_exactly_where_ranges_overlap(
    one: ProbabilityInterval, other: ProbabilityInterval
) -> None:
    if one.overlaps(other):
        assert observed(one, other).min == 0.0
    else:
        assert observed(one, other).min == min(
            kl(a, b) for a in (one.low, one.high) for b in (other.low, other.high)
        )


@given(intervals(), intervals(), fraction, fraction)
def test_no_pair_of_probabilities_lies_outside_the_bounds(
    posterior: ProbabilityInterval, prior: ProbabilityInterval, a: float, b: float
) -> None:
    p1, p0 = at(posterior, a), at(prior, b)
    brought, value = observed(posterior, prior), kl(p1, p0)
    assert brought.min - 1e-9 <= value <= brought.max + 1e-9
    gain = log_odds_gain(posterior, prior)
    exact = log_odds_gain(ProbabilityInterval.exactly(p1), ProbabilityInterval.exactly(p0)).min
    assert gain.min - 1e-9 <= exact <= gain.max + 1e-9


@given(intervals(), intervals(), fraction, fraction, st.floats(0.01, 0.99))
def test_no_gap_lies_outside_its_bounds(
    posterior: ProbabilityInterval, prior: ProbabilityInterval, a: float, b: float, target: float
) -> None:
    missing = gap(required(target, prior), observed(posterior, prior))
    p1, p0 = at(posterior, a), at(prior, b)
    assert missing.min - 1e-9 <= kl(target, p0) - kl(p1, p0) <= missing.max + 1e-9


@given(st.lists(probability, min_size=2), st.floats(0.01, 0.99))
def test_a_less_likely_claim_needs_more(priors: list[float], target: float) -> None:
    below = sorted(min(p, target) for p in priors)
    needs = [kl(target, p) for p in below]
    assert all(more >= less - 1e-9 for more, less in pairwise(needs))


@given(st.lists(probability, min_size=2), probability)
def test_a_surer_posterior_above_the_prior_brings_more(
    posteriors: list[float], prior: float
) -> None:
    above = sorted(max(p, prior) for p in posteriors)
    brought = [kl(p, prior) for p in above]
    assert all(less <= more + 1e-9 for less, more in pairwise(brought))
