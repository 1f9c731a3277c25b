"""Claims → reports: what needs no verifier first, then each with its evidence, then without."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from groundwire.config.tree import Verify
from groundwire.verify.budget import Units
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.context import Contexts
from groundwire.verify.hygiene import asserts
from groundwire.verify.report import ClaimReport
from groundwire.verify.rule import (
    ClaimDecision,
    DecisionRule,
    Measures,
    Standing,
    after_posterior,
    after_prior,
    before_reading,
    measure,
)
from groundwire.verify.verifier import (
    CallCost,
    ClaimQuestion,
    FailureKind,
    Judged,
    Readout,
    Verifier,
    VerifierFailure,
)


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A claim on its way to a report."""

    claim: VerifiableClaim
    target: float
    is_missing_citations: bool
    has_empty_context: bool
    decision: ClaimDecision | None
    posterior: Judged | None = None
    prior: Judged | None = None


def judge_claims(
    claims: Sequence[VerifiableClaim], contexts: Contexts, verifier: Verifier, settings: Verify
) -> tuple[ClaimReport, ...]:
    """Verify claims. Priors are read only where the posterior leaves the claim a chance."""
    rule = DecisionRule(settings.rule)
    drafts = [_draft(claim, contexts, settings) for claim in claims]
    pending = [draft for draft in drafts if draft.decision is None]
    asked = ask(verifier, [contexts.posterior(draft.claim) for draft in pending])
    for draft, judged in zip(pending, asked, strict=True):
        draft.posterior = judged
        draft.decision = after_posterior(judged, target=draft.target, rule=rule)
    pending = [draft for draft in pending if draft.decision is None]
    asked = ask(verifier, [contexts.prior(draft.claim) for draft in pending])
    for draft, judged in zip(pending, asked, strict=True):
        draft.prior = judged
        draft.decision = after_prior(judged, _measures(draft, settings), rule=rule)
    return tuple(_report(draft, contexts, settings) for draft in drafts)


def ask(verifier: Verifier, questions: Sequence[ClaimQuestion]) -> Sequence[Judged]:
    """Ask a verifier; whatever it does in place of answering counts as no answer."""
    if not questions:
        return ()
    try:
        judged = list(verifier.judge(questions))
    except Exception as error:  # noqa: BLE001 - a verifier may be anyone's; nothing was verified
        # Its message may quote the claim, which has no place in a report's error.
        return _failed(questions, f"The verifier failed: {type(error).__name__}.")
    if len(judged) != len(questions):
        return _failed(questions, f"The verifier gave {len(judged)} of {len(questions)} answers.")
    if not all(isinstance(each, Readout | VerifierFailure) for each in judged):
        return _failed(questions, "The verifier gave an answer of an unknown kind.")
    return judged


@dataclass(slots=True)
class Asking:
    """A verifier that never breaks, asked by :func:`ask`.

    Attributes:
        verifier: The one that is asked.
        cost: What its answers took so far.
    """

    verifier: Verifier
    cost: CallCost = field(default_factory=CallCost)

    @property
    def name(self) -> str:
        """Its name."""
        return self.verifier.name

    @property
    def model(self) -> str:
        """Its model."""
        return self.verifier.model

    def judge(self, questions: Sequence[ClaimQuestion]) -> Sequence[Judged]:
        """Its answers; a failure in place of each that it does not give."""
        judged = ask(self.verifier, questions)
        self.cost = sum((each.cost for each in judged), self.cost)
        return judged


def failures_of_all(details: Sequence[ClaimReport]) -> tuple[VerifierFailure, ...]:
    """What the verifier gave in place of answers, if there is a finding about no claim at all."""
    failed = tuple(
        each.posterior for each in details if isinstance(each.posterior, VerifierFailure)
    )
    return failed if len(failed) == len(details) else ()


def _failed(questions: Sequence[ClaimQuestion], error: str) -> list[Judged]:
    return [VerifierFailure(kind=FailureKind.VERIFIER, error=error) for _ in questions]


def _draft(claim: VerifiableClaim, contexts: Contexts, settings: Verify) -> _Draft:
    is_missing = settings.require_citations and not claim.has_citations
    has_context = bool(contexts.sids(claim))
    standing = Standing(
        has_spans=bool(contexts.evidence),
        has_unknown_citations=bool(claim.unknown),
        is_missing_citations=is_missing,
        asserts=asserts(claim.text),
        has_context=has_context,
        has_evidence=contexts.has_evidence(claim),
    )
    return _Draft(
        claim=claim,
        target=settings.target if claim.target is None else claim.target,
        is_missing_citations=is_missing,
        has_empty_context=not has_context,
        decision=before_reading(standing),
    )


def _measures(draft: _Draft, settings: Verify) -> Measures:
    return measure(
        draft.posterior,
        draft.prior,
        target=draft.target,
        min_gain=settings.min_log_odds_gain,
        units=Units(settings.units),
    )


def _report(draft: _Draft, contexts: Contexts, settings: Verify) -> ClaimReport:
    assert draft.decision is not None  # the last stage decides all
    return ClaimReport(
        claim=draft.claim,
        target=draft.target,
        decision=draft.decision,
        measures=_measures(draft, settings),
        posterior=draft.posterior,
        prior=draft.prior,
        is_missing_citations=draft.is_missing_citations,
        has_empty_context=draft.has_empty_context,
        evidence=contexts.sids(draft.claim),
        units=Units(settings.units),
    )
