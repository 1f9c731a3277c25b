"""The OpenAPI document: FastAPI generates it from the routes and their models.

Results have the schemas that the package publishes in ``detection/schemas``. The proxied chat
endpoint, which FastAPI does not route, is described here.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from groundwire.gateway.http.openapi import openapi_document
from groundwire.gateway.native.described import REF, described, errors, request_examples
from groundwire.gateway.native.models import CHAT_BODY
from groundwire.gateway.native.route import JSON
from groundwire.gateway.native.routes import router

DESCRIPTION = """\
Checks whether answers of language models are supported by what the models were given.

`/v1/chat/completions` is OpenAI's endpoint, with the answer checked on its way. What else there is
under `/v1` and is not described here is passed on to the upstream unchanged.

Offsets count Unicode code points. Every response has the header `X-Trace-ID`; every error has a
`type`, a `code`, a `message` and, where something can be done, a `next_step`.
"""

_TEXT = {"type": "string"}
_TRUE = {"type": "string", "enum": ["true"]}
#: Headers of an answer. Those of a streamed answer tell only what is known before it begins.
_CHAT_HEADERS: dict[str, tuple[str, dict[str, Any]]] = {
    "x-groundwire-outcome": (
        "The outcome of the check: hallucinated, unavailable, partial, unverified, skipped or "
        "grounded.",
        _TEXT,
    ),
    "x-groundwire-action": ("The action: none, log, flag, header, body or block.", _TEXT),
    "x-vsr-fact-check-needed": ("The prompt calls for a check.", _TRUE),
    "x-vsr-hallucination-detected": ("The answer has unsupported words.", _TRUE),
    "x-vsr-hallucination-spans": ("These words, percent-encoded, cut if there are many.", _TEXT),
    "x-vsr-nli-contradictions": ("How many of them the sources contradict.", _TEXT),
    "x-vsr-max-severity": ("The highest severity, 0 to 4.", _TEXT),
    "x-vsr-unverified-factual-response": ("There was nothing to check against.", _TRUE),
    "x-vsr-verification-context-missing": ("The same.", _TRUE),
    "x-vsr-response-warnings": ("The warnings by name, in one list.", _TEXT),
}


def describe(app: FastAPI) -> None:
    """Have an app answer ``/openapi.json`` with our document."""
    app.openapi = document  # type: ignore[method-assign]  # as FastAPI's documentation does


@cache
def document() -> dict[str, Any]:
    """The document, as JSON data; it is not to be changed."""
    found = openapi_document(
        title="Groundwire",
        summary="Checks answers against their sources.",
        description=DESCRIPTION,
        routes=[*router.routes, _chat_route()],
        tags={
            "Checks": "Answers, held against sources.",
            "HaluGate": "What HaluGate's clients call.",
            "Proxy": "OpenAI's API, with answers checked.",
        },
        keys={
            "Authorization": "A key of the gateway, `gw_...`, as an OpenAI client sends its key.",
            "X-API-Key": "The same key.",
            "X-Groundwire-Key": "The same key; Authorization then belongs to the upstream.",
        },
    )
    found["components"]["schemas"] |= published_schemas()
    return found


async def _proxied() -> None:
    """Stand for the proxy's endpoint, which is not a route of FastAPI."""


def _chat_route() -> APIRoute:
    path = "/v1/chat/completions"
    answer = described("The upstream's answer.", {"type": "object"})
    answer["content"]["text/event-stream"] = {"schema": _TEXT}
    answer["headers"] = {
        name: {"description": text, "schema": schema}
        for name, (text, schema) in _CHAT_HEADERS.items()
    }
    body = {JSON: {"schema": CHAT_BODY, "examples": request_examples()[path]}}
    return APIRoute(
        path,
        _proxied,
        methods=["POST"],
        operation_id="create_chat_completion",
        summary="Answer a chat, checked",
        description="OpenAI's endpoint. The upstream answers; the answer is checked against its "
        "sources, and passed on, marked or withheld, as the policy says. The `x-vsr-*` headers "
        "stand where the action is `header`.",
        tags=["Proxy"],
        responses={200: answer, **errors(400, 403, 502, 504)},
        response_model=None,
        openapi_extra={"requestBody": {"required": True, "content": body}},
    )


#: File of a schema → the name of its component.
_PUBLISHED = {
    "detection": "Detection",
    "checked": "CheckedResponse",
    "verification": "Verification",
}


def published_schemas() -> dict[str, Any]:
    """The schemas of results, as components: many tools know no other place for definitions."""
    known = {"urn:groundwire:schema:detection": f"{REF}Detection"}
    return {
        name: schema
        for file, title in _PUBLISHED.items()
        for name, schema in _as_components(_load(file), title, known).items()
    }


def _load(name: str) -> dict[str, Any]:
    file = resources.files("groundwire").joinpath(f"detection/schemas/{name}.schema.json")
    schema: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return schema


def _as_components(
    schema: dict[str, Any], title: str, known: dict[str, str]
) -> dict[str, dict[str, Any]]:
    def rename(value: Any) -> Any:  # noqa: ANN401 - a part of a schema
        if isinstance(value, list):
            return [rename(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {key: place(each) if key == "$ref" else rename(each) for key, each in value.items()}

    def place(reference: str) -> str:
        base, _, name = reference.partition("#/$defs/")
        whole = known.get(base, f"{REF}{title}")
        return f"{whole}{name.title()}" if name else whole

    left_out = ("$schema", "$id", "$defs")
    whole = {key: rename(value) for key, value in schema.items() if key not in left_out}
    parts = {f"{title}{name.title()}": rename(each) for name, each in schema["$defs"].items()}
    return {title: whole, **parts}
