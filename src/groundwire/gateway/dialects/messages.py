"""Reads the requests and responses of Anthropic's Messages API, and writes changed responses."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.errors import InvalidConversationError
from groundwire.gateway.chat.blocks import (
    BlockEvent,
    BlockReader,
    HeldBlocks,
    Leaves,
    block_event,
    only,
    unknown_event,
    value_in,
)
from groundwire.gateway.chat.chunks import UnreadableChunkError
from groundwire.gateway.chat.reading import ReadEvent
from groundwire.gateway.http.sse import ServerSentEvent
from groundwire.pipeline.conversation.known_fields import count_unread, is_error_body, without_text
from groundwire.pipeline.conversation.response import Answer, ToolCall, answer_of, breaks_off
from groundwire.pipeline.conversation.streamed_calls import CallPart

#: Fields of every response. This API calls a response a message.
_MESSAGE = ("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage")
#: Fields of a message that may be sent before the answer has passed its check, unless their value
#: may hold prose.
_BEGUN = ("id", "type", "role", "model", "content")
#: Fields of ``usage`` that may hold a word, such as the name of a service tier, and may be sent
#: before the answer has passed its check.
_USAGE = ("service_tier", "inference_geo", "speed")
#: Known fields of messages. Text in any other field is counted as unchecked.
_OF_MESSAGE = frozenset((*_MESSAGE, "container", "context_management", "stop_details"))
#: Known fields of the events of a stream. Text in any other field is counted as unchecked.
_OF_EVENT = frozenset(
    ("type", "index", "message", "content_block", "delta", "usage", "context_management")
)
#: Known fields of content blocks. Text in any other field is counted as unchecked.
_OF_BLOCK = frozenset(
    (
        *("type", "text", "citations", "id", "name", "input", "content", "tool_use_id"),
        *("thinking", "signature", "data", "file_id", "server_name", "is_error", "caller"),
    )
)
#: Known fields of the deltas in events. Text in any other field is counted as unchecked.
_OF_DELTA = frozenset(
    (
        *("type", "text", "partial_json", "thinking", "signature", "citation", "estimated_tokens"),
        *("stop_reason", "stop_sequence", "stop_details", "container"),
    )
)
#: Pattern of the beginning of a tool result's type, such as ``web_search_tool``.
_TOOL = r"((web_search|web_fetch|(bash_|text_editor_)?code_execution|tool_search|mcp)_)?tool"
#: Matches the types of known blocks that hold no text of an answer.
_NO_TEXT = re.compile(
    rf"{_TOOL}_result|(server_|mcp_)?tool_use|(redacted_)?thinking|container_upload"
)
#: Known types of the deltas of blocks. A delta of another type is counted as unchecked.
_DELTAS = ("text_delta", "input_json_delta", "thinking_delta", "signature_delta", "citations_delta")


class Messages:
    """Reads requests and responses of ``POST /v1/messages``, and writes changed responses."""

    path = "messages"

    def conversation(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request as it is: the pipeline reads requests of this API."""
        return body

    def answers(self, data: Any) -> tuple[Answer, ...]:  # noqa: ANN401
        """Return the one answer in the body of a response: the text of all its text blocks."""
        blocks = data.get("content") if isinstance(data, Mapping) else None
        if not isinstance(blocks, list) or not all(isinstance(each, Mapping) for each in blocks):
            raise InvalidConversationError("content", "it is no list of blocks", "")
        if any(data.get(name) for name in ("completion", "text", "delta", "choices")):
            raise InvalidConversationError("the response", "it has text outside of content", "")
        kinds = [str(each.get("type")) for each in blocks]
        texts = [each.get("text") for each in blocks if each.get("type") == "text"]
        if not all(isinstance(text, str) for text in texts):
            raise InvalidConversationError("content", "a text is none", "")
        answer = answer_of(
            0,
            text="".join(map(str, texts)),
            refusal="",
            has_calls=any(kind.endswith("tool_use") for kind in kinds),
            n_skipped=count_unread(data, _OF_MESSAGE) + sum(map(_unread_in, blocks)),
            calls=tuple(
                ToolCall(name=str(each.get("name")), arguments=_input_of(each))
                for each in blocks
                if each.get("type") == "tool_use"
            ),
            has_reasoning="thinking" in kinds,
            is_cut=breaks_off(data.get("stop_reason")),
        )
        return (answer,)

    def is_error(self, data: object) -> bool:
        """Return whether a body has an error, and no answer beside the error."""
        return is_error_body(data, _OF_MESSAGE - {"content"})

    def with_warnings(self, data: Any, warnings: Sequence[str | None]) -> Mapping[str, Any]:  # noqa: ANN401
        """Return a body with each warning in a block of its own before the first text block.

        If there is no text block, the warnings come after all blocks.
        """
        blocks = data["content"]
        at = next((i for i, each in enumerate(blocks) if each.get("type") == "text"), len(blocks))
        ours = [{"type": "text", "text": f"{each}\n\n"} for each in warnings if each]
        return {**data, "content": [*blocks[:at], *ours, *blocks[at:]]}

    def reader(self) -> Callable[[ServerSentEvent], ReadEvent]:
        """Return a function that reads one event; call it with the events of a stream in order."""
        return _Reader()

    def held(self, *, model: str, trace_id: str, withholds: bool) -> "HeldMessage":
        """Return an empty buffer that holds back one stream."""
        return HeldMessage(withholds=withholds, model=model, trace_id=trace_id)


class _Reader(BlockReader):
    """Reads the events of one streamed message."""

    known = _OF_EVENT

    def __init__(self) -> None:
        super().__init__()
        self._last = -1
        self._open: str | None = None  # type of the open block

    def read(self, data: Mapping[str, Any]) -> BlockEvent:
        match data["type"]:
            case "ping":
                return block_event(data, Leaves.WITH_TEXT, known=only(data, ("type",)))
            case "message_start":
                return self._start(data)
            case "content_block_start":
                return self._open_block(data, value_in(data, "content_block", dict))
            case "content_block_delta":
                return self._delta(data, value_in(data, "delta", dict))
            case "content_block_stop":
                self._require_open(data)
                kind, self._open = self._open, None
                leaves = Leaves.WITH_TEXT if kind == "text" else Leaves.LATE
                return self._event(data, leaves, known=only(data, ("type", "index")))
            case "message_delta":
                delta = value_in(data, "delta", dict)
                reason, n_unread = delta.get("stop_reason"), count_unread(delta, _OF_DELTA)
                finish = reason if isinstance(reason, str) else None
                return self._event(data, Leaves.LAST, finish=finish, n_unread=n_unread)
            case "message_stop":
                return self._event(data, Leaves.LAST, is_end=True)
            case "error":
                known = only(data, ("type", "error", "request_id"), error=data.get("error"))
                return block_event(data, Leaves.LAST, known=known, is_error=True, is_end=True)
        return unknown_event(data)

    def _start(self, data: Mapping[str, Any]) -> BlockEvent:
        message = value_in(data, "message", dict)
        if message.get("content"):
            raise UnreadableChunkError("a message has content before its first block")
        n_unread, own = count_unread(message, _OF_MESSAGE), without_text(message, _BEGUN)
        if isinstance(usage := message.get("usage"), Mapping):
            own["usage"] = without_text(usage, _USAGE)
        begun = {key: own[key] for key in message if key in own and key in _OF_MESSAGE}
        known = only(data, ("type", "message"), message=begun)
        return self._event(data, Leaves.WITH_TEXT, known=known, n_unread=n_unread)

    def _open_block(self, data: Mapping[str, Any], block: Mapping[str, Any]) -> BlockEvent:
        index = value_in(data, "index", int)
        if self._open is not None or index <= self._last:
            raise UnreadableChunkError("its block is out of order")
        self._last, self._open = index, str(block.get("type"))
        if self._open != "text":
            return self._event(
                data,
                Leaves.LATE,
                calls_tools=self._open.endswith("tool_use"),
                calls=self._call(data, str(block.get("name", "")), _input_of(block)),
                n_unread=_unread_in(block),
                has_reasoning=self._open == "thinking",
            )
        text = self.whole(value_in(block, "text", str))
        own = only(block, ("type", "text", "citations"), text=text)
        known = only(data, ("type", "index", "content_block"), content_block=own)
        leaves = Leaves.LATE if block.get("citations") else Leaves.WITH_TEXT
        n_unread = _unread_in(block)
        return self._event(data, leaves, known=known, text=text, opens=True, n_unread=n_unread)

    def _delta(self, data: Mapping[str, Any], delta: Mapping[str, Any]) -> BlockEvent:
        self._require_open(data)
        kind = delta.get("type")
        n_unread = (kind not in _DELTAS) + count_unread(delta, _OF_DELTA)
        if kind != "text_delta":
            said = delta.get("partial_json")
            calls = self._call(data, "", said) if isinstance(said, str) else ()
            return self._event(data, Leaves.LATE, n_unread=n_unread, calls=calls)
        if self._open != "text":
            raise UnreadableChunkError("it has text for a block of another type")
        text = self.whole(value_in(delta, "text", str))
        own = only(delta, ("type", "text"), text=text)
        known = only(data, ("type", "index", "delta"), delta=own)
        return self._event(
            data, Leaves.WITH_TEXT, known=known, text=text, is_divisible=True, n_unread=n_unread
        )

    def _call(self, data: Mapping[str, Any], name: str, arguments: str) -> tuple[CallPart, ...]:
        """Return a piece of a tool call, in a tuple; empty if the open block is no ``tool_use``."""
        if self._open != "tool_use":
            return ()
        return (CallPart(key=str(data["index"]), name=name, arguments=arguments),)

    def _require_open(self, data: Mapping[str, Any]) -> None:
        if self._open is None or value_in(data, "index", int) != self._last:
            raise UnreadableChunkError("its block is not open")


def _unread_in(block: Mapping[str, Any]) -> int:
    """Count a block's unknown fields that may hold text, plus 1 if the block's type is unknown."""
    kind = str(block.get("type"))
    is_known = kind == "text" or _NO_TEXT.fullmatch(kind) is not None
    return (not is_known) + count_unread(block, _OF_BLOCK)


def _input_of(block: Mapping[str, Any]) -> str:
    """Return the arguments in a tool call's block as JSON; empty if there are none."""
    return json.dumps(block["input"], ensure_ascii=False) if block.get("input") else ""


@dataclass(slots=True)
class HeldMessage(HeldBlocks):
    """A buffer that holds back the events of one streamed message."""

    _message: Mapping[str, Any] | None = None
    _open: int | None = None
    _is_ended: bool = False

    def _with_text(self, event: BlockEvent, text: str) -> Mapping[str, Any]:
        name = "delta" if "delta" in event.known else "content_block"
        return {**event.known, name: {**event.known[name], "text": text}}

    def _leaving(self, data: Mapping[str, Any]) -> None:
        match data.get("type"):
            case "message_start":
                self._message = data["message"]
            case "content_block_start":
                self._open = data["index"]
            case "content_block_stop":
                self._open = None
            case "message_delta":
                self._is_ended = True

    def _warning_block(self, number: int, text: str) -> Iterator[Mapping[str, Any]]:
        block = {"type": "text", "text": ""}
        yield {"type": "content_block_start", "index": number, "content_block": block}
        delta = {"type": "text_delta", "text": text}
        yield {"type": "content_block_delta", "index": number, "delta": delta}
        yield {"type": "content_block_stop", "index": number}

    def _refused(self, extension: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if self._message is None:
            yield {"type": "message_start", "message": self._begun}
        if self._open is not None:
            yield {"type": "content_block_stop", "index": self._open}
        if not self._is_ended:
            begun = self._begun["usage"]
            n_tokens = begun.get("output_tokens", 0) if isinstance(begun, Mapping) else 0
            delta = {"stop_reason": "refusal", "stop_sequence": None}
            usage = {"output_tokens": n_tokens}
            yield {"type": "message_delta", "delta": delta, "usage": usage, "groundwire": extension}
        yield {"type": "message_stop"}

    @property
    def _begun(self) -> Mapping[str, Any]:
        """The message without content: as sent to the client, else as held, else a new message."""
        return {
            "id": f"msg_{self.trace_id}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
            **(self._message or self._held_part("message_start", "message")),
        }
