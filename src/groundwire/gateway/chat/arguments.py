"""Joins the arguments of tool calls from their pieces, and counts the values in them."""

import json
from collections.abc import Iterable, Mapping, Sequence

from groundwire.gateway.chat.chunks import CallPart
from groundwire.pipeline.conversation.response import ToolCall


class JoinedCalls:
    """Joins the tool calls of one answer from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._arguments: dict[str, list[str]] = {}

    def take(self, parts: Iterable[CallPart], room: int) -> int:
        """Add pieces of calls, keeping at most ``room`` characters of their arguments.

        Returns:
            The number of characters of arguments in the pieces, kept or not.
        """
        n_chars = 0
        for part in parts:
            name = self._names.setdefault(part.key, "")
            if part.name != name:  # some servers repeat the name in each piece
                self._names[part.key] = name + part.name
            kept = part.arguments[: max(0, room - n_chars)]
            self._arguments.setdefault(part.key, []).append(kept)
            n_chars += len(part.arguments)
        return n_chars

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, each with the part of its arguments that was kept."""
        return tuple(
            ToolCall(name=name, arguments="".join(self._arguments[key]))
            for key, name in self._names.items()
        )


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
