"""Removing what is older than it is to be kept: once, or every hour while the gateway runs.

Before anything goes, a record says what: ``audit verify`` expects what is missing then, and nothing
else. Who is killed on the way leaves the rest for the next time.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Delete, Update, delete, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.audit.advisory_lock import alone
from groundwire.control.audit.chain import retention_applied
from groundwire.control.audit.claims import Claims
from groundwire.control.audit.event import AuditEvent
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.pruning import Plan, Prefix, claims_of, make_plan, telling
from groundwire.control.store import Store, moments
from groundwire.control.store.tables import audit_details, audit_records, audit_writers
from groundwire.errors import GroundwireError

log = logging.getLogger(__name__)

#: Rows that are removed in one transaction: others wait for it.
BATCH = 1000
#: Between two times, and by how much of it that varies.
EVERY_S, JITTER = 3600.0, 0.1

_RECORDS, _DETAILS, _WRITERS = audit_records.c, audit_details.c, audit_writers.c


class Settles(Protocol):
    """What says that something goes: an audit log that writes into the same store."""

    async def settle(self, events: Sequence[AuditEvent]) -> bool:
        """Write events; whether they are on disk."""
        ...


class RetentionError(GroundwireError):
    """What is to be removed could not be said before; nothing was removed."""

    def __str__(self) -> str:
        return (
            "Nothing was removed: the record that says what is to go could not be written. "
            "Try again when the audit log can be written."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was removed.

    Attributes:
        n_records: How many records.
        n_details: How many details.
        refused: Chains that lost nothing, for they are not as they were written.
        n_changed: How many details stayed for the same reason; if they are very many, all did.
        is_busy: Whether another process was at it, and nothing was done here.
    """

    n_records: int = 0
    n_details: int = 0
    refused: tuple[str, ...] = ()
    n_changed: int = 0
    is_busy: bool = False


async def prune(
    store: Store,
    now: datetime,
    *,
    retention_days: float | None,
    detail_days: float | None,
    audit: Settles,
    keys: Sequence[bytes],
) -> Pruned:
    """Remove what is older than it is to be kept, if no other process is at it.

    Args:
        store: Where the trail is.
        now: The moment that it is.
        retention_days: How long records are kept; ``None``: without end.
        detail_days: How long details are; ``None``: as long as their records.
        audit: The log that writes into this store.
        keys: What chains may be signed with; the first signs what is changed.

    Raises:
        RetentionError: If it could not be said before.
        StoreError: If the database fails: then some may be removed, and the rest is next time.
    """
    async with alone(store) as is_alone:
        if not is_alone:
            return Pruned(is_busy=True)
        plan = await make_plan(
            store, now, retention_days=retention_days, detail_days=detail_days, keys=keys
        )
        if plan.refused:
            log.error(
                "%d chains of the audit trail are not as they were written, and lose nothing: run "
                "groundwire audit verify",
                len(plan.refused),
            )
        if plan.changed:
            log.error(
                "%d details of the audit trail are not as they were written, and stay: run "
                "groundwire audit verify",
                len(plan.changed),
            )
        if not plan.is_empty:
            before = plan.details_removed_before
            event = retention_applied(plan.removed, details_before=before)
            if not await audit.settle([event]):
                raise RetentionError
        return await _remove(store, plan, keys)


async def _remove(store: Store, plan: Plan, keys: Sequence[bytes]) -> Pruned:
    n_details = n_records = 0
    if plan.details_before is not None:
        before = moments.of_datetime(plan.details_before)
        n_details = await _remove_details(store, before, _stays(plan))
    for prefix in plan.prefixes:
        details, records = await _remove_prefix(store, prefix)
        n_details, n_records = n_details + details, n_records + records
    await _forget_chains(store, keys)
    return Pruned(
        n_records=n_records,
        n_details=n_details,
        refused=plan.refused,
        n_changed=len(plan.changed),
    )


def _stays(plan: Plan) -> ColumnElement[bool]:
    """Which old details stay: they, or their chains, are not as they were written."""
    is_refused = _DETAILS.writer.in_(plan.refused)
    if not plan.changed:
        return is_refused
    return is_refused | tuple_(_DETAILS.writer, _DETAILS.seq).in_(plan.changed)


async def _remove_details(store: Store, before: int, stays: ColumnElement[bool]) -> int:
    n_removed, is_done = 0, False
    old = (_DETAILS.moment < before) & ~stays
    while not is_done:
        async with _paced(), store.writing() as connection:
            some = select(_DETAILS.moment).where(old).order_by(_DETAILS.moment)
            last = await connection.scalar(some.offset(BATCH - 1).limit(1))
            is_done = last is None
            own = delete(audit_details).where(old)
            if last is not None:
                own = own.where(_DETAILS.moment <= last)
            n_removed += await _count(connection, own)
    return n_removed


async def _remove_prefix(store: Store, prefix: Prefix) -> tuple[int, int]:
    """Remove it from its beginning on: what is left of it at any time is what was said."""
    n_details = n_records = 0
    for first in range(prefix.first, prefix.head.seq + 1, BATCH):
        last = min(first + BATCH - 1, prefix.head.seq)
        async with _paced(), store.writing() as connection:
            # With its record, so that none is without.
            for_details = _DETAILS.seq.between(first, last)
            own = delete(audit_details).where(_DETAILS.writer == prefix.writer, for_details)
            n_details += await _count(connection, own)
            for_records = _RECORDS.seq.between(first, last)
            own = delete(audit_records).where(_RECORDS.writer == prefix.writer, for_records)
            n_records += await _count(connection, own)
    return n_details, n_records


async def _count(connection: AsyncConnection, statement: Delete) -> int:
    removed = await connection.execute(statement)
    return int(removed.rowcount)


async def _forget_chains(store: Store, keys: Sequence[bytes]) -> None:
    """Tidy up the rows of chains whose ends were named by a record that is gone.

    A chain that has no records, and that no other record names, loses its row. One that has is to
    be named again, by the next chain that starts.
    """
    async with store.reading() as connection:
        claims = claims_of(await telling(connection), keys)
        # Not EXISTS, for which PostgreSQL may read all records.
        own = select(_RECORDS.seq).where(_RECORDS.writer == _WRITERS.writer).limit(1)
        start = select(_RECORDS.seq).where(_RECORDS.writer == _WRITERS.named_by, _RECORDS.seq == 1)
        query = select(audit_writers, own.scalar_subquery().is_not(None).label("has_records"))
        unnamed = start.scalar_subquery().is_(None)
        found = await connection.execute(query.where(_WRITERS.named_by.is_not(None), unnamed))
        changes = [
            change for row in found.mappings() for change in _forget(dict(row), claims, keys)
        ]
    for change in changes:
        async with store.writing() as connection:
            await connection.execute(change)


def _forget(
    found: dict[str, Any], claims: Claims, keys: Sequence[bytes]
) -> Iterator[Delete | Update]:
    """What becomes of a row; nothing, if what it names is not gone by our own doing."""
    has_records = found.pop("has_records")
    try:
        row = HeadRow.of(found)
    except TypeError:
        return  # somebody has put another in its place
    head, named_by = row.head, row.named_by
    if named_by is None or not claims.is_removed(named_by, 1) or not row.is_signed(keys):
        return
    # Unless it has moved on meanwhile.
    is_it = (_WRITERS.writer == head.writer, _WRITERS.seq == head.seq, _WRITERS.mac == head.mac)
    if has_records:
        again = HeadRow.signed(keys[0], head, started_at=row.started_at, ended_at=row.ended_at)
        yield update(audit_writers).where(*is_it).values(again.to_dict())
    elif head.writer not in claims.seen and claims.is_removed(head.writer, head.seq):
        yield delete(audit_writers).where(*is_it)


@asynccontextmanager
async def _paced() -> AsyncIterator[None]:
    """Pause after work for as long as it took: others write, too."""
    begin = time.monotonic()
    yield
    await asyncio.sleep(min(time.monotonic() - begin, 1.0))


class Retention:
    """Removes what is older than it is to be kept, every hour."""

    def __init__(
        self,
        store: Store,
        audit: Settles,
        *,
        retention_days: float | None,
        detail_days: float | None,
        keys: Sequence[bytes],
        every_s: float = EVERY_S,
    ) -> None:
        """Make it; :meth:`open` starts it.

        Args:
            store: Where the trail is.
            audit: The log that writes into this store.
            retention_days: How long records are kept; ``None``: without end.
            detail_days: How long details are; ``None``: as long as their records.
            keys: What chains may be signed with; the first signs what is changed.
            every_s: Seconds from one time to the next, about.
        """
        self._store, self._audit, self._keys, self._every_s = store, audit, keys, every_s
        self._retention_days, self._detail_days = retention_days, detail_days
        self._task: asyncio.Task[None] | None = None
        self._is_failing = False

    async def open(self) -> None:
        """Begin, if anything is ever to be removed."""
        if self._retention_days is not None or self._detail_days is not None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="retention")

    async def close(self) -> None:
        """End; what is not removed yet is next time."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def once(self, now: datetime) -> Pruned | None:
        """Remove what is older than it is to be kept; ``None``: that failed, and is logged."""
        try:
            pruned = await prune(
                self._store,
                now,
                retention_days=self._retention_days,
                detail_days=self._detail_days,
                audit=self._audit,
                keys=self._keys,
            )
        except Exception as error:  # noqa: BLE001 - the next time is another chance
            if not self._is_failing:
                log.error("The audit trail cannot be pruned: %s", type(error).__name__)
            self._is_failing = True
            return None
        self._is_failing = False
        if pruned.n_records or pruned.n_details:
            log.info(
                "Retention removed %d records and %d details from the audit trail",
                pruned.n_records,
                pruned.n_details,
            )
        return pruned

    async def _run(self) -> None:
        # Not at once: several gateways may start together, and have better things to do.
        while True:
            await asyncio.sleep(self._every_s * random.uniform(1 - JITTER, 1 + JITTER))
            await self.once(datetime.now(UTC))
