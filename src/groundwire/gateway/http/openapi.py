"""The OpenAPI documents of both planes: what FastAPI generates, and what it cannot know."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict
from starlette.routing import BaseRoute

from groundwire import __version__
from groundwire.text.docstrings import described

#: Header that may hold a key → what the document calls that.
_SCHEMES = {"Authorization": "bearer", "X-API-Key": "apiKey", "X-Groundwire-Key": "ownKey"}


def _describe_fields(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Describe the fields of a model by the sections ``Attributes`` of its docstrings."""
    for class_ in reversed(model.__mro__):
        text, fields = described(class_.__doc__)
        for name, each in fields.items():
            if name in schema["properties"]:
                schema["properties"][name]["description"] = each
    schema["description"] = text


class Shape(BaseModel):
    """A request or a response, or a part of one. Its docstring describes its fields."""

    model_config = ConfigDict(json_schema_extra=_describe_fields)


def openapi_document(
    *,
    title: str,
    summary: str,
    description: str,
    routes: Sequence[BaseRoute],
    tags: Mapping[str, str],
    keys: Mapping[str, str],
) -> dict[str, Any]:
    """A document, as JSON data.

    Args:
        title: Its title.
        summary: One line about the plane.
        description: Its description, a few sentences.
        routes: The routes that FastAPI describes.
        tags: Name of a group of operations → its description.
        keys: Header that may hold a key → its description; any of them lets a request in.
    """
    found = get_openapi(
        title=title,
        version=__version__,
        summary=summary,
        description=description,
        routes=routes,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        tags=[{"name": name, "description": text} for name, text in tags.items()],
    )
    for operation in (each for item in found["paths"].values() for each in item.values()):
        responses = operation["responses"]
        # FastAPI adds an error of its own to operations that document none of this status.
        if "HTTPValidationError" in json.dumps(responses.get("422", {})):
            del responses["422"]
        for response in responses.values():
            response.setdefault("headers", {})["X-Trace-ID"] = {"schema": {"type": "string"}}
    for name in ("HTTPValidationError", "ValidationError"):
        found["components"]["schemas"].pop(name, None)
    schemes = {_SCHEMES[header]: _scheme(header, text) for header, text in keys.items()}
    found["components"]["securitySchemes"] = schemes
    return found | {"servers": [{"url": "/"}], "security": [{name: []} for name in schemes]}


def _scheme(header: str, text: str) -> dict[str, str]:
    if header == "Authorization":
        return {"type": "http", "scheme": "bearer", "description": text}
    return {"type": "apiKey", "in": "header", "name": header, "description": text}
