"""The OpenAPI document of the admin plane, which FastAPI generates from the routes."""

from functools import cache
from typing import Any

from fastapi import FastAPI

from groundwire.gateway.http.openapi import openapi_document

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


def describe(app: FastAPI) -> None:
    """Make an app serve the OpenAPI document of this module at ``/openapi.json``."""

    @cache
    def document() -> dict[str, Any]:
        return openapi_document(
            title=app.title,
            summary="Tenants, policies, keys and the audit trail.",
            description=DESCRIPTION,
            routes=app.routes,
            tags={
                "Tenants": "Who there is, and what holds for them.",
                "Keys": "Of tenants and of the admin plane.",
                "Audit": "What was found, done and changed.",
            },
            keys={"Authorization": "An admin key, `gwa_...`.", "X-API-Key": "The same key."},
        )

    app.openapi = document  # type: ignore[method-assign]  # as FastAPI documents
