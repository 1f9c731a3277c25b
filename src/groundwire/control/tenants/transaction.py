"""A change of tenants or keys: one transaction, one at a time, and counted for all processes.

Whoever changes anything takes the row of ``changes`` first. So of two that change one tenant at
once, the second sees what the first has done; and nobody waits in a circle.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import ColumnElement, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.config.keys import key_hash
from groundwire.control.keys import ADMIN_PREFIX, PREFIX, Role, new_key
from groundwire.control.store import Store, StoreBusyError, tables
from groundwire.control.store.moments import now, to_datetime
from groundwire.control.tenants.errors import VersionMismatchError
from groundwire.control.tenants.record import IfVersion, KeyRecord, NewKey, TenantRecord
from groundwire.control.tenants.rows import key_of, key_values, tenant_of, tenant_values

#: A change that has to wait longer for others is given up.
PATIENCE_S = 10.0


@dataclass(slots=True)
class Change:
    """A transaction.

    ``revision`` counts the changes before it; ``is_made``: something has changed that others have
    to hear of.
    """

    connection: AsyncConnection
    revision: int
    is_made: bool = False

    # Tenants.

    async def tenant(self, id_: str, *, if_version: IfVersion | None = None) -> TenantRecord | None:
        """A stored tenant.

        Raises:
            VersionMismatchError: If it is of another version; one that is not stored is of 0.
        """
        query = select(tables.tenants).where(tables.tenants.c.id == id_)
        row = (await self.connection.execute(query)).first()
        version = 0 if row is None else row.version
        is_meant = version > 0 if if_version == "*" else if_version == version
        if if_version is not None and not is_meant:
            raise VersionMismatchError(id_, if_version, version)
        return None if row is None else tenant_of(row)

    async def put(self, before: TenantRecord | None, wanted: TenantRecord) -> TenantRecord:
        """Store a tenant, new or changed."""
        moment = to_datetime(now())
        record = replace(
            wanted,
            created_at=moment if before is None else before.created_at,
            updated_at=moment,
            # Each version was a change, so none of a tenant that was deleted is above the revision:
            # what was read of that one is for no version of this one.
            version=self.revision + 1 if before is None else before.version + 1,
        )
        values = tenant_values(record)
        if before is None:
            await self.connection.execute(insert(tables.tenants).values(**values))
        else:
            where = tables.tenants.c.id == record.id
            await self.connection.execute(update(tables.tenants).where(where).values(**values))
        self.is_made = True
        return record

    async def remove(self, id_: str) -> tuple[KeyRecord, ...]:
        """Delete a stored tenant; the keys that went with it."""
        owned = tables.keys.c.tenant == id_
        keys = await self.find_keys(owned)
        await self.connection.execute(delete(tables.keys).where(owned))
        await self.connection.execute(delete(tables.tenants).where(tables.tenants.c.id == id_))
        self.is_made = True
        return keys

    # Keys.

    async def find_keys(
        self, where: ColumnElement[bool], *, limit: int | None = None
    ) -> tuple[KeyRecord, ...]:
        """The stored keys that are so."""
        rows = await self.connection.execute(select(tables.keys).where(where).limit(limit))
        return tuple(map(key_of, rows))

    async def make_key(
        self,
        *,
        tenant: str | None = None,
        role: Role | None = None,
        name: str | None = None,
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Make a key, and keep its hash."""
        secret = new_key(PREFIX if role is None else ADMIN_PREFIX)
        record = await self.keep_key(
            key_hash(secret), tenant=tenant, role=role, name=name, expires_at=expires_at
        )
        return NewKey(record=record, secret=secret)

    async def keep_key(
        self,
        digest: str,
        *,
        tenant: str | None = None,
        role: Role | None = None,
        name: str | None = None,
        expires_at: datetime | None = None,
    ) -> KeyRecord:
        """Keep the hash of a key."""
        record = KeyRecord(
            id=digest[:12],
            sha256=digest,
            tenant=tenant,
            role=role,
            name=name,
            created_at=to_datetime(now()),
            expires_at=expires_at,
        )
        await self.connection.execute(insert(tables.keys).values(**key_values(record)))
        self.is_made = True
        return record

    async def revoke(self, record: KeyRecord) -> KeyRecord:
        """Let a key be taken no more."""
        moment = now()
        where = tables.keys.c.id == record.id
        await self.connection.execute(update(tables.keys).where(where).values(revoked_at=moment))
        self.is_made = True
        return replace(record, revoked_at=to_datetime(moment))

    async def note_use(self, key_id: str, moment: int) -> None:
        """Keep when a key was used last; nobody has to hear of that."""
        columns = tables.keys.c
        is_later = columns.last_used_at.is_(None) | (columns.last_used_at < moment)
        await self.connection.execute(
            update(tables.keys).where(columns.id == key_id, is_later).values(last_used_at=moment)
        )


class Changes:
    """Begins changes, one at a time.

    Those of one process wait here for their turn, and not in the database: there each would hold
    a connection meanwhile, and SQLite has no queue.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._turn = store, asyncio.Lock()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Change]:
        """A change, kept whole when the block ends, and not at all if it raises.

        Raises:
            StoreError: If the database fails, or does not come to this change.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._turn.acquire()
        except TimeoutError as error:
            raise StoreBusyError("other changes take too long") from error
        try:
            async with self._store.writing() as connection:
                query = select(tables.changes.c.revision).with_for_update()
                change = Change(connection, await connection.scalar(query) or 0)
                yield change
                if change.is_made:
                    counted = tables.changes.c.revision + 1
                    await connection.execute(update(tables.changes).values(revision=counted))
        finally:
            self._turn.release()
