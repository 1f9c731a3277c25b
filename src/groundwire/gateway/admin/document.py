"""The OpenAPI document of the admin plane: what FastAPI knows of the routes, and the rest."""

from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from groundwire import __version__

DESCRIPTION = """\
Tenants, their policies and keys, and the audit trail.

Every request needs an admin key. The role `admin` does everything; `auditor` reads everything, and
changes nothing. Changes are in effect in the process that takes them before its answer, and in all
others within a second.

Lists come in pages: `next` of one is the `cursor` of the next. Tenants and policies have a version,
told as `ETag`; a change with `If-Match` is made only if it is still of that version. Every response
has the header `X-Trace-ID`; every error has a `type`, a `code`, a `message` and, where something
can be done, a `next_step`.
"""

_SECURITY = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An admin key, `gwa_...`.",
    },
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same key.",
    },
}

_TAGS = [
    {"name": "Tenants", "description": "Who there is, and what holds for them."},
    {"name": "Keys", "description": "Of tenants and of the admin plane."},
    {"name": "Audit", "description": "What was found, done and changed."},
]


def describe(app: FastAPI) -> None:
    """Have an app answer ``/openapi.json`` with our document."""
    app.openapi = partial(_document, app)  # type: ignore[method-assign]  # as FastAPI documents


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title,
            version=__version__,
            summary="Tenants, policies, keys and the audit trail.",
            description=DESCRIPTION,
            routes=app.routes,
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
            tags=_TAGS,
        )
        found["servers"] = [{"url": "/"}]
        found["components"]["securitySchemes"] = _SECURITY
        found["security"] = [{name: []} for name in _SECURITY]
        _tell_headers(found)
        app.openapi_schema = found
    return app.openapi_schema


def _tell_headers(document: dict[str, Any]) -> None:
    """What every response has beside its body."""
    for item in document["paths"].values():
        for operation in item.values():
            for response in operation["responses"].values():
                response["headers"] = {"X-Trace-ID": {"schema": {"type": "string"}}}
