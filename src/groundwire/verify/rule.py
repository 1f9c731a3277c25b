"""What follows from a verifier's answers: a status for each claim, the first that holds.

``signed`` (default) asks that a claim be believed with its evidence, and not without: P(yes) at or
above the target, the prior below it, and log-odds that the evidence raised. ``kl`` is the plain
comparison of budgets, which has no sign: it lets a claim pass that its evidence contradicts, if the
contradiction is informative enough. What was not measured passes by neither, and both look at the
claim's citations first.
"""

from dataclasses import dataclass
from enum import StrEnum

from groundwire.verify.budget import Amount, Units, gap, log_odds_gain, observed, required
from groundwire.verify.verifier import Judged, Readout, Verdict, VerifierFailure


class DecisionRule(StrEnum):
    """How a claim is decided upon."""

    SIGNED = "signed"
    KL = "kl"


class ClaimStatus(StrEnum):
    """What became of a claim. All but ``passed`` flag it."""

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
    UNDER_BUDGET = "under_budget"  # of the rule kl, and of a service that says no more
    PASSED = "passed"


class Why(StrEnum):
    """Reasons beside a status."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDecision:
    """A status, and why."""

    status: ClaimStatus
    reasons: tuple[Why, ...] = ()

    @property
    def is_flagged(self) -> bool:
        """Whether the claim is flagged."""
        return self.status is not ClaimStatus.PASSED


PASSED = ClaimDecision(status=ClaimStatus.PASSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What can be told of a claim before a verifier reads it."""

    has_spans: bool
    has_unknown_citations: bool
    is_missing_citations: bool
    asserts: bool
    has_context: bool
    has_evidence: bool


def before_reading(standing: Standing) -> ClaimDecision | None:
    """The decision that needs no verifier; ``None`` if one has to read the claim."""
    if not standing.has_spans:
        return ClaimDecision(status=ClaimStatus.NO_SPANS, reasons=(Why.NO_SPANS,))
    if standing.has_unknown_citations:
        return ClaimDecision(status=ClaimStatus.UNKNOWN_CITATIONS, reasons=(Why.UNKNOWN_CITATIONS,))
    if standing.is_missing_citations:
        return ClaimDecision(status=ClaimStatus.MISSING_CITATIONS, reasons=(Why.MISSING_CITATIONS,))
    if not standing.asserts:
        return ClaimDecision(status=ClaimStatus.NOT_A_CLAIM, reasons=(Why.ASSERTS_NOTHING,))
    if not standing.has_context:
        return ClaimDecision(status=ClaimStatus.EMPTY_CONTEXT, reasons=(Why.NO_CITED_SPANS,))
    if not standing.has_evidence:
        return ClaimDecision(status=ClaimStatus.EMPTY_CONTEXT, reasons=(Why.NOTHING_IS_EVIDENCE,))
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What two answers say together; ``None`` where one was not measured.

    Attributes:
        required: What the claim needs.
        observed: What its evidence brings.
        gap: What is missing.
        gain: How far the evidence moves the log-odds, in nats whatever the units.
        supports_target: Whether the posterior surely reaches the target.
        is_prior_below_target: Whether the prior surely stays below it.
        is_dependent: Whether both hold and the gain is at least the minimum.
        is_budget_sufficient: Whether what is required may be covered by what was observed, and
            something surely was: prior and posterior are not the same.
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
    """Measure what was answered; nothing stands in for an answer that there is not."""
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
    """The decision that needs no prior; ``None`` if the prior has to be read."""
    if isinstance(posterior, VerifierFailure):
        return ClaimDecision(status=ClaimStatus.VERIFIER_ERROR, reasons=(Why.POSTERIOR_ERROR,))
    if rule is DecisionRule.KL:
        return None if says_anything(posterior) else _NO_VERDICT
    below = Why.POSTERIOR_BELOW_TARGET
    is_enough = posterior.yes.low >= target
    if says_no(posterior):
        # Whatever the target: a low one asks for less certainty, not for less than a yes.
        reasons = (Why.VERIFIER_SAYS_NO,) if is_enough else (Why.VERIFIER_SAYS_NO, below)
        return ClaimDecision(status=ClaimStatus.CONTRADICTED, reasons=reasons)
    if is_enough:
        return None
    if posterior.yes.high >= target:
        why = Why.POSTERIOR_STRADDLES_TARGET
        return ClaimDecision(status=ClaimStatus.AMBIGUOUS_VERIFIER, reasons=(why,))
    return ClaimDecision(status=ClaimStatus.NOT_ENTAILED, reasons=(below,))


def after_prior(prior: Judged, measures: Measures, *, rule: DecisionRule) -> ClaimDecision:
    """The decision once both were asked."""
    if isinstance(prior, VerifierFailure):
        return ClaimDecision(status=ClaimStatus.VERIFIER_ERROR, reasons=(Why.PRIOR_ERROR,))
    if rule is DecisionRule.KL:
        return _by_budget(measures) if says_anything(prior) else _NO_VERDICT
    if not measures.is_prior_below_target:
        return ClaimDecision(status=ClaimStatus.PRIOR_LEAK, reasons=(Why.PRIOR_AT_OR_ABOVE_TARGET,))
    if not measures.is_dependent:
        why = Why.GAIN_BELOW_MINIMUM
        return ClaimDecision(status=ClaimStatus.INSUFFICIENT_EVIDENCE_GAIN, reasons=(why,))
    return PASSED


_NO_VERDICT = ClaimDecision(status=ClaimStatus.AMBIGUOUS_VERIFIER, reasons=(Why.NO_VERDICT,))


def _by_budget(measures: Measures) -> ClaimDecision:
    if measures.is_budget_sufficient:
        return PASSED
    is_short = measures.gap is None or measures.gap.min > 0
    why = Why.BUDGET_INSUFFICIENT if is_short else Why.MAY_ADD_NOTHING
    return ClaimDecision(status=ClaimStatus.UNDER_BUDGET, reasons=(why,))


def says_anything(answer: Readout) -> bool:
    """Whether a verifier gave any verdict a probability; budgets are of nothing without."""
    least = max(answer.yes.low, answer.no.low, answer.unsure.low)
    return answer.verdict is not None or least > 0


def says_no(posterior: Readout) -> bool:
    """Whether a verifier says that the evidence contradicts the claim."""
    rest = max(posterior.yes.high, posterior.unsure.high)
    return posterior.verdict is Verdict.NO or posterior.no.low > rest
