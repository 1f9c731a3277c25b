"""A chain of records: each is signed together with the signature of the one before it.

Who can write to the database or the file, and has not the key, can make no record, and can change,
remove or move none without a trace. What is signed begins with what it is, and names the length of
each part, so that no two different things are signed as the same bytes.
"""

import hmac
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

from groundwire import __version__
from groundwire.control.audit.event import NO_TENANT, AuditEvent, EventType, moment_text
from groundwire.control.audit.record import NOTHING, AuditRecord, Draft, Head

_RECORD = b"groundwire audit record 1"
_HEAD = b"groundwire audit head 1"
_ANCHORS = b"groundwire audit anchors 1"
_KEY = b"groundwire audit key 1"


class Chain:
    """The chain of one writer: one audit log of one start of a process."""

    def __init__(self, writer: str, key: bytes) -> None:
        """Begin one.

        Args:
            writer: 32 hexadecimal digits that no other chain has.
            key: What signs it.
        """
        self._key = key
        self.head = Head(writer=writer, seq=0, mac=NOTHING)

    @classmethod
    def new(cls, key: bytes) -> "Chain":
        """Begin one with a new writer."""
        return cls(uuid4().hex, key)

    @property
    def writer(self) -> str:
        """Whose chain it is."""
        return self.head.writer

    def started(self, heads: Sequence[Head]) -> AuditEvent:
        """Its first event: it names where others stand, which proves their ends.

        Args:
            heads: Those that no other chain has named yet.
        """
        named = [each.to_dict() for each in heads]
        own = {"groundwire": __version__, "key": key_id(self._key), "heads": named}
        return _own(EventType.CHAIN_STARTED, own)

    def link(self, event: AuditEvent) -> AuditRecord:
        """The event as the next record.

        Raises:
            TypeError: If the event is no JSON data: then the chain is as it was.
            ValueError: The same.
        """
        return self.add(Draft.of(event))

    def add(self, draft: Draft) -> AuditRecord:
        """The next record, of an event that is written down."""
        digest = None if draft.detail is None else detail_sha256(draft.detail)
        writer, seq, previous = self.writer, self.head.seq + 1, self.head.mac
        mac = record_mac(
            self._key,
            writer=writer,
            seq=seq,
            previous=previous,
            line=draft.line,
            detail_sha256=digest,
        )
        self.head = Head(writer=writer, seq=seq, mac=mac)
        return AuditRecord(
            writer=writer,
            seq=seq,
            **draft.columns,
            line=draft.line,
            detail=draft.detail,
            detail_sha256=digest,
            previous=previous,
            mac=mac,
        )


def detail_sha256(detail: str) -> str:
    """The hash of a detail, which its record has."""
    return sha256(detail.encode("utf-8", "surrogatepass")).hexdigest()


def record_mac(
    key: bytes, *, writer: str, seq: int, previous: str, line: str, detail_sha256: str | None
) -> str:
    """What signs a record: HMAC-SHA256, in hexadecimal digits."""
    return _mac(key, _RECORD, writer, str(seq), previous, line, _optional(detail_sha256))


def head_mac(
    key: bytes, head: Head, *, started_at: int, ended_at: int | None, named_by: str | None
) -> str:
    """What signs a row of ``audit_writers``.

    With it nobody can say that a chain ends earlier, but by putting back a row of an earlier time.
    """
    others = (str(started_at), _optional(ended_at), _optional(named_by))
    return _mac(key, _HEAD, *_parts(head), *others)


def anchors_mac(key: bytes, heads: Sequence[Head]) -> str:
    """What signs a file of anchors."""
    return _mac(key, _ANCHORS, *(part for each in heads for part in _parts(each)))


def key_id(key: bytes) -> str:
    """What a key is called, which tells nothing of it."""
    return _mac(key, _KEY)[:8]


def ended(*, n_lost: int) -> AuditEvent:
    """The last event of a chain that ended in order; without it, its process was killed.

    Args:
        n_lost: Events that were given up.
    """
    return _own(EventType.CHAIN_ENDED, {"lost": n_lost})


def retention_applied(removed: Sequence[Head], *, details_before: datetime | None) -> AuditEvent:
    """What is to be on disk before records or details are removed, so that verify expects it.

    A later one removes the record of this one too. What this one says of chains that still have a
    row is to be said again then (:class:`~groundwire.control.audit.claims.Claims` reads it). The
    row of a chain that ended and is removed as a whole goes with it.

    Args:
        removed: Up to which record, that one included, each chain loses its beginning.
        details_before: Details of records that are older than this are removed; ``None``: none are.
    """
    before = None if details_before is None else moment_text(details_before)
    return _own(
        EventType.RETENTION_APPLIED,
        {"removed": [each.to_dict() for each in removed], "details_before": before},
    )


def _own(type_: EventType, payload: dict[str, Any]) -> AuditEvent:
    return AuditEvent(type=type_, tenant=NO_TENANT, trace_id="", payload=payload)


def _optional(value: object) -> str:
    return "" if value is None else f"={value}"


def _parts(head: Head) -> tuple[str, str, str]:
    return head.writer, str(head.seq), head.mac


def _mac(key: bytes, what: bytes, *parts: str) -> str:
    # What was changed in a database may be any text, halves of surrogate pairs included.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    message = b"".join(
        [what, b"\0", *(b"%d:%b" % (len(part), part) for part in encoded)],
    )
    return hmac.digest(key, message, "sha256").hex()
