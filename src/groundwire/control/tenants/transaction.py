"""Changes tenants and keys in transactions, one at a time, and counts the changes.

Every change first locks the row of the table ``changes`` (PostgreSQL) or the whole file (SQLite).
So if two processes change a tenant at once, the second sees the change of the first, and they
cannot deadlock.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.config.keys import key_hash
from groundwire.control.keys import ADMIN_PREFIX, PREFIX, Role, new_key
from groundwire.control.store import Store, tables
from groundwire.control.store.moments import now
from groundwire.control.store.store import holding
from groundwire.control.tenants.errors import VersionMismatchError
from groundwire.control.tenants.record import IfVersion, KeyRecord, NewKey, TenantRecord

#: Limit in seconds on the time that a change waits for other changes of this process.
PATIENCE_S = 10.0

_TENANTS, _KEYS = tables.tenants.c, tables.keys.c


def tenant_of(row: Any, *, is_configured: bool = False) -> TenantRecord:  # noqa: ANN401 - a row
    """Read a row of the table ``tenants``."""
    return TenantRecord(**row._mapping, is_configured=is_configured)


def key_of(row: Any) -> KeyRecord:  # noqa: ANN401 - a row
    """Read a row of the table ``keys``."""
    values = {name: value for name, value in row._mapping.items() if name != "id"}
    return KeyRecord(**{**values, "role": None if row.role is None else Role(row.role)})


def _values(record: TenantRecord | KeyRecord, table: Table) -> dict[str, Any]:
    values = ((name, getattr(record, name)) for name in table.columns.keys())  # noqa: SIM118
    return {name: dict(each) if isinstance(each, Mapping) else each for name, each in values}


@dataclass(slots=True)
class Change:
    """A transaction that changes tenants or keys.

    Attributes:
        connection: The connection of the transaction.
        revision: The number of changes before this one.
        is_made: Whether something was changed that other processes must learn of.
    """

    connection: AsyncConnection
    revision: int
    is_made: bool = False

    # Reading and changing tenants.

    async def tenant(self, id_: str, *, if_version: IfVersion | None = None) -> TenantRecord | None:
        """Return a stored tenant; ``None`` if it is not stored.

        Raises:
            VersionMismatchError: If the tenant has another version than ``if_version``; ``None``
                allows any. The version of a tenant that is not stored is 0.
        """
        query = select(tables.tenants).where(_TENANTS.id == id_)
        row = (await self.connection.execute(query)).first()
        version = 0 if row is None else row.version
        is_meant = version > 0 if if_version == "*" else if_version == version
        if if_version is not None and not is_meant:
            raise VersionMismatchError(id_, if_version, version)
        return None if row is None else tenant_of(row)

    async def put(self, before: TenantRecord | None, wanted: TenantRecord) -> TenantRecord:
        """Store a new or a changed tenant, and return it with its version and times."""
        moment = now()
        record = replace(
            wanted,
            created_at=moment if before is None else before.created_at,
            updated_at=moment,
            # A tenant's version grows by 1 with a change, and the revision counts all changes. So
            # no earlier, deleted tenant with this id had a version above the revision.
            version=self.revision + 1 if before is None else before.version + 1,
        )
        values = _values(record, tables.tenants)
        if before is None:
            await self._make(insert(tables.tenants).values(values))
        else:
            await self._make(update(tables.tenants).where(_TENANTS.id == record.id).values(values))
        return record

    async def remove(self, id_: str) -> tuple[KeyRecord, ...]:
        """Delete a stored tenant, and return the keys that were deleted with it."""
        owned = _KEYS.tenant == id_
        keys = await self.find_keys(owned)
        await self._make(delete(tables.keys).where(owned))
        await self._make(delete(tables.tenants).where(_TENANTS.id == id_))
        return keys

    # Reading and changing keys.

    async def find_keys(
        self, where: ColumnElement[bool], *, limit: int | None = None
    ) -> tuple[KeyRecord, ...]:
        """Return the stored keys that match a condition, at most ``limit``; ``None``: all."""
        rows = await self.connection.execute(select(tables.keys).where(where).limit(limit))
        return tuple(map(key_of, rows))

    async def make_key(self, wanted: KeyRecord) -> NewKey:
        """Make the key that a record describes, and store the record with the key's hash."""
        secret = new_key(PREFIX if wanted.role is None else ADMIN_PREFIX)
        record = replace(wanted, sha256=key_hash(secret), created_at=now())
        await self._make(insert(tables.keys).values(_values(record, tables.keys)))
        return NewKey(record=record, secret=secret)

    async def revoke(self, record: KeyRecord) -> KeyRecord:
        """Revoke a stored key, and return it."""
        revoked = replace(record, revoked_at=now())
        own = update(tables.keys).where(_KEYS.id == record.id)
        await self._make(own.values(revoked_at=revoked.revoked_at))
        return revoked

    async def note_use(self, key_id: str, moment: datetime) -> None:
        """Store when a key was used, if no later use is stored; this does not count as a change."""
        is_later = _KEYS.last_used_at.is_(None) | (_KEYS.last_used_at < moment)
        await self.connection.execute(
            update(tables.keys).where(_KEYS.id == key_id, is_later).values(last_used_at=moment)
        )

    # A step of the methods above.

    async def _make(self, statement: Any) -> None:  # noqa: ANN401 - any statement
        await self.connection.execute(statement)
        self.is_made = True


class Changes:
    """Begins changes of tenants and keys, one at a time.

    The changes of a process wait here for their turn. If they waited in the database, each would
    use up a connection.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._turn = store, asyncio.Lock()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Change]:
        """Begin a change, which is kept unless the ``with`` block ends with an exception.

        If :attr:`Change.is_made` is true at the end, the counter in ``changes`` grows by 1.

        Raises:
            StoreError: If the database fails, or other changes take too long.
        """
        async with holding(self._turn, PATIENCE_S), self._store.writing() as connection:
            query = select(tables.changes.c.revision).with_for_update()
            change = Change(connection, await connection.scalar(query) or 0)
            yield change
            if change.is_made:
                counted = tables.changes.c.revision + 1
                await connection.execute(update(tables.changes).values(revision=counted))
