import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.verify.interval import ProbabilityInterval
from groundwire.verify.rule import (
    PASSED,
    ClaimDecision,
    ClaimStatus,
    DecisionRule,
    Why,
    after_posterior,
    after_prior,
    measure,
)
from groundwire.verify.verifier import FailureKind, Readout, VerifierFailure
from tests.verify.scripted import readout

FAILED = VerifierFailure(kind=FailureKind.TIMEOUT, error="too late")


def ranged(low: float, high: float) -> Readout:
    rest = ProbabilityInterval(0.0, 1 - low)
    return Readout(yes=ProbabilityInterval(low, high), no=rest, unsure=rest, generated="?")


def decide(
    posterior: Readout | VerifierFailure,
    prior: Readout | VerifierFailure,
    *,
    target: float = 0.95,
    rule: DecisionRule = DecisionRule.SIGNED,
    min_gain: float = 0.0,
) -> ClaimDecision:
    measures = measure(posterior, prior, target=target, min_gain=min_gain)
    return after_posterior(posterior, target=target, rule=rule) or after_prior(
        prior, measures, rule=rule
    )


def test_signed_flags_what_a_negative_gap_would_let_pass() -> None:
    posterior, prior = readout(0.01), readout(0.99)
    measures = measure(posterior, prior, target=0.95)
    assert measures.gap is not None
    assert measures.gap.max < 0
    assert decide(posterior, prior) != PASSED
    assert decide(posterior, prior, rule=DecisionRule.KL) == PASSED


def test_kl_flags_what_brings_less_than_it_needs() -> None:
    assert (
        decide(readout(0.9), readout(0.3), rule=DecisionRule.KL).status is ClaimStatus.UNDER_BUDGET
    )


def test_kl_lets_an_overlap_pass_only_if_the_bounds_allow_it() -> None:
    assert decide(ranged(0.9, 0.96), readout(0.3), rule=DecisionRule.KL) == PASSED
    assert decide(ranged(0.9, 0.94), readout(0.3), rule=DecisionRule.KL) != PASSED


def test_kl_passes_nothing_if_evidence_may_have_added_nothing() -> None:
    for posterior, prior in (
        (ranged(0.2, 0.96), readout(0.3)),
        (readout(0.95), ranged(0.1, 0.95)),
        (readout(0.95), readout(0.95)),
    ):
        found = decide(posterior, prior, rule=DecisionRule.KL)
        assert found == ClaimDecision(
            status=ClaimStatus.UNDER_BUDGET, reasons=(Why.MAY_ADD_NOTHING,)
        )
        assert measure(posterior, prior, target=0.95).is_budget_sufficient is False


def test_a_believed_claim_that_needs_its_evidence_passes() -> None:
    assert decide(readout(0.97), readout(0.05)) == PASSED


def test_a_claim_that_is_believed_without_its_evidence_leaks() -> None:
    found = decide(readout(0.97), readout(0.96))
    assert found == ClaimDecision(
        status=ClaimStatus.PRIOR_LEAK, reasons=(Why.PRIOR_AT_OR_ABOVE_TARGET,)
    )
    assert str(found.reasons[0]) == "prior_at_or_above_target"


def test_a_prior_that_may_reach_the_target_leaks() -> None:
    assert decide(readout(0.97), ranged(0.0, 0.95)).status is ClaimStatus.PRIOR_LEAK


def test_at_the_target_is_enough() -> None:
    assert decide(readout(0.95), readout(0.05)) == PASSED


def test_a_verifier_that_says_no_contradicts() -> None:
    assert decide(readout(0.01, 0.98), readout(0.5)).status is ClaimStatus.CONTRADICTED
    assert decide(readout(0.4, 0.3, generated="N"), readout(0.5)).status is ClaimStatus.CONTRADICTED


def test_below_the_target_without_a_no_is_not_entailed() -> None:
    assert decide(readout(0.6, 0.1), readout(0.05)).status is ClaimStatus.NOT_ENTAILED


def test_around_the_target_is_ambiguous() -> None:
    assert decide(ranged(0.9, 0.96), readout(0.05)).status is ClaimStatus.AMBIGUOUS_VERIFIER


def test_no_answer_is_never_a_pass() -> None:
    assert decide(FAILED, readout(0.05)).reasons == (Why.POSTERIOR_ERROR,)
    assert decide(readout(0.97), FAILED).reasons == (Why.PRIOR_ERROR,)
    for rule in DecisionRule:
        assert decide(FAILED, readout(0.05), rule=rule).status is ClaimStatus.VERIFIER_ERROR
        assert decide(readout(0.97), FAILED, rule=rule).status is ClaimStatus.VERIFIER_ERROR


def test_a_gain_below_the_minimum_is_not_enough() -> None:
    found = decide(readout(0.96), readout(0.94), min_gain=1.0)
    assert found.status is ClaimStatus.INSUFFICIENT_EVIDENCE_GAIN
    assert decide(readout(0.96), readout(0.94)) == PASSED


def test_what_was_not_measured_has_no_gap() -> None:
    assert measure(readout(0.5), None, target=0.95).gap is None
    assert measure(readout(0.97), FAILED, target=0.95).required is None
    assert measure(None, None, target=0.95).observed is None


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 0.99))
def test_signed_is_monotone_in_the_posterior(
    p: float, q: float, prior: float, target: float
) -> None:
    low, high = sorted((p, q))
    if decide(readout(low, 0.0), readout(prior), target=target) == PASSED:
        assert decide(readout(high, 0.0), readout(prior), target=target) == PASSED


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 0.99))
def test_signed_passes_nothing_that_its_evidence_does_not_raise_over_the_target(
    posterior: float, prior: float, target: float
) -> None:
    passed = decide(readout(posterior, 0.0), readout(prior), target=target) == PASSED
    assert passed is (posterior >= target > prior)


@pytest.mark.parametrize("target", [0.01, 0.1, 0.4])
def test_a_low_target_passes_nothing_that_the_verifier_denies(target: float) -> None:
    found = decide(readout(0.4, 0.6), readout(0.001), target=target)
    assert found == ClaimDecision(status=ClaimStatus.CONTRADICTED, reasons=(Why.VERIFIER_SAYS_NO,))


@pytest.mark.parametrize("p", [0.0, 0.5, 0.95, 0.99, 1.0])
def test_evidence_that_adds_nothing_never_passes(p: float) -> None:
    assert decide(readout(p), readout(p)) != PASSED
