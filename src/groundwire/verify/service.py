"""The verifier ``service``: a server that verifies an answer or a trace, and returns the report.

The calls are ``POST {url}/detect_hallucination`` and ``/audit_trace_budget``, with the key as a
bearer token and spans (passages of evidence) as ``{"id", "text"}``. Plain HTTP is refused except to
this machine and to ``plain_http_host``, and no redirect is followed. A claim is flagged if the
service flags it, or if a value in the report, such as an error, speaks against a pass.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from groundwire.config.tree import Verify
from groundwire.detection.example import Source
from groundwire.verify import rule
from groundwire.verify.backends import wanted_key, wanted_url
from groundwire.verify.budget import Amount, Units
from groundwire.verify.citing import Normalization
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.client import ChatClient, call_failure
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.interval import UNKNOWN, ProbabilityInterval
from groundwire.verify.report import ClaimReport, VerificationReport, VerificationSetup
from groundwire.verify.rule import PASSED, ClaimDecision, ClaimStatus, DecisionRule, Measures
from groundwire.verify.settings import DEFAULTS, arguments_of
from groundwire.verify.subject import Subject
from groundwire.verify.verifier import FailureKind, Readout

#: Settings that are not sent to a service.
_OURS = frozenset({"verifier", "base_url", "service_url", "plain_http_host", "api_key", "rule"})

#: Arguments that every service knows; they are always sent.
_DOCUMENTED = (
    *("verifier_model", "default_target", "max_claims"),
    *("require_citations", "context_mode", "timeout_s"),
)

#: A claim that lacks at most this much information (``budget_gap``), in bits or nats, may pass: the
#: lack may come from rounding.
_ROUNDING = 1e-6

_Number = Annotated[float, Field(ge=-1e9, le=1e9)]
_Probability = Annotated[float, Field(ge=0, le=1)]
_Whole = Annotated[int, Field(gt=-(2**53), lt=2**53)]


class _Reported(BaseModel):
    model_config = ConfigDict(strict=True)


class ReportedAmount(_Reported):
    """An amount of information in a service's report."""

    min: _Number | None = None
    max: _Number | None = None


class ReportedReadout(_Reported):
    """An answer of the service's verifier: the range of P(yes), and the verdict as written."""

    p_lower: _Probability
    p_upper: _Probability
    generated: str = ""


class ReportedClaim(_Reported):
    """The service's findings about one claim."""

    claim: str
    flagged: bool
    idx: _Whole | None = None
    raw_claim: str | None = None
    status: str | None = None
    target: _Probability | None = None
    cites: list[str | int] | None = None
    raw_cites: list[str | int] | None = None
    citation_normalizations: list[Normalization] | None = None
    unknown_citations: list[str | int] | None = None
    required: ReportedAmount | None = None
    observed: ReportedAmount | None = None
    budget_gap: ReportedAmount | None = None
    post_yes: ReportedReadout | None = None
    prior_yes: ReportedReadout | None = None
    has_any_citations: bool = True
    missing_citations: bool = False
    empty_context: bool = False
    no_spans: bool = False
    skipped_verifier: bool = False
    error: Any = None


class ReportedSummary(_Reported):
    """The summary in a service's report."""

    claims_total: _Whole | None = None
    truncated: bool = False


class Reported(_Reported):
    """A report as the verification service sends it; only some of its fields are read."""

    flagged: bool
    details: list[ReportedClaim] = Field(min_length=1)
    error: Any = None
    summary: ReportedSummary | None = None


def ask_service(
    subject: Subject,
    spans: Sequence[Source],
    claims: Sequence[VerifiableClaim],
    setup: VerificationSetup,
) -> VerificationReport:
    """Call the service once, and read its report.

    ``claims`` are the claims that the service has to verify, as Groundwire reads them from the
    subject.

    Raises:
        NotVerifiedError: If the service has no usable URL or key, the call fails, or the response
            is not a usable report.
        MissingExtraError: If the official client is not installed.
    """
    settings = setup.settings
    url = wanted_url(settings, "service_url")
    if url is None:
        raise NotVerifiedError(
            "missing_service_url",
            "There is no service to ask. Set BERRY_SERVICE_URL, or pass service_url.",
        )
    with ChatClient(
        base_url=url,
        api_key=wanted_key(settings),
        timeout_s=settings.timeout_s,
        max_retries=0,
        what="The service verifier",
    ) as client:
        try:
            response = client.post(f"/{subject.call}", _payload(subject, settings, spans, claims))
        except Exception as error:  # whatever the client raises, nothing was verified
            raise call_failure(error, "service") from error
    return read_report(response, setup, claims, is_numbered=not subject.is_limited)


def _payload(
    subject: Subject, settings: Verify, spans: Sequence[Source], claims: Sequence[VerifiableClaim]
) -> dict[str, Any]:
    """Return the data of a call: subject, spans and arguments.

    Arguments that only some services know are sent only if they differ from their defaults.
    """
    given, usual = arguments_of(settings), arguments_of(DEFAULTS)
    sent = {
        name: value
        for name, value in given.items()
        if name not in _OURS and (name in _DOCUMENTED or value != usual[name])
    }
    shown = [{"id": span.id, "text": span.text} for span in spans]
    return {**subject.payload(claims, settings.target), "spans": shown, **sent}


def read_report(
    response: bytes,
    setup: VerificationSetup,
    claims: Sequence[VerifiableClaim],
    *,
    is_numbered: bool,
) -> VerificationReport:
    """Read a service's report on an answer or a trace.

    A service divides an answer into claims in its own way, so the report may have other claims than
    ``claims``. If the report seems to leave out some of ``claims``, the result says so.

    Args:
        response: The body of the response, in JSON.
        setup: Settings and verifier of the verification.
        claims: The claims or steps that the service had to verify, as Groundwire reads them.
        is_numbered: Whether ``claims`` are steps of a trace. The report must then have exactly
            these steps.

    Raises:
        NotVerifiedError: If the response is not a report, reports an error, or is about steps
            other than those that were sent.
    """
    try:
        reported = Reported.model_validate_json(response)
    except ValueError as error:
        raise _malformed("it does not have the documented shape") from error
    if reported.error:
        raise _malformed("it tells of an error")
    details, summary = reported.details, reported.summary or ReportedSummary()
    targets = {each.idx: each.target for each in claims} if is_numbered else {}
    read = tuple(_claim_report(each, at, setup, targets) for at, each in enumerate(details))
    if is_numbered and sorted(each.claim.idx for each in read) != sorted(targets):
        raise _malformed("its steps are not those that were sent")
    is_cut = summary.truncated or (summary.claims_total or 0) > len(details)
    # If the report is flagged, but none of its claims is, a flagged claim was perhaps left out. So
    # the report counts as truncated.
    is_cut = is_cut or (reported.flagged and not any(each.flagged for each in read))
    n_missing = 0 if _tells_all(read, claims) else len(claims) - len(read)
    return VerificationReport(
        setup=setup, details=read, has_unscored=is_cut or n_missing > 0, n_lost=n_missing
    )


def _malformed(problem: str) -> NotVerifiedError:
    return NotVerifiedError(
        FailureKind.MALFORMED, f"The service's response is not a valid report: {problem}."
    )


def _tells_all(read: Sequence[ClaimReport], claims: Sequence[VerifiableClaim]) -> bool:
    """Return whether a report has at least as many claims as ``claims``, or the text of each."""
    reported = _squeezed(" ".join(each.claim.raw_text for each in read))
    # Some services return claims with citations, others without.
    return len(read) >= len(claims) or all(
        _squeezed(each.raw_text) in reported or _squeezed(each.text) in reported for each in claims
    )


def _squeezed(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _claim_report(
    reported: ReportedClaim, at: int, setup: VerificationSetup, targets: Mapping[int, float | None]
) -> ClaimReport:
    idx = at if reported.idx is None else reported.idx
    target = max(reported.target or 0.0, targets.get(idx) or setup.settings.target)
    posterior, gap = _readout(reported.post_yes), _amount(reported.budget_gap)
    is_flagged = reported.flagged or _speaks_against_pass(reported, gap, setup)
    cites = _texts(reported.cites)
    return ClaimReport(
        claim=VerifiableClaim(
            idx=idx,
            text=reported.claim,
            raw_text=reported.raw_claim or reported.claim,
            cites=cites,
            raw_cites=_texts(reported.raw_cites) or cites,
            normalizations=tuple(reported.citation_normalizations or ()),
            unknown=_texts(reported.unknown_citations),
        ),
        target=target,
        decision=_decision(reported, posterior, target, is_flagged=is_flagged),
        measures=Measures(
            required=_amount(reported.required), observed=_amount(reported.observed), gap=gap
        ),
        posterior=posterior,
        prior=_readout(reported.prior_yes),
        is_missing_citations=reported.missing_citations,
        has_empty_context=reported.empty_context,
        units=Units(setup.settings.units),
    )


def _amount(reported: ReportedAmount | None) -> Amount | None:
    if reported is None or reported.min is None or reported.max is None:
        return None
    return Amount(reported.min, reported.max)


def _readout(reported: ReportedReadout | None) -> Readout | None:
    if reported is None:
        return None
    yes = ProbabilityInterval(reported.p_lower, max(reported.p_lower, reported.p_upper))
    return Readout(yes=yes, no=UNKNOWN, unsure=UNKNOWN, generated=reported.generated)


def _texts(values: Sequence[str | int] | None) -> tuple[str, ...]:
    return tuple(map(str, values or ()))


def _speaks_against_pass(
    reported: ReportedClaim, gap: Amount | None, setup: VerificationSetup
) -> bool:
    is_cited = reported.has_any_citations and not reported.missing_citations
    return bool(
        reported.status not in (None, ClaimStatus.PASSED)
        or reported.error
        or reported.unknown_citations
        or reported.empty_context
        or reported.no_spans
        or reported.skipped_verifier
        or (gap is not None and gap.min > _ROUNDING)
        or (setup.settings.require_citations and not is_cited)
    )


def _decision(
    reported: ReportedClaim, posterior: Readout | None, target: float, *, is_flagged: bool
) -> ClaimDecision:
    """Return the decision about a claim.

    A flagged claim gets the service's status. If this status is a pass, unknown or missing, the
    claim gets ``missing_citations`` or ``under_budget``. A claim that is not flagged passes, unless
    its posterior (the service's answer with the evidence) may be below the target or says no.
    """
    if not is_flagged:
        if posterior is None:
            return PASSED
        return rule.after_posterior(posterior, target=target, rule=DecisionRule.SIGNED) or PASSED
    if reported.status and reported.status in set(ClaimStatus) - {ClaimStatus.PASSED}:
        return ClaimDecision(ClaimStatus(reported.status))
    is_missing = reported.missing_citations
    return ClaimDecision(ClaimStatus.MISSING_CITATIONS if is_missing else ClaimStatus.UNDER_BUDGET)
