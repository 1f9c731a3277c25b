"""Verifies the trail in a store as it is at one moment, even while gateways write."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from sqlalchemy import RowMapping, Select, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import AuditRecord
from groundwire.control.audit.statements import TELLING
from groundwire.control.audit.verdict import TamperKind, TrailVerdict
from groundwire.control.audit.verify import TrailVerifier
from groundwire.control.store import Store
from groundwire.control.store.tables import OWN_DETAIL, audit_details, audit_records, audit_writers

#: The number of rows of the trail that are read from the database at a time.
_BATCH = 1000


async def verify_store(store: Store, keys: Sequence[bytes]) -> TrailVerdict:
    """Verify the trail in an open store; ``keys`` are those that may have signed its chains.

    Records are verified in a thread, so the event loop stays free.

    Raises:
        StoreError: If the database cannot be read.
    """
    verifier = TrailVerifier(keys)
    async with store.reading() as connection:
        found = await connection.execute(select(audit_writers).order_by(audit_writers.c.writer))
        ends = [(HeadRow.read(row), row) for row in found.mappings()]
        for end, row in ends:
            if end is None:
                verifier.find(TamperKind.HEAD, _unreadable(audit_writers, row))
        for record in await telling(connection):
            verifier.learn(record)
        async for batch in _batches(connection, _records()):
            await asyncio.to_thread(_feed, verifier, batch)
    return verifier.finish([end for end, _ in ends if end is not None])


async def telling(connection: AsyncConnection) -> Sequence[AuditRecord]:
    """Return all readable records of the types in :data:`.TELLING`."""
    query = _records().where(audit_records.c.type.in_(TELLING))
    rows = [row async for batch in _batches(connection, query) for row in batch]
    return [record for record in map(AuditRecord.read, rows) if record is not None]


def _records() -> Select[Any]:
    """Select all records with their details, chain by chain."""
    records = select(audit_records, audit_details.c.detail).outerjoin_from(
        audit_records, audit_details, OWN_DETAIL
    )
    return records.order_by(audit_records.c.writer, audit_records.c.seq)


async def _batches(
    connection: AsyncConnection, query: Select[Any]
) -> AsyncIterator[Sequence[RowMapping]]:
    """Yield the rows of a query in batches of at most :data:`_BATCH` rows."""
    async with connection.stream(query.execution_options(yield_per=_BATCH)) as found:
        async for batch in found.mappings().partitions():
            yield batch


def _feed(verifier: TrailVerifier, batch: Sequence[RowMapping]) -> None:
    for row in batch:
        record = AuditRecord.read(row)
        if record is None:
            verifier.find(TamperKind.EDITED, _unreadable(audit_records, row))
        else:
            verifier.feed(record)


def _unreadable(table: Table, row: RowMapping) -> str:
    place = f"{row['writer']!r:.40}, {row['seq']!r:.40}"
    return f"a row of {table.name} has values of another kind: {place}"
