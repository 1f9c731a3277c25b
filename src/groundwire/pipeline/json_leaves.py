"""Finds the leaves (innermost values) of a JSON document, and what a schema says about them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from groundwire.text.records import DataField, fields_of

#: The keys and indexes that lead from the top of a document to a leaf.
Path: TypeAlias = tuple[str | int, ...]

#: Limit on the schemas that are examined at each step of a path. A limit is needed, because
#: references (``$ref``) between schemas may form a circle.
_MAX_SCHEMAS = 200
#: Deepest nesting of data that is read. Each leaf has its whole path, so that deeper data could
#: fill the memory.
MAX_DEPTH = 50


class Leaf(NamedTuple):
    """One leaf of a JSON document: its place in the text, its path, and its value.

    The value of ``null`` is ``None``. An empty list or object is a leaf too, with the value
    ``None``.
    """

    place: DataField
    path: Path
    value: str | float | bool | None


def leaves_of(document: str) -> list[Leaf] | None:
    """Return the leaves of a document in reading order.

    Return ``None`` if the document is not valid JSON, is nested too deeply, is neither an object
    nor a list, or has a key twice in one object.
    """
    try:
        data = json.loads(document, parse_int=float)  # int() refuses very long numbers
        values, places = list(walk(data)), fields_of(document)
    except (ValueError, RecursionError):
        return None
    if places is None or len(places) != len(values):
        # Either the data is neither an object nor a list, or an object has a key twice. Parsers
        # differ in which value of such a key they use.
        return None
    return [Leaf(place, path, value) for place, (path, value) in zip(places, values, strict=True)]


def walk(data: object) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the value of each leaf of JSON data, in reading order.

    An empty object or list is a leaf, with the value ``None``.

    Raises:
        RecursionError: If the data is nested in more than :data:`MAX_DEPTH` levels.
    """
    waiting: list[tuple[Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > MAX_DEPTH:
            raise RecursionError
        children: list[tuple[Path, object]] = []
        if isinstance(value, dict):
            children = [((*path, key), each) for key, each in value.items()]
        elif isinstance(value, list):
            children = [((*path, i), each) for i, each in enumerate(value)]
        if children:
            waiting += reversed(children)
        else:
            yield path, None if isinstance(value, (dict, list)) else value


def count_values(arguments: str) -> int | None:
    """Count the values in the arguments of a tool call: texts, numbers, true, false and null.

    An empty object or list counts as one value. The result is 0 if there are no arguments, and
    ``None`` if they cannot be read as JSON, or are nested too deeply.

    >>> count_values('{"city": "Paris", "days": [1, 2]}'), count_values(""), count_values("{")
    (3, 0, None)
    """
    if not arguments.strip():
        return 0
    try:
        return sum(1 for _ in walk(json.loads(arguments)))
    except (ValueError, RecursionError):
        return None


def pointer_of(path: Path) -> str:
    """Write a path as a JSON Pointer (RFC 6901).

    >>> pointer_of(("opening/hours", 0, "day"))
    '/opening~1hours/0/day'
    """
    return "".join(f"/{str(each).replace('~', '~0').replace('/', '~1')}" for each in path)


def choices_at(schema: Mapping[str, Any], path: Path) -> list[object]:
    """Return the values that a schema lists for a leaf, with ``enum`` or ``const``.

    The list is empty if the schema does not describe the leaf, or if any part of the schema that
    describes the leaf lists no values. Parts for ``null`` may list none.
    """
    choices: list[object] = []
    for each in _schemas_at(schema, path):
        listed = each.get("enum", [each["const"]] if "const" in each else None)
        if isinstance(listed, list):
            choices += listed
        elif each.get("type") != "null":
            return []
    return choices


def is_declared(schema: Mapping[str, Any], path: Path) -> bool:
    """Return whether a schema lists the last key of a path as a property or property name."""
    parents = _schemas_at(schema, path[:-1])
    named = [each.get("properties") for each in parents]
    names = _expanded([each.get("propertyNames") for each in parents], schema)
    listed = [each.get("enum") for each in names]
    return any(isinstance(each, (dict, list)) and path[-1] in each for each in (*named, *listed))


def _schemas_at(schema: Mapping[str, Any], path: Path) -> list[Mapping[str, Any]]:
    """Return the parts of a schema that describe the value at a path."""
    found = _expanded([schema], schema)
    for each in path:
        found = _expanded([child for one in found for child in _children(one, each)], schema)
    return found


def _expanded(schemas: list[Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Replace schemas with ``$ref``, ``anyOf`` or the like by the schemas in these fields."""
    found: list[Mapping[str, Any]] = []
    waiting = schemas
    for _ in range(_MAX_SCHEMAS):
        if not waiting:
            break
        schema = waiting.pop()
        if not isinstance(schema, Mapping):
            continue
        parts = [_referred(schema, root)] if "$ref" in schema else []
        for key in ("anyOf", "oneOf", "allOf"):
            several = schema.get(key)
            parts += several if isinstance(several, list) else []
        waiting += parts
        if not parts:
            found.append(schema)
    return found


def _referred(schema: Mapping[str, Any], root: Mapping[str, Any]) -> object:
    found: object = root
    for key in str(schema["$ref"]).removeprefix("#").split("/")[1:]:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _children(schema: Mapping[str, Any], step: str | int) -> Iterator[object]:
    if isinstance(step, int):
        yield schema.get("items")
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and step in properties:
        yield properties[step]
    else:
        yield schema.get("additionalProperties")
