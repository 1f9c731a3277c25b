"""Divides JSON data with both sides of a conversation into a request and its response."""

from collections.abc import Mapping

from groundwire.errors import InvalidConversationError
from groundwire.pipeline.conversation.content import type_problem

_REMEDY = (
    'It must be {"request": {...}, "response": {...}}, or a request whose last message is the '
    "assistant's answer."
)


def divide_transcript(data: object) -> tuple[object, object]:
    """Divide a conversation into the bodies of its request and its response; neither is validated.

    Args:
        data: ``{"request": ..., "response": ...}``, or a request whose last message is the
            assistant's. This message becomes the only choice of the response.

    Raises:
        InvalidConversationError: If the data has neither of these forms.
    """
    place = "the conversation"
    if not isinstance(data, Mapping):
        raise InvalidConversationError(place, type_problem(data), _REMEDY)
    if "request" in data or "response" in data:
        for part in ("request", "response"):
            if part not in data:
                raise InvalidConversationError(place, f"it has no {part!r}", _REMEDY)
        return data["request"], data["response"]
    messages = data.get("messages")
    if not isinstance(messages, (list, tuple)) or not messages:
        raise InvalidConversationError(place, "it has neither request nor messages", _REMEDY)
    *before, last = messages
    if not isinstance(last, Mapping) or last.get("role") != "assistant":
        raise InvalidConversationError(
            f"messages[{len(before)}]", "the last message is no answer of the assistant", _REMEDY
        )
    return {**data, "messages": before}, {"choices": [{"message": last}]}
