"""Counts the values in the arguments of a tool call."""

import json
from collections.abc import Mapping, Sequence


def count_values(arguments: str) -> int | None:
    """Count the values in the arguments of a tool call: texts, numbers, true, false and null.

    The result is 0 if there are no arguments, and ``None`` if they cannot be read as JSON.

    >>> count_values('{"city": "Paris", "days": [1, 2]}'), count_values(""), count_values("{")
    (3, 0, None)
    """
    if not arguments.strip():
        return 0
    try:
        return _count(json.loads(arguments))
    except (ValueError, RecursionError):
        return None


def _count(value: object) -> int:
    match value:
        case Mapping():
            return sum(map(_count, value.values()))
        case Sequence() if not isinstance(value, str):
            return sum(map(_count, value))
    return 1
