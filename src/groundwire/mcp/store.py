"""Stores the held evidence of one session as spans, whose ids and texts never change.

Held evidence is evidence that the server keeps for later calls.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from groundwire.mcp.arguments import MAX_SPANS, CallError


class SpanOrigin(StrEnum):
    """The origin of a span's text."""

    FILE = "held_file"  # the server read the text from a file
    TEXT = "held_text"  # an agent added the text
    CALLER = "caller"  # the text came with the call, and is not stored


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRange:
    """A range of lines of a file, counted from 1; ``end_line`` is included."""

    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSpan:
    """A text of evidence that the server holds.

    Attributes:
        sid: Id of the span, such as ``S0``.
        text: The text.
        note: The agent's note on the text; may be empty.
        place: Lines of a file that the text was read from; ``None`` if an agent added the text.
    """

    sid: str
    text: str
    note: str = ""
    place: FileRange | None = None

    @property
    def origin(self) -> SpanOrigin:
        """The origin of the text: a file that the server read, or an agent."""
        return SpanOrigin.TEXT if self.place is None else SpanOrigin.FILE

    def to_dict(self) -> dict[str, Any]:
        """Return the span as JSON data, without its text."""
        return {
            "sid": self.sid,
            "origin": str(self.origin),
            "n_chars": len(self.text),
            "sha256": hashlib.sha256(self.text.encode()).hexdigest(),
            **({"note": self.note} if self.note else {}),
            **(asdict(self.place) if self.place else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A span that shares words with a query.

    Attributes:
        sid: Id of the span.
        score: Score of the match, 0 or more; comparable only with other hits of the same search.
        start: Start, in the span's text, of the line that is shown for the span.
        end: End of that line.
        line: The text of that line; its beginning if it is long.
    """

    sid: str
    score: float
    start: int
    end: int
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """Limits of held evidence. For calls without a session, a handle counts as the session.

    Attributes:
        max_spans: Limit on the spans of a session.
        max_span_chars: Limit on the characters of a span.
        max_bytes: Limit on the bytes (UTF-8) of all spans of a session together.
        max_total_bytes: Limit on the bytes (UTF-8) of all spans of all sessions together.
        max_sessions: Limit on the sessions that hold evidence at the same time.
        idle_s: Seconds without use after which a session's spans may be deleted. The spans may be
            deleted sooner if ``max_sessions`` sessions hold evidence and another session adds some.
    """

    max_spans: int = MAX_SPANS
    max_span_chars: int = 200_000
    max_bytes: int = 4_000_000
    max_total_bytes: int = 256_000_000
    max_sessions: int = 1_000
    idle_s: float = 1800.0


class EvidenceStore:
    """The held spans of one session or handle.

    Attributes:
        n_bytes: Size of all spans in bytes of UTF-8.
        used: Time of the last use, in seconds from any origin.
    """

    def __init__(self, limits: StoreLimits, *, first: int = 0, used: float = 0.0) -> None:
        """Make an empty store; the id of its first span will be ``S`` followed by ``first``."""
        self._limits, self._first, self.used = limits, first, used
        self._spans: dict[str, HeldSpan] = {}
        self.n_bytes = 0

    def add(self, text: str, *, note: str = "", place: FileRange | None = None) -> HeldSpan:
        """Hold a text as a span; if a span has the same text, note and place, return that span.

        Raises:
            CallError: If the text is blank or too long, or there is no room for it.
        """
        if not text.strip():
            raise CallError("The text is blank, so it is no evidence. Nothing was added.")
        limits, n_bytes = self._limits, len(text.encode())
        if len(text) > limits.max_span_chars:
            raise CallError(
                f"The text has {len(text):,} characters, and a span has at most "
                f"{limits.max_span_chars:,}. Add the parts that matter."
            )
        for known in self.spans:
            if (known.text, known.note, known.place) == (text, note, place):
                return known
        if len(self._spans) >= limits.max_spans:
            raise CallError(f"{limits.max_spans:,} spans are held, and that is the most.")
        if self.n_bytes + n_bytes > limits.max_bytes:
            raise CallError(
                f"{self.n_bytes:,} bytes are held, this text has {n_bytes:,}, and "
                f"{limits.max_bytes:,} are the most. Add shorter texts."
            )
        span = HeldSpan(sid=f"S{self.next_number}", text=text, note=note, place=place)
        self._spans[span.sid] = span
        self.n_bytes += n_bytes
        return span

    @property
    def next_number(self) -> int:
        """The number in the id of the next span."""
        return self._first + len(self._spans)

    @property
    def spans(self) -> tuple[HeldSpan, ...]:
        """All spans, in the order they were added."""
        return tuple(self._spans.values())

    def get(self, sid: str) -> HeldSpan:
        """Find the span with an id, which may stand in brackets.

        Raises:
            CallError: If no span has this id.
        """
        found = self._spans.get(sid.strip().removeprefix("[").removesuffix("]"))
        if found is None:
            raise CallError(f"No span {sid[:60]!r} is held. {describe(self._spans)}")
        return found


def describe(sids: Iterable[str]) -> str:
    """List the ids of held spans in a sentence; of more than two, only the first and the last."""
    known = list(sids)
    if not known:
        return "None is held: add one with add_span."
    if len(known) <= 2:
        return f"Held: {', '.join(known)}."
    return f"Held: {known[0]} to {known[-1]}."
