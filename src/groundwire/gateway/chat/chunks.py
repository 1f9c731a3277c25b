"""Reads the chunks of a streamed chat completion, and divides them by answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from types import NoneType
from typing import Any

from groundwire.errors import GroundwireError
from groundwire.pipeline.conversation import known_fields
from groundwire.pipeline.conversation.known_fields import KNOWN, OF_CHOICE, count_unread, unread_in
from groundwire.pipeline.conversation.response import Said, has_reasoning
from groundwire.pipeline.conversation.streamed_calls import CallPart, call_parts

#: Fields that hold the text of an answer in some API. If an event has one of them in an unexpected
#: place, the event counts as unreadable, since this text would not be checked.
TEXTS = ("content", "text", "delta", "message", "output_text")


class UnreadableChunkError(GroundwireError):
    """An event of the upstream does not fit the requested API; the message does not quote it."""

    def __str__(self) -> str:
        return f"An event of the upstream cannot be read: {self.args[0]}."


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaPart:
    """The part of a chunk that is about one answer.

    Attributes:
        index: Number of the answer, from 0.
        text: Text that the chunk adds to the answer.
        refusal: Text that the chunk adds to the model's refusal.
        calls_tools: Whether the chunk has pieces of tool calls.
        n_skipped: Number of parts that are not checked, such as audio or unknown fields with text.
        finish: The reason why the answer ends, such as ``stop``; ``None`` if it goes on.
        choice: The whole choice, as JSON data; empty in APIs without choices.
        calls: The pieces of tool calls in the chunk.
        has_reasoning: Whether the chunk has reasoning of the model, which is not checked.
    """

    index: int
    text: str = ""
    refusal: str = ""
    calls_tools: bool = False
    n_skipped: int = 0
    finish: str | None = None
    choice: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[CallPart, ...] = ()
    has_reasoning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A chunk of a streamed response, divided by answer.

    Attributes:
        data: The whole chunk, as JSON data.
        parts: One part for each answer that the chunk is about; a chunk with only usage has none.
        is_error: Whether the chunk reports a failure of the upstream.
        is_as_sent: Whether ``data`` and ``parts`` have the same content as the event, so that the
            bytes of the event can be sent unchanged.
        is_unread: Whether the chunk may hold text in unknown fields outside of its answers.
    """

    data: Mapping[str, Any]
    parts: tuple[DeltaPart, ...]
    is_error: bool = False
    is_as_sent: bool = True
    is_unread: bool = False


def event_data(text: str) -> dict[str, Any]:
    """Return the JSON object in the data of an event.

    Raises:
        UnreadableChunkError: If the data cannot be read as a JSON object, or an object has a key
            twice.
    """
    try:
        data = _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableChunkError(f"it is no JSON ({type(error).__name__})") from None
    if not isinstance(data, dict):
        raise UnreadableChunkError(f"it is JSON of type {type(data).__name__}")
    return data


def chunk_of(data: dict[str, Any]) -> Chunk:
    """Read a chunk of a chat completion.

    Raises:
        UnreadableChunkError: If ``data`` do not have the form of a chunk.
    """
    # The client would take the upstream's field ``groundwire`` for the gateway's, so it is removed.
    is_as_sent = known_fields.OURS not in data
    own = data if is_as_sent else {key: data[key] for key in data if key != known_fields.OURS}
    if known_fields.is_error_body(own):
        return Chunk(data=own, parts=(), is_as_sent=is_as_sent, is_error=True)
    choices = own.get("choices")
    if not isinstance(choices, (list, NoneType)):
        raise UnreadableChunkError(f"its choices are of type {type(choices).__name__}")
    is_plain = known_fields.WITHOUT_ANSWERS.issuperset(own)
    if choices is None and not own.get("error") and not is_plain:
        raise UnreadableChunkError("it has no choices, and more than the usage")
    if any(map(own.get, TEXTS)):
        raise UnreadableChunkError("it has text outside of its choices")
    return Chunk(
        data=own,
        is_as_sent=is_as_sent,
        parts=tuple(map(_read_choice, choices or (), count())),
        is_error=bool(own.get("error")),
        is_unread=count_unread(own, KNOWN) > 0,
    )


def unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dictionary from the pairs of a JSON object; a hook for ``json.loads``.

    Raises:
        ValueError: If the object has a key twice. A client might take the other value, which would
            not be checked.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


#: The decoder of the data of events, made once: ``json.loads`` would make one for each event.
_JSON = json.JSONDecoder(object_pairs_hook=unambiguous)


class Halves:
    """Joins the halves of characters that a server has divided between two chunks.

    Some servers cut a text between the two UTF-16 units of a character. The first half waits for
    the second, since half a character can be neither checked nor shown.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, str] = {}

    def join(self, chunk: Chunk) -> Chunk:
        """Return a chunk with whole characters; a half whose other half never came may remain."""
        parts = tuple(map(self._join, chunk.parts))
        if all(new is old for new, old in zip(parts, chunk.parts, strict=True)):
            return chunk
        return replace(chunk, parts=parts, is_as_sent=False)

    def whole(self, index: int, text: str, *, is_last: bool = False) -> str:
        """Return the next text of an answer; half a character at its end waits for the next call.

        If the answer ends with this text (``is_last``), nothing waits.
        """
        joined = self._waiting.pop(index, "") + text
        if joined and "\ud800" <= joined[-1] <= "\udbff" and not is_last:
            self._waiting[index] = joined[-1]
            joined = joined[:-1]
        if joined == text:
            return text
        return joined.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def _join(self, part: DeltaPart) -> DeltaPart:
        text = self.whole(part.index, part.text, is_last=part.finish is not None)
        if text == part.text:
            return part
        delta = {**(part.choice.get("delta") or {}), "content": text}
        return replace(part, text=text, choice={**part.choice, "delta": delta})


def _read_choice(choice: object, position: int) -> DeltaPart:
    if not isinstance(choice, dict):
        raise UnreadableChunkError(f"a choice is of type {type(choice).__name__}")
    delta = {} if choice.get("delta") is None else choice["delta"]
    if not isinstance(delta, dict) or choice.get("message") or choice.get("text"):
        # Text outside of the delta would not be checked.
        raise UnreadableChunkError("a choice has no delta, or text outside of it")
    index = position if choice.get("index") is None else choice["index"]
    if type(index) is not int:
        # An index such as "0" or true may mean different answers to different clients.
        raise UnreadableChunkError(f"the index of a choice is of type {type(index).__name__}")
    finish = choice.get("finish_reason")
    said = Said.of(delta.get("content"))
    refusal = delta.get("refusal")
    n_unread = count_unread(choice, OF_CHOICE) + unread_in(delta) + bool(delta.get("audio"))
    calls_tools = bool(delta.get("tool_calls") or delta.get("function_call"))
    return DeltaPart(
        index=index,
        text=said.text,
        refusal=said.refusal + (refusal if isinstance(refusal, str) else ""),
        calls_tools=calls_tools,
        n_skipped=said.n_skipped + n_unread,
        finish=finish if isinstance(finish, str) and finish else None,
        choice=choice,
        calls=call_parts(delta) if calls_tools else (),
        has_reasoning=has_reasoning(delta),
    )
