"""Collects what records state about the trail itself: the ends of other chains, and removals.

Only signed records count, so nobody without a key can pretend that retention, the removal of
expired records, has removed a record.
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

#: The types of records that make statements about the trail itself.
TELLING = (EventType.CHAIN_STARTED, EventType.RETENTION_APPLIED)


class Statements:
    """Statements about the trail itself, collected from signed records.

    Attributes:
        seen: The records that other chains name in their first records. Id of the named record's
            chain → number of the record → the MAC that is stated for it, and ``chain ID`` with the
            id of the chain that states it.
        removed: Id of a chain → the last record that retention may have removed from the chain.
        details_before: Retention may have removed the details of records from before this moment;
            ``None``: it removed details only with their records.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Begin with nothing known. Records that none of ``keys`` has signed are ignored."""
        self._keys = keys
        self.seen: dict[str, dict[int, tuple[str, str]]] = defaultdict(dict)
        self.removed: dict[str, Head] = {}
        self.details_before: datetime | None = None

    def learn(self, record: AuditRecord) -> None:
        """Add what a record states about the trail, if one of the keys has signed the record."""
        if signer(record, self._keys) is None:
            return
        payload = json.loads(record.line)["payload"]
        if record.type == EventType.CHAIN_STARTED:
            for head in _heads(payload.get("heads")):
                self.seen[head.writer].setdefault(head.seq, (head.mac, f"chain {record.writer}"))
        elif record.type == EventType.RETENTION_APPLIED:
            self._apply(payload)

    def is_removed(self, writer: str, seq: int) -> bool:
        """Return whether retention has announced the removal of a record of a chain."""
        found = self.removed.get(writer)
        return found is not None and found.seq >= seq

    def is_detail_removed(self, record: AuditRecord) -> bool:
        """Return whether retention has announced the removal of the detail of a record."""
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
    """Return the key that has signed a record; ``None`` if none of ``keys`` has."""
    return next((key for key in keys if is_same(record_mac(key, record), record.mac)), None)


def is_same(ours: str, theirs: str) -> bool:
    """Return whether two hashes are equal; the time does not depend on where they differ."""
    return hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "surrogatepass"))


def _heads(data: Any) -> Iterable[Head]:  # noqa: ANN401 - any JSON data
    for each in data or ():
        with suppress(KeyError, TypeError, ValueError):
            yield Head.of(each)
