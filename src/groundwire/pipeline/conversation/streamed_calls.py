"""Reads the pieces in which a stream of chat completions sends tool calls, and joins them."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.pipeline.conversation.response import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPart:
    """A piece of a tool call in a stream.

    Attributes:
        key: An id of the call within the answer, the same in all pieces of the call.
        name: The name of the tool, or a part of it; empty if the piece has none.
        arguments: Text that the piece adds to the arguments.
    """

    key: str
    name: str
    arguments: str


def call_parts(delta: Mapping[str, Any]) -> tuple[CallPart, ...]:
    """Return the pieces of tool calls in a delta, also from the older field ``function_call``.

    A piece without an index gets its position in the delta.
    """
    calls = delta.get("tool_calls")
    legacy = {"function": delta.get("function_call")}
    parts = []
    for position, call in enumerate([*(calls if isinstance(calls, list) else []), legacy]):
        if (said := ToolCall.of(call)) is not None:
            key = call.get("index")
            key = str(position if key is None else key)
            parts.append(CallPart(key=key, name=said.name, arguments=said.arguments))
    return tuple(parts)


class JoinedCalls:
    """Joins the tool calls of one answer from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._arguments: dict[str, list[str]] = {}

    def take(self, parts: Iterable[CallPart], room: int = sys.maxsize) -> int:
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
