"""The OpenAPI document: FastAPI generates it from the routes and their models.

Results of checks and verifications have the schemas in ``detection/schemas``. The proxied chat
endpoint, which FastAPI does not route, is described in ``chat_endpoint.json``.
"""

import json
import re
from functools import cache
from importlib import resources
from typing import Any

from groundwire.gateway.http.openapi import openapi_document
from groundwire.gateway.native.described import REF, request_examples
from groundwire.gateway.native.route import JSON
from groundwire.gateway.native.routes import router

CHAT = "/v1/chat/completions"


@cache
def document() -> dict[str, Any]:
    """Return the document as JSON data, which is cached, so callers must not change it."""
    found = openapi_document("gateway", title="Groundwire", routes=router.routes)
    text = resources.files(__package__).joinpath("chat_endpoint.json").read_text("utf-8")
    found["paths"][CHAT] = chat = json.loads(text)
    chat["post"]["requestBody"]["content"][JSON]["examples"] = request_examples()[CHAT]
    for file, title in _PUBLISHED.items():
        found["components"]["schemas"] |= _as_components(file, title)
    return found


#: Name of a schema's file → name of its component in the document.
_PUBLISHED = {
    "detection": "Detection",
    "checked": "CheckedResponse",
    "verification": "Verification",
}
#: Matches a reference in a schema. The groups are the file, empty for the same file, and the name
#: of the definition, empty for the whole schema.
_REFERENCE = re.compile(r'"\$ref": "([^"#]*)(?:#/\$defs/)?(\w*)"')


def _as_components(file: str, title: str) -> dict[str, Any]:
    """Return the schema of a result as components of the document.

    Nested definitions become components too, since many tools find definitions only among the
    components.
    """

    def place(reference: re.Match[str]) -> str:
        # A reference to another file is always to the schema of detections.
        whole = "Detection" if reference[1] else title
        return f'"$ref": "{REF}{whole}{reference[2].title()}"'

    path = f"detection/schemas/{file}.schema.json"
    text = resources.files("groundwire").joinpath(path).read_text("utf-8")
    schema = json.loads(_REFERENCE.sub(place, text))
    parts = {f"{title}{name.title()}": each for name, each in schema.pop("$defs").items()}
    return {title: {k: v for k, v in schema.items() if k not in ("$schema", "$id")}, **parts}
