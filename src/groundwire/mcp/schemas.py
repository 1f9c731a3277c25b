"""Generates short JSON Schemas of arguments and results from their models.

Schemas take space in an agent's prompt. So parts that agents do not need are left out, such as
titles and docstrings.
"""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel

#: A JSON Schema, or a part of one.
Schema = dict[str, Any]

_NULL = {"type": "null"}


def input_schema(model: type[BaseModel], *, hidden: Collection[str] = ()) -> Schema:
    """Generate the schema of a tool's arguments.

    The schema does not list ``null`` as a value of an optional argument.

    Args:
        model: Model of the arguments.
        hidden: Names of arguments to leave out.
    """
    found = _schema(model, is_input=True)
    found["properties"] = {k: v for k, v in found["properties"].items() if k not in hidden}
    return found


def output_schema(model: type[BaseModel]) -> Schema:
    """Generate the schema of a tool's result; results may have properties beyond the schema."""
    return _schema(model, is_input=False)


def _schema(model: type[BaseModel], *, is_input: bool) -> Schema:
    found = model.model_json_schema()
    parts = found.pop("$defs", {})
    for each in (found, *parts.values()):
        each.pop("description", None)  # the docstring of the model, which is not for agents
    plain: Schema = _plain(found, parts, is_input=is_input)
    return plain


def _plain(node: Any, parts: Mapping[str, Any], *, is_input: bool) -> Any:  # noqa: ANN401 - JSON
    if isinstance(node, list):
        return [_plain(each, parts, is_input=is_input) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = parts[node["$ref"].rpartition("/")[2]] | node
    found = {
        name: _plain(value, parts, is_input=is_input)
        for name, value in node.items()
        if not (name == "$ref" or (name == "title" and isinstance(value, str)) or value is True)
    }
    if isinstance(found.get("items"), dict):
        found["items"].pop("description", None)  # a docstring, which is not for agents
    if not is_input or found.get("default", "") is None:
        found.pop("default", None)
    branches = [each for each in found.get("anyOf", ()) if each != _NULL]
    if len(branches) != 1:
        return found
    del found["anyOf"]
    only = branches[0]
    if is_input:
        return only | found
    if "enum" in only:
        return only | {"type": [only["type"], "null"], "enum": [*only["enum"], None]} | found
    return only | {"type": [only["type"], "null"]} | found
