"""What an upstream says in each dialect, and what its client reads."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.gateway.chats import SOURCES
from tests.gateway.completions import DONE, completion, event, stream_events

QUESTION = "When was the Eiffel Tower built?"
#: The columns of the tables of clients: actions and releases, each with its configuration.
MODES = {
    "`log`, `flag`": "check: {action: flag}",
    "`header`": "check: {action: header}",
    "`body`": "check: {action: body}",
    "`body`, `deferred`": "check: {action: body}\ngateway: {release: deferred}",
    "`block`": "check: {action: block}",
    "`block`, `deferred`": "check: {action: block}\ngateway: {release: deferred}",
}
#: Set, the tables are written anew.
WRITES = "GROUNDWIRE_WRITE_TABLE"
SOURCED = {"metadata": {"grounding.sources": SOURCES}}


def named(data: Mapping[str, Any]) -> bytes:
    """An event with the name of its type, as Anthropic and OpenAI's responses have it."""
    said = json.dumps(data, ensure_ascii=False)
    return f"event: {data['type']}\ndata: {said}\n\n".encode()


def data_of(raw: bytes) -> list[Any]:
    """The data of the events in the bytes of a stream."""
    lines = (line for line in raw.decode("utf-8", "replace").split("\n") if line[:6] == "data: ")
    return [None if line == "data: [DONE]" else json.loads(line[6:]) for line in lines]


class Spoken(ABC):
    """One dialect, from outside.

    Attributes:
        path: Where it is, below ``/v1/``.
    """

    path: str

    @abstractmethod
    def request(self, **more: object) -> dict[str, Any]:
        """A request that names its sources."""

    @abstractmethod
    def body(self, text: str) -> dict[str, Any]:
        """A response."""

    @abstractmethod
    def events(self, pieces: Sequence[str]) -> list[bytes]:
        """A streamed response."""

    @abstractmethod
    def text_of_body(self, data: Any) -> str:  # noqa: ANN401
        """What a user reads of a response."""

    @abstractmethod
    def pieces_of(self, events: list[Any]) -> Iterator[str]:
        """What a user reads of a streamed response, piece by piece."""

    @abstractmethod
    def is_refused(self, events: list[Any]) -> bool:
        """Whether the stream says at its end that its rest is withheld."""

    def text_of(self, raw: bytes) -> str:
        """What a user reads of a streamed response."""
        return "".join(self.pieces_of(data_of(raw)))

    def marks_of(self, raw: bytes) -> dict[str, Any] | None:
        """What the gateway says of a streamed response."""
        found = (each.get("groundwire") for each in data_of(raw) if isinstance(each, dict))
        return next((each for each in found if each), None)


class Chat(Spoken):
    path = "chat/completions"

    def request(self, **more: object) -> dict[str, Any]:
        messages = [{"role": "user", "content": QUESTION}]
        return {"model": "scripted-1", "messages": messages, **SOURCED, **more}

    def body(self, text: str) -> dict[str, Any]:
        return completion(text)

    def events(self, pieces: Sequence[str]) -> list[bytes]:
        return stream_events(pieces)

    def text_of_body(self, data: Any) -> str:  # noqa: ANN401
        return str(data["choices"][0]["message"]["content"])

    def pieces_of(self, events: list[Any]) -> Iterator[str]:
        for choice in (each for data in events if data for each in data["choices"]):
            yield choice["delta"].get("content") or ""

    def is_refused(self, events: list[Any]) -> bool:
        return events[-1] is None and events[-2]["choices"][0]["finish_reason"] == "content_filter"


class Legacy(Spoken):
    path = "completions"

    def request(self, **more: object) -> dict[str, Any]:
        return {"model": "scripted-1", "prompt": QUESTION, **SOURCED, **more}

    def _chunk(self, text: str, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        head = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "scripted-1"}
        return {**head, "choices": [choice]}

    def body(self, text: str) -> dict[str, Any]:
        usage = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}
        return {**self._chunk(text, "stop"), "usage": usage}

    def events(self, pieces: Sequence[str]) -> list[bytes]:
        said = [event(self._chunk(piece)) for piece in pieces]
        return [*said, event(self._chunk("", "stop")), DONE]

    def text_of_body(self, data: Any) -> str:  # noqa: ANN401
        return str(data["choices"][0]["text"])

    def pieces_of(self, events: list[Any]) -> Iterator[str]:
        for choice in (each for data in events if data for each in data["choices"]):
            yield choice["text"]

    def is_refused(self, events: list[Any]) -> bool:
        assert all(each is None or each["object"] == "text_completion" for each in events)
        return events[-1] is None and events[-2]["choices"][0]["finish_reason"] == "content_filter"


class Responses(Spoken):
    path = "responses"

    def request(self, **more: object) -> dict[str, Any]:
        return {"model": "scripted-1", "input": QUESTION, **SOURCED, **more}

    def part(self, text: str) -> dict[str, Any]:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def item(self, *parts: Mapping[str, Any], status: str = "completed") -> dict[str, Any]:
        item = {"id": "msg_1", "type": "message", "status": status, "role": "assistant"}
        return {**item, "content": list(parts)}

    def response(self, *output: Mapping[str, Any], status: str = "completed") -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": "scripted-1",
            "output": list(output),
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
        }

    def body(self, text: str) -> dict[str, Any]:
        return self.response(self.item(self.part(text)))

    def data(self, pieces: Sequence[str]) -> list[dict[str, Any]]:
        """The data of the events of a stream."""
        text = "".join(pieces)
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        begun = self.response(status="in_progress")
        done = self.item(self.part(text))
        found: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": self.item(status="in_progress"),
            },
            {"type": "response.content_part.added", **at, "part": self.part("")},
            *(
                {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
                for piece in pieces
            ),
            {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
            {"type": "response.content_part.done", **at, "part": self.part(text)},
            {"type": "response.output_item.done", "output_index": 0, "item": done},
            {"type": "response.completed", "response": self.response(done)},
        ]
        return [{**each, "sequence_number": n} for n, each in enumerate(found)]

    def events(self, pieces: Sequence[str]) -> list[bytes]:
        return [named(each) for each in self.data(pieces)]

    def text_of_body(self, data: Any) -> str:  # noqa: ANN401
        items = (item for item in data["output"] if item["type"] == "message")
        return "".join(part["text"] for item in items for part in item["content"])

    def pieces_of(self, events: list[Any]) -> Iterator[str]:
        for each in events:
            if each["type"] == "response.output_text.delta":
                yield each["delta"]

    def is_refused(self, events: list[Any]) -> bool:
        numbers = [each["sequence_number"] for each in events]
        assert numbers == list(range(len(events)))
        last = events[-1]
        assert self.text_of_body(last["response"]) == "".join(self.pieces_of(events))
        reason = last["response"]["incomplete_details"]
        return bool(last["type"] == "response.incomplete" and reason["reason"] == "content_filter")


class Messages(Spoken):
    path = "messages"

    def request(self, **more: object) -> dict[str, Any]:
        messages = [{"role": "user", "content": QUESTION}]
        return {"model": "scripted-1", "max_tokens": 99, "messages": messages, **SOURCED, **more}

    def message(self, *content: Mapping[str, Any], reason: str | None) -> dict[str, Any]:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted-1",
            "content": list(content),
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 1},
        }

    def body(self, text: str) -> dict[str, Any]:
        return self.message({"type": "text", "text": text}, reason="end_turn")

    def block(self, index: int, pieces: Sequence[str]) -> list[dict[str, Any]]:
        """The data of the events of a block of text."""
        block = {"type": "text", "text": ""}
        return [
            {"type": "content_block_start", "index": index, "content_block": block},
            *(
                {
                    "type": "content_block_delta",
                    "index": index,
                    "delta": {"type": "text_delta", "text": piece},
                }
                for piece in pieces
            ),
            {"type": "content_block_stop", "index": index},
        ]

    def data(self, pieces: Sequence[str]) -> list[dict[str, Any]]:
        """The data of the events of a stream."""
        return [
            {"type": "message_start", "message": self.message(reason=None)},
            {"type": "ping"},
            *self.block(0, pieces),
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 12},
            },
            {"type": "message_stop"},
        ]

    def events(self, pieces: Sequence[str]) -> list[bytes]:
        return [named(each) for each in self.data(pieces)]

    def text_of_body(self, data: Any) -> str:  # noqa: ANN401
        return "".join(each["text"] for each in data["content"] if each["type"] == "text")

    def pieces_of(self, events: list[Any]) -> Iterator[str]:
        for each in events:
            if each["type"] == "content_block_start" and each["content_block"]["type"] == "text":
                yield each["content_block"]["text"]
            elif each["type"] == "content_block_delta":
                yield each["delta"].get("text", "")

    def is_refused(self, events: list[Any]) -> bool:
        kinds = [each["type"] for each in events]
        assert kinds.count("content_block_start") == kinds.count("content_block_stop")
        assert kinds[0] == "message_start"
        assert kinds[-2:] == ["message_delta", "message_stop"]
        return bool(events[-2]["delta"]["stop_reason"] == "refusal")


ALL: tuple[Spoken, ...] = (Chat(), Legacy(), Responses(), Messages())
