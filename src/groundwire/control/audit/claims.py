"""What a trail says about itself: which ends its chains have seen, and what retention removed.

A record that says so counts if it is signed: nobody without a key can excuse what is missing.
"""

import hmac
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from groundwire.control.audit.chain import record_mac
from groundwire.control.audit.event import EventType
from groundwire.control.audit.record import AuditRecord, Head
from groundwire.control.store import moments

#: The types of records that say something about the trail.
TELLING = (EventType.CHAIN_STARTED, EventType.RETENTION_APPLIED)


@dataclass(frozen=True, slots=True)
class SeenHead:
    """That somebody has seen a chain reach a record.

    Attributes:
        mac: Of the record.
        by: Who, for people.
    """

    mac: str
    by: str


class Claims:
    """What the records of :data:`TELLING` say, and anchors."""

    def __init__(self, keys: Sequence[bytes], anchors: Sequence[Head]) -> None:
        """Begin with anchors.

        Args:
            keys: What records may be signed with.
            anchors: Where chains stood at an earlier time.
        """
        self._keys = keys
        # Writer → number of a record → who has seen it.
        self.seen: dict[str, dict[int, SeenHead]] = defaultdict(dict)
        # Writer → the last record that retention removed.
        self.removed: dict[str, Head] = {}
        self._details_before: int | None = None
        for head in anchors:
            self._see(head, "an anchor")

    def learn(self, record: AuditRecord) -> None:
        """Take what a record says, if it is signed."""
        if signer(record, self._keys) is None:
            return
        payload = json.loads(record.line)["payload"]
        if record.type == EventType.CHAIN_STARTED:
            for head in _heads(payload.get("heads")):
                self._see(head, f"chain {record.writer}")
        elif record.type == EventType.RETENTION_APPLIED:
            self._apply(payload)

    def seen_at(self, head: Head) -> SeenHead | None:
        """Who has seen the record of this number, whatever it was then."""
        return self.seen[head.writer].get(head.seq) if head.writer in self.seen else None

    def is_removed(self, writer: str, seq: int) -> bool:
        """Whether retention removed all of a chain up to a record."""
        found = self.removed.get(writer)
        return found is not None and found.seq >= seq

    def is_detail_removed(self, record: AuditRecord) -> bool:
        """Whether retention removed the detail of a record."""
        return self._details_before is not None and record.moment < self._details_before

    def _see(self, head: Head, by: str) -> None:
        self.seen[head.writer].setdefault(head.seq, SeenHead(head.mac, by))

    def _apply(self, payload: Mapping[str, Any]) -> None:
        for head in _heads(payload.get("removed")):
            if not self.is_removed(head.writer, head.seq):
                self.removed[head.writer] = head
        if payload.get("details_before") is not None:
            before = moments.of_datetime(datetime.fromisoformat(payload["details_before"]))
            self._details_before = max(before, self._details_before or before)


def signer(record: AuditRecord, keys: Sequence[bytes]) -> bytes | None:
    """Which key has signed a record; ``None`` if none of them has."""
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
    """Whether two hashes are one; how long that takes does not depend on how much of it is."""
    return hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "surrogatepass"))


def _heads(data: Any) -> Iterable[Head]:  # noqa: ANN401 - JSON
    for each in data or ():
        with suppress(KeyError, TypeError, ValueError):
            yield Head.of(each)
