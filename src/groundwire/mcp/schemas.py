"""JSON Schemas of arguments.

Settings are described by what the library's own settings may be, so that nothing is said twice.
"""

from collections.abc import Mapping
from typing import Any

from groundwire.config.tree import SETTINGS
from groundwire.mcp.arguments import MAX_ANSWER_CHARS, MAX_SPANS, MAX_STEPS
from groundwire.mcp.given import HANDLE_ARGUMENT
from groundwire.mcp.tool import Schema
from groundwire.verify.settings import DEFAULT_MODEL, RENAMED


def object_of(properties: Mapping[str, Schema], *required: str) -> Schema:
    """The schema of arguments: these and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


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
    return {**own.kind.schema(has_aliases=True), **default, **bounds, "description": own.text}


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


def default_of(argument: str, usual: Mapping[str, Any]) -> object:
    """What holds if an argument is left out; ``None`` if that is nobody's business."""
    value = usual[argument]
    return None if argument == "verifier_model" and value == DEFAULT_MODEL else value
