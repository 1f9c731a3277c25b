"""The OpenAPI documents of the gateway and its admin API: made by FastAPI, completed here."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict
from starlette.routing import BaseRoute

from groundwire import __version__
from groundwire.text.docstrings import described

#: Header that may hold a key → name of its security scheme in the OpenAPI document.
_SCHEMES = {"Authorization": "bearer", "X-API-Key": "apiKey", "X-Groundwire-Key": "ownKey"}


def _describe_fields(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Copy descriptions from docstrings into the schema of a model.

    The model's description comes from its own docstring. The descriptions of its fields may also
    come from docstrings of its base classes.
    """
    for class_ in reversed(model.__mro__):
        text, fields = described(class_.__doc__)
        for name, each in fields.items():
            if name in schema["properties"]:
                schema["properties"][name]["description"] = each
    schema["description"] = text


class ApiModel(BaseModel):
    """Base of the models of requests and responses. A model's docstring describes its fields."""

    model_config = ConfigDict(json_schema_extra=_describe_fields, from_attributes=True)


@cache
def plane_texts(plane: str) -> Mapping[str, Any]:
    """Return the texts of ``openapi.toml`` about a plane, ``gateway`` or ``admin``."""
    text = resources.files(__package__).joinpath("openapi.toml").read_text("utf-8")
    texts: Mapping[str, Any] = tomllib.loads(text)[plane]
    return texts


def openapi_document(plane: str, *, title: str, routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of an app as JSON data, with the texts of ``openapi.toml``.

    Args:
        plane: ``gateway`` or ``admin``.
        title: The title of the document.
        routes: The routes that are described.
    """
    texts = plane_texts(plane)
    found = get_openapi(
        title=title,
        version=__version__,
        summary=texts["summary"],
        description=texts["description"],
        routes=routes,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        tags=[{"name": name, "description": text} for name, text in texts["tags"].items()],
    )
    for operation in (each for item in found["paths"].values() for each in item.values()):
        responses = operation["responses"]
        # FastAPI adds an error 422 to some operations that document none, in a form that no error
        # of this API has.
        if "HTTPValidationError" in json.dumps(responses.get("422", {})):
            del responses["422"]
        for response in responses.values():
            response.setdefault("headers", {})["X-Trace-ID"] = {"schema": {"type": "string"}}
    for name in ("HTTPValidationError", "ValidationError"):
        found["components"]["schemas"].pop(name, None)
    schemes = {_SCHEMES[header]: _scheme(header, text) for header, text in texts["keys"].items()}
    found["components"]["securitySchemes"] = schemes
    return found | {"servers": [{"url": "/"}], "security": [{name: []} for name in schemes]}


def _scheme(header: str, text: str) -> dict[str, str]:
    if header == "Authorization":
        return {"type": "http", "scheme": "bearer", "description": text}
    return {"type": "apiKey", "in": "header", "name": header, "description": text}
