"""The tool ``check_citations``: what became of each citation of an answer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from groundwire.config.tree import Verify
from groundwire.detection.example import require_text
from groundwire.errors import InvalidTextError
from groundwire.mcp import results, schemas
from groundwire.mcp.arguments import MAX_ANSWER_CHARS, Arguments, CallError
from groundwire.mcp.backend import Backend
from groundwire.mcp.given import given
from groundwire.mcp.text_results import tell_citations, tell_origins
from groundwire.mcp.tool import Call, Schema, Told, Tool
from groundwire.mcp.verifying import (
    OF_AGENTS,
    OF_ANSWERS,
    check_bounds,
    chosen,
    evidence_inputs,
    settings_inputs,
)
from groundwire.verify.backends import OPENAI, opened
from groundwire.verify.citations import DEFAULTS, CitationFinding, CitationStatus
from groundwire.verify.claims import VerifiableClaim, read_claims
from groundwire.verify.context import Contexts
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.forensics import check_citations
from groundwire.verify.settings import read_settings
from groundwire.verify.spans import CitedSpan, read_spans
from groundwire.verify.verifier import Verifier

#: Readings that one call may take at most: claims by spans.
MAX_READINGS = 5_000

_SETTINGS = {
    **OF_ANSWERS,
    **{name: OF_AGENTS[name] for name in ("verifier_model", "timeout_s", "citation_regex")},
}
_SOUND = frozenset({CitationStatus.SUPPORTED, CitationStatus.DECORATIVE})

_DESCRIPTION = """\
Find out what is wrong with the citations of an answer: for each claim whether what it cites \
supports it, a part of it or adds nothing, whether another span should have been cited \
(misattributed), or an id was made up (fabricated_id). Use it to repair citations that \
detect_hallucination flagged."""


def citations_tool(backend: Backend) -> Tool:
    """``check_citations``."""
    inputs = {
        "answer": schemas.ANSWER,
        **evidence_inputs(backend, {"spans": schemas.SPANS}),
        **settings_inputs(backend, _SETTINGS),
    }
    return Tool(
        name="check_citations",
        title="Find what is wrong with citations",
        description=_DESCRIPTION,
        input_schema=schemas.object_of(inputs, "answer"),
        output_schema=results.citations(),
        run=lambda call: _check(backend, call, inputs),
        fails=_failed,
        is_open_world=backend.name == OPENAI,
        is_long=True,
    )


def _check(backend: Backend, call: Call, inputs: Mapping[str, Schema]) -> Told:
    arguments = Arguments(call.arguments, inputs)
    arguments.check_length("answer", MAX_ANSWER_CHARS)
    check_bounds(arguments, _SETTINGS)
    evidence = given(arguments, "spans", backend, session=call.session)
    try:
        settings = _settings(backend, arguments)
        spans = read_spans(evidence.all)
        claims = _claims(arguments.given("answer"), spans, settings)
        scored, unread = claims[: settings.max_claims], claims[settings.max_claims :]
        _check_amount(len(scored), len(spans))
        contexts = Contexts.of(spans, mode="cited", placeholder=settings.placeholder)
        with _opened(backend, call, settings) as verifier:
            watched = backend.watched_by(call.watch)(verifier)
            thresholds = replace(DEFAULTS, supports=settings.target)
            found = check_citations(scored, contexts.evidence, watched, thresholds=thresholds)
    except NotVerifiedError as error:
        return _failed(error.error_type, error.message)
    origins = evidence.origins([span.sid for span in spans])
    return _told(found, unread, verifier, settings, origins)


def _settings(backend: Backend, arguments: Arguments) -> Verify:
    usual = {name: value for name, value in backend.usual.items() if name != "verifier"}
    return read_settings({**usual, **chosen(arguments, _SETTINGS), "verifier": backend.name})


def _claims(
    answer: object, spans: Sequence[CitedSpan], settings: Verify
) -> tuple[VerifiableClaim, ...]:
    try:
        require_text(answer, "answer")
    except InvalidTextError as error:
        raise NotVerifiedError("malformed_answer", str(error)) from error
    found = read_claims(
        str(answer),
        span_ids=tuple(span.sid for span in spans),
        claim_split=settings.claim_split,
        citation_regex=settings.citation_regex,
    )
    if not found:
        raise NotVerifiedError("no_claims", "The answer claims nothing, so nothing was checked.")
    return found


def _check_amount(n_claims: int, n_spans: int) -> None:
    if n_claims * n_spans > MAX_READINGS:
        raise CallError(
            f"{n_claims:,} claims and {n_spans:,} spans may take over {MAX_READINGS:,} readings. "
            "Pass the spans that matter (span_ids), or fewer claims (max_claims)."
        )


def _opened(backend: Backend, call: Call, settings: Verify) -> AbstractContextManager[Verifier]:
    """Who reads: an endpoint if claims are verified by one, or else the embedded model.

    A service verifies whole answers, and does not read one claim with one span.
    """
    if backend.name == OPENAI:
        return opened(settings)
    return nullcontext(backend.models.verifier(call.tenant))


def _told(
    found: Sequence[CitationFinding],
    unread: Sequence[VerifiableClaim],
    verifier: Verifier,
    settings: Verify,
    origins: Mapping[str, str],
) -> Told:
    flagged = [each.idx for each in found if each.status not in _SOUND]
    summary: dict[str, Any] = {
        "claims_scored": len(found),
        "claims_total": len(found) + len(unread),
        "flagged_claims": len(flagged),
        "flagged_idxs": flagged,
        "max_claims": settings.max_claims,
        "truncated": bool(unread),
        "statuses": dict(sorted(Counter(str(each.status) for each in found).items())),
        "backend": verifier.name,
        "verifier_model": verifier.model,
    }
    data = {
        "flagged": bool(flagged or unread),
        "citations": [each.to_dict() for each in found],
        "summary": summary,
        "span_origins": dict(origins),
    }
    told = tell_citations(found, n_flagged=len(flagged), n_unread=len(unread))
    return Told(data=data, text=told + tell_origins(origins))


def _failed(error_type: str, error: str) -> Told:
    data: dict[str, Any] = {
        "flagged": True,
        "citations": [],
        "summary": {"claims_scored": 0, "flagged_claims": 0, "flagged_idxs": []},
        "span_origins": {},
        "error": error,
        "error_type": error_type,
    }
    return Told(data=data, text=f"FLAGGED: nothing was checked ({error_type}). {error}")
