"""Decides the status of a claim by the verifier's answers.

By the rule ``signed`` (default), a claim passes if the verifier believes the claim with its
evidence, and not without the evidence: P(yes) with the evidence reaches the target, the verifier
does not say no, P(yes) without the evidence stays below the target, and the evidence raises the
log-odds enough. The rule ``kl`` compares amounts of information. These have no sign, so a claim
that its evidence contradicts can pass.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from groundwire.verify.budget import Amount, Units, gap, log_odds_gain, observed, required
from groundwire.verify.verifier import Judged, Readout, Verdict, VerifierFailure


class DecisionRule(StrEnum):
    """The rule by which claims pass or are flagged."""

    SIGNED = "signed"
    KL = "kl"


class ClaimStatus(StrEnum):
    """Status of a claim. Each status except ``passed`` flags the claim."""

    NO_SPANS = "no_spans"
    UNKNOWN_CITATIONS = "unknown_citations"
    MISSING_CITATIONS = "missing_citations"
    NOT_A_CLAIM = "not_a_claim"
    EMPTY_CONTEXT = "empty_context"
    VERIFIER_ERROR = "verifier_error"
    CONTRADICTED = "contradicted"
    AMBIGUOUS_VERIFIER = "ambiguous_verifier"
    NOT_ENTAILED = "not_entailed"
    PRIOR_LEAK = "prior_leak"
    INSUFFICIENT_EVIDENCE_GAIN = "insufficient_evidence_gain"
    # By the rule ``kl``, the evidence provides too little information, or perhaps none. Claims in a
    # service's report can have this status too.
    UNDER_BUDGET = "under_budget"
    PASSED = "passed"


class Why(StrEnum):
    """A reason for the status of a claim."""

    NO_SPANS = "no_spans"
    UNKNOWN_CITATIONS = "unknown_citations"
    MISSING_CITATIONS = "missing_citations"
    ASSERTS_NOTHING = "asserts_nothing"
    NO_CITED_SPANS = "no_cited_spans"
    NOTHING_IS_EVIDENCE = "spans_hold_no_evidence"
    POSTERIOR_ERROR = "posterior_error"
    PRIOR_ERROR = "prior_error"
    VERIFIER_SAYS_NO = "verifier_says_no"
    POSTERIOR_BELOW_TARGET = "posterior_below_target"
    POSTERIOR_STRADDLES_TARGET = "posterior_straddles_target"
    PRIOR_AT_OR_ABOVE_TARGET = "prior_at_or_above_target"
    GAIN_BELOW_MINIMUM = "log_odds_gain_below_minimum"
    BUDGET_INSUFFICIENT = "required_exceeds_observed"
    NO_VERDICT = "verifier_gave_no_verdict"
    MAY_ADD_NOTHING = "evidence_may_add_nothing"


class ClaimDecision(NamedTuple):
    """The status of a claim, and the reasons for it."""

    status: ClaimStatus
    reasons: tuple[Why, ...] = ()


PASSED = ClaimDecision(ClaimStatus.PASSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Measures of the answers about a claim with its evidence (posterior) and without (prior).

    A measure is ``None`` if an answer that it needs is missing.

    Attributes:
        required: Information that the claim needs to reach the target.
        observed: Information that its evidence provides.
        gap: Information that is missing: required minus observed.
        gain: Gain in log-odds by the evidence, always in nats.
        supports_target: Whether the posterior surely reaches the target.
        is_prior_below_target: Whether the prior surely stays below the target.
        is_dependent: Whether ``supports_target`` and ``is_prior_below_target`` hold and the gain
            is surely at least the minimum.
        is_budget_sufficient: Whether the observed information may be as much as the required
            information, and prior and posterior surely differ.
    """

    required: Amount | None = None
    observed: Amount | None = None
    gap: Amount | None = None
    gain: Amount | None = None
    supports_target: bool | None = None
    is_prior_below_target: bool | None = None
    is_dependent: bool | None = None
    is_budget_sufficient: bool | None = None


UNMEASURED = Measures()


def measure(
    posterior: Judged | None,
    prior: Judged | None,
    *,
    target: float,
    min_gain: float = 0.0,
    units: Units = Units.BITS,
) -> Measures:
    """Compute the measures of a verifier's answers with the evidence and without it.

    :attr:`Measures.is_dependent` is true only if the gain in log-odds is at least ``min_gain``, in
    nats.
    """
    post = posterior if isinstance(posterior, Readout) else None
    before = prior if isinstance(prior, Readout) else None
    supports = None if post is None else post.yes.low >= target
    if before is None:
        return Measures(supports_target=supports)
    needed, is_below = required(target, before.yes, units), before.yes.high < target
    if post is None:
        return Measures(required=needed, is_prior_below_target=is_below)
    brought = observed(post.yes, before.yes, units)
    gain = log_odds_gain(post.yes, before.yes)
    return Measures(
        required=needed,
        observed=brought,
        gap=gap(needed, brought),
        gain=gain,
        supports_target=supports,
        is_prior_below_target=is_below,
        is_dependent=bool(supports) and is_below and gain.min >= min_gain,
        is_budget_sufficient=(needed.min <= brought.max and not post.yes.overlaps(before.yes)),
    )


def after_posterior(
    posterior: Judged, *, target: float, rule: DecisionRule
) -> ClaimDecision | None:
    """Return the decision on a claim by the posterior, the verifier's answer with the evidence.

    Return ``None`` if the decision also needs the verifier's answer without the evidence.
    """
    if isinstance(posterior, VerifierFailure):
        return ClaimDecision(ClaimStatus.VERIFIER_ERROR, (Why.POSTERIOR_ERROR,))
    if rule is DecisionRule.KL:
        return None if says_anything(posterior) else _NO_VERDICT
    is_enough = posterior.yes.low >= target
    below = () if is_enough else (Why.POSTERIOR_BELOW_TARGET,)
    if says_no(posterior):
        # This holds for any target: a low target accepts a less certain yes, but never a no.
        return ClaimDecision(ClaimStatus.CONTRADICTED, (Why.VERIFIER_SAYS_NO, *below))
    if is_enough:
        return None
    if posterior.yes.high >= target:
        return ClaimDecision(ClaimStatus.AMBIGUOUS_VERIFIER, (Why.POSTERIOR_STRADDLES_TARGET,))
    return ClaimDecision(ClaimStatus.NOT_ENTAILED, below)


def after_prior(prior: Judged, measures: Measures, *, rule: DecisionRule) -> ClaimDecision:
    """Return the decision about a claim that :func:`after_posterior` left open.

    ``prior`` is the verifier's answer without the evidence.
    """
    if isinstance(prior, VerifierFailure):
        return ClaimDecision(ClaimStatus.VERIFIER_ERROR, (Why.PRIOR_ERROR,))
    if rule is DecisionRule.KL:
        return _by_budget(measures) if says_anything(prior) else _NO_VERDICT
    if not measures.is_prior_below_target:
        return ClaimDecision(ClaimStatus.PRIOR_LEAK, (Why.PRIOR_AT_OR_ABOVE_TARGET,))
    if not measures.is_dependent:
        return ClaimDecision(ClaimStatus.INSUFFICIENT_EVIDENCE_GAIN, (Why.GAIN_BELOW_MINIMUM,))
    return PASSED


_NO_VERDICT = ClaimDecision(ClaimStatus.AMBIGUOUS_VERIFIER, (Why.NO_VERDICT,))


def _by_budget(measures: Measures) -> ClaimDecision:
    if measures.is_budget_sufficient:
        return PASSED
    is_short = measures.gap is None or measures.gap.min > 0
    why = Why.BUDGET_INSUFFICIENT if is_short else Why.MAY_ADD_NOTHING
    return ClaimDecision(ClaimStatus.UNDER_BUDGET, (why,))


def says_anything(answer: Readout) -> bool:
    """Return whether an answer has a verdict, or one of its probabilities is surely above 0."""
    least = max(answer.yes.low, answer.no.low, answer.unsure.low)
    return answer.verdict is not None or least > 0


def says_no(posterior: Readout) -> bool:
    """Return whether, by a verifier's answer, the evidence contradicts the claim."""
    rest = max(posterior.yes.high, posterior.unsure.high)
    return posterior.verdict is Verdict.NO or posterior.no.low > rest
