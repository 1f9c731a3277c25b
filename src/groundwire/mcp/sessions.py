"""Keeps the evidence of each session in a store that other sessions cannot see."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from time import monotonic

from groundwire.mcp.arguments import CallError
from groundwire.mcp.store import EvidenceStore, FileRange, HeldSpan, StoreLimits

#: Prefix of handles, which name the evidence of calls without a session. No session id begins with
#: this prefix.
HANDLE = "ev_"
#: Idle time in seconds after which a session's evidence is deleted to make room for a new session.
#: Room is needed if ``max_sessions`` sessions hold evidence. A session that is idle for so long has
#: probably ended. Nothing is deleted if :attr:`Stores.forgets` is false.
_IDLE_IF_FULL_S = 120.0

NO_SESSION = (
    "This connection has no session. Pass the handle that add_span returned, as evidence; without "
    "one, add_span returns a new one."
)


@dataclass(slots=True)
class Stores:
    """The stores of evidence of all sessions. Threads may share this object.

    For calls without a session, evidence is stored under a handle: a random text that
    :meth:`add` returns, and that later calls pass.

    Attributes:
        limits: Limits of held evidence.
        forgets: Whether evidence is deleted if it is not used for some time.
        clock: Function that returns the time in seconds, from any origin.
    """

    limits: StoreLimits = field(default_factory=StoreLimits)
    forgets: bool = True
    clock: Callable[[], float] = monotonic
    #: Session or handle → its store; the least recently used is the first.
    _stores: OrderedDict[str, EvidenceStore] = field(default_factory=OrderedDict)
    _first: int = 0  # first span number of a new store, above those of deleted sessions
    _lock: RLock = field(default_factory=RLock)

    def of(self, session: str | None, handle: str | None = None) -> EvidenceStore | None:
        """Find the store of a handle or, without a handle, of a session; mark the store as used.

        If :attr:`forgets`, stores that were idle for ``limits.idle_s`` seconds are deleted first.

        Returns:
            The store; ``None`` if the session has no store, or there is neither session nor handle.

        Raises:
            CallError: If there is no store under the handle, or the handle is a session id.
        """
        key = session if handle is None else handle
        with self._lock:
            self._forget_idle(self.limits.idle_s)
            store = None if key is None else self._stores.get(key)
            # A session id must not work as a handle: another client may know it.
            if handle is not None and (store is None or not handle.startswith(HANDLE)):
                raise CallError(
                    "Nothing is held under this handle; what is not used for "
                    f"{self.limits.idle_s / 60:g} minutes is forgotten. Add the spans again: "
                    "add_span without evidence gives a new handle."
                )
            if store is not None and key is not None:
                store.used = self.clock()
                self._stores.move_to_end(key)
            return store

    def add(
        self,
        text: str,
        *,
        session: str | None,
        handle: str | None = None,
        note: str = "",
        place: FileRange | None = None,
    ) -> tuple[HeldSpan, str | None]:
        """Store a text as evidence under a handle, or for a session; else under a new handle.

        If a new store is needed, and there are as many stores as are allowed, stores that were idle
        for two minutes are deleted first. They are not deleted if :attr:`forgets` is false.

        Args:
            text: The text.
            session: Session of the call; ``None`` without one.
            handle: The handle that the call passes; ``None`` without one.
            note: The agent's note on the text.
            place: Lines of a file that the text was read from; ``None`` for other texts.

        Returns:
            The span, and its handle, which is ``None`` if the span is held for the session.

        Raises:
            CallError: If the text is blank or too long, if there is no store under the handle, or
                if there is no room for the text.
        """
        with self._lock:
            store = self.of(session, handle)
            self._check_room(len(text.encode()), is_new=store is None)
            if store is not None:
                return store.add(text, note=note, place=place), handle
            made = f"{HANDLE}{secrets.token_urlsafe(18)}" if session is None else None
            key = made or str(session)
            # If the store of this session was deleted, the ids of its spans must not be used for
            # other texts. So the new ids begin above the span ids of all deleted sessions.
            store = EvidenceStore(self.limits, first=self._first, used=self.clock())
            span = store.add(text, note=note, place=place)
            self._stores[key] = store
            return span, made

    def _check_room(self, n_bytes: int, *, is_new: bool) -> None:
        total = sum(each.n_bytes for each in self._stores.values())
        if is_new and len(self._stores) >= self.limits.max_sessions:
            self._forget_idle(_IDLE_IF_FULL_S)
        if is_new and len(self._stores) >= self.limits.max_sessions:
            full = f"{self.limits.max_sessions:,} sessions hold evidence, and that is the most"
        elif total + n_bytes > self.limits.max_total_bytes:
            full = (
                f"{total:,} bytes of evidence are held for all sessions, and "
                f"{self.limits.max_total_bytes:,} are the most"
            )
        else:
            return
        raise CallError(f"{full}. Pass the spans with the call, or try again later.")

    def _forget_idle(self, idle_s: float) -> None:
        until = self.clock() - idle_s
        while self.forgets and self._stores:
            key, oldest = next(iter(self._stores.items()))
            if oldest.used > until:
                break
            del self._stores[key]
            if not key.startswith(HANDLE):
                self._first = max(self._first, oldest.next_number)
