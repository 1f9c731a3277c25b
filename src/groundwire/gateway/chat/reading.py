"""Reads the events in the body of a streamed response."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from groundwire.errors import InvalidConversationError
from groundwire.gateway.chat.chunks import Chunk, UnreadableChunkError
from groundwire.gateway.http.coding import Decoder
from groundwire.gateway.http.sse import EventSplitter, ServerSentEvent

log = logging.getLogger(__name__)

#: Limit on the bytes of an unfinished event. Even an event with a whole answer has far fewer.
MAX_EVENT_BYTES = 16 * 2**20
#: Limit on the bytes of a stream, after decompression.
MAX_STREAM_BYTES = 2**28
#: The number of decompressed bytes that are searched for events at a time.
_SLICE_BYTES = 2**16
#: The number of events to read before other requests get their turn on the event loop.
TURN = 256


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """An event of a stream, with the chunk that was read from it.

    Attributes:
        chunk: The chunk; ``None`` for an event without data, ``[DONE]``, and an unreadable event.
        is_end: Whether the event ends the stream.
        is_unreadable: Whether the event has data that cannot be read, or has no data and a line
            that the standard of server-sent events does not define.
    """

    event: ServerSentEvent
    chunk: Chunk | None = None
    is_end: bool = False
    is_unreadable: bool = False


class ChunkReader:
    """Decompresses the bytes of a stream, and reads the events in them."""

    def __init__(
        self, content_encoding: str, read: Callable[[ServerSentEvent], ReadEvent], *, path: str
    ) -> None:
        """Prepare to read the events of one stream.

        Args:
            content_encoding: The value of the header Content-Encoding.
            read: Reads one event that has data; called with the events in order.
            path: The path of the API, below ``/v1/``, for the log.

        Raises:
            CodingError: If the content encoding is unknown.
        """
        self._decoder = Decoder(content_encoding, max_bytes=MAX_STREAM_BYTES)
        self._splitter = EventSplitter(max_event_bytes=MAX_EVENT_BYTES)
        self._read_data, self._path = read, path
        self._is_told = False

    def feed(self, data: bytes) -> Iterator[ReadEvent]:
        """Take the next bytes, and yield the events that are now complete.

        Raises:
            CodingError: If the bytes cannot be decompressed, or the stream becomes too long.
            EventTooLargeError: If an unfinished event has more than ``MAX_EVENT_BYTES``.
        """
        decoded = self._decoder.feed(data)
        # Events are found slice by slice, since a few compressed bytes can hold millions of them.
        for start in range(0, len(decoded), _SLICE_BYTES):
            yield from map(self._read, self._splitter.feed(decoded[start : start + _SLICE_BYTES]))

    def finish(self) -> Iterator[ReadEvent]:
        """Return the events in the bytes that are left when the stream has ended.

        Some servers leave out the blank line that ends the last event.

        Raises:
            CodingError: If the compressed data are not complete.
            EventTooLargeError: If an unfinished event has more than ``MAX_EVENT_BYTES``.
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
        except (UnreadableChunkError, InvalidConversationError, RecursionError) as error:
            if not self._is_told:  # one warning for each stream is enough
                self._is_told = True
                log.warning("A stream of /v1/%s is not checked in full. %s", self._path, error)
            return ReadEvent(event, is_unreadable=True)
