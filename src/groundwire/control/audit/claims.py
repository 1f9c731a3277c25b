"""Statements of signed records about the trail: where chains stood, and what retention removed.

Only signed records count: nobody without a key can explain away a record that is missing.
"""

import hmac
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from groundwire.control.audit.chain import record_mac
from groundwire.control.audit.event import EventType
from groundwire.control.audit.record import AuditRecord, Head
from groundwire.control.store import moments

#: The types of records that make statements about the trail.
TELLING = (EventType.CHAIN_STARTED, EventType.RETENTION_APPLIED)


class Claims:
    """The statements of all records of :data:`TELLING`.

    Attributes:
        seen: Writer → number of a record → its MAC, and the chain that has seen it there.
        removed: Writer → the last record that retention removed.
        details_before: Retention removed details of records before this moment.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Begin without statements; only records count that one of these keys has signed."""
        self._keys = keys
        self.seen: dict[str, dict[int, tuple[str, str]]] = defaultdict(dict)
        self.removed: dict[str, Head] = {}
        self.details_before: datetime | None = None

    def learn(self, record: AuditRecord) -> None:
        """Add what a record says, if it is signed."""
        if signer(record, self._keys) is None:
            return
        payload = json.loads(record.line)["payload"]
        if record.type == EventType.CHAIN_STARTED:
            for head in _heads(payload.get("heads")):
                self.seen[head.writer].setdefault(head.seq, (head.mac, f"chain {record.writer}"))
        elif record.type == EventType.RETENTION_APPLIED:
            self._apply(payload)

    def is_removed(self, writer: str, seq: int) -> bool:
        """Return whether retention removed a chain up to this record, or further."""
        found = self.removed.get(writer)
        return found is not None and found.seq >= seq

    def is_detail_removed(self, record: AuditRecord) -> bool:
        """Return whether retention removed the detail of a record, or is about to."""
        before = self.details_before
        is_old = before is not None and record.moment < moments.of_datetime(before)
        return is_old or self.is_removed(record.writer, record.seq)

    def _apply(self, payload: Mapping[str, Any]) -> None:
        for head in _heads(payload.get("removed")):
            if not self.is_removed(head.writer, head.seq):
                self.removed[head.writer] = head
        if payload.get("details_before") is not None:
            before = datetime.fromisoformat(payload["details_before"])
            self.details_before = max(before, self.details_before or before)


def signer(record: AuditRecord, keys: Sequence[bytes]) -> bytes | None:
    """Return the key that has signed a record; ``None`` if none of them has."""
    for key in keys:
        mac = record_mac(
            key,
            writer=record.writer,
            seq=record.seq,
            previous=record.previous,
            line=record.line,
            detail_sha256=record.detail_sha256,
        )
        if is_same(mac, record.mac):
            return key
    return None


def is_same(ours: str, theirs: str) -> bool:
    """Compare two hashes, in a time that does not depend on where they differ."""
    return hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "surrogatepass"))


def _heads(data: Any) -> Iterable[Head]:  # noqa: ANN401 - JSON
    for each in data or ():
        with suppress(KeyError, TypeError, ValueError):
            yield Head.of(each)
