"""All tenants and keys at one moment.

Requests are answered in the same event loop: rows come in portions, and of those that are known
already, little is read.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Row, Select, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.store import Store, tables
from groundwire.control.store.moments import of_datetime
from groundwire.control.tenants.record import KeyRecord, TenantRecord, TenantSnapshot
from groundwire.control.tenants.rows import key_of, tenant_of

_AT_ONCE = 500

_Record = TypeVar("_Record", TenantRecord, KeyRecord)


async def load(
    store: Store, known: TenantSnapshot | None, *, is_configured: Callable[[str], bool]
) -> TenantSnapshot:
    """Read all of it.

    Args:
        store: Where from.
        known: What was read before: records that have not changed are taken from it.
        is_configured: Whether the configuration has a tenant of an id.
    """
    known = known or TenantSnapshot(revision=-1)
    tenant, key = tables.tenants.c, tables.keys.c
    async with store.reading() as connection:
        revision = await connection.scalar(select(tables.changes.c.revision))
        return TenantSnapshot(
            revision=int(revision or 0),
            tenants=await _read(
                connection,
                tables.tenants,
                known.tenants,
                marks=(tenant.version, tenant.updated_at),
                is_same=_is_same_tenant,
                make=lambda row: tenant_of(row, is_configured=is_configured(row.id)),
            ),
            keys=await _read(
                connection,
                tables.keys,
                known.keys,
                marks=(key.tenant, key.revoked_at),
                is_same=_is_same_key,
                make=key_of,
            ),
        )


async def _read(
    connection: AsyncConnection,
    table: Table,
    known: Mapping[str, _Record],
    *,
    marks: Sequence[ColumnElement[Any]],
    is_same: Callable[[_Record, Row[Any]], bool],
    make: Callable[[Row[Any]], _Record],
) -> Mapping[str, _Record]:
    """All records of a table by id; ``marks`` tell which of those that are known have changed."""
    found: dict[str, _Record] = {}
    if not known:
        await _collect(connection, select(table), make, found)
        return found
    changed: list[str] = []
    rows = await connection.stream(select(table.c.id, *marks))
    async for portion in rows.partitions(_AT_ONCE):
        for row in portion:
            record = known.get(row.id)
            if record is not None and is_same(record, row):
                found[row.id] = record
            else:
                changed.append(row.id)
    for start in range(0, len(changed), _AT_ONCE):
        ids = changed[start : start + _AT_ONCE]
        await _collect(connection, select(table).where(table.c.id.in_(ids)), make, found)
    return found


async def _collect(
    connection: AsyncConnection,
    query: Select[Any],
    make: Callable[[Row[Any]], _Record],
    found: dict[str, _Record],
) -> None:
    rows = await connection.stream(query)
    async for portion in rows.partitions(_AT_ONCE):
        for row in portion:
            found[row.id] = make(row)


def _is_same_tenant(record: TenantRecord, row: Row[Any]) -> bool:
    # Both: one that was deleted and made again begins with version 1.
    return record.version == row.version and (
        record.updated_at is not None and of_datetime(record.updated_at) == row.updated_at
    )


def _is_same_key(record: KeyRecord, row: Row[Any]) -> bool:
    # A key is made, revoked and removed; that it was used is not asked for here.
    return record.tenant == row.tenant and (record.revoked_at is None) == (row.revoked_at is None)
