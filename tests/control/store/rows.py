"""Tenants, as tests write and read them."""

from datetime import UTC, datetime

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.store import Store, tables

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def add(connection: AsyncConnection, name: str, *, n_chars: int = 1) -> None:
    """Write a tenant, and count that as a change."""
    row = {"metadata": {}, "policy": {}, "created_at": NOON, "updated_at": NOON, "version": 1}
    await connection.execute(insert(tables.tenants).values(id=name, name="x" * n_chars, **row))
    await connection.execute(update(tables.changes).values(revision=tables.changes.c.revision + 1))


async def make(store: Store, name: str, *, n_chars: int = 1) -> None:
    """The same, in a transaction of its own."""
    async with store.writing() as connection:
        await add(connection, name, n_chars=n_chars)


async def names(store: Store) -> list[str]:
    """All tenants."""
    async with store.reading() as connection:
        found = await connection.scalars(select(tables.tenants.c.id).order_by(tables.tenants.c.id))
        return list(found)


async def count(connection: AsyncConnection) -> int:
    """How many tenants there are."""
    return await connection.scalar(select(func.count()).select_from(tables.tenants)) or 0
