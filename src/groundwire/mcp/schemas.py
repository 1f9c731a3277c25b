"""JSON Schemas of arguments and results.

Settings are described by what the library's own settings may be, so that nothing is said twice.
"""

from collections.abc import Mapping
from math import isinf
from typing import Any

from groundwire.config.kinds import Choice, Flag, Kind, Number, Optional
from groundwire.config.tree import SETTINGS
from groundwire.detection import Label, Outcome
from groundwire.mcp.arguments import MAX_ANSWER_CHARS, MAX_SPANS, MAX_STEPS
from groundwire.mcp.given import HANDLE_ARGUMENT
from groundwire.mcp.store import Origin
from groundwire.mcp.tool import Schema
from groundwire.verify.citations import CitationStatus
from groundwire.verify.rule import Status
from groundwire.verify.settings import DEFAULT_MODEL, RENAMED


def object_of(properties: Mapping[str, Schema], *required: str) -> Schema:
    """The schema of arguments: these and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def result_of(properties: Mapping[str, Schema], *required: str) -> Schema:
    """The schema of a result: at least these."""
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def text(description: str, *, most: int | None = None) -> Schema:
    """A text."""
    bound = {} if most is None else {"maxLength": most}
    return {"type": "string", **bound, "description": description}


def array(items: Schema, description: str, *, most: int | None = None) -> Schema:
    """A list."""
    bound = {} if most is None else {"maxItems": most}
    return {"type": "array", "items": items, **bound, "description": description}


def whole(description: str, low: int, high: int, default: int | None = None) -> Schema:
    """A whole number in a range."""
    usual = {} if default is None else {"default": default}
    return {
        "type": "integer",
        "minimum": low,
        "maximum": high,
        **usual,
        "description": description,
    }


def flag(description: str) -> Schema:
    """True or false."""
    return {"type": "boolean", "default": False, "description": description}


def setting(argument: str, usual: object, **bounds: object) -> Schema:
    """What an argument may be that stands for a setting of a verification.

    Args:
        argument: Its name.
        usual: What holds if it is left out.
        bounds: More that the schema says.
    """
    own = SETTINGS[f"verify.{RENAMED.get(argument, argument)}"]
    default = {} if usual is None else {"default": usual}
    return {**_schema(own.kind), **default, **bounds, "description": own.text}


def _schema(kind: Kind) -> Schema:
    match kind:
        case Optional():
            return _schema(kind.kind)
        case Flag():
            return {"type": "boolean"}
        case Choice():
            return {"type": "string", "enum": [*kind.values, *kind.aliases]}
        case Number():
            low = "exclusiveMinimum" if kind.is_low_open else "minimum"
            high = "exclusiveMaximum" if kind.is_high_open else "maximum"
            found: Schema = {"type": "integer" if kind.is_whole else "number"}
            bounds = {low: kind.low, high: kind.high}
            return found | {name: each for name, each in bounds.items() if not isinf(each)}
    return {"type": "string"}


ANSWER = text(
    "The answer as written, with citations such as [S0] after what they support.",
    most=MAX_ANSWER_CHARS,
)

SPANS = array(
    {
        "type": "object",
        "properties": {
            "sid": {"type": "string", "description": "Its id, as the answer cites it: S0."},
            "text": {"type": "string", "description": "The text, verbatim."},
        },
        "required": ["text"],
    },
    "Evidence that comes with this call; it is taken as you write it.",
    most=MAX_SPANS,
)

SOURCES = array(
    {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "id": {"type": "string"},
                    "title": {"type": "string"},
                },
                "required": ["text"],
            },
        ]
    },
    "What the answer may rest on: retrieved passages, tool results, documents.",
    most=MAX_SPANS,
)

STEPS = array(
    {
        "type": "object",
        "properties": {
            "idx": {"type": "integer", "description": "Its number."},
            "claim": {"type": "string", "description": "What the step states."},
            "cites": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Ids of the spans it rests on.",
            },
            "confidence": {
                "type": "number",
                "exclusiveMinimum": 0,
                "exclusiveMaximum": 1,
                "description": "The probability that this step has to reach.",
            },
        },
        "required": ["claim"],
    },
    "The steps of the plan or reasoning trace.",
    most=MAX_STEPS,
)


def held_arguments(*, needs_handle: bool) -> dict[str, Schema]:
    """The arguments that name held spans."""
    found = {
        "span_ids": array(
            {"type": "string"}, "Ids of held spans that are the evidence: S0, S1.", most=MAX_SPANS
        ),
        "use_held_spans": flag(
            "Whether all held spans are the evidence. Better than a copy of them in the call."
        ),
    }
    return found | handle_argument(needs_handle=needs_handle)


def handle_argument(*, needs_handle: bool) -> dict[str, Schema]:
    """The handle of what is held, where there may be no session."""
    if not needs_handle:
        return {}
    described = "The handle that add_span returned, if it did: then this connection has no session."
    return {HANDLE_ARGUMENT: text(described, most=100)}


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
    "additionalProperties": {"enum": [str(each) for each in Origin]},
    "description": "Id of a span and where its text comes from: held_file (the server read it), "
    "held_text (added as a text, unchanged since), caller (it came with this call).",
}

_ERROR: dict[str, Schema] = {
    "error": text("Why there is no verification; flagged is true then."),
    "error_type": text("The kind of error, one word."),
}


def _flagged(of: str) -> Schema:
    return {"type": "boolean", "description": f"True unless {of}. Never false after an error."}


def report(scored: str, n_flagged: str) -> Schema:
    """A verification report, by what it calls its counts."""
    detail = result_of(
        {
            "idx": {"type": "integer"},
            "claim": text("The claim without its citations."),
            "cites": _TEXTS,
            "unknown_citations": _TEXTS,
            "flagged": {"type": "boolean"},
            "status": {"enum": [str(each) for each in Status]},
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
        "details": array(detail, "One entry for each claim, in order."),
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
        "citations": array(finding, "One entry for each claim, in order."),
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
            "text": text("The words of the answer."),
            "label": {"enum": [str(Label.UNSUPPORTED), str(Label.CONTRADICTED)]},
            "severity": {"type": "integer", "minimum": 0, "maximum": 4},
            "probability": _NUMBER_OR_NULL,
            "similarity": _NUMBER_OR_NULL,
            "why": text("Why it is marked."),
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
        "spans": array(span, "What the sources do not support, in reading order."),
        "meaning": text("What the outcome means."),
        "probability": _NUMBER_OR_NULL,
        "claims": {"type": "array", "items": {"type": "object"}},
        "coverage": {"type": "object", "description": "How much of evidence and answer was read."},
        "detector": {"type": "object"},
        "source_origins": ORIGINS,
        **_ERROR,
    }
    return result_of(properties, "outcome", "spans", "meaning")


def default_of(argument: str, usual: Mapping[str, Any]) -> object:
    """What holds if an argument is left out; ``None`` if that is nobody's business."""
    value = usual[argument]
    return None if argument == "verifier_model" and value == DEFAULT_MODEL else value
