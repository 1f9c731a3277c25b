"""Reports of verifications, as frozen values and as the documented JSON.

A span is a passage of the evidence with an id. In the JSON of a claim, a value that was not
measured is ``null``, or has ``null`` as its bounds.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from groundwire.config.tree import Verify
from groundwire.detection.values import AsideKind
from groundwire.verify.budget import Amount, Units
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.forensics import CitationReport
from groundwire.verify.interval import ProbabilityInterval
from groundwire.verify.rule import UNMEASURED, ClaimDecision, ClaimStatus, Measures
from groundwire.verify.verifier import FREE, CallCost, Judged, Readout, VerifierFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReport:
    """The report on one claim.

    Attributes:
        claim: The claim, with its citations.
        target: Probability that the claim had to reach.
        decision: Status of the claim, with reasons.
        measures: Measures of the verifier's answers, such as required and observed information.
        posterior: The verifier's answer with the evidence; ``None`` if the verifier was not asked,
            or a service's report does not have the answer.
        prior: The verifier's answer without the cited spans, or without any span if the claim
            cites none; ``None`` for the same reasons as ``posterior``.
        is_missing_citations: Whether the claim cites nothing although citations are required.
        has_empty_context: Whether the claim had no spans as its evidence.
        evidence: Ids of the spans that are the claim's evidence; empty in a service's report.
        units: Units of the amounts of information.
    """

    claim: VerifiableClaim
    target: float
    decision: ClaimDecision
    measures: Measures = UNMEASURED
    posterior: Judged | None = None
    prior: Judged | None = None
    is_missing_citations: bool = False
    has_empty_context: bool = False
    evidence: tuple[str, ...] = ()
    units: Units = Units.BITS

    @property
    def status(self) -> ClaimStatus:
        """Status of the claim."""
        return self.decision.status

    @property
    def flagged(self) -> bool:
        """Whether the claim did not pass."""
        return self.status is not ClaimStatus.PASSED

    @property
    def answers(self) -> tuple[Judged, ...]:
        """The verifier's answers about the claim: none, one or two."""
        return tuple(each for each in (self.posterior, self.prior) if each is not None)

    @property
    def error(self) -> str | None:
        """The verifier's error message; ``None`` if the verifier did not fail."""
        return next((e.error for e in self.answers if isinstance(e, VerifierFailure)), None)

    def to_dict(self, settings: Verify) -> dict[str, Any]:
        """Return the report as JSON data.

        ``settings`` say whether the data includes the prompts, and how long they may be.
        """
        claim, measures, units = self.claim, self.measures, self.units
        found: dict[str, Any] = {
            "idx": claim.idx,
            "claim": claim.text,
            "raw_claim": claim.raw_text,
            "cites": list(claim.cites),
            "raw_cites": list(claim.raw_cites),
            "citation_normalizations": [asdict(each) for each in claim.normalizations],
            "unknown_citations": list(claim.unknown),
            "has_any_citations": claim.has_citations,
            "missing_citations": self.is_missing_citations,
            "flagged": self.flagged,
            "status": str(self.status),
            "reasons": [str(each) for each in self.decision.reasons],
            "target": self.target,
            "required": _amount(measures.required, units),
            "observed": _amount(measures.observed, units),
            "budget_gap": _amount(measures.gap, units),
            "prior_yes": _readout(self.prior),
            "post_yes": _readout(self.posterior),
            "evidence_log_odds_gain": _amount(measures.gain, "nats"),
            "post_supports_target": measures.supports_target,
            "prior_below_target": measures.is_prior_below_target,
            "evidence_dependent": measures.is_dependent,
            "prior_leak": self.status is ClaimStatus.PRIOR_LEAK,
            "kl_budget_sufficient": measures.is_budget_sufficient,
            "budget_evaluated": measures.gap is not None,
            "skipped_verifier": self.posterior is None,
            "prior_skipped": self.prior is None,
            "empty_context": self.has_empty_context,
            "no_spans": self.status is ClaimStatus.NO_SPANS,
            "evidence": list(self.evidence),
            "verifier_calls": round(sum(each.cost.calls for each in self.answers), 6),
        }
        if self.error is not None:
            found["error"] = self.error
        if settings.include_prompts:
            most = settings.max_prompt_chars
            found["prompts"] = {
                name: _cut(each.prompt, most) if each and each.prompt else None
                for name, each in (("posterior", self.posterior), ("prior", self.prior))
            }
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationSetup:
    """Settings and verifier of a verification, as its report names them.

    Attributes:
        backend: Name of the verifier.
        verifier_model: Model of the verifier.
        rule: Rule of the decisions; ``service`` if a service made them.
        settings: All settings of the verification.
        noun: Name of the things that are verified: ``claims`` or ``steps``.
        passing: Measured shares of right and wrong claims that pass with the verifier
            (:attr:`.ClaimMap.passing`); empty if the verifier has no :class:`.ClaimMap`.
        asides: Parts of the answer that claim nothing and are not verified, each with its kind.
    """

    backend: str
    verifier_model: str
    rule: str
    settings: Verify = field(default_factory=Verify)
    noun: str = "claims"
    passing: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    asides: tuple[tuple[AsideKind, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    """The report on an answer, or on a trace.

    Attributes:
        setup: Settings and verifier.
        details: One report for each claim that was scored, in the order of the claims.
        unscored: Claims beyond ``max_claims``; any of them flags the report.
        has_unscored: Whether a service left out claims, or seems to have done so.
        n_lost: Number of claims that should have been scored and have no report.
        lost: Failures of the verifier about claims that have no report.
        citations: Findings about the citations, which never flag the report; ``None`` if the call
            did not ask for them, or the verification failed.
        error: Why the verification failed; ``details`` is then empty. ``None`` if it did not fail.
        error_type: The kind of error, in one word; ``None`` if ``error`` is ``None``.
    """

    setup: VerificationSetup
    details: tuple[ClaimReport, ...] = ()
    unscored: tuple[VerifiableClaim, ...] = ()
    has_unscored: bool = False
    n_lost: int = 0
    lost: tuple[VerifierFailure, ...] = ()
    citations: CitationReport | None = None
    error: str | None = None
    error_type: str | None = None

    @property
    def flagged(self) -> bool:
        """Whether the verification failed, a claim did not pass, or claims were left out."""
        return self.error is not None or self.truncated or any(d.flagged for d in self.details)

    @property
    def truncated(self) -> bool:
        """Whether claims were left out: beyond ``max_claims``, or (perhaps) by a service."""
        return bool(self.unscored) or self.has_unscored

    @property
    def cost(self) -> CallCost:
        """The cost of all answers about claims together.

        The questions about citations are not included; :attr:`.CitationReport.cost` is their cost.
        """
        return sum((each.cost for each in self._judged()), FREE)

    @property
    def summary(self) -> dict[str, Any]:
        """Numbers and main settings of the report, as JSON data."""
        setup, settings = self.setup, self.setup.settings
        flagged = [each.claim.idx for each in self.details if each.flagged]
        return {
            f"{setup.noun}_scored": len(self.details),
            f"flagged_{setup.noun}": len(flagged),
            "flagged_idxs": flagged,
            "units": settings.units,
            "verifier_model": setup.verifier_model,
            "backend": setup.backend,
            **_measured(setup.passing),
            "rule": setup.rule,
            "default_target": settings.target,
            "claims_total": len(self.details) + self.n_lost + len(self.unscored),
            "max_claims": settings.max_claims if setup.noun == "claims" else None,
            "truncated": self.truncated,
            "unscored": [
                {"idx": each.idx, "claim": each.text, "cites": list(each.raw_cites)}
                for each in self.unscored
            ],
            "asides": [{"kind": str(kind), "text": text} for kind, text in setup.asides],
            "context_mode": settings.context_mode,
            "require_citations": settings.require_citations,
            "min_log_odds_gain": settings.min_log_odds_gain,
            "statuses": dict(sorted(Counter(str(d.status) for d in self.details).items())),
            **self._counts(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the report as the documented JSON data."""
        found: dict[str, Any] = {"flagged": self.flagged, "under_budget": self.flagged}
        if self.error is not None:
            found |= {"error": self.error, "error_type": self.error_type}
        found["summary"] = self.summary
        found["details"] = [each.to_dict(self.setup.settings) for each in self.details]
        if self.citations is not None:
            found["citations"] = self.citations.to_dict()
        return found

    def _judged(self) -> list[Judged]:
        return [*(answer for each in self.details for answer in each.answers), *self.lost]

    def _counts(self) -> dict[str, Any]:
        """Return numbers of calls, results and tokens, as JSON data."""
        costs, total = [each.cost for each in self._judged()], self.cost
        n_asked = len(self.lost) + sum(each.posterior is not None for each in self.details)
        # Without groups, each answer would have taken a whole call.
        saved = sum(1 - cost.calls for cost in costs if cost.is_grouped and not cost.is_cached)
        return {
            "verifier_calls": len(costs),
            "verifier_calls_planned": 2 * n_asked,
            "verifier_api_calls_estimated": round(total.calls, 6),
            "verifier_calls_saved_by_grouping": round(saved, 6),
            "grouped_results": sum(cost.is_grouped for cost in costs),
            "group_fallbacks": sum(cost.fell_back for cost in costs),
            "cached_results": sum(cost.is_cached for cost in costs),
            "prompt_tokens": round(total.prompt_tokens),
            "completion_tokens": round(total.completion_tokens),
        }


def passing_of(verifier: object) -> Mapping[str, Mapping[str, float]]:
    """Return the measured shares of right and wrong claims that pass with a verifier.

    The shares are :attr:`.ClaimMap.passing`; empty if the verifier has no :class:`.ClaimMap`.
    """
    claim_map = getattr(verifier, "claim_map", None)
    return {} if claim_map is None else claim_map.passing


def _measured(passing: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    if not passing:
        return {}
    sets = {name: dict(shares) for name, shares in passing.items()}
    return {"verifier_passing": {"target": Verify().target, "sets": sets}}


def _amount(amount: Amount | None, units: str) -> dict[str, Any]:
    bounds = {"min": None, "max": None} if amount is None else asdict(amount)
    return {**bounds, "units": str(units)}


def _readout(judged: Judged | None) -> dict[str, Any] | None:
    if not isinstance(judged, Readout):
        return None
    return {
        **_interval(judged.yes),
        "generated": judged.generated,
        "topk": [asdict(each) for each in judged.topk],
        "no": _interval(judged.no),
        "unsure": _interval(judged.unsure),
        "grouped": judged.cost.is_grouped,
        "group_fallback": judged.cost.fell_back,
        "cached": judged.cost.is_cached,
    }


def _interval(interval: ProbabilityInterval) -> dict[str, float]:
    return {"p_lower": interval.low, "p_upper": interval.high}


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
