"""One verification from its arguments to its report: the stages, joined."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from groundwire.config.tree import Verify
from groundwire.errors import MissingExtraError, ModelError, SettingError
from groundwire.verify.backends import LOCAL, SERVICE, opened
from groundwire.verify.budget import Units
from groundwire.verify.citations import DEFAULTS as THRESHOLDS
from groundwire.verify.citations import agreeing
from groundwire.verify.claims import CitationPatternError, VerifiableClaim
from groundwire.verify.context import Contexts
from groundwire.verify.forensics import CitationReport, check_citations
from groundwire.verify.judging import Asking, failures_of_all, judge_claims
from groundwire.verify.report import ClaimReport, VerificationReport, VerificationSetup
from groundwire.verify.service import ServiceError, call_service, malformed
from groundwire.verify.service_report import NoReportError, Sent, read_report
from groundwire.verify.settings import (
    DEFAULT_MODEL,
    DEFAULTS,
    ArgumentError,
    arguments_of,
    read_settings,
)
from groundwire.verify.spans import CitedSpan, SpanError, read_spans
from groundwire.verify.subject import Subject, SubjectError
from groundwire.verify.verifier import FailureKind, Verifier
from groundwire.verify.wanted import MissingKeyError, MissingUrlError, wanted_key, wanted_url

#: Opens the verifier that settings name.
Opens: TypeAlias = Callable[[Verify], AbstractContextManager[Verifier]]

#: Settings that are none of a service's business.
_OURS = frozenset({"verifier", "base_url", "service_url", "api_key", "rule"})

#: Arguments that every service knows.
_DOCUMENTED = (
    "verifier_model",
    "default_target",
    "max_claims",
    "require_citations",
    "context_mode",
    "timeout_s",
)


class _RefusedError(Exception):
    """There is no verification; the report tells why."""

    def __init__(self, error_type: str, error: str) -> None:
        super().__init__(error_type, error)
        self.error_type, self.error = error_type, error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What was asked for, read."""

    subject: Subject
    settings: Verify
    spans: tuple[CitedSpan, ...]
    claims: tuple[VerifiableClaim, ...]

    @property
    def n_scored(self) -> int:
        return self.settings.max_claims if self.subject.is_limited else len(self.claims)

    @property
    def unscored(self) -> tuple[VerifiableClaim, ...]:
        return self.claims[self.n_scored :]


def run(
    subject: Subject,
    spans: object,
    arguments: Mapping[str, Any],
    verifier: str | Verifier,
    *,
    with_citations: bool = False,
    opens: Opens = opened,
    through: Callable[[Verifier], Verifier] | None = None,
) -> VerificationReport:
    """Verify a subject.

    Args:
        subject: An answer or a trace.
        spans: The evidence.
        arguments: Of the call, but for the verifier.
        verifier: The name of one, or one of the caller's own.
        with_citations: Whether the report also tells what is wrong with the citations of claims.
        opens: Opens a verifier that has a name.
        through: Stands between the claims and the verifier, to watch it at work.

    Raises:
        SettingError: If the program passes what no program should.
        MissingExtraError: If the verifier's extra is not installed.
    """
    own = None if isinstance(verifier, str) else _checked(verifier)
    named = {} if own is not None else {"verifier": verifier}
    backend = read_settings(named).verifier if own is None else _name(own)
    setup = _setup(DEFAULTS, subject, backend)
    job = None
    try:
        settings = _settings({**arguments, **named})
        setup = _setup(settings, subject, backend)
        job = _read(subject, spans, settings)
        if own is None and settings.verifier == SERVICE:
            if with_citations:
                raise _RefusedError("invalid_argument", _NO_CITATIONS)
            return _by_service(job, setup)
        with _opened(own, settings, opens) as judge:
            asked = through(judge) if through else judge
            return _by_verifier(job, asked, setup, with_citations=with_citations)
    except _RefusedError as refusal:
        return _unverified(setup, job, error=refusal.error, error_type=refusal.error_type)


_NO_CITATIONS = (
    "A service gives a report and answers no questions, so citations cannot be looked into. Leave "
    "the citations out, or have whoever runs this choose the verifier local or openai."
)


def refused(subject: Subject, backend: str, *, error_type: str, error: str) -> VerificationReport:
    """The report of a call that was not even begun."""
    return VerificationReport(
        setup=_setup(DEFAULTS, subject, backend), error=error, error_type=error_type
    )


def _unverified(
    setup: VerificationSetup, job: _Job | None, *, error: str, error_type: str
) -> VerificationReport:
    """The report if there is a finding about no claim."""
    if job is None:
        return VerificationReport(setup=setup, error=error, error_type=str(error_type))
    return VerificationReport(
        setup=setup,
        unscored=job.unscored,
        n_lost=len(job.claims) - len(job.unscored),
        error=error,
        error_type=str(error_type),
    )


def _checked(verifier: object) -> Verifier:
    if not callable(getattr(verifier, "judge", None)):
        raise SettingError(
            "verifier", verifier, "local, openai, service, or an object with a method judge"
        )
    return verifier  # type: ignore[return-value] # as far as can be told


def _name(verifier: Verifier) -> str:
    return str(getattr(verifier, "name", type(verifier).__name__))


def _settings(arguments: Mapping[str, Any]) -> Verify:
    try:
        return read_settings(arguments)
    except ArgumentError as error:
        raise _RefusedError("invalid_argument", str(error)) from error


def _setup(settings: Verify, subject: Subject, backend: str) -> VerificationSetup:
    return VerificationSetup(
        backend=backend,
        verifier_model=settings.model or DEFAULT_MODEL if backend != LOCAL else "",
        units=Units(settings.units),
        rule=settings.rule if backend != SERVICE else SERVICE,
        target=settings.target,
        context_mode=settings.context_mode,
        max_claims=settings.max_claims if subject.is_limited else None,
        require_citations=settings.require_citations,
        min_log_odds_gain=settings.min_log_odds_gain,
        max_prompt_chars=settings.max_prompt_chars if settings.include_prompts else None,
        words=subject.words,
    )


def _read(subject: Subject, spans: object, settings: Verify) -> _Job:
    try:
        read = read_spans(spans)
        claims = subject.claims(tuple(span.sid for span in read), settings)
    except (SpanError, SubjectError) as error:
        raise _RefusedError(error.error_type, str(error)) from error
    except CitationPatternError as error:
        raise _RefusedError("invalid_argument", str(error)) from error
    return _Job(subject=subject, settings=settings, spans=read, claims=claims)


@contextmanager
def _opened(own: Verifier | None, settings: Verify, opens: Opens) -> Iterator[Verifier]:
    if own is not None:
        yield own
        return
    try:
        with opens(settings) as verifier:
            yield verifier
    except MissingExtraError:
        raise
    except MissingKeyError as error:
        raise _RefusedError(FailureKind.MISSING_API_KEY, str(error)) from error
    except ArgumentError as error:
        raise _RefusedError("invalid_argument", str(error)) from error
    except ModelError as error:
        raise _RefusedError(FailureKind.VERIFIER, str(error)) from error


def _by_verifier(
    job: _Job, verifier: Verifier, setup: VerificationSetup, *, with_citations: bool
) -> VerificationReport:
    model = str(getattr(verifier, "model", ""))
    setup = replace(setup, backend=_name(verifier), verifier_model=model)
    settings = job.settings
    contexts = Contexts.of(job.spans, mode=settings.context_mode, placeholder=settings.placeholder)
    details = judge_claims(job.claims[: job.n_scored], contexts, verifier, settings)
    if failures := failures_of_all(details):
        first = failures[0]
        return replace(
            _unverified(setup, job, error=first.error, error_type=first.kind), lost=failures
        )
    return VerificationReport(
        setup=setup,
        details=details,
        unscored=job.unscored,
        citations=_citations(details, job, contexts, verifier) if with_citations else None,
    )


def _citations(
    details: Sequence[ClaimReport], job: _Job, contexts: Contexts, verifier: Verifier
) -> CitationReport:
    asking = Asking(verifier)
    found = check_citations(
        [detail.claim for detail in details],
        contexts.evidence,
        asking,
        thresholds=replace(THRESHOLDS, supports=job.settings.target),
    )
    findings = tuple(
        agreeing(finding, detail.status) for finding, detail in zip(found, details, strict=True)
    )
    return CitationReport(findings=findings, cost=asking.cost)


def _by_service(job: _Job, setup: VerificationSetup) -> VerificationReport:
    """Ask a service for the report. It decides by its own rule, which ours names."""
    settings = job.settings
    sent = Sent(claims=job.claims[: job.n_scored], is_numbered=not job.subject.is_limited)
    if not job.claims:
        return VerificationReport(setup=setup)
    try:
        response = call_service(
            _service_url(settings),
            job.subject.call,
            _payload(job),
            api_key=wanted_key(settings, os.environ),
            timeout_s=settings.timeout_s,
        )
        read = read_report(response, setup, sent)
    except MissingKeyError as error:
        raise _RefusedError(FailureKind.MISSING_API_KEY, str(error)) from error
    except MissingUrlError as error:
        raise _RefusedError("missing_service_url", str(error)) from error
    except ArgumentError as error:
        raise _RefusedError("invalid_argument", str(error)) from error
    except NoReportError as error:
        problem = malformed(str(error))
        raise _RefusedError(problem.kind, str(problem)) from error
    except ServiceError as error:
        raise _RefusedError(error.kind, str(error)) from error
    return VerificationReport(
        setup=setup,
        details=read.details,
        unscored=job.unscored,
        has_unscored=read.is_truncated,
        n_lost=read.n_missing,
    )


def _service_url(settings: Verify) -> str:
    url = wanted_url(settings.service_url, os.environ, "BERRY_SERVICE_URL")
    if url is None:
        raise MissingUrlError
    return url


def _payload(job: _Job) -> dict[str, Any]:
    """What every service knows, and of the rest what was changed."""
    given, usual = arguments_of(job.settings), arguments_of(DEFAULTS)
    sent = {
        name: value
        for name, value in given.items()
        if name not in _OURS and (name in _DOCUMENTED or value != usual[name])
    }
    spans = [{"id": span.sid, "text": span.text} for span in job.spans]
    subject = job.subject.payload(job.claims, job.settings.target)
    return {**subject, "spans": spans, **sent}
