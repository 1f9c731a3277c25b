"""Stores with a trail in them: chains as the audit log makes them, at moments of one's choice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, select

from groundwire.control.audit.chain import Chain, ended
from groundwire.control.audit.event import NO_TENANT, AuditEvent, EventType
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import AuditRecord
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_details, audit_records, audit_writers

KEY = b"0123456789abcdef0123456789abcdef"
START = datetime(2026, 3, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds after the start of all that is made here."""
    return START + timedelta(seconds=seconds)


def made(
    seconds: float = 0,
    type_: str = EventType.CHECK_INCOMPLETE,
    *,
    tenant: str = "acme",
    trace_id: str = "t1",
    detail: Mapping[str, Any] | None = None,
    **payload: Any,  # noqa: ANN401 - JSON
) -> AuditEvent:
    """An event."""
    return AuditEvent(
        type=EventType(type_),
        tenant=tenant,
        trace_id=trace_id,
        payload=payload,
        timestamp=at(seconds),
        detail=detail,
    )


class Written:
    """One chain, as its writer leaves it in the store. It can say what goes, as an audit log.

    Attributes:
        now: When what it settles happens.
    """

    def __init__(self, store: Store, *, writer: str | None = None) -> None:
        """Begin one; ``writer`` is its name, new if there is none."""
        self._store, self.now = store, 0.0
        self.chain = Chain.new(KEY) if writer is None else Chain(writer, KEY)
        self.started_at: int | None = None

    @property
    def writer(self) -> str:
        """Whose it is."""
        return self.chain.writer

    async def start(self, seconds: float) -> AuditRecord:
        """Write its first record, which names the ends of others."""
        async with self._store.reading() as connection:
            found = await connection.execute(select(audit_writers))
            rows = [HeadRow.read(row) for row in found.mappings()]
        heads = [row.head for row in rows if row is not None]
        (record,) = await self.add(_moved(self.chain.started(heads), seconds))
        return record

    async def settle(self, events: Sequence[AuditEvent]) -> bool:
        """Write events as of now."""
        await self.add(*(_moved(event, self.now) for event in events))
        return True

    async def add(self, *events: AuditEvent) -> list[AuditRecord]:
        """Write events."""
        records = [self.chain.link(event) for event in events]
        if records:
            await self._keep(records, ended_at=None)
        return records

    async def end(self, seconds: float) -> AuditRecord:
        """Write its last record."""
        record = self.chain.link(_moved(ended(n_lost=0), seconds))
        await self._keep([record], ended_at=record.moment)
        return record

    async def _keep(self, records: Sequence[AuditRecord], *, ended_at: int | None) -> None:
        if self.started_at is None:
            self.started_at = records[0].moment
        head = HeadRow.signed(KEY, records[-1].head, started_at=self.started_at, ended_at=ended_at)
        await keep(self._store, records)
        async with self._store.writing() as connection:
            await connection.execute(
                delete(audit_writers).where(audit_writers.c.writer == self.writer)
            )
            await connection.execute(insert(audit_writers), [asdict(head)])


async def keep(store: Store, records: Iterable[AuditRecord]) -> None:
    """Put records and their details into the tables."""
    rows = [asdict(record) for record in records]
    details = [row for row in rows if row["detail"] is not None]
    async with store.writing() as connection:
        if rows:
            plain = [_without(row, "detail") for row in rows]
            await connection.execute(insert(audit_records), plain)
        if details:
            names = ("writer", "seq", "moment", "detail")
            kept = [{name: row[name] for name in names} for row in details]
            await connection.execute(insert(audit_details), kept)


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _moved(event: AuditEvent, seconds: float) -> AuditEvent:
    return AuditEvent(
        type=event.type, tenant=NO_TENANT, trace_id="", payload=event.payload, timestamp=at(seconds)
    )
