"""Reads the requests and responses of OpenAI's chat completions, and writes changed responses."""

from collections.abc import Callable, Mapping, Sequence
from time import time
from typing import Any

from groundwire.gateway.chat.chunks import Halves, chunk_of, event_data
from groundwire.gateway.chat.hold_buffer import HeldStream
from groundwire.gateway.chat.reading import ReadEvent
from groundwire.gateway.http.sse import ServerSentEvent
from groundwire.pipeline.conversation.known_fields import KNOWN, is_error_body
from groundwire.pipeline.conversation.response import Answer, read_response


class ChatCompletions:
    """Reads requests and responses of ``POST /v1/chat/completions``; writes changed responses."""

    path = "chat/completions"
    #: The beginning of ``id``, and the value of ``object``, in chunks that the gateway makes before
    #: the upstream has sent these fields.
    _prefix, _object = "chatcmpl", "chat.completion.chunk"
    _buffer: type[HeldStream] = HeldStream

    def conversation(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the body of a request unchanged: the pipeline reads this form."""
        return body

    def answers(self, data: Any) -> tuple[Answer, ...]:  # noqa: ANN401
        """Return the answers in the body of a response, one for each choice."""
        return read_response(data)

    def is_error(self, data: object) -> bool:
        """Return whether a body has an error, and no answer beside the error."""
        return is_error_body(data, KNOWN - {"choices"})

    def with_warnings(self, data: Any, warnings: Sequence[str | None]) -> Mapping[str, Any]:  # noqa: ANN401
        """Return a body in which each warning stands before the text of its choice."""
        pairs = zip(data["choices"], warnings, strict=True)
        return {**data, "choices": [_warned(choice, warning) for choice, warning in pairs]}

    def reader(self) -> Callable[[ServerSentEvent], ReadEvent]:
        """Return a function that reads one event; call it with the events of a stream in order."""
        halves = Halves()

        def read(event: ServerSentEvent) -> ReadEvent:
            data = event.data or ""
            if data.strip() == "[DONE]":
                return ReadEvent(event, is_end=True)
            return ReadEvent(event, halves.join(chunk_of(self.chunk(event_data(data)))))

        return read

    def chunk(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of an event as a chunk of chat completions: here, unchanged."""
        return data

    def held(self, *, model: str, trace_id: str, withholds: bool) -> HeldStream:
        """Return an empty buffer that holds back one stream."""
        own = {"id": f"{self._prefix}-{trace_id}", "object": self._object}
        head = {**own, "created": int(time()), "model": model}
        return self._buffer(head, trace_id=trace_id, withholds=withholds)


def _warned(choice: Mapping[str, Any], warning: str | None) -> Mapping[str, Any]:
    if warning is None:
        return choice
    content = choice["message"].get("content")
    if isinstance(content, Mapping):
        content = [content]
    if isinstance(content, list):
        content = [{"type": "text", "text": f"{warning}\n\n"}, *content]
    else:
        content = f"{warning}\n\n{content or ''}"
    return {**choice, "message": {**choice["message"], "content": content}}
