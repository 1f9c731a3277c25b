"""Judges claims: by rules that need no verifier, and by a verifier's answers."""

from collections.abc import Callable, Sequence
from itertools import compress

from groundwire.config.tree import Verify
from groundwire.verify import rule
from groundwire.verify.budget import Units
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.context import Contexts
from groundwire.verify.hygiene import asserts
from groundwire.verify.report import ClaimReport
from groundwire.verify.rule import ClaimDecision, ClaimStatus, Why
from groundwire.verify.verifier import ClaimQuestion, Judged, Readout, Verifier, ask


def judge_claims(
    claims: Sequence[VerifiableClaim], contexts: Contexts, verifier: Verifier, settings: Verify
) -> tuple[ClaimReport, ...]:
    """Verify claims, and return a report on each.

    A claim that :func:`before_reading` does not decide is read with its evidence. If the verifier
    answers, the claim is also read without the spans that it cites, or without any span if it cites
    none. A span is a passage of the evidence with an id.
    """
    decides_by, units = rule.DecisionRule(settings.rule), Units(settings.units)
    targets = [settings.target if each.target is None else each.target for each in claims]
    decisions = [before_reading(each, contexts, settings) for each in claims]
    undecided = [each is None for each in decisions]
    posteriors = _answers(verifier, claims, undecided, contexts.posterior)
    for at, posterior in enumerate(posteriors):
        if posterior is not None:
            decisions[at] = rule.after_posterior(posterior, target=targets[at], rule=decides_by)
    # Claims that were flagged by their posterior (the answer with the evidence) are read a second
    # time too, so that the report can show how much information they lack.
    was_read = [isinstance(each, Readout) for each in posteriors]
    priors = _answers(verifier, claims, was_read, contexts.prior)
    reports = []
    for at, claim in enumerate(claims):
        posterior, prior = posteriors[at], priors[at]
        measures = rule.measure(
            posterior, prior, target=targets[at], min_gain=settings.min_log_odds_gain, units=units
        )
        decision = decisions[at]
        if decision is None:
            assert prior is not None  # the claim's posterior was read, so its prior was asked for
            decision = rule.after_prior(prior, measures, rule=decides_by)
        reports.append(
            ClaimReport(
                claim=claim,
                target=targets[at],
                decision=decision,
                measures=measures,
                posterior=posterior,
                prior=prior,
                is_missing_citations=settings.require_citations and not claim.has_citations,
                has_empty_context=not contexts.sids(claim),
                evidence=contexts.sids(claim),
                units=units,
            )
        )
    return tuple(reports)


def before_reading(
    claim: VerifiableClaim, contexts: Contexts, settings: Verify
) -> ClaimDecision | None:
    """Decide on a claim without a verifier, for example if it cites an unknown id.

    Return ``None`` if a verifier has to read the claim.
    """
    is_missing = settings.require_citations and not claim.has_citations
    sids = contexts.sids(claim)
    has_evidence = any(contexts.evidence[sid].text for sid in sids)
    ladder = (
        (not contexts.evidence, ClaimStatus.NO_SPANS, Why.NO_SPANS),
        (bool(claim.unknown), ClaimStatus.UNKNOWN_CITATIONS, Why.UNKNOWN_CITATIONS),
        (is_missing, ClaimStatus.MISSING_CITATIONS, Why.MISSING_CITATIONS),
        (not asserts(claim.text), ClaimStatus.NOT_A_CLAIM, Why.ASSERTS_NOTHING),
        (not sids, ClaimStatus.EMPTY_CONTEXT, Why.NO_CITED_SPANS),
        (not has_evidence, ClaimStatus.EMPTY_CONTEXT, Why.NOTHING_IS_EVIDENCE),
    )
    return next((ClaimDecision(status, (why,)) for holds, status, why in ladder if holds), None)


def _answers(
    verifier: Verifier,
    claims: Sequence[VerifiableClaim],
    wanted: Sequence[bool],
    question: Callable[[VerifiableClaim], ClaimQuestion],
) -> list[Judged | None]:
    """Ask the verifier about the wanted claims; the answer for any other claim is ``None``."""
    answers = iter(ask(verifier, [question(each) for each in compress(claims, wanted)]))
    return [next(answers) if is_wanted else None for is_wanted in wanted]
