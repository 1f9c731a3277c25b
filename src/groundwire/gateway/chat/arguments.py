"""Counts the values in the arguments of a tool call."""

import json

from groundwire.pipeline.json_leaves import walk


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
