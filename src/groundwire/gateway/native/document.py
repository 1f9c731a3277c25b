"""The OpenAPI document: FastAPI generates it from the routes and their models.

Results have the schemas that the package publishes in ``detection/schemas``. The proxied chat
endpoint, which FastAPI does not route, is described in ``chat_endpoint.json``.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

from fastapi import FastAPI

from groundwire.gateway.http.openapi import openapi_document
from groundwire.gateway.native.described import REF, request_examples
from groundwire.gateway.native.route import JSON
from groundwire.gateway.native.routes import router

CHAT = "/v1/chat/completions"

DESCRIPTION = """\
Checks whether answers of language models are supported by what the models were given.

`/v1/chat/completions` is OpenAI's endpoint, with the answer checked on its way, as are those of
`/v1/responses`, `/v1/messages` and `/v1/completions`. What else there is under `/v1` and is not
described here is passed on to the upstream unchanged.

Offsets count Unicode code points. Every response has the header `X-Trace-ID`; every error has a
`type`, a `code`, a `message` and, where something can be done, a `next_step`.
"""


def describe(app: FastAPI) -> None:
    """Make an app serve the document of this module at ``/openapi.json``."""
    app.openapi = document  # type: ignore[method-assign]  # as FastAPI's documentation does


@cache
def document() -> dict[str, Any]:
    """Return the document as JSON data, which callers must not change, as it is cached."""
    found = openapi_document(
        title="Groundwire",
        summary="Checks answers against their sources.",
        description=DESCRIPTION,
        routes=router.routes,
        tags={
            "Checks": "Answers, compared with sources.",
            "HaluGate": "What HaluGate's clients call.",
            "Proxy": "OpenAI's API, with answers checked.",
        },
        keys={
            "Authorization": "A key of the gateway, `gw_...`, as an OpenAI client sends its key.",
            "X-API-Key": "The same key.",
            "X-Groundwire-Key": "The same key; Authorization then belongs to the upstream.",
        },
    )
    found["paths"][CHAT] = _chat_endpoint()
    found["components"]["schemas"] |= published_schemas()
    return found


def _chat_endpoint() -> dict[str, Any]:
    """Return the description of the proxied chat endpoint, which FastAPI does not route."""
    text = resources.files(__package__).joinpath("chat_endpoint.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    found["post"]["requestBody"]["content"][JSON]["examples"] = request_examples()[CHAT]
    return found


#: Name of a schema's file → name of its component in the document.
_PUBLISHED = {
    "detection": "Detection",
    "checked": "CheckedResponse",
    "verification": "Verification",
}


def published_schemas() -> dict[str, Any]:
    """Return the schemas of results as components of the document.

    Their nested definitions become components too: many tools expect definitions only there.
    """
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
