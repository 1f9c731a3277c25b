"""The buffer that holds back a stream of OpenAI's Responses API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import time
from typing import Any

from groundwire.gateway.chat.blocks import BlockEvent, HeldBlocks, TextSoFar
from groundwire.gateway.http.sse import ServerSentEvent

#: Fields that many events share: type, sequence number, and place in the response.
EVENT = ("type", "sequence_number", "item_id", "output_index", "content_index")
#: Types of the events that end a response.
ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


@dataclass(slots=True)
class HeldOutput(HeldBlocks):
    """A buffer that holds back the events of one streamed response.

    It remembers what was sent, so that it can end the response at any time.
    """

    _response: Mapping[str, Any] | None = None
    _items: dict[int, dict[str, Any]] = field(default_factory=dict)
    _open_part: tuple[int, int] | None = None
    _open_item: int | None = None
    _said: TextSoFar = field(default_factory=TextSoFar)  # the sent text of the open part
    _n_events: int = 0  # the sequence number of the next event
    _n_more: int = 0  # the number of events that the gateway has added so far
    _put_in: tuple[int, Mapping[str, Any]] | None = None  # index and item of the added warning

    number = "output_index"
    can_edit = False  # later events repeat the texts of earlier ones

    def _moved(self, data: Mapping[str, Any], *, is_ours: bool) -> Mapping[str, Any]:
        # `slots=True` makes a new class, in which super() without arguments fails.
        moved = HeldBlocks._moved(self, data, is_ours=is_ours)
        if is_ours:
            self._n_more += 1
            return {**moved, "sequence_number": self._n_events}
        number = moved.get("sequence_number")
        if self._n_more and type(number) is int:
            moved = {**moved, "sequence_number": number + self._n_more}
        if self._put_in is not None and data.get("type") in ENDS:
            at, item = self._put_in
            items = list(moved["response"].get("output") or [])
            response = {**moved["response"], "output": [*items[:at], item, *items[at:]]}
            moved = {**moved, "response": response}
        return moved

    def _with_text(self, event: BlockEvent, text: str) -> Mapping[str, Any]:
        own = {key: value for key, value in event.known.items() if key in EVENT}
        return {**own, "delta": text, "logprobs": []}

    def _leaving(self, data: Mapping[str, Any]) -> None:
        number = data.get("sequence_number")
        self._n_events = (number if type(number) is int else self._n_events) + 1
        match data.get("type"):
            case "response.created" | "response.in_progress" | "response.queued":
                self._response = data["response"]
            case "response.output_item.added":
                self._open_item = data["output_index"]
                is_message = data["item"].get("type") == "message"
                parts: dict[str, Any] = {"content": []} if is_message else {}
                self._items[data["output_index"]] = {**data["item"], **parts}
            case "response.content_part.added":
                self._open_part = data["output_index"], data["content_index"]
                self._parts.append({**data["part"]})
                self._said = TextSoFar()
                self._said.add(data["part"].get("text", ""))
            case "response.output_text.delta":
                self._said.add(data["delta"])
            case "response.content_part.done":
                self._open_part = None
                self._parts[-1:] = [{**data["part"]}]
            case "response.output_item.done":
                self._open_item = None
                self._items[data["output_index"]] = dict(data["item"])

    @property
    def _parts(self) -> list[dict[str, Any]]:
        """The sent parts of the output item that is still open; empty if there are none."""
        item = self._items.get(-1 if self._open_item is None else self._open_item, {})
        parts: list[dict[str, Any]] = item.get("content", [])
        return parts

    def _warning_block(self, number: int, text: str) -> Iterator[Mapping[str, Any]]:
        id_ = f"msg_{self.trace_id}"
        item = {"id": id_, "type": "message", "status": "in_progress", "role": "assistant"}
        at = {"item_id": id_, "output_index": number, "content_index": 0}
        done = {**item, "status": "completed", "content": [text_part(text)]}
        self._put_in = number, done
        added = {**item, "content": []}
        yield {"type": "response.output_item.added", "output_index": number, "item": added}
        yield {"type": "response.content_part.added", **at, "part": text_part("")}
        yield {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": text_part(text)}
        yield {"type": "response.output_item.done", "output_index": number, "item": done}

    def error(self, event: ServerSentEvent, chunk: object) -> list[bytes]:
        """Return the event that ends a stream in which the upstream sent an error.

        If the event has a response, the output in this response is replaced by the output items
        that were sent to the client before.
        """
        assert isinstance(chunk, BlockEvent)
        known = chunk.known
        if "response" in known:
            known = {**known, "response": {**known["response"], "output": self._output}}
        return [self._write(known, is_ours=True)]

    def _refused(self, extension: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        begun = self._response or self._begun
        if self._response is None:
            yield {"type": "response.created", "response": begun}
        if self._open_part is not None and self._open_item is not None and self._parts:
            index, content_index = self._open_part
            self._parts[-1]["text"] = str(self._said)
            part, id_ = self._parts[-1], self._items[self._open_item].get("id")
            at = {"item_id": id_, "output_index": index, "content_index": content_index}
            text = {"text": part["text"], "logprobs": []}
            yield {"type": "response.output_text.done", **at, **text}
            yield {"type": "response.content_part.done", **at, "part": part}
        if self._open_item is not None:
            index = self._open_item
            item = {**self._items[index], "status": "incomplete"}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        response = {
            **begun,
            "status": "incomplete",
            "incomplete_details": {"reason": "content_filter"},
            "output": self._output,
        }
        yield {"type": "response.incomplete", "response": response, "groundwire": extension}

    @property
    def _output(self) -> list[dict[str, Any]]:
        return [item for _, item in sorted(self._items.items())]

    @property
    def _begun(self) -> Mapping[str, Any]:
        """The response at its start, for a client that has not received the first event."""
        return {
            "id": f"resp_{self.trace_id}",
            "object": "response",
            "created_at": int(time()),
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": [],
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            **self._held_part("response.created", "response"),
        }


def text_part(text: str) -> dict[str, Any]:
    """Return a message part of the type ``output_text``, with this text."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
