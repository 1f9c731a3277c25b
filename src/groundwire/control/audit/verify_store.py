"""Verifying the trail in a store: as it is at one moment, while others go on writing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import product
from typing import Any

from sqlalchemy import Row, Select, and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.audit.claims import TELLING
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import AuditRecord, Head
from groundwire.control.audit.verdict import TamperKind, TrailVerdict
from groundwire.control.audit.verify import TrailVerifier
from groundwire.control.store import Store, StoreUnusableError
from groundwire.control.store.engines import Engine
from groundwire.control.store.faults import told
from groundwire.control.store.migrate import HEAD, revision_of
from groundwire.control.store.tables import audit_details, audit_records, audit_writers

#: Told how many records have been read, and how many there are, about.
Report = Callable[[int, int], None]

#: Rows that are in memory at a time.
_BATCH = 1000
#: Details of records that are not there, which are told.
_MAX_ORPHANS = 100
_CONNECT_S = 5.0

#: What is read of a record, and of which kinds that may be.
_FIELDS = (*(column.name for column in audit_records.columns), "detail")
_OPTIONAL = (str, type(None))
_KINDS = {
    tuple(
        {"seq": int, "moment": int, "detail_sha256": digest, "detail": detail}.get(name, str)
        for name in _FIELDS
    )
    for digest, detail in product(_OPTIONAL, _OPTIONAL)
}

_IS_DETAIL_OF = and_(
    audit_details.c.writer == audit_records.c.writer, audit_details.c.seq == audit_records.c.seq
)


async def open_unchanged(store: Store) -> None:
    """Open a store that is as this version of Groundwire makes it. No table is made or changed.

    Raises:
        StoreError: If it cannot be used, or is another version's.
    """
    if store.address.path is not None and not store.address.path.exists():
        raise StoreUnusableError(f"there is no file {store.address.path}", "Name the one there is")
    engine = Engine.migrating(store.address, timeout_s=_CONNECT_S)
    try:
        with told():
            async with engine.engine.connect() as connection:
                found = await connection.run_sync(revision_of)
    finally:
        await engine.close()
    if found is None:
        raise StoreUnusableError(
            "it has no tables of ours", "Start a gateway, or run groundwire store migrate"
        )
    if found != HEAD:
        raise StoreUnusableError(
            f"its tables are of revision {found}, and this version of Groundwire works with {HEAD}",
            "Use the version that made them, or groundwire store migrate",
        )
    await store.open()


async def verify_store(
    store: Store,
    keys: Sequence[bytes],
    *,
    anchors: Sequence[Head] = (),
    report: Report = lambda done, total: None,
) -> TrailVerdict:
    """Verify the trail in a store. Hashing goes on in a thread: the event loop stays free.

    Args:
        store: Where it is.
        keys: What its chains may be signed with.
        anchors: Where chains stood at an earlier time.
        report: Told how far it is.

    Raises:
        StoreError: If it cannot be read.
    """
    verifier = TrailVerifier(keys, anchors=anchors)
    async with store.reading() as connection:
        rows = await _rows(connection, verifier)
        total = sum(row.head.seq for row in rows)
        telling = _records().where(audit_records.c.type.in_(TELLING))
        async for batch in _batches(connection, telling):
            for record in filter(None, map(_record, batch)):
                verifier.learn(record)
        async for batch in _batches(connection, _in_order(_records())):
            await asyncio.to_thread(_feed, verifier, batch)
            report(verifier.n_records, max(total, verifier.n_records))
        await _find_orphans(connection, verifier)
    return verifier.finish(rows)


def _records() -> Select[Any]:
    columns = audit_details.c
    return select(
        audit_records, columns.detail, columns.moment.label("detail_moment")
    ).outerjoin_from(audit_records, audit_details, _IS_DETAIL_OF)


def _in_order(query: Select[Any]) -> Select[Any]:
    return query.order_by(audit_records.c.writer, audit_records.c.seq)


async def _batches(
    connection: AsyncConnection, query: Select[Any]
) -> AsyncIterator[Sequence[Row[Any]]]:
    """The rows of a query, some at a time, with a cursor in the database."""
    async with connection.stream(query.execution_options(yield_per=_BATCH)) as found:
        async for batch in found.partitions():
            yield batch


def _feed(verifier: TrailVerifier, batch: Sequence[Row[Any]]) -> None:
    for row in batch:
        record = _record(row)
        if record is None:
            problem = f"a row of audit_records has values of another kind: {row.writer!r:.40}"
            verifier.find(TamperKind.EDITED, f"{problem}, {row.seq!r:.40}")
            continue
        if record.detail is not None and row.detail_moment != record.moment:
            problem = f"record {record.seq} of chain {record.writer} has a detail of another moment"
            verifier.find(TamperKind.DETAIL, problem, writer=record.writer)
        verifier.feed([record])


def _record(row: Row[Any]) -> AuditRecord | None:
    """A row as a record; ``None`` if it has values of another kind, as SQLite takes them."""
    values = row[: len(_FIELDS)]
    is_sound = tuple(map(type, values)) in _KINDS
    return AuditRecord(**dict(zip(_FIELDS, values, strict=True))) if is_sound else None


async def _rows(connection: AsyncConnection, verifier: TrailVerifier) -> Sequence[HeadRow]:
    found = await connection.execute(select(audit_writers).order_by(audit_writers.c.writer))
    rows = []
    for row in found.mappings():
        try:
            rows.append(HeadRow.of(dict(row)))
        except TypeError:
            writer = f"{row['writer']!r:.40}"
            verifier.find(
                TamperKind.HEAD, f"a row of audit_writers has values of another kind: {writer}"
            )
    return rows


async def _find_orphans(connection: AsyncConnection, verifier: TrailVerifier) -> None:
    """Details that belong to no record."""
    query = (
        select(audit_details.c.writer, audit_details.c.seq)
        .outerjoin_from(audit_details, audit_records, _IS_DETAIL_OF)
        .where(audit_records.c.writer.is_(None))
        .limit(_MAX_ORPHANS)
    )
    for writer, seq in await connection.execute(query):
        problem = f"there is a detail of record {seq!s:.40} of chain {writer!s:.40}, and no record"
        verifier.find(TamperKind.DETAIL, problem)
