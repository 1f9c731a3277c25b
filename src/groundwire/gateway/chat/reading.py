"""Reads the events in the body of a streamed response."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from groundwire.gateway.chat.chunks import Chunk, UnreadableChunkError
from groundwire.gateway.http.coding import Decoder
from groundwire.gateway.http.sse import EventSplitter, ServerSentEvent

log = logging.getLogger(__name__)

#: Bytes of one event, at most. A whole answer in one event is far below that.
MAX_EVENT_BYTES = 16 * 2**20
#: Bytes of a stream, decompressed, at most.
MAX_STREAM_BYTES = 2**28
_SLICE_BYTES = 2**16
#: Events that are read before other requests have their turn.
TURN = 256


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """An event and what it says.

    Attributes:
        event: The event.
        chunk: The chunk in it; ``None`` in a comment, at the end, and in what cannot be read.
        is_end: Whether it says that the stream is complete.
        is_unreadable: Whether it has data that are no chunk, or is no event.
    """

    event: ServerSentEvent
    chunk: Chunk | None = None
    is_end: bool = False
    is_unreadable: bool = False


class ChunkReader:
    """Reads the bytes of a stream, however they are cut and compressed."""

    def __init__(
        self, content_encoding: str, read: Callable[[ServerSentEvent], ReadEvent], *, path: str
    ) -> None:
        """Prepare to read the events of one stream.

        Args:
            content_encoding: The value of the header Content-Encoding.
            read: Reads the events that have data, in their order.
            path: The path of the API whose events they are, below ``/v1/``.

        Raises:
            CodingError: If that is not known.
        """
        self._decoder = Decoder(content_encoding, max_bytes=MAX_STREAM_BYTES)
        self._splitter = EventSplitter(max_event_bytes=MAX_EVENT_BYTES)
        self._read_data, self._path = read, path
        self._is_told = False

    def feed(self, data: bytes) -> Iterator[ReadEvent]:
        """Take the next bytes, and read the events that they complete one by one.

        Raises:
            CodingError: If they cannot be decompressed.
            EventTooLargeError: If an event does not end.
        """
        decoded = self._decoder.feed(data)
        # In slices: a few bytes can hold millions of events.
        for start in range(0, len(decoded), _SLICE_BYTES):
            yield from map(self._read, self._splitter.feed(decoded[start : start + _SLICE_BYTES]))

    def finish(self) -> Iterator[ReadEvent]:
        """Say that the bytes are complete: some servers leave out the blank line at the end.

        Raises:
            CodingError: If their compression is not complete.
        """
        events = self._splitter.feed(self._decoder.finish())
        rest = self._splitter.finish()
        if rest.strip():
            events.append(ServerSentEvent.of(rest.rstrip(b"\r\n") + b"\n\n"))
        return map(self._read, events)

    def _read(self, event: ServerSentEvent) -> ReadEvent:
        if event.data is None:
            return ReadEvent(event, is_unreadable=event.is_foreign)
        try:
            return self._read_data(event)
        except UnreadableChunkError as error:
            if not self._is_told:  # after one such event, the rest is not trusted
                self._is_told = True
                log.warning("%s", misfit(self._path, _json_of(event), str(error)))
            return ReadEvent(event, is_unreadable=True)


def misfit(asked: str, data: object, problem: str) -> str:
    """Describe, for the log, a response in another API than the one that was asked for.

    Nothing of the response is quoted.

    Args:
        asked: The path of the API that the client asked for, below ``/v1/``.
        data: The body of the response, or the data of an event; ``None`` if they are no JSON.
        problem: What is wrong, as a sentence.
    """
    came = _dialect_of(data)
    if came is None or came == asked:
        return (
            f"The client asked for /v1/{asked}. {problem} Look at what the upstream sends there: "
            f"to be checked, it has to be a response of the API {asked}."
        )
    return (
        f"The client asked for /v1/{asked}, and the upstream sent a response of /v1/{came}. "
        f"Route the model to an upstream that speaks {asked}, or let clients ask for /v1/{came}."
    )


def _dialect_of(data: object) -> str | None:
    """The path of the API that JSON data look like a response of."""
    match data:
        case {"object": "text_completion"}:
            return "completions"
        case {"choices": list()}:
            return "chat/completions"
        case {"object": "response"}:
            return "responses"
        case {"type": str(kind)} if kind.startswith("response."):
            return "responses"
        case {"type": str(kind)} if kind.startswith(("message", "content_block")):
            return "messages"
    return None


def _json_of(event: ServerSentEvent) -> object:
    try:
        return json.loads(event.data or "")
    except (ValueError, RecursionError):
        return None
