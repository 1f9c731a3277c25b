"""JSON Schemas of arguments and results, generated from their models, in few words.

Agents pay for each word of a schema: titles, references and defaults that say nothing are left out.
"""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel

#: A JSON Schema, or a part of one.
Schema = dict[str, Any]

_NULL = {"type": "null"}


def input_schema(model: type[BaseModel], *, hidden: Collection[str] = ()) -> Schema:
    """The schema of arguments. ``null`` is taken for an argument that is left out, and not named.

    Args:
        model: The arguments.
        hidden: Arguments to leave out.
    """
    found = _schema(model, is_input=True)
    found["properties"] = {k: v for k, v in found["properties"].items() if k not in hidden}
    return found


def output_schema(model: type[BaseModel]) -> Schema:
    """The schema of a result, which may have more properties."""
    return _schema(model, is_input=False)


def _schema(model: type[BaseModel], *, is_input: bool) -> Schema:
    found = model.model_json_schema()
    parts = found.pop("$defs", {})
    for each in (found, *parts.values()):
        each.pop("description", None)  # a docstring
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
        found["items"].pop("description", None)  # a docstring
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
