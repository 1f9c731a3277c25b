"""Parts of the OpenAPI document that describe routes: examples, results, errors.

The examples are in ``examples.json``.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

from groundwire.gateway.native.models import ErrorResponse
from groundwire.gateway.native.route import JSON

REF = "#/components/schemas/"

_ERRORS = {
    400: "The request cannot be read, or what is in it cannot be checked.",
    401: "There is no key in the request, or one that nobody has.",
    403: "The answer was withheld: something in it is not supported, or it could not be checked.",
    413: "There is more than is taken.",
    415: "The body has another content type than those that are read.",
    422: "Fields are missing, unknown, or not what they should be.",
    500: "The model failed.",
    502: "The upstream, or the verifier, cannot be reached, or its answer broke off.",
    503: "What would answer is not loaded, or not yet; or it took too long, or cannot be recorded.",
    504: "The upstream, or the verification, took too long.",
}


def errors(*more: int) -> dict[int | str, dict[str, Any]]:
    """Return OpenAPI descriptions of common errors, and of errors with the statuses ``more``."""
    return {
        status: {"model": ErrorResponse, "description": _ERRORS[status]}
        for status in sorted({401, 413, 415, 503, *more})
    }


def described(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI description of a response with a JSON body."""
    return {"description": description, "content": {JSON: {"schema": schema}}}


@cache
def request_examples() -> dict[str, dict[str, Any]]:
    """Return examples of request bodies, by path."""
    text = resources.files(__package__).joinpath("examples.json").read_text("utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found
