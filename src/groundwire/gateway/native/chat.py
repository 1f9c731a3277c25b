"""What the OpenAPI document says of the proxied chat endpoint, in brief: it is OpenAI's."""

from typing import Any

from groundwire.gateway.native import examples
from groundwire.gateway.native.route import JSON

_TEXT = {"type": "string"}
_TRUE = {"type": "string", "enum": ["true"]}

_REQUEST = {
    "type": "object",
    "description": "OpenAI's request. Fields that are not named here go to the upstream as well.",
    "required": ["messages"],
    "additionalProperties": True,
    "properties": {
        "model": _TEXT,
        "messages": {"type": "array", "items": {"type": "object"}},
        "stream": {"type": "boolean"},
        "metadata": {
            "type": "object",
            "additionalProperties": True,
            "properties": {
                "grounding.sources": {
                    "description": "What the answer may rest on. Without it, tool results of the "
                    "conversation, else retrieved context in its messages.",
                    "type": "array",
                    "items": {"type": "string"},
                }
            },
        },
    },
}

#: Header → what it says. Those of a streamed answer can only tell what is known before it begins.
_HEADERS: dict[str, tuple[str, dict[str, Any]]] = {
    "X-Trace-ID": ("What ties response, log and audit record together.", _TEXT),
    "x-groundwire-outcome": (
        "What is known about the answer: hallucinated, unavailable, partial, unverified, skipped "
        "or grounded.",
        _TEXT,
    ),
    "x-groundwire-action": ("What was done: none, log, flag, header, body or block.", _TEXT),
    "x-vsr-fact-check-needed": ("The prompt calls for a check.", _TRUE),
    "x-vsr-hallucination-detected": ("The answer has unsupported words.", _TRUE),
    "x-vsr-hallucination-spans": ("These words, percent-encoded, cut if there are many.", _TEXT),
    "x-vsr-nli-contradictions": ("How many of them the sources contradict.", _TEXT),
    "x-vsr-max-severity": ("The highest severity, 0 to 4.", _TEXT),
    "x-vsr-unverified-factual-response": ("There was nothing to check against.", _TRUE),
    "x-vsr-verification-context-missing": ("The same.", _TRUE),
    "x-vsr-response-warnings": ("The warnings by name, in one list.", _TEXT),
}


def chat_completions() -> dict[str, Any]:
    """The operation, as JSON data."""
    return {
        "operationId": "create_chat_completion",
        "summary": "Answer a chat, checked",
        "description": "OpenAI's endpoint. The upstream answers; the answer is checked against its "
        "sources, and passed on, marked or withheld, as the policy says. The `x-vsr-*` headers "
        "stand where the action is `header`.",
        "tags": ["Proxy"],
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": _REQUEST, "examples": examples.CHATS}},
        },
        "responses": {
            "200": {
                "description": "The upstream's answer.",
                "headers": {
                    name: {"description": text, "schema": schema}
                    for name, (text, schema) in _HEADERS.items()
                },
                "content": {
                    JSON: {"schema": {"type": "object"}},
                    "text/event-stream": {"schema": _TEXT},
                },
            }
        },
    }
