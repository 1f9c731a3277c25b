"""Stores records, details and the ends of chains, in one transaction for each batch."""

import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.audit.event import EventType
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.own_trail import check_own
from groundwire.control.audit.record import AuditRecord, Head
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_details, audit_records, audit_writers

log = logging.getLogger(__name__)

#: A new chain names the last records of at most this many other chains: those that started last.
MAX_NAMED = 200

_COLUMNS = tuple(column.name for column in audit_records.columns)

# Built once, because building a statement takes long.
_ADD_RECORDS, _ADD_DETAILS = insert(audit_records), insert(audit_details)


class StoreSink:
    """A sink that stores records in a database."""

    def __init__(
        self, store: Store, keys: Sequence[bytes], *, refuses_foreign: bool = False
    ) -> None:
        """Prepare the sink; it connects when it is first used.

        Args:
            store: The database, opened and used by this sink alone.
            keys: The keys that may have signed chains; the first one signs the ends of chains.
            refuses_foreign: Whether the sink refuses a trail if none of the keys has signed any of
                its chains.
        """
        self._store, self._keys, self._refuses_foreign = store, keys, refuses_foreign
        # Whether the last transaction failed, so that it is unknown if its records are stored.
        self._is_unsure = False
        self._started_at = 0

    async def heads(self) -> Sequence[Head]:
        """Return the last records of other chains; the chain that started last comes first.

        Only the :data:`MAX_NAMED` chains that started last are considered. Of these, a chain is
        left out if none of the keys has signed its row in ``audit_writers``.

        Raises:
            ForeignTrailError: If the sink refuses the trail that is in the database.
            StoreError: If the database fails.
        """
        await self._store.open()
        async with self._store.reading() as connection:
            if self._refuses_foreign:
                await check_own(connection, self._keys)
            latest = select(audit_writers).order_by(audit_writers.c.started_at.desc())
            found = await connection.execute(latest.limit(MAX_NAMED))
            rows = [HeadRow.read(row) for row in found.mappings()]
        genuine = [row.head for row in rows if row is not None and row.is_signed(self._keys)]
        if len(genuine) < len(rows):
            # A changed row must not be returned: the new chain's first record, which names all
            # returned ends, would confirm the change by its signature.
            log.error(
                "%d chains of the audit trail have an end that none of our keys has signed: run "
                "groundwire audit verify",
                len(rows) - len(genuine),
            )
        return genuine

    async def append(self, records: Sequence[AuditRecord]) -> None:
        """Store records that are not stored yet, and the end of their chain, in one transaction.

        Raises:
            StoreError: If the database fails.
        """
        is_unsure, self._is_unsure = self._is_unsure, True
        async with self._store.writing() as connection:
            if is_unsure:
                records = await _missing(connection, records)
            if records:
                await self._insert(connection, records)
        self._is_unsure = False

    async def close(self) -> None:
        """Close the database."""
        await self._store.close()

    async def _insert(self, connection: AsyncConnection, records: Sequence[AuditRecord]) -> None:
        await connection.execute(_ADD_RECORDS, [_row(each, *_COLUMNS) for each in records])
        details = [each for each in records if each.detail is not None]
        if details:
            names = ("writer", "seq", "moment", "detail")
            await connection.execute(_ADD_DETAILS, [_row(each, *names) for each in details])
        first, last = records[0], records[-1]
        if first.seq == 1:
            self._started_at = first.moment
        ended_at = last.moment if last.type == EventType.CHAIN_ENDED else None
        row = asdict(
            HeadRow.signed(self._keys[0], last.head, started_at=self._started_at, ended_at=ended_at)
        )
        own = update(audit_writers).where(audit_writers.c.writer == last.writer)
        if (await connection.execute(own.values(row))).rowcount == 0:
            await connection.execute(insert(audit_writers).values(row))


async def _missing(
    connection: AsyncConnection, records: Sequence[AuditRecord]
) -> Sequence[AuditRecord]:
    """Return the records that are not in the database yet."""
    columns = audit_records.c
    found = await connection.execute(
        select(columns.seq, columns.mac)
        .where(columns.writer == records[0].writer)
        .where(columns.seq >= records[0].seq)
    )
    kept = {(seq, mac) for seq, mac in found}
    return [each for each in records if (each.seq, each.mac) not in kept]


def _row(record: AuditRecord, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}
