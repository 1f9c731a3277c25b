"""Runs one verification, from its arguments to its report."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from groundwire.config.tree import Verify
from groundwire.detection.example import Source
from groundwire.detection.values import AsideKind
from groundwire.errors import MissingExtraError, ModelError, SettingError
from groundwire.verify import backends, citations, forensics, judging
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.context import Contexts
from groundwire.verify.errors import NotVerifiedError, invalid_argument
from groundwire.verify.report import ClaimReport, VerificationReport, VerificationSetup, passing_of
from groundwire.verify.settings import DEFAULT_MODEL, DEFAULTS, read_settings
from groundwire.verify.spans import read_spans
from groundwire.verify.subject import NO_CLAIMS, AnswerSubject, Subject
from groundwire.verify.verifier import FREE, FailureKind, Verifier, VerifierFailure

#: Type of a function that opens the verifier named in settings.
Opens: TypeAlias = Callable[[Verify], AbstractContextManager[Verifier]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """The parsed input of a verification: subject, settings, spans (evidence) and claims."""

    subject: Subject
    settings: Verify
    spans: tuple[Source, ...]
    claims: tuple[VerifiableClaim, ...]

    @property
    def scored(self) -> tuple[VerifiableClaim, ...]:
        return self.claims[: self.settings.max_claims] if self.subject.is_limited else self.claims

    @property
    def unscored(self) -> tuple[VerifiableClaim, ...]:
        return self.claims[len(self.scored) :]


def run(
    subject: Subject,
    spans: object,
    arguments: Mapping[str, Any],
    verifier: str | Verifier,
    *,
    with_citations: bool = False,
    opens: Opens = backends.opened,
    through: Callable[[Verifier], Verifier] | None = None,
) -> VerificationReport:
    """Verify an answer or a trace, and return the report, even if the verification fails.

    Args:
        subject: An answer or a trace.
        spans: The spans (passages of evidence), in a form that :func:`.read_spans` reads.
        arguments: Arguments of the call, without the verifier.
        verifier: The name of a verifier, or an object that is one.
        with_citations: Whether the report also has findings about the citations of claims.
        opens: Function that opens the verifier ``local`` or ``openai``.
        through: Function that wraps the verifier that judges, for instance to count its calls.

    Raises:
        SettingError: If ``verifier`` or another setting in :data:`.settings.OF_THE_PROGRAM` is
            invalid.
        MissingExtraError: If the extra that the verifier needs is not installed.
    """
    own = None if isinstance(verifier, str) else _checked(verifier)
    named = {} if own is not None else {"verifier": verifier}
    backend = read_settings(named).verifier if own is None else _name(own)
    setup = _setup(DEFAULTS, subject, backend)
    job = None
    try:
        settings = read_settings({**arguments, **named})
        setup = _setup(settings, subject, backend)
        read = read_spans(spans)
        parts = subject.read(read, settings)
        setup = replace(setup, asides=parts.asides)
        job = _Job(subject=subject, settings=settings, spans=read, claims=parts.claims)
        if own is None and backend == backends.SERVICE:
            if with_citations:
                raise invalid_argument(_NO_CITATIONS)
            return _by_service(job, setup)
        with nullcontext(own) if own is not None else opens(settings) as judge:
            job, remarks = _without_remarks(job, judge)
            setup = replace(setup, asides=(*setup.asides, *remarks))
            asked = through(judge) if through else judge
            return _by_verifier(job, asked, setup, with_citations=with_citations)
    except MissingExtraError:
        raise
    except ModelError as error:
        return _unverified(setup, job, error=str(error), error_type=FailureKind.VERIFIER)
    except NotVerifiedError as error:
        return _unverified(setup, job, error=error.message, error_type=error.error_type)


def _without_remarks(job: _Job, judge: Verifier) -> tuple[_Job, tuple[tuple[AsideKind, str], ...]]:
    """Turn claims into asides (not verified) if the verifier finds that they claim nothing.

    Claims beyond ``max_claims``, and claims that cite an unknown id, are left as they are.

    Returns:
        The job without these claims, and the asides. Nothing changes for a trace, or if the
        verifier has no method ``claims_nothing``, or if this method fails.

    Raises:
        NotVerifiedError: If no claim is left.
    """
    claims_nothing = getattr(judge, "claims_nothing", None)
    if claims_nothing is None or not isinstance(job.subject, AnswerSubject):
        return job, ()
    remarks: set[int] = set()
    with suppress(Exception):  # a verifier from elsewhere may raise any error
        remarks = {c.idx for c in job.scored if not c.unknown and claims_nothing(c.text)}
    if len(remarks) == len(job.claims):
        raise NotVerifiedError("no_claims", NO_CLAIMS)
    kept = tuple(claim for claim in job.claims if claim.idx not in remarks)
    texts = (claim.raw_text for claim in job.claims if claim.idx in remarks)
    return replace(job, claims=kept), tuple((AsideKind.REMARK, text) for text in texts)


_NO_CITATIONS = (
    "A service gives a report and answers no questions, so citations cannot be looked into. Leave "
    "the citations out, or have whoever runs this choose the verifier local or openai."
)


def refused(subject: Subject, backend: str, *, error_type: str, error: str) -> VerificationReport:
    """Return the report of a verification that was refused before its input was read."""
    return _unverified(_setup(DEFAULTS, subject, backend), None, error=error, error_type=error_type)


def _unverified(
    setup: VerificationSetup, job: _Job | None, *, error: str, error_type: str
) -> VerificationReport:
    """Return the report of a verification that failed."""
    return VerificationReport(
        setup=setup,
        unscored=job.unscored if job else (),
        n_lost=len(job.scored) if job else 0,
        error=error,
        error_type=str(error_type),
    )


def _checked(verifier: object) -> Verifier:
    if not callable(getattr(verifier, "judge", None)):
        raise SettingError(
            "verifier", verifier, "local, openai, service, or an object with a method judge"
        )
    return verifier  # type: ignore[return-value] # only ``judge`` was checked


def _name(verifier: Verifier) -> str:
    return str(getattr(verifier, "name", type(verifier).__name__))


def _setup(settings: Verify, subject: Subject, backend: str) -> VerificationSetup:
    return VerificationSetup(
        backend=backend,
        verifier_model=settings.model or DEFAULT_MODEL if backend != backends.LOCAL else "",
        rule=settings.rule if backend != backends.SERVICE else backends.SERVICE,
        settings=settings,
        noun=subject.noun,
    )


def _by_verifier(
    job: _Job, verifier: Verifier, setup: VerificationSetup, *, with_citations: bool
) -> VerificationReport:
    model = str(getattr(verifier, "model", ""))
    setup = replace(
        setup, backend=_name(verifier), verifier_model=model, passing=passing_of(verifier)
    )
    settings = job.settings
    contexts = Contexts.of(job.spans, mode=settings.context_mode, placeholder=settings.placeholder)
    details = judging.judge_claims(job.scored, contexts, verifier, settings)
    failed = [each.posterior for each in details if isinstance(each.posterior, VerifierFailure)]
    if failed and len(failed) == len(details):
        unverified = _unverified(setup, job, error=failed[0].error, error_type=failed[0].kind)
        return replace(unverified, lost=tuple(failed))
    return VerificationReport(
        setup=setup,
        details=details,
        unscored=job.unscored,
        citations=_citations(details, job, contexts, verifier) if with_citations else None,
    )


def _citations(
    details: Sequence[ClaimReport], job: _Job, contexts: Contexts, verifier: Verifier
) -> forensics.CitationReport:
    thresholds = replace(citations.DEFAULTS, supports=job.settings.target)
    claims = [detail.claim for detail in details]
    cases = forensics.read_citations(claims, contexts.evidence, verifier, thresholds)
    findings = tuple(
        citations.agreeing(case.finding(thresholds), detail.status)
        for case, detail in zip(cases, details, strict=True)
    )
    costs = (answer.cost for case in cases for answer in case.answers.values())
    return forensics.CitationReport(findings=findings, cost=sum(costs, FREE))


def _by_service(job: _Job, setup: VerificationSetup) -> VerificationReport:
    """Return the report of a service. Without claims, nothing is sent."""
    if not job.claims:
        return VerificationReport(setup=setup)
    from groundwire.verify.service import ask_service

    return replace(ask_service(job.subject, job.spans, job.scored, setup), unscored=job.unscored)
