"""Evidence that the server holds: what was added keeps its id and its text for good.

So an agent cites what is there and cannot pass another text under the same id later. Each session
has a store of its own.
"""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from time import monotonic
from typing import Any

from groundwire.mcp.arguments import MAX_SPANS, CallError

#: What a handle begins with.
HANDLE = "ev_"

NO_SESSION = (
    "This connection has no session. Pass the handle that add_span returned, as evidence; without "
    "one, add_span returns a new one."
)

_MAX_NUMBERINGS = 10_000


class Origin(StrEnum):
    """Where the text of a span comes from."""

    FILE = "held_file"  # the server read it from a file
    TEXT = "held_text"  # it was added as a text
    CALLER = "caller"  # it came with the call, and is held nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in a file a text stands; lines count from 1, both ends included."""

    path: str
    start_line: int
    end_line: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {"path": self.path, "start_line": self.start_line, "end_line": self.end_line}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSpan:
    """One text of evidence, as it will stay.

    Attributes:
        sid: Its id.
        text: The text.
        note: What the agent said about it.
        place: Where it was read; ``None`` if it was added as a text.
    """

    sid: str
    text: str
    note: str = ""
    place: Place | None = None

    @property
    def origin(self) -> Origin:
        """Where its text comes from."""
        return Origin.TEXT if self.place is None else Origin.FILE

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, without the text."""
        return {
            "sid": self.sid,
            "origin": str(self.origin),
            "n_chars": len(self.text),
            "sha256": hashlib.sha256(self.text.encode()).hexdigest(),
            **({"note": self.note} if self.note else {}),
            **(self.place.to_dict() if self.place else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of what is held.

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


class Store:
    """The spans of one session; threads may share it.

    Attributes:
        n_bytes: UTF-8 of its spans.
    """

    def __init__(self, limits: Limits, *, first: int = 0) -> None:
        """Begin empty, with ids from ``S`` and this number on."""
        self._limits, self._first = limits, first
        self._lock = Lock()
        self._spans: dict[str, HeldSpan] = {}
        self.n_bytes = 0

    def add(self, text: str, *, note: str = "", place: Place | None = None) -> HeldSpan:
        """Hold a text; what is held already keeps its id.

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
        with self._lock:
            for known in self._spans.values():
                if (known.text, known.note, known.place) == (text, note, place):
                    return known
            if len(self._spans) >= limits.max_spans:
                raise CallError(f"{limits.max_spans:,} spans are held, and that is the most.")
            if self.n_bytes + n_bytes > limits.max_bytes:
                raise CallError(
                    f"{self.n_bytes:,} bytes are held, this text has {n_bytes:,}, and "
                    f"{limits.max_bytes:,} are the most. Add shorter texts."
                )
            sid = f"S{self.next_number}"
            self._spans[sid] = HeldSpan(sid=sid, text=text, note=note, place=place)
            self.n_bytes += n_bytes
            return self._spans[sid]

    @property
    def next_number(self) -> int:
        """The number of the next id."""
        return self._first + len(self._spans)

    @property
    def spans(self) -> tuple[HeldSpan, ...]:
        """All spans, in the order they were added."""
        with self._lock:
            return tuple(self._spans.values())

    def get(self, sid: str) -> HeldSpan:
        """The span with this id.

        Raises:
            CallError: If there is none.
        """
        found = self._spans.get(sid.strip().removeprefix("[").removesuffix("]"))
        if found is None:
            raise CallError(f"No span {sid[:60]!r} is held. {describe(self._spans)}")
        return found


def describe(sids: Iterable[str]) -> str:
    """Which ids there are, in one sentence."""
    known = list(sids)
    if not known:
        return "None is held: add one with add_span."
    if len(known) <= 2:
        return f"Held: {', '.join(known)}."
    return f"Held: {known[0]} to {known[-1]}."


@dataclass(slots=True)
class _Entry:
    store: Store
    used: float


@dataclass(slots=True)
class Stores:
    """The stores of all sessions.

    Without a session there is a handle: whoever has it sees what is held under it.

    Attributes:
        limits: Bounds of what is held.
        forgets: Whether what is not used is forgotten.
        clock: Seconds, from any moment on.
    """

    limits: Limits = field(default_factory=Limits)
    forgets: bool = True
    clock: Callable[[], float] = monotonic
    _entries: OrderedDict[str, _Entry] = field(default_factory=OrderedDict)
    _numberings: OrderedDict[str, int] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, session: str | None, handle: str | None = None) -> Store | None:
        """The store of a session, or of a handle; ``None`` if nothing is held there yet.

        Raises:
            CallError: If there is a handle, and it is none.
        """
        key = handle if handle is not None else session
        with self._lock:
            self._forget_idle()
            # A session's name is no handle, whoever got to know it.
            is_known = key is not None and (handle is None or handle.startswith(HANDLE))
            entry = self._entries.get(key) if is_known and key is not None else None
            if entry is None or key is None:
                if handle is not None:
                    raise CallError(
                        "Nothing is held under this handle; what is not used for "
                        f"{self.limits.idle_s / 60:g} minutes is forgotten. Add the spans again: "
                        "add_span without evidence gives a new handle."
                    )
                return None
            entry.used = self.clock()
            self._entries.move_to_end(key)
            return entry.store

    def add(
        self,
        text: str,
        *,
        session: str | None,
        handle: str | None = None,
        note: str = "",
        place: Place | None = None,
    ) -> tuple[HeldSpan, str | None]:
        """Hold a text for a session, or under a handle, which is made if there is neither.

        Returns:
            The span, and the handle that it is found with.

        Raises:
            CallError: If the handle is none, or there is no room.
        """
        store = self.of(session, handle)
        self._check_total(len(text.encode()))
        if store is not None:
            return store.add(text, note=note, place=place), handle
        made = f"{HANDLE}{secrets.token_urlsafe(18)}" if session is None else None
        key = made or str(session)
        store = self._open(key)
        try:
            return store.add(text, note=note, place=place), made
        except CallError:
            if made is not None:  # nobody will ever know it
                with self._lock:
                    del self._entries[made]
            raise

    def _open(self, key: str) -> Store:
        with self._lock:
            if key in self._entries:  # another call of the session was faster
                return self._entries[key].store
            if len(self._entries) >= self.limits.max_sessions:
                raise CallError(
                    f"{self.limits.max_sessions:,} sessions hold evidence, and that is the most. "
                    "Pass the spans with the call, or try again later."
                )
            # An id that was given once means one text for as long as the session lasts.
            store = Store(self.limits, first=self._numberings.pop(key, 0))
            self._entries[key] = _Entry(store, self.clock())
            return store

    def _check_total(self, n_bytes: int) -> None:
        with self._lock:
            total = sum(each.store.n_bytes for each in self._entries.values())
        if total + n_bytes > self.limits.max_total_bytes:
            raise CallError(
                f"{total:,} bytes of evidence are held for all sessions, and "
                f"{self.limits.max_total_bytes:,} are the most. Pass the spans with the call, or "
                "try again later."
            )

    def _forget_idle(self) -> None:
        until = self.clock() - self.limits.idle_s
        while self.forgets and self._entries:
            key, oldest = next(iter(self._entries.items()))
            if oldest.used > until:
                break
            del self._entries[key]
            if not key.startswith(HANDLE):
                self._numberings[key] = oldest.store.next_number
        while len(self._numberings) > _MAX_NUMBERINGS:
            self._numberings.popitem(last=False)
