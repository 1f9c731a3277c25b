"""JSON Schemas of results: what is always there, and what most readers want of the rest."""

from collections.abc import Mapping
from typing import Any

from groundwire.detection.rules import ConflictKind
from groundwire.detection.values import Label, Outcome
from groundwire.mcp import schemas
from groundwire.mcp.store import SpanOrigin
from groundwire.mcp.tool import Schema
from groundwire.verify.citations import CitationStatus
from groundwire.verify.rule import ClaimStatus


def result_of(properties: Mapping[str, Schema], *required: str) -> Schema:
    """The schema of a result: at least these."""
    return {"type": "object", "properties": dict(properties), "required": list(required)}


_NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_AMOUNT: Schema = {
    "type": "object",
    "properties": {"min": _NUMBER_OR_NULL, "max": _NUMBER_OR_NULL, "units": {"type": "string"}},
}
_READOUT: Schema = {
    "type": ["object", "null"],
    "properties": {"p_lower": {"type": "number"}, "p_upper": {"type": "number"}},
}

ORIGINS: Schema = {
    "type": "object",
    "additionalProperties": {"enum": [str(each) for each in SpanOrigin]},
    "description": "Id of a span and where its text comes from: held_file (the server read it), "
    "held_text (added as a text, unchanged since), caller (it came with this call).",
}

_ERROR: dict[str, Schema] = {
    "error": schemas.text("Why nothing was checked; then this is no pass."),
    "error_type": schemas.text("The kind of error, one word."),
}


def _flagged(of: str) -> Schema:
    return {"type": "boolean", "description": f"True unless {of}. Never false after an error."}


def report(scored: str, n_flagged: str) -> Schema:
    """A verification report, by what it calls its counts."""
    detail = result_of(
        {
            "idx": {"type": "integer"},
            "claim": schemas.text("The claim without its citations."),
            "cites": _TEXTS,
            "unknown_citations": _TEXTS,
            "flagged": {"type": "boolean"},
            "status": {"enum": [str(each) for each in ClaimStatus]},
            "reasons": _TEXTS,
            "required": _AMOUNT,
            "observed": _AMOUNT,
            "budget_gap": _AMOUNT,
            "prior_yes": _READOUT,
            "post_yes": _READOUT,
            "error": {"type": "string"},
        },
        *("idx", "claim", "cites", "flagged", "status", "required", "observed", "budget_gap"),
    )
    summary = result_of(
        {
            scored: {"type": "integer"},
            n_flagged: {"type": "integer"},
            "flagged_idxs": {"type": "array", "items": {"type": "integer"}},
            "units": {"type": "string"},
            "verifier_model": {"type": "string"},
            "backend": {"type": "string"},
            "truncated": {"type": "boolean"},
            "statuses": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        *(scored, n_flagged, "flagged_idxs", "units", "verifier_model", "backend"),
    )
    properties = {
        "flagged": _flagged("every claim passed"),
        "under_budget": {"type": "boolean", "description": "The same as flagged."},
        "summary": summary,
        "details": schemas.array(detail, "One entry for each claim, in order."),
        "span_origins": ORIGINS,
        **_ERROR,
    }
    return result_of(properties, *list(properties)[:5])


def citations() -> Schema:
    """What became of citations."""
    finding = result_of(
        {
            "idx": {"type": "integer"},
            "claim": {"type": "string"},
            "status": {"enum": [str(each) for each in CitationStatus]},
            "cites": _TEXTS,
            "fabricated": _TEXTS,
            "supported_by": _TEXTS,
            "decorative": _TEXTS,
            "bits": {"type": "object", "additionalProperties": {"type": "number"}},
            "unsupported": {"type": "array", "items": {"type": "object"}},
            "probability": _NUMBER_OR_NULL,
            "error": {"type": ["string", "null"]},
        },
        *("idx", "claim", "status", "cites", "fabricated", "supported_by", "decorative"),
    )
    properties = {
        "flagged": _flagged("the citations of all claims are sound"),
        "citations": schemas.array(finding, "One entry for each claim, in order."),
        "summary": {"type": "object", "description": "Counts, and who judged."},
        "span_origins": ORIGINS,
        **_ERROR,
    }
    return result_of(properties, *list(properties)[:4])


def detection() -> Schema:
    """A checked answer."""
    evidence = result_of(
        {
            "source_id": {"type": "string"},
            "start": {"type": "integer"},
            "end": {"type": "integer"},
            "text": {"type": "string"},
        }
    )
    span = result_of(
        {
            "start": {"type": "integer"},
            "end": {"type": "integer"},
            "text": schemas.text("The words of the answer."),
            "label": {"enum": [str(Label.UNSUPPORTED), str(Label.CONTRADICTED)]},
            "severity": {"type": "integer", "minimum": 0, "maximum": 4},
            "conflict": {
                "enum": [*map(str, ConflictKind), None],
                "description": "What a rule found plainly wrong; null: the model alone found it.",
            },
            "probability": _NUMBER_OR_NULL,
            "similarity": _NUMBER_OR_NULL,
            "why": schemas.text("Why it is marked."),
            "category": {"type": "string"},
            "subtype": {"type": "string"},
            "evidence": {"type": "array", "items": evidence},
            "counterpart": {
                "anyOf": [evidence, {"type": "null"}],
                "description": "What the evidence says in its place.",
            },
        },
        *("start", "end", "text", "label", "why"),
    )
    properties: dict[str, Any] = {
        "outcome": {
            "enum": [str(each) for each in Outcome],
            "description": "grounded is the only pass. partial: not everything was read; "
            "unverified: no evidence; unavailable: the check failed.",
        },
        "spans": schemas.array(span, "What the sources do not support, in reading order."),
        "meaning": schemas.text("What the outcome means."),
        "probability": _NUMBER_OR_NULL,
        "claims": {"type": "array", "items": {"type": "object"}},
        "coverage": {"type": "object", "description": "How much of evidence and answer was read."},
        "detector": {"type": "object"},
        "source_origins": ORIGINS,
        **_ERROR,
    }
    return result_of(properties, "outcome", "spans", "meaning")
