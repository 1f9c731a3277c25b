"""Evidence that the server holds. A span keeps its id and its text for good.

An agent that cites a span cannot pass another text under the same id later.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from groundwire.mcp.arguments import MAX_SPANS, CallError


class SpanOrigin(StrEnum):
    """Origin of the text of a span."""

    FILE = "held_file"  # the server read it from a file
    TEXT = "held_text"  # it was added as a text
    CALLER = "caller"  # it came with the call, and is held nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRange:
    """Lines of a file, counted from 1, both ends included."""

    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSpan:
    """One text of evidence, which never changes.

    Attributes:
        sid: Its id.
        text: The text.
        note: Note of the agent.
        place: Lines that it was read from; ``None`` if it was added as a text.
    """

    sid: str
    text: str
    note: str = ""
    place: FileRange | None = None

    @property
    def origin(self) -> SpanOrigin:
        """Origin of its text."""
        return SpanOrigin.TEXT if self.place is None else SpanOrigin.FILE

    def to_dict(self) -> dict[str, Any]:
        """The span as JSON data, without its text."""
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
        sid: Its id.
        score: Score of the match, 0 or more, comparable within one search.
        start: Start of its line that says most about the query.
        end: End of that line.
        line: The line.
    """

    sid: str
    score: float
    start: int
    end: int
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """Bounds of held evidence.

    Attributes:
        max_spans: Spans of a session.
        max_span_chars: Characters of a span.
        max_bytes: UTF-8 of a session's spans.
        max_total_bytes: UTF-8 of all spans.
        max_sessions: Sessions that hold something.
        idle_s: Seconds without use after which a session's spans are forgotten.
    """

    max_spans: int = MAX_SPANS
    max_span_chars: int = 200_000
    max_bytes: int = 4_000_000
    max_total_bytes: int = 256_000_000
    max_sessions: int = 1_000
    idle_s: float = 1800.0


class EvidenceStore:
    """The spans of one session.

    Attributes:
        n_bytes: Size of its spans in bytes of UTF-8.
    """

    def __init__(self, limits: StoreLimits, *, first: int = 0) -> None:
        """Begin empty, with ids from ``S`` and this number on."""
        self._limits, self._first = limits, first
        self._spans: dict[str, HeldSpan] = {}
        self.n_bytes = 0

    def add(self, text: str, *, note: str = "", place: FileRange | None = None) -> HeldSpan:
        """Hold a text; a text that is held already keeps its id.

        Raises:
            CallError: If there is no room for it, or it says nothing.
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
        """The number of the next id."""
        return self._first + len(self._spans)

    @property
    def spans(self) -> tuple[HeldSpan, ...]:
        """All spans, in the order they were added."""
        return tuple(self._spans.values())

    def get(self, sid: str) -> HeldSpan:
        """Find the span with an id.

        Raises:
            CallError: If there is none.
        """
        found = self._spans.get(sid.strip().removeprefix("[").removesuffix("]"))
        if found is None:
            raise CallError(f"No span {sid[:60]!r} is held. {describe(self._spans)}")
        return found


def describe(sids: Iterable[str]) -> str:
    """Describe in one sentence which ids there are."""
    known = list(sids)
    if not known:
        return "None is held: add one with add_span."
    if len(known) <= 2:
        return f"Held: {', '.join(known)}."
    return f"Held: {known[0]} to {known[-1]}."
