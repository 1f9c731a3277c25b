"""Tenants and keys in the database: what the admin plane reads and changes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, collate, select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.detection import FrozenMapping
from groundwire.gateway.keys import Key, Role
from groundwire.gateway.store import Store, tables
from groundwire.gateway.store.moments import now, to_datetime
from groundwire.gateway.tenants.configured import Configured
from groundwire.gateway.tenants.errors import (
    ConfiguredError,
    InvalidKeyError,
    TenantExistsError,
    UnknownKeyError,
    UnknownTenantError,
)
from groundwire.gateway.tenants.legal import (
    KEY_ID,
    is_id,
    merge_metadata,
    merge_policy,
    read_expiry,
    read_id,
    read_metadata,
    read_name,
    read_policy,
    read_text,
)
from groundwire.gateway.tenants.loading import load
from groundwire.gateway.tenants.record import (
    Changed,
    Deleted,
    Diff,
    KeyRecord,
    NewKey,
    Snapshot,
    TenantRecord,
)
from groundwire.gateway.tenants.rows import key_of, tenant_of
from groundwire.gateway.tenants.transaction import Change, changing

#: Of what is listed, so much comes at a time at most.
MAX_PAGE = 1000

#: What the keys that nobody asked for are named.
FIRST_START = "first start"
IMPORTED = "keys.json"

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_USES_AT_ONCE = 500


class Registry:
    """Reads and changes tenants and keys. What fails raises StoreError, and changes nothing."""

    def __init__(self, store: Store, *, configured: Configured | None = None) -> None:
        """Make one.

        Args:
            store: The database, open by the time it is used.
            configured: What the configuration has beside it: listed here, and changed there alone.
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

        Raises:
            InvalidTenantError: If ``after`` is no text that a database takes.
        """
        limit = max(1, min(limit, MAX_PAGE))
        # By bytes, as Python sorts: each database has an order of its own.
        id_ = tables.tenants.c.id if self._store.is_sqlite else collate(tables.tenants.c.id, "C")
        query = select(tables.tenants).order_by(id_).limit(limit)
        if after is not None:
            query = query.where(id_ > read_text("after", after))
        async with self._store.reading() as connection:
            stored = {row.id: self._of_row(row) for row in await connection.execute(query)}
        found = {
            each: TenantRecord(id=each, is_configured=True)
            for each in self._configured.tenants
            if after is None or each > after
        } | stored
        return tuple(found[each] for each in sorted(found)[:limit])

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
        async with changing(self._store) as change:
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
        async with changing(self._store) as change:
            before = await change.tenant(id_, if_version=if_version)
            old = before or TenantRecord(id=id_)
            merged = FrozenMapping(merge_metadata(old.metadata, changes))
            return await self._put(
                change, before, replace(old, name=own_name or old.name, metadata=merged)
            )

    async def rename(self, id_: str, name: str | None, *, if_version: int | None = None) -> Changed:
        """Give a tenant another name, or none.

        Raises:
            InvalidTenantError: If that is no name.
            UnknownTenantError: If there is no such tenant.
            VersionMismatchError: If it was changed meanwhile.
        """
        own_name = read_name(name)
        async with changing(self._store) as change:
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
        async with changing(self._store) as change:
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
        async with changing(self._store) as change:
            before = await self._changeable(change, id_, if_version)
            if before is None:
                raise ConfiguredError("tenant", id_)
            return Deleted(record=self._marked(before), keys=await change.remove(id_))

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
            UnknownKeyError: If it has no key ``after``.
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
        async with changing(self._store) as change:
            if tenant is not None:
                await self._put_bare(change, tenant)
            return await change.make_key(tenant=tenant, role=role, name=key_name, expires_at=ends)

    async def revoke_key(self, key_id: str, *, tenant: str | None) -> KeyRecord:
        """Let a key be taken no more, for good. One that is revoked stays as it is.

        Args:
            key_id: Of the key.
            tenant: Whose it is; ``None``: one of the admin plane. No other's is found.

        Raises:
            UnknownKeyError: If there is no such key there.
            ConfiguredError: If it stands in the configuration.
        """
        if not KEY_ID.fullmatch(key_id):
            raise UnknownKeyError(key_id)
        columns = tables.keys.c
        owner = columns.role.is_not(None) if tenant is None else columns.tenant == tenant
        async with changing(self._store) as change:
            found = await change.find_keys((columns.id == key_id) & owner)
            if not found:
                raise self._no_key(key_id, tenant)
            return found[0] if found[0].revoked_at is not None else await change.revoke(found[0])

    async def note_use(self, uses: Mapping[str, int]) -> None:
        """Keep when keys were used last.

        Args:
            uses: Id of a key → moment, in microseconds. Keys that are not stored are left out.
        """
        ids = sorted(uses)
        for start in range(0, len(ids), _USES_AT_ONCE):
            # A transaction each: others change something in between.
            async with changing(self._store) as change:
                for key_id in ids[start : start + _USES_AT_ONCE]:
                    await change.note_use(key_id, uses[key_id])

    # The first start.

    async def first_keys(
        self, *, tenant: str | None, needs_admin: bool
    ) -> tuple[NewKey | None, NewKey | None]:
        """Make the keys without which nobody can do anything; of many at once, one makes them.

        Args:
            tenant: Who gets a key, and is made, if no tenant has a stored one; ``None``: nobody.
            needs_admin: Whether there has to be a stored key with the role admin that is taken.

        Returns:
            The tenant's key and the admin key, where one was made.
        """
        own = admin = None
        columns = tables.keys.c
        is_live = columns.revoked_at.is_(None) & (
            columns.expires_at.is_(None) | (columns.expires_at > now())
        )
        async with changing(self._store) as change:
            if tenant is not None and not await change.find_keys(
                columns.tenant.is_not(None), limit=1
            ):
                await self._put_bare(change, tenant, is_asked=True)
                own = await change.make_key(tenant=tenant, name=FIRST_START)
            if needs_admin and not await change.find_keys(
                (columns.role == str(Role.ADMIN)) & is_live, limit=1
            ):
                admin = await change.make_key(role=Role.ADMIN, name=FIRST_START)
        return own, admin

    async def import_keys(self, keys: Iterable[Key]) -> int:
        """Store keys of which the hash is known, and their tenants.

        Returns:
            How many were not stored before.
        """
        n_new = 0
        async with changing(self._store) as change:
            for key in keys:
                if await change.find_keys(tables.keys.c.sha256 == key.sha256):
                    continue
                await self._put_bare(change, key.tenant, is_asked=True)
                await change.keep_key(key.sha256, tenant=key.tenant, name=IMPORTED)
                n_new += 1
        return n_new

    # All of it.

    async def revision(self) -> int:
        """How many changes there have been."""
        async with self._store.reading() as connection:
            return int(await connection.scalar(select(tables.changes.c.revision)) or 0)

    async def snapshot(self, known: Snapshot | None = None) -> Snapshot:
        """All tenants and keys at one moment.

        Args:
            known: An earlier one: what has not changed is taken from it, and not read again.
        """
        configured = self._configured.tenants
        return await load(self._store, known, is_configured=configured.__contains__)

    # Parts.

    async def _put(
        self, change: Change, before: TenantRecord | None, wanted: TenantRecord
    ) -> Changed:
        """Store a tenant as it is wanted; what changes nothing is no change.

        Raises:
            InvalidTenantError: If its id is one of a file that no store takes.
        """
        read_id(wanted.id)
        diff = Diff.between(before, wanted)
        if before is not None and not diff:
            return Changed(record=self._marked(before), diff=diff)
        record = self._marked(await change.put(before, wanted))
        return Changed(record=record, diff=diff, is_new=before is None)

    async def _put_bare(self, change: Change, id_: str, *, is_asked: bool = False) -> None:
        """See to it that a tenant is stored, so that it can have keys."""
        if await self._changeable(change, id_, None, is_asked=is_asked) is None:
            await change.put(None, TenantRecord(id=read_id(id_)))

    async def _changeable(
        self, change: Change, id_: str, if_version: int | None, *, is_asked: bool = False
    ) -> TenantRecord | None:
        """A tenant that is to be changed; ``None``: it is not stored, and may be.

        Raises:
            UnknownTenantError: If it is neither stored nor configured nor asked for.
        """
        before = await change.tenant(id_, if_version=if_version) if is_id(id_) else None
        if before is None and not is_asked and id_ not in self._configured.tenants:
            raise UnknownTenantError(id_)
        return before

    async def _known(self, connection: AsyncConnection, id_: str) -> TenantRecord:
        if is_id(id_):
            query = select(tables.tenants).where(tables.tenants.c.id == id_)
            row = (await connection.execute(query)).first()
            if row is not None:
                return self._of_row(row)
        if id_ in self._configured.tenants:
            return TenantRecord(id=id_, is_configured=True)
        raise UnknownTenantError(id_)

    def _of_row(self, row: Row[Any]) -> TenantRecord:
        return tenant_of(row, is_configured=row.id in self._configured.tenants)

    def _marked(self, record: TenantRecord) -> TenantRecord:
        return replace(record, is_configured=record.id in self._configured.tenants)

    def _no_key(self, key_id: str, tenant: str | None) -> Exception:
        configured = self._configured
        own = configured.admin_keys() if tenant is None else configured.tenant_keys(tenant)
        if any(key.id == key_id for key in own):
            return ConfiguredError("key", key_id)
        return UnknownKeyError(key_id)


async def _page(
    connection: AsyncConnection, where: ColumnElement[bool], after: str | None, limit: int
) -> Select[Any]:
    """The query for a page of keys, the latest first."""
    columns = tables.keys.c
    query = select(tables.keys).where(where).limit(max(1, min(limit, MAX_PAGE)))
    query = query.order_by(columns.created_at.desc(), columns.id)
    if after is None:
        return query
    is_last = where & (columns.id == (after if KEY_ID.fullmatch(after) else ""))
    last = (await connection.execute(select(tables.keys).where(is_last))).first()
    if last is None:
        raise UnknownKeyError(after)
    is_earlier = columns.created_at < last.created_at
    is_beside = (columns.created_at == last.created_at) & (columns.id > after)
    return query.where(is_earlier | is_beside)
