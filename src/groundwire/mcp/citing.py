"""The tool ``check_citations``, which finds out whether each citation supports its claim."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from groundwire.config.tree import Verify
from groundwire.mcp.arguments import OF_CITATIONS, CallError, DetectInput, with_settings
from groundwire.mcp.backend import Backend
from groundwire.mcp.given import given
from groundwire.mcp.results import CitationsResult
from groundwire.mcp.text_results import citations_text, origins_text
from groundwire.mcp.tool import Call, Tool, ToolResult
from groundwire.mcp.watched import ReportingVerifier
from groundwire.verify.backends import OPENAI, opened
from groundwire.verify.citations import DEFAULTS, CitationFinding, CitationStatus
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.context import Contexts
from groundwire.verify.forensics import check_citations
from groundwire.verify.settings import read_settings
from groundwire.verify.spans import read_spans
from groundwire.verify.subject import AnswerSubject
from groundwire.verify.verifier import Verifier

#: Limit on the number of claims times the number of spans of evidence: the verifier may read each
#: claim with each span.
MAX_READINGS = 5_000

#: Statuses of citations that are not flagged.
_SOUND = frozenset({CitationStatus.SUPPORTED, CitationStatus.DECORATIVE})

_DESCRIPTION = """\
Find out what is wrong with the citations of an answer: for each claim whether what it cites \
supports it, a part of it or adds nothing, whether another span should have been cited \
(misattributed), or an id was made up (fabricated_id). Use it to repair citations that \
detect_hallucination flagged."""


def citations_tool(backend: Backend) -> Tool:
    """Make the tool ``check_citations``."""
    return Tool(
        name="check_citations",
        title="Find what is wrong with citations",
        description=_DESCRIPTION,
        arguments=with_settings(DetectInput, OF_CITATIONS, backend.usual),
        hidden=backend.hidden,
        result=CitationsResult,
        run=lambda call, own: _check(backend, call, own),
        fails=_failed,
        is_open_world=backend.name == OPENAI,
        is_long=True,
    )


def _check(backend: Backend, call: Call, arguments: DetectInput) -> ToolResult:
    evidence = given(arguments, arguments.spans, backend, session=call.session)
    settings = read_settings(backend.usual | arguments.settings())
    spans = read_spans(evidence.all)
    ids = tuple(span.id for span in spans)
    claims = AnswerSubject(arguments.answer).read(spans, settings).claims
    scored, unread = claims[: settings.max_claims], claims[settings.max_claims :]
    if len(scored) * len(spans) > MAX_READINGS:
        raise CallError(
            f"{len(scored):,} claims and {len(spans):,} spans may take over {MAX_READINGS:,} "
            "readings. Pass the spans that matter (span_ids), or fewer claims (max_claims)."
        )
    contexts = Contexts.of(spans, mode="cited", placeholder=settings.placeholder)
    # The verifier ``service`` cannot compare one claim with one span, so the embedded model
    # replaces it.
    endpoint = opened(settings) if backend.name == OPENAI else None
    with endpoint or nullcontext(backend.models.verifier(call.tenant)) as verifier:
        watched = ReportingVerifier(verifier, call.watch)
        thresholds = replace(DEFAULTS, supports=settings.target)
        found = check_citations(scored, contexts.evidence, watched, thresholds=thresholds)
    return _result(found, unread, verifier, settings, evidence.origins(ids))


def _result(
    found: Sequence[CitationFinding],
    unread: Sequence[VerifiableClaim],
    verifier: Verifier,
    settings: Verify,
    origins: Mapping[str, str],
) -> ToolResult:
    flagged = [each.idx for each in found if each.status not in _SOUND]
    data: dict[str, Any] = {
        "flagged": bool(flagged or unread),
        "citations": [each.to_dict() for each in found],
        "summary": {
            "claims_scored": len(found),
            "claims_total": len(found) + len(unread),
            "flagged_claims": len(flagged),
            "flagged_idxs": flagged,
            "max_claims": settings.max_claims,
            "truncated": bool(unread),
            "statuses": dict(sorted(Counter(str(each.status) for each in found).items())),
            "backend": verifier.name,
            "verifier_model": verifier.model,
        },
        "span_origins": dict(origins),
    }
    text = citations_text(found, n_flagged=len(flagged), n_unread=len(unread))
    return ToolResult(data=data, text=text + origins_text(origins))


def _failed(error_type: str, error: str) -> ToolResult:
    data: dict[str, Any] = {
        "flagged": True,
        "citations": [],
        "summary": {"claims_scored": 0, "flagged_claims": 0, "flagged_idxs": []},
        "span_origins": {},
        "error": error,
        "error_type": error_type,
    }
    return ToolResult(data=data, text=f"FLAGGED: nothing was checked ({error_type}). {error}")
