"""The store as the place of an audit log: records, details and heads, one transaction a batch."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.audit.event import EventType
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.own_trail import check_own
from groundwire.control.audit.record import AuditRecord, Head
from groundwire.control.store import Store, StoreError
from groundwire.control.store.tables import audit_details, audit_records, audit_writers

log = logging.getLogger(__name__)

T = TypeVar("T")

_COLUMNS = tuple(column.name for column in audit_records.columns)

# Made once: to put a statement together takes longer than to run it.
_ADD_RECORDS, _ADD_DETAILS = insert(audit_records), insert(audit_details)
_ADD_ROW = insert(audit_writers)
_PUT_ROW = (
    update(audit_writers)
    .where(audit_writers.c.writer == bindparam("of"))
    .values({column.name: bindparam(column.name) for column in audit_writers.columns})
)
# Of a chain that has gone on meanwhile, this end is none any more.
_NAME_ROW = (
    update(audit_writers)
    .where(audit_writers.c.writer == bindparam("of"))
    .where(audit_writers.c.seq == bindparam("at"))
    .values(named_by=bindparam("by"), signature=bindparam("signed"))
)


class StoreSink:
    """Keeps records in a database. It has an event loop of its own, in the thread that calls it."""

    def __init__(
        self, store: Store, keys: Sequence[bytes], *, refuses_foreign: bool = False
    ) -> None:
        """Make it; it connects when it is first asked for something.

        Args:
            store: The database, which nobody else uses.
            keys: What chains may be signed with; the first signs the heads.
            refuses_foreign: Whether nothing is written to a trail that none of them has a part in.
        """
        self._store, self._keys, self._refuses_foreign = store, keys, refuses_foreign
        self._runner = asyncio.Runner()
        self._is_open = False
        # Whether some records may be kept that we were not told of: a commit broke off.
        self._is_unsure = False
        self._named: Sequence[HeadRow] = ()
        self._started_at: int | None = None

    def heads(self) -> Sequence[Head]:
        """Where other chains stand that none has named yet.

        Raises:
            ForeignTrailError: If nothing may be written there.
            StoreError: If the database fails.
        """
        self._named = self._run(self._read_heads())
        return [row.head for row in self._named]

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Keep records, in one transaction.

        Raises:
            StoreError: If the database fails.
        """
        self._run(self._append(records))

    def close(self) -> None:
        """Let go of its connection."""
        try:
            with suppress(StoreError, OSError):
                self._runner.run(self._store.close())
        finally:
            self._runner.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(self._opened(work))

    async def _opened(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._is_open:
            try:
                await self._store.open()
            except BaseException:
                work.close()
                raise
            self._is_open = True
        return await work

    async def _read_heads(self) -> Sequence[HeadRow]:
        async with self._store.reading() as connection:
            if self._refuses_foreign:
                await check_own(connection, self._keys)
            found = await connection.execute(
                select(audit_writers)
                .where(audit_writers.c.named_by.is_(None))
                .order_by(audit_writers.c.writer)
            )
            # One that cannot even be read must not stop the log.
            rows = [HeadRow.read(dict(row)) for row in found.mappings()]
        genuine = [row for row in rows if row is not None and row.is_signed(self._keys)]
        if len(genuine) < len(rows):
            # To sign what somebody has changed would make it true.
            log.error(
                "%d chains of the audit trail have an end that none of our keys has signed: run "
                "groundwire audit verify",
                len(rows) - len(genuine),
            )
        return genuine

    async def _append(self, records: Sequence[AuditRecord]) -> None:
        is_unsure, self._is_unsure = self._is_unsure, True
        async with self._store.writing() as connection:
            if is_unsure:
                records = await _missing(connection, records)
            if records:
                await self._insert(connection, records)
        self._is_unsure = False

    async def _insert(self, connection: AsyncConnection, records: Sequence[AuditRecord]) -> None:
        await connection.execute(_ADD_RECORDS, [_row(each) for each in records])
        details = [_detail_row(each) for each in records if each.detail is not None]
        if details:
            await connection.execute(_ADD_DETAILS, details)
        first, last = records[0], records[-1]
        if first.seq == 1:
            self._started_at = first.moment
        assert self._started_at is not None
        row = HeadRow.signed(
            self._keys[0],
            last.head,
            started_at=self._started_at,
            ended_at=last.moment if last.type == EventType.CHAIN_ENDED else None,
        )
        if first.seq == 1:
            await connection.execute(_ADD_ROW, row.to_dict())
            await self._name(connection, first.writer)
            return
        updated = await connection.execute(_PUT_ROW, {**row.to_dict(), "of": row.head.writer})
        if updated.rowcount == 0:  # somebody has removed it, and we know what was there
            await connection.execute(_ADD_ROW, row.to_dict())

    async def _name(self, connection: AsyncConnection, writer: str) -> None:
        """Say in the rows of other chains that this one names their ends, if they still stand."""
        if self._named:
            await connection.execute(
                _NAME_ROW,
                [
                    {
                        "of": row.head.writer,
                        "at": row.head.seq,
                        "by": writer,
                        "signed": row.named(writer, self._keys[0]).signature,
                    }
                    for row in self._named
                ],
            )


async def _missing(
    connection: AsyncConnection, records: Sequence[AuditRecord]
) -> Sequence[AuditRecord]:
    """Those of them that are not there."""
    columns = audit_records.c
    found = await connection.execute(
        select(columns.seq, columns.mac)
        .where(columns.writer == records[0].writer)
        .where(columns.seq >= records[0].seq)
    )
    kept = {(seq, mac) for seq, mac in found}
    return [each for each in records if (each.seq, each.mac) not in kept]


def _row(record: AuditRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _COLUMNS}


def _detail_row(record: AuditRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ("writer", "seq", "moment", "detail")}
