"""Tenants and keys in the database: each change one transaction, one change at a time.

Whoever changes anything takes the row of ``changes`` first. So of two processes that change one
tenant at once the second sees what the first has done, and none waits for the other in a circle.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Select, collate, delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.config.keys import key_hash
from groundwire.detection import FrozenMapping
from groundwire.gateway.keys import ADMIN_PREFIX, PREFIX, Key, Role, new_key
from groundwire.gateway.store import Store, tables
from groundwire.gateway.store.moments import now, to_datetime
from groundwire.gateway.tenants.configured import Configured
from groundwire.gateway.tenants.errors import (
    ConfiguredError,
    InvalidKeyError,
    TenantExistsError,
    UnknownKeyError,
    UnknownTenantError,
    VersionMismatchError,
)
from groundwire.gateway.tenants.legal import (
    merge_metadata,
    merge_policy,
    read_expiry,
    read_id,
    read_metadata,
    read_name,
    read_policy,
)
from groundwire.gateway.tenants.record import (
    Changed,
    Deleted,
    Diff,
    KeyRecord,
    NewKey,
    Snapshot,
    TenantRecord,
)
from groundwire.gateway.tenants.rows import key_of, key_values, tenant_of, tenant_values

#: What PostgreSQL tells of changes under.
CHANNEL = "groundwire_changes"

MAX_PAGE = 1000

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_USES_AT_ONCE = 500


class Registry:
    """Reads and changes tenants and keys."""

    def __init__(self, store: Store, *, configured: Configured | None = None) -> None:
        """Make one.

        Args:
            store: The database, open by the time it is used.
            configured: What the configuration has beside it: listed, and changed there alone.
        """
        self._store, self._configured = store, configured or Configured()

    # Tenants.

    async def tenants(
        self, *, after: str | None = None, limit: int = 100
    ) -> tuple[TenantRecord, ...]:
        """A page of all tenants by id, those of the configuration among them.

        Args:
            after: The last id of the page before.
            limit: How many at most, up to 1,000.
        """
        # By bytes, as Python sorts: each database has an order of its own.
        id_ = tables.tenants.c.id if self._store.is_sqlite else collate(tables.tenants.c.id, "C")
        query = select(tables.tenants).order_by(id_).limit(min(limit, MAX_PAGE))
        if after is not None:
            query = query.where(id_ > after)
        async with self._store.reading() as connection:
            rows = await connection.execute(query)
            stored = {row.id: self._tenant(row) for row in rows}
        listed = {each: self._configured.record(each) for each in self._configured.tenants}
        found = {
            each: record
            for each, record in listed.items()
            if record is not None and (after is None or each > after)
        } | stored
        return tuple(found[each] for each in sorted(found)[: min(limit, MAX_PAGE)])

    async def tenant(self, id_: str) -> TenantRecord:
        """A tenant.

        Raises:
            UnknownTenantError: If there is none.
        """
        async with self._store.reading() as connection:
            return await self._known(connection, id_)

    async def create(
        self,
        id_: str,
        *,
        name: str | None = None,
        metadata: Mapping[str, object] = _NOTHING,
        policy: Mapping[str, object] = _NOTHING,
    ) -> Changed:
        """Store a new tenant.

        Raises:
            InvalidTenantError: If it cannot be as asked.
            ConfigError: If its policy is not possible.
            TenantExistsError: If there is one.
        """
        read_id(id_)
        wanted = TenantRecord(
            id=id_,
            name=read_name(name),
            metadata=FrozenMapping(merge_metadata({}, read_metadata(metadata))),
            policy=FrozenMapping(merge_policy({}, read_policy(policy))),
        )
        async with self._changing() as change:
            if id_ in self._configured.tenants or await change.tenant(id_) is not None:
                raise TenantExistsError(id_)
            return await self._put(change, None, wanted)

    async def put_metadata(
        self,
        id_: str,
        metadata: Mapping[str, object],
        *,
        name: str | None = None,
        if_version: int | None = None,
    ) -> Changed:
        """Merge metadata; a value of ``None`` removes its key. A tenant that is new is stored.

        Args:
            id_: Of the tenant.
            metadata: Texts by key; numbers, true and false are kept as JSON writes them.
            name: ``None`` leaves the name as it is.
            if_version: The version that the change is for; 0: only if it is not stored yet.

        Raises:
            InvalidTenantError: If it cannot be as asked.
            VersionMismatchError: If it was changed meanwhile.
        """
        read_id(id_)
        own_name, changes = read_name(name), read_metadata(metadata)
        async with self._changing() as change:
            before = await change.tenant(id_, if_version=if_version)
            old = before or TenantRecord(id=id_)
            merged = FrozenMapping(merge_metadata(old.metadata, changes))
            wanted = replace(old, name=own_name or old.name, metadata=merged)
            return await self._put(change, before, wanted)

    async def rename(self, id_: str, name: str | None, *, if_version: int | None = None) -> Changed:
        """Give a tenant another name, or none.

        Raises:
            InvalidTenantError: If that is no name.
            UnknownTenantError: If there is no such tenant.
            VersionMismatchError: If it was changed meanwhile.
        """
        own_name = read_name(name)
        async with self._changing() as change:
            before = await self._changeable(change, id_, if_version)
            wanted = replace(before or TenantRecord(id=id_), name=own_name)
            return await self._put(change, before, wanted)

    async def set_policy(
        self,
        id_: str,
        policy: Mapping[str, object],
        *,
        merges: bool,
        if_version: int | None = None,
    ) -> Changed:
        """Give a tenant a policy.

        Args:
            id_: Of the tenant.
            policy: Fields of :class:`~groundwire.policy.Overrides`; ``None`` unsets one.
            merges: Whether fields that are not named stay as they are.
            if_version: The version that the change is for; 0: only if it is not stored yet.

        Raises:
            ConfigError: If a field or a value is not possible, with what is.
            UnknownTenantError: If there is no such tenant.
            VersionMismatchError: If it was changed meanwhile.
        """
        changes = read_policy(policy)
        async with self._changing() as change:
            before = await self._changeable(change, id_, if_version)
            old = before or TenantRecord(id=id_)
            own = FrozenMapping(merge_policy(old.policy if merges else {}, changes))
            return await self._put(change, before, replace(old, policy=own))

    async def delete(self, id_: str, *, if_version: int | None = None) -> Deleted:
        """Delete a tenant; its keys are not taken from then on.

        What the configuration has of it stays, its keys too.

        Raises:
            UnknownTenantError: If there is no such tenant.
            ConfiguredError: If it stands in the configuration alone.
            VersionMismatchError: If it was changed meanwhile.
        """
        async with self._changing() as change:
            before = await change.tenant(id_, if_version=if_version)
            if before is None:
                if id_ in self._configured.tenants:
                    raise ConfiguredError(f"The tenant {id_!r}")
                raise UnknownTenantError(id_)
            owned = tables.keys.c.tenant == id_
            rows = await change.connection.execute(select(tables.keys).where(owned))
            keys = tuple(map(key_of, rows))
            await change.connection.execute(delete(tables.keys).where(owned))
            await change.connection.execute(
                delete(tables.tenants).where(tables.tenants.c.id == id_)
            )
            change.is_made = True
            return Deleted(record=self._marked(before), keys=keys)

    # Keys.

    async def keys(
        self, tenant: str, *, after: str | None = None, limit: int = 100
    ) -> tuple[KeyRecord, ...]:
        """A page of the keys of a tenant: those of the configuration, then the latest first.

        Args:
            tenant: Whose.
            after: The id of the last stored key of the page before.
            limit: How many stored keys at most, up to 1,000.

        Raises:
            UnknownTenantError: If there is no such tenant.
            UnknownKeyError: If there is no key ``after``.
        """
        configured = () if after is not None else self._configured.tenant_keys(tenant)
        async with self._store.reading() as connection:
            await self._known(connection, tenant)
            query = await _page(connection, tables.keys.c.tenant == tenant, after, limit)
            return (*configured, *map(key_of, await connection.execute(query)))

    async def admin_keys(
        self, *, after: str | None = None, limit: int = 100
    ) -> tuple[KeyRecord, ...]:
        """A page of the keys of the admin plane, as :meth:`keys`."""
        configured = () if after is not None else self._configured.admin_keys()
        async with self._store.reading() as connection:
            query = await _page(connection, tables.keys.c.role.is_not(None), after, limit)
            return (*configured, *map(key_of, await connection.execute(query)))

    async def create_key(
        self,
        *,
        tenant: str | None = None,
        role: Role | None = None,
        name: str | None = None,
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Make a key of a tenant, or one with a role on the admin plane.

        Raises:
            InvalidKeyError: If it cannot be as asked.
            UnknownTenantError: If there is no such tenant.
        """
        if (tenant is None) == (role is None):
            raise InvalidKeyError("key", "it is either a tenant's, or has a role")
        key_name, ends = read_name(name), read_expiry(expires_at, now=to_datetime(now()))
        async with self._changing() as change:
            if tenant is not None:
                await self._stored(change, tenant)
            return await change.make_key(tenant=tenant, role=role, name=key_name, expires_at=ends)

    async def revoke_key(self, key_id: str, *, tenant: str | None) -> KeyRecord:
        """Let a key be taken no more, for good.

        Args:
            key_id: Of the key.
            tenant: Whose it is; ``None``: one of the admin plane. No other's is found.

        Raises:
            UnknownKeyError: If there is no such key there.
            ConfiguredError: If it stands in the configuration.
        """
        columns = tables.keys.c
        where = (columns.id == key_id, columns.tenant == tenant)
        if tenant is None:
            where = (columns.id == key_id, columns.role.is_not(None))
        async with self._changing() as change:
            row = (await change.connection.execute(select(tables.keys).where(*where))).first()
            if row is None:
                raise self._unknown_key(key_id, tenant)
            if row.revoked_at is not None:
                return key_of(row)
            moment = now()
            await change.connection.execute(
                update(tables.keys).where(*where).values(revoked_at=moment)
            )
            change.is_made = True
            return replace(key_of(row), revoked_at=to_datetime(moment))

    async def note_use(self, uses: Mapping[str, int]) -> None:
        """Keep when keys were used last.

        Args:
            uses: Id of a key → moment, in microseconds. Keys that are not stored are left out.
        """
        columns, ids = tables.keys.c, sorted(uses)
        for start in range(0, len(ids), _USES_AT_ONCE):
            async with self._changing() as change:  # not one: nobody has to hear of it
                for key_id in ids[start : start + _USES_AT_ONCE]:
                    moment = uses[key_id]
                    is_later = columns.last_used_at.is_(None) | (columns.last_used_at < moment)
                    await change.connection.execute(
                        update(tables.keys)
                        .where(columns.id == key_id, is_later)
                        .values(last_used_at=moment)
                    )

    # The first start.

    async def first_keys(
        self, *, tenant: str | None, needs_admin: bool
    ) -> tuple[NewKey | None, NewKey | None]:
        """Make the keys without which nobody could do anything; of many at once, one makes them.

        Args:
            tenant: Who gets a key, and is made, if no tenant has a stored one; ``None``: nobody.
            needs_admin: Whether there has to be a key with the role admin.

        Returns:
            The tenant's key and the admin key, where one was made.
        """
        own = admin = None
        columns = tables.keys.c
        async with self._changing() as change:
            if tenant is not None and not await change.has_key(columns.tenant.is_not(None)):
                await self._stored(change, tenant, makes=True)
                own = await change.make_key(tenant=tenant, name="first start")
            is_live = columns.revoked_at.is_(None) & (
                columns.expires_at.is_(None) | (columns.expires_at > now())
            )
            if needs_admin and not await change.has_key((columns.role == Role.ADMIN) & is_live):
                admin = await change.make_key(role=Role.ADMIN, name="first start")
        return own, admin

    async def import_keys(self, keys: Iterable[Key]) -> int:
        """Store keys of which the hash is known, and their tenants.

        Returns:
            How many were not stored before.
        """
        n_new = 0
        async with self._changing() as change:
            for key in keys:
                if await change.has_key(tables.keys.c.sha256 == key.sha256):
                    continue
                await self._stored(change, key.tenant, makes=True)
                await change.keep_key(key.sha256, tenant=key.tenant, name="keys.json")
                n_new += 1
        return n_new

    # All of it.

    async def revision(self) -> int:
        """How many changes there have been."""
        async with self._store.reading() as connection:
            return int(await connection.scalar(select(tables.changes.c.revision)) or 0)

    async def snapshot(self) -> Snapshot:
        """All tenants and keys at one moment."""
        async with self._store.reading() as connection:
            if self._store.is_sqlite:
                await connection.execute(text("BEGIN"))
            else:
                await connection.execution_options(isolation_level="REPEATABLE READ")
            revision = await connection.scalar(select(tables.changes.c.revision))
            tenants = await connection.execute(select(tables.tenants))
            keys = await connection.execute(select(tables.keys))
            return Snapshot(
                revision=int(revision or 0),
                tenants=tuple(self._tenant(row) for row in tenants),
                keys=tuple(map(key_of, keys)),
            )

    # Parts of transactions.

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator["_Change"]:
        async with self._store.writing() as connection:
            await connection.execute(select(tables.changes.c.revision).with_for_update())
            change = _Change(connection)
            yield change
            if change.is_made:
                await self._tell(connection)

    async def _tell(self, connection: AsyncConnection) -> None:
        columns = tables.changes.c
        revision = await connection.scalar(
            update(tables.changes).values(revision=columns.revision + 1).returning(columns.revision)
        )
        if not self._store.is_sqlite:
            # Sent when the transaction is kept, and not before.
            await connection.execute(
                text("SELECT pg_notify(:channel, :revision)"),
                {"channel": CHANNEL, "revision": str(revision)},
            )

    async def _put(
        self, change: "_Change", before: TenantRecord | None, wanted: TenantRecord
    ) -> Changed:
        """Store a tenant as it is wanted; what changes nothing is no change."""
        diff = Diff.between(before, wanted)
        if before is not None and not diff:
            return Changed(record=self._marked(before), diff=diff)
        record = await change.put(before, wanted)
        return Changed(record=self._marked(record), diff=diff, is_new=before is None)

    async def _changeable(
        self, change: "_Change", id_: str, if_version: int | None
    ) -> TenantRecord | None:
        """A tenant that is to be changed; ``None`` if it stands in the configuration alone."""
        before = await change.tenant(id_, if_version=if_version)
        if before is None:
            if id_ not in self._configured.tenants:
                raise UnknownTenantError(id_)
            read_id(id_)  # a file may have ids that are not stored
        return before

    async def _stored(self, change: "_Change", id_: str, *, makes: bool = False) -> None:
        """See to it that a tenant is stored, so that it can have keys."""
        if await change.tenant(id_) is not None:
            return
        if not makes and id_ not in self._configured.tenants:
            raise UnknownTenantError(id_)
        await change.put(None, TenantRecord(id=read_id(id_)))

    async def _known(self, connection: AsyncConnection, id_: str) -> TenantRecord:
        row = (
            await connection.execute(select(tables.tenants).where(tables.tenants.c.id == id_))
        ).first()
        found = self._configured.record(id_) if row is None else self._tenant(row)
        if found is None:
            raise UnknownTenantError(id_)
        return found

    def _tenant(self, row: Any) -> TenantRecord:  # noqa: ANN401 - a row
        return tenant_of(row, is_configured=row.id in self._configured.tenants)

    def _marked(self, record: TenantRecord) -> TenantRecord:
        return replace(record, is_configured=record.id in self._configured.tenants)

    def _unknown_key(self, key_id: str, tenant: str | None) -> Exception:
        configured = self._configured
        own = configured.admin_keys() if tenant is None else configured.tenant_keys(tenant)
        if any(key.id == key_id for key in own):
            return ConfiguredError(f"The key {key_id!r}")
        return UnknownKeyError(key_id)


@dataclass(slots=True)
class _Change:
    """A transaction that changes tenants or keys; ``is_made``: others have to hear of it."""

    connection: AsyncConnection
    is_made: bool = False

    async def tenant(self, id_: str, *, if_version: int | None = None) -> TenantRecord | None:
        """A stored tenant.

        Raises:
            VersionMismatchError: If it is of another version.
        """
        query = select(tables.tenants).where(tables.tenants.c.id == id_)
        row = (await self.connection.execute(query)).first()
        version = 0 if row is None else row.version
        if if_version is not None and if_version != version:
            raise VersionMismatchError(id_, if_version, version)
        return None if row is None else tenant_of(row)

    async def put(self, before: TenantRecord | None, wanted: TenantRecord) -> TenantRecord:
        """Store a tenant, new or changed."""
        moment = to_datetime(now())
        record = replace(
            wanted,
            created_at=moment if before is None else before.created_at,
            updated_at=moment,
            version=1 if before is None else before.version + 1,
        )
        values = tenant_values(record)
        if before is None:
            await self.connection.execute(insert(tables.tenants).values(**values))
        else:
            where = tables.tenants.c.id == record.id
            await self.connection.execute(update(tables.tenants).where(where).values(**values))
        self.is_made = True
        return record

    async def has_key(self, where: ColumnElement[bool]) -> bool:
        """Whether a stored key is so."""
        query = select(tables.keys.c.id).where(where).limit(1)
        return await self.connection.scalar(query) is not None

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


async def _page(
    connection: AsyncConnection, where: ColumnElement[bool], after: str | None, limit: int
) -> Select[Any]:
    """The query for a page of keys, the latest first."""
    columns = tables.keys.c
    query = select(tables.keys).where(where).limit(min(limit, MAX_PAGE))
    query = query.order_by(columns.created_at.desc(), columns.id)
    if after is None:
        return query
    last = (await connection.execute(select(tables.keys).where(where, columns.id == after))).first()
    if last is None:
        raise UnknownKeyError(after)
    is_before = columns.created_at < last.created_at
    is_beside = (columns.created_at == last.created_at) & (columns.id > after)
    return query.where(is_before | is_beside)
