"""A chain of records, each of which is signed together with the signature of the record before.

Without the key, nobody can make a valid record, nor change, move or remove records unnoticed. There
is one exception: the chain itself does not show that its last records were removed. The signed
bytes begin with their purpose and contain the length of each signed value. So two records with
different signed values never have the same signed bytes. The same is true of two rows of
``audit_writers`` (the table of the chains' ends).
"""

import hmac
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

from groundwire import __version__
from groundwire.control.audit.event import NO_TENANT, AuditEvent, EventType, moment_text
from groundwire.control.audit.record import NOTHING, AuditRecord, Draft, Head

_RECORD = b"groundwire audit record 1"
_HEAD = b"groundwire audit head 2"
_KEY = b"groundwire audit key 1"


class Chain:
    """The chain of the records that one :class:`.AuditLog` writes.

    The audit trail consists of the chains of all logs that have written to it.
    """

    def __init__(self, writer: str, key: bytes) -> None:
        """Begin a chain whose id is ``writer``: 32 hexadecimal digits that no other chain has."""
        self._key = key
        self.head = Head(writer=writer, seq=0, mac=NOTHING)

    @classmethod
    def new(cls, key: bytes) -> "Chain":
        """Begin a chain with a random id."""
        return cls(uuid4().hex, key)

    @property
    def writer(self) -> str:
        """The id of the chain."""
        return self.head.writer

    def started(self, heads: Sequence[Head]) -> AuditEvent:
        """Return the first event of the chain.

        The event names the last records of other chains, so that nobody can remove these records
        unnoticed.
        """
        named = [each.to_dict() for each in heads]
        own = {"groundwire": __version__, "key": key_id(self._key), "heads": named}
        return _own(EventType.CHAIN_STARTED, own)

    def link(self, event: AuditEvent) -> AuditRecord:
        """Append an event, and return its record.

        Raises:
            TypeError, ValueError, RecursionError: If the event is not JSON data.
        """
        return self.add(Draft.of(event))

    def add(self, draft: Draft) -> AuditRecord:
        """Append an event that is serialized already, and return its record."""
        unsigned = AuditRecord(
            writer=self.writer,
            seq=self.head.seq + 1,
            **draft.columns,
            line=draft.line,
            detail=draft.detail,
            detail_sha256=None if draft.detail is None else detail_sha256(draft.detail),
            previous=self.head.mac,
            mac="",
        )
        record = replace(unsigned, mac=record_mac(self._key, unsigned))
        self.head = record.head
        return record


def detail_sha256(detail: str) -> str:
    """Return the SHA-256, in hexadecimal digits, of an event's detail, which is a JSON text."""
    return sha256(detail.encode("utf-8", "surrogatepass")).hexdigest()


def record_mac(key: bytes, record: AuditRecord) -> str:
    """Return the MAC that a record must have: HMAC-SHA256, in hexadecimal digits."""
    place = (record.writer, str(record.seq), record.previous)
    return _mac(key, _RECORD, *place, record.line, _optional(record.detail_sha256))


def head_mac(key: bytes, head: Head, *, started_at: int, ended_at: int | None) -> str:
    """Return the MAC of a row of the table ``audit_writers``: the row says where a chain ends.

    Without the key, nobody can make a chain seem to end earlier, except by restoring an older row.
    """
    place = (head.writer, str(head.seq), head.mac)
    return _mac(key, _HEAD, *place, str(started_at), _optional(ended_at))


def key_id(key: bytes) -> str:
    """Return the public id of a key, from which nobody can compute the key."""
    return _mac(key, _KEY)[:8]


def ended(*, n_lost: int) -> AuditEvent:
    """Return the last event of a chain that ends normally, with the number of unrecorded events."""
    return _own(EventType.CHAIN_ENDED, {"lost": n_lost})


def retention_applied(removed: Sequence[Head], *, details_before: datetime | None) -> AuditEvent:
    """Return the event that announces a removal of old records or details.

    Args:
        removed: For each chain that the event names, the last record that is removed; all records
            of the chain before this record are removed as well.
        details_before: Details of records before this moment are removed; ``None``: details are
            removed only with their records.
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


def _mac(key: bytes, what: bytes, *parts: str) -> str:
    # surrogatepass: a text that somebody put into the database may have lone surrogates.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    message = b"".join([what, b"\0", *(b"%d:%b" % (len(part), part) for part in encoded)])
    return hmac.digest(key, message, "sha256").hex()
