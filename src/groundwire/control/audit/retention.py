"""Removes expired records and details (findings about an answer) from the store.

This happens about every hour. A chain loses records only at its beginning. Before each removal, a
record that announces the removal is added to the trail, so that ``audit verify`` knows which
records and details may be missing. An interrupted removal is finished by the next one.
"""

import asyncio
import json
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, delete, exists, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.audit.chain import retention_applied
from groundwire.control.audit.event import AuditEvent
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import AuditRecord, Head, columns_of
from groundwire.control.audit.statements import Statements, signer
from groundwire.control.audit.verify_store import telling
from groundwire.control.store import Store, moments
from groundwire.control.store.tables import audit_details, audit_records, audit_writers
from groundwire.errors import GroundwireError

log = logging.getLogger(__name__)

#: ``BATCH`` is the highest number of rows that one transaction removes. A pause of ``PAUSE_S``
#: seconds follows, in which other transactions can write.
BATCH, PAUSE_S = 1000, 0.05
#: ``EVERY_S`` is the mean time between two removals, in seconds; the time varies at random by up to
#: the share ``JITTER``.
EVERY_S, JITTER = 3600.0, 0.1

_MIN = datetime.min.replace(tzinfo=UTC)
_RECORDS, _DETAILS, _WRITERS = audit_records.c, audit_details.c, audit_writers.c


class RetentionError(GroundwireError):
    """The record that announces a removal was not written in time, so nothing was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Removal:
    """A planned removal of expired records and details.

    Attributes:
        conditions: Table and condition of the rows to remove, in order: details before their
            records.
        announcement: The event that is recorded before any record or detail is removed.
        n_refused: The number of chains that lose no record, because the last of their expired
            records was changed.
        forgotten: Ids of chains whose rows in ``audit_writers`` are removed, since the removal of
            all their records was announced before.
    """

    conditions: Sequence[tuple[Table, ColumnElement[bool]]]
    announcement: AuditEvent
    n_refused: int
    forgotten: tuple[str, ...]


class Retention:
    """Removes expired records and details from a store, about every hour."""

    def __init__(
        self,
        store: Store,
        settle: Callable[[Sequence[AuditEvent]], Awaitable[bool]],
        *,
        retention_days: float | None,
        detail_days: float | None,
        keys: Sequence[bytes],
        every_s: float = EVERY_S,
    ) -> None:
        """Prepare retention; :meth:`open` starts the hourly task.

        Args:
            store: The store of the trail.
            settle: Writes events into the trail, as :meth:`.AuditLog.settle` does.
            retention_days: Days for which records are kept; ``None``: for ever.
            detail_days: Days for which details are kept; ``None``: as long as their records.
            keys: The keys that may have signed chains.
            every_s: The mean time between two removals, in seconds.
        """
        self._store, self._settle, self._keys, self._every_s = store, settle, keys, every_s
        self._retention_days, self._detail_days = retention_days, detail_days
        self._task: asyncio.Task[None] | None = None

    async def prune(self, now: datetime) -> Counter[str]:
        """Remove the records and details that have expired.

        The stored end of a chain (row of ``audit_writers``) is removed, too, if an earlier call
        has announced the removal of all records of the chain. On PostgreSQL, the statistics of the
        tables are renewed.

        Returns:
            Name of the table of records or of details → how many of its rows were removed.

        Raises:
            RetentionError: If the removal could not be announced in time.
            StoreError: If the database fails; some rows may have been removed.
        """
        async with self._store.reading() as connection:
            expired = await self._find(connection, now)
            found = [
                await connection.scalar(select(exists(select(table.c.seq).where(condition))))
                for table, condition in expired.conditions
            ]
        if expired.n_refused:
            log.error(
                "%d chains of the audit trail are not as they were written, and lose nothing: run "
                "groundwire audit verify",
                expired.n_refused,
            )
        n_removed = Counter[str]()
        if any(found):
            if not await self._settle([expired.announcement]):
                raise RetentionError
            for table, condition in expired.conditions:
                n_removed[table.name] += await _remove(self._store, table, condition)
            log.info("Retention removed rows of the audit trail: %s", dict(n_removed))
        for writer in expired.forgotten:
            async with self._store.writing() as connection:
                await connection.execute(delete(audit_writers).where(_WRITERS.writer == writer))
        if not self._store.is_sqlite:
            async with self._store.writing() as connection:
                # Without fresh statistics, filtered queries of a large trail take seconds.
                await connection.execute(text("ANALYZE audit_records, audit_details"))
        return n_removed

    async def _find(self, connection: AsyncConnection, now: datetime) -> _Removal:
        """Plan the removal of the records and details that have expired."""
        oldest = _days_before(now, self._retention_days)
        before = moments.of_datetime(oldest or _MIN)
        told = Statements(self._keys)
        for record in await telling(connection):
            told.learn(record)
        found = await connection.execute(select(audit_writers).order_by(_WRITERS.writer))
        read = map(HeadRow.read, found.mappings())
        rows = [row for row in read if row is not None and row.is_signed(self._keys)]
        removed, n_refused = dict[str, Head](), 0
        for row in rows if oldest is not None else ():
            last = await _last_expired(connection, row, before)
            if last is not None and self._is_older(last, before):
                removed[last.writer] = last.head
            elif last is not None:
                n_refused += 1
        details_before = _days_before(now, self._detail_days)
        is_old = _DETAILS.moment < moments.of_datetime(details_before or _MIN)
        chains = [(head.writer, head.seq) for head in removed.values()]
        # The record that announced an earlier removal may expire, too. So the removal is announced
        # again while the chain that lost records has a row in `audit_writers`, or a record of
        # another chain names a record of that chain.
        referred = {row.head.writer for row in rows} | told.seen.keys()
        again = told.removed.keys() & referred - removed.keys()
        announced = [each for each in (details_before, told.details_before) if each is not None]
        return _Removal(
            conditions=[
                (audit_details, is_old),
                *((audit_details, _is_of(_DETAILS, *each) & ~is_old) for each in chains),
                *((audit_records, _is_of(_RECORDS, *each)) for each in chains),
            ],
            announcement=retention_applied(
                [*removed.values(), *(told.removed[writer] for writer in sorted(again))],
                details_before=max(announced, default=None),
            ),
            n_refused=n_refused,
            forgotten=tuple(
                row.head.writer for row in rows if told.is_removed(row.head.writer, row.head.seq)
            ),
        )

    async def open(self) -> None:
        """Start the hourly task, if the settings let anything expire."""
        if self._retention_days is not None or self._detail_days is not None:
            self._task = asyncio.create_task(self._run(), name="retention")

    async def close(self) -> None:
        """Stop the hourly task; the remaining expired rows are removed after the next start."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        # The first removal comes soon, so that a gateway that restarts often removes rows, too. Its
        # time is random, so that several gateways do not remove rows at once.
        pause_s = self._every_s * random.uniform(0, JITTER)
        while True:
            await asyncio.sleep(pause_s)
            pause_s = self._every_s * random.uniform(1 - JITTER, 1 + JITTER)
            try:
                await self.prune(datetime.now(UTC))
            except Exception as error:  # noqa: BLE001 - the next removal tries again
                log.error("The audit trail cannot be pruned: %s", type(error).__name__)

    def _is_older(self, record: AuditRecord, before: int) -> bool:
        """Return whether a record is signed, and its signed line has a moment before ``before``.

        The column of the moment is not signed, so somebody may have changed it.
        """
        with suppress(TypeError, AttributeError):  # a column of SQLite may hold any type
            if signer(record, self._keys) is not None:
                return bool(columns_of(json.loads(record.line))["moment"] < before)
        return False


async def _last_expired(
    connection: AsyncConnection, row: HeadRow, before: int
) -> AuditRecord | None:
    """Return the last record that a chain loses; ``None`` if it loses none.

    The chain keeps its first record that is not too old, and all records after that one. A chain
    that has not ended also keeps its newest record, to which the next record will be linked.
    """
    own = select(audit_records).where(_RECORDS.writer == row.head.writer)
    kept = select(_RECORDS.seq).where(_RECORDS.writer == row.head.writer, _RECORDS.moment >= before)
    end = await connection.scalar(kept.order_by(_RECORDS.seq).limit(1))
    if end is None:
        end = row.head.seq + (row.ended_at is not None)
    newest = own.where(_RECORDS.seq < end).order_by(_RECORDS.seq.desc()).limit(1)
    found = (await connection.execute(newest)).mappings().first()
    return None if found is None else AuditRecord(**found, detail=None)


async def _remove(store: Store, table: Table, condition: ColumnElement[bool]) -> int:
    """Remove the rows that match a condition, and return their number.

    In each chain, the rows with the lowest numbers are removed first. So the trail is valid after
    each batch.
    """
    key = (table.c.writer, table.c.seq)
    some = select(*key).where(condition).order_by(*key).limit(BATCH)
    n_removed, n_last = 0, BATCH
    while n_last == BATCH:
        async with store.writing() as connection:
            found = await connection.execute(delete(table).where(tuple_(*key).in_(some)))
        n_last = found.rowcount
        n_removed += n_last
        await asyncio.sleep(PAUSE_S if n_last else 0)
    return n_removed


def _is_of(columns: Any, writer: str, seq: int) -> ColumnElement[bool]:  # noqa: ANN401 - of a table
    """Return the SQL condition for the rows of a chain up to and including the record ``seq``."""
    return and_(columns.writer == writer, columns.seq <= seq)


def _days_before(now: datetime, days: float | None) -> datetime | None:
    """Return the moment ``days`` before ``now``, in whole milliseconds; ``None`` for ``None``.

    If the result would be before the year 1, return the beginning of the year 1.
    """
    if days is None:
        return None
    try:
        before = now.astimezone(UTC) - timedelta(days=days)
    except OverflowError:
        return _MIN
    return before.replace(microsecond=before.microsecond // 1000 * 1000)
