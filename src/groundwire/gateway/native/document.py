"""The OpenAPI document: what FastAPI knows of the routes, and what it does not.

Results have the schemas that the package publishes in ``groundwire/schemas``; errors, keys and the
proxied chat endpoint, which is no route of FastAPI's, are described here.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from groundwire import __version__
from groundwire.gateway.native import examples, verify_examples
from groundwire.gateway.native.batch import JSON_LINES, MAX_ROWS
from groundwire.gateway.native.chat import chat_completions
from groundwire.gateway.native.models import BatchRequest, ErrorResponse
from groundwire.gateway.native.route import JSON
from groundwire.gateway.native.routes import router
from groundwire.gateway.native.told import ERRORS, error_responses

DESCRIPTION = """\
Checks whether answers of language models are supported by what the models were given.

`/v1/chat/completions` is OpenAI's endpoint, with the answer checked on its way. What else there is
under `/v1` and is not described here is passed on to the upstream unchanged.

Offsets count Unicode code points. Every response has the header `X-Trace-ID`; every error has a
`type`, a `code`, a `message` and, where something can be done, a `next_step`.
"""

_REF = "#/components/schemas/"


def describe(app: FastAPI) -> None:
    """Have an app answer ``/openapi.json`` with our document."""
    app.openapi = document  # type: ignore[method-assign]  # as FastAPI's documentation does


@cache
def document() -> dict[str, Any]:
    """The document, as JSON data; it is not to be changed."""
    found = get_openapi(
        title="Groundwire",
        version=__version__,
        summary="Checks answers against their sources.",
        description=DESCRIPTION,
        routes=router.routes,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        tags=[
            {"name": "Checks", "description": "Answers, held against sources."},
            {"name": "HaluGate", "description": "What HaluGate's clients call."},
            {"name": "Proxy", "description": "OpenAI's API, with answers checked."},
        ],
    )
    found["servers"] = [{"url": "/"}]
    schemas = found["components"]["schemas"]
    for unwanted in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unwanted, None)
    schemas |= published_schemas() | _schemas_of(BatchRequest) | _schemas_of(ErrorResponse)
    schemas["BatchResponse"], schemas["BatchRow"] = _BATCH_RESPONSE, _BATCH_ROW
    found["paths"]["/v1/chat/completions"] = {"post": chat_completions()}
    found["components"] |= {"securitySchemes": _SECURITY, "responses": error_responses()}
    found["security"] = [{name: []} for name in _SECURITY]
    _describe_check(found["paths"]["/v1/check"]["post"])
    _describe_verify(found["paths"])
    _describe_batch(found["paths"]["/v1/check/batch"]["post"])
    for path, result in _RESULTS.items():
        content = found["paths"][path]["post"]["responses"]["200"]["content"][JSON]
        content["example"] = result
    for path, item in found["paths"].items():
        responses = item["post"]["responses"]
        for status in ("422", *ERRORS[path]):
            responses.pop(status, None)
        responses |= {
            status: {"$ref": f"#/components/responses/{name}"}
            for status, name in ERRORS[path].items()
        }
    return found


_SECURITY = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of the gateway, `gw_...`, as an OpenAI client sends its key.",
    },
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same key.",
    },
    "ownKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Groundwire-Key",
        "description": "The same key; Authorization then belongs to the upstream.",
    },
}

_RESULTS = {
    "/api/v1/classify/fact-check": examples.FACT_CHECK_RESULT,
    "/api/v1/nli": examples.NLI_RESULT,
}

_NAME = {
    "row": {"type": "integer", "minimum": 1, "description": "Its place, from 1; or its line."},
    "id": {"type": ["string", "number"], "description": "What the row calls itself."},
}
_BATCH_ROW: dict[str, Any] = {
    "description": "What became of a row: a result as `/v1/check` gives it, or an error.",
    "type": "object",
    "required": ["row"],
    "properties": _NAME,
    "oneOf": [
        {
            "required": ["error"],
            "properties": {
                "error": {
                    "type": "object",
                    "required": ["type", "code", "message"],
                    "properties": {
                        "type": {"type": "string"},
                        "code": {"type": "string"},
                        "message": {"type": "string"},
                        "param": {"type": ["string", "null"]},
                        "next_step": {"type": "string"},
                    },
                }
            },
        },
        {"required": ["outcome"], "properties": {"outcome": {"type": "string"}}},
    ],
}
_BATCH_RESPONSE: dict[str, Any] = {
    "type": "object",
    "required": ["results", "summary"],
    "properties": {
        "results": {"type": "array", "items": {"$ref": f"{_REF}BatchRow"}},
        "summary": {
            "type": "object",
            "required": ["rows", "errors", "outcomes"],
            "properties": {
                "rows": {"type": "integer"},
                "errors": {"type": "integer"},
                "outcomes": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        },
    },
}


def _describe_check(operation: dict[str, Any]) -> None:
    operation["responses"]["200"] = {
        "description": "A detection, or of a conversation what became of each answer.",
        "content": {
            JSON: {
                "schema": {
                    "anyOf": [
                        {"$ref": f"{_REF}Detection"},
                        {"$ref": f"{_REF}CheckedResponse"},
                    ]
                },
                "examples": {
                    "answer": {
                        "summary": "An answer and its sources",
                        "value": examples.detection(),
                    }
                },
            }
        },
    }


def _describe_verify(paths: dict[str, Any]) -> None:
    schema = {"$ref": f"{_REF}Verification"}
    shown = {"summary": "An answer with citations", "value": verify_examples.report()}
    for path, examples_ in (("/v1/verify", {"answer": shown}), ("/v1/verify/trace", {})):
        paths[path]["post"]["responses"]["200"] = {
            "description": "The report. Also one that flags the answer has this status.",
            "content": {JSON: {"schema": schema, "examples": examples_}},
        }


def _describe_batch(operation: dict[str, Any]) -> None:
    lines = {"schema": {"type": "string", "description": "A JSON object a line, as `BatchRow`."}}
    operation["requestBody"] = {
        "required": True,
        "description": f"At most {MAX_ROWS:,} rows.",
        "content": {
            JSON: {"schema": {"$ref": f"{_REF}BatchRequest"}, "examples": examples.BATCHES},
            JSON_LINES[0]: {
                "schema": {"type": "string", "description": "A JSON object a line, of examples."}
            },
        },
    }
    operation["responses"]["200"] = {
        "description": "The results in the order of the rows: JSON Lines if Accept says so, or if "
        "that is what was sent and Accept does not ask for JSON.",
        "content": {
            JSON: {"schema": {"$ref": f"{_REF}BatchResponse"}},
            JSON_LINES[0]: lines,
        },
    }


#: File of a schema → the name of its component.
_PUBLISHED = {
    "detection": "Detection",
    "checked": "CheckedResponse",
    "verification": "Verification",
}


def published_schemas() -> dict[str, Any]:
    """The schemas of results, as components: many tools know no other place for definitions."""
    known = {"urn:groundwire:schema:detection": f"{_REF}Detection"}
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
        whole = known.get(base, f"{_REF}{title}")
        return f"{whole}{name.title()}" if name else whole

    left_out = ("$schema", "$id", "$defs")
    whole = {key: rename(value) for key, value in schema.items() if key not in left_out}
    parts = {f"{title}{name.title()}": rename(each) for name, each in schema["$defs"].items()}
    return {title: whole, **parts}


def _schemas_of(model: Any) -> dict[str, Any]:  # noqa: ANN401 - a class of pydantic's
    schema = model.model_json_schema(ref_template=_REF + "{model}")
    return {**schema.pop("$defs", {}), model.__name__: schema}
