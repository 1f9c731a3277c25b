"""Server-sent events: divides a stream of bytes into events, and encodes events.

The format is that of the HTML standard
(https://html.spec.whatwg.org/multipage/server-sent-events.html, sections 9.2.5 and 9.2.6).
Libraries for this format return only decoded fields, but a proxy has to forward an event byte for
byte.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.errors import GroundwireError

#: Two line ends in a row end an event. The first line end is an atomic group, so that "\r\n"
#: never counts as two line ends.
_BLANK_LINE = re.compile(rb"(?>\r\n|\r|\n)(?:\r\n|\r|\n)")
_LINE_END = re.compile("\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"

#: Matches an event that has only data lines, with the line ends LF or CR LF, as
#: :attr:`ServerSentEvent.is_plain` requires.
_PLAIN = re.compile(rb"(?:data:[^\r\n]*\r?\n)+\r?\n")
#: Character that some readers treat as a line end, against the standard → its escape in JSON.
_OTHER_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_FIELDS = frozenset({"", "data", "event", "id", "retry"})

#: The event that ends a stream of chat completions.
DONE = b"data: [DONE]\n\n"
#: A comment in an event stream, which readers ignore: it keeps the connection open while no event
#: may be sent.
KEEP_ALIVE = b": keep-alive\n\n"


class EventTooLargeError(GroundwireError):
    """An event that has not ended yet has more bytes than the limit."""

    def __str__(self) -> str:
        return (
            f"The upstream sent more than {self.args[0]:,} bytes without ending an event. "
            "Look at what answers there: this is no stream of chat completions."
        )


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One server-sent event.

    Attributes:
        raw: The bytes of the event, with the blank line that ends it.
        data: The values of its ``data`` fields, joined by line feeds; ``None`` if it has no
            ``data`` field. Bytes that are not UTF-8 become U+FFFD, as in the standard.
        is_foreign: Whether the event has a field that is not in the standard.
    """

    raw: bytes
    data: str | None
    is_foreign: bool = False

    @classmethod
    def of(cls, raw: bytes) -> "ServerSentEvent":
        """Read the bytes of one event."""
        text = raw.removeprefix(_BOM).decode("utf-8", "replace")
        found, is_foreign = [], False
        for line in _LINE_END.split(text):
            name, _, value = line.partition(":")
            if name == "data":
                found.append(value.removeprefix(" "))
            is_foreign |= name not in _FIELDS
        return cls(raw, "\n".join(found) if found else None, is_foreign)

    @property
    def is_plain(self) -> bool:
        """Whether every reader gets exactly ``data`` from the bytes.

        The event must have ``data`` lines only, with the line ends LF or CR LF. Its data
        must have no U+0085, U+2028 or U+2029, which some readers treat as line ends, and no U+FFFD,
        which replaces bytes that are not UTF-8.
        """
        if self.data is None or not _PLAIN.fullmatch(self.raw):
            return False
        others = map(chr, (0xFFFD, *_OTHER_LINE_ENDS))
        return self.data.isascii() or not any(each in self.data for each in others)


class EventSplitter:
    """Divides a stream of bytes into events; the pieces that are fed may begin and end anywhere."""

    def __init__(self, *, max_event_bytes: int) -> None:
        """Prepare to divide one stream; ``max_event_bytes`` limits an event that has not ended."""
        self._buffer = bytearray()
        self._searched = 0
        self._max_event_bytes = max_event_bytes

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Take the next bytes of the stream, and return the events that they complete.

        The bytes of all events and of :meth:`finish` together are exactly the bytes of the stream.

        Raises:
            EventTooLargeError: If the event that has not ended yet has too many bytes.
        """
        self._buffer += data
        events, start = [], 0
        while found := _BLANK_LINE.search(self._buffer, max(start, self._searched)):
            events.append(ServerSentEvent.of(bytes(self._buffer[start : found.end()])))
            start = self._searched = found.end()
        del self._buffer[:start]
        # No event ends in the remaining bytes. But the two line ends that end an event have up to
        # four bytes, and the first three of these may be here already, as the last remaining bytes.
        self._searched = max(0, len(self._buffer) - 3)
        if len(self._buffer) > self._max_event_bytes:
            raise EventTooLargeError(self._max_event_bytes)
        return events

    def finish(self) -> bytes:
        """Return the bytes after the last event: an event that has not ended, or nothing."""
        return bytes(self._buffer)


def encode(chunk: Mapping[str, Any]) -> bytes:
    """Return JSON data as the bytes of one event. Line ends in texts are escaped."""
    try:
        said = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
        text = (said if said.isascii() else said.translate(_OTHER_LINE_ENDS)).encode()
    except UnicodeEncodeError:  # a lone surrogate: UTF-8 cannot encode it, but an escape can
        text = json.dumps(chunk, separators=(",", ":")).encode()
    return b"data: " + text + b"\n\n"
