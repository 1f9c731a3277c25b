"""Parts of the OpenAPI document that describe routes: examples, results, errors.

The examples are in ``examples.json``.
"""

import json
from functools import cache, partial
from importlib import resources
from typing import Any

from groundwire.gateway.http.openapi import plane_texts
from groundwire.gateway.native.models import ErrorResponse
from groundwire.gateway.native.route import JSON

REF = "#/components/schemas/"


def error_responses(plane: str, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of an operation, in the form that FastAPI takes.

    Args:
        plane: ``gateway`` or ``admin``.
        statuses: The statuses of the errors.
    """
    texts = plane_texts(plane)["errors"]
    return {
        status: {"model": ErrorResponse, "description": texts[str(status)]}
        for status in sorted({*statuses})
    }


#: Returns the error responses of an operation of the gateway: those that all operations have, and
#: those with the statuses that are passed.
errors = partial(error_responses, "gateway", 401, 413, 415, 503)


def described(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI description of a response with a JSON body."""
    return {"description": description, "content": {JSON: {"schema": schema}}}


@cache
def request_examples() -> dict[str, dict[str, Any]]:
    """Return examples of request bodies, by path."""
    text = resources.files(__package__).joinpath("examples.json").read_text("utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found
