"""Reads and changes tenants in the database."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sqlalchemy import select

from groundwire.control.store import tables
from groundwire.control.tenants.errors import ConfiguredError, TenantExistsError
from groundwire.control.tenants.legal import (
    merge_metadata,
    merge_policy,
    read_id,
    read_metadata,
    read_name,
    read_policy,
)
from groundwire.control.tenants.record import (
    Changed,
    Deleted,
    IfVersion,
    TenantRecord,
    TenantSnapshot,
    over,
)
from groundwire.control.tenants.stored_keys import StoredKeys
from groundwire.control.tenants.transaction import Change, key_of
from groundwire.policy.policy import Overrides

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Registry(StoredKeys):
    """Reads and changes tenants and keys. Every method may raise StoreError.

    A change that fails changes nothing.
    """

    async def tenants(self) -> tuple[TenantRecord, ...]:
        """Return all tenants, stored and configured, sorted by id."""
        found = {
            each: TenantRecord(id=each, is_configured=True) for each in self._configured.tenants
        }
        async with self._store.reading() as connection:
            for row in await connection.execute(select(tables.tenants)):
                found[row.id] = self._of_row(row)
        return tuple(found[each] for each in sorted(found))

    async def tenant(self, id_: str) -> TenantRecord:
        """Return a tenant.

        Raises:
            UnknownTenantError: If there is no tenant with this id.
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
        check: Callable[[Overrides], None] = lambda overrides: None,
    ) -> Changed:
        """Store a new tenant.

        Args:
            id_: The id of the tenant.
            name: A name for people to read.
            metadata: Texts by key; numbers, true and false are kept as JSON writes them.
            policy: Fields of :class:`~groundwire.policy.policy.Overrides`.
            check: As in :meth:`set_policy`.

        Raises:
            InvalidTenantError: If the id, the name or the metadata is not valid.
            ConfigError: If the policy is not valid.
            TenantExistsError: If there is a tenant with this id.
        """
        read_id(id_)
        wanted = TenantRecord(
            id=id_,
            name=read_name(name),
            metadata=merge_metadata({}, read_metadata(metadata)),
            policy=merge_policy({}, read_policy(policy)),
        )
        async with self._changes.begin() as change:
            if id_ in self._configured.tenants or await change.tenant(id_) is not None:
                raise TenantExistsError(id_)
            if wanted.policy:
                check(wanted.overrides)
            return await self._put(change, None, wanted)

    async def put_metadata(
        self,
        id_: str,
        metadata: Mapping[str, object],
        *,
        name: str | None = None,
        if_version: IfVersion | None = None,
    ) -> Changed:
        """Merge values into the metadata of a tenant; store the tenant if it is new.

        Args:
            id_: The id of the tenant.
            metadata: Texts by key; numbers, true and false are kept as JSON writes them. A value of
                ``None`` removes its key.
            name: The name of the tenant; ``None`` leaves the name as it is.
            if_version: The version that the tenant must have; 0: it must not be stored yet;
                ``"*"``: it must be stored.

        Raises:
            InvalidTenantError: If the id, the name or the metadata is not valid.
            VersionMismatchError: If the tenant has another version.
        """
        read_id(id_)
        own_name, changes = read_name(name), read_metadata(metadata)
        async with self._changes.begin() as change:
            before = await change.tenant(id_, if_version=if_version)
            old = before or TenantRecord(id=id_)
            merged = merge_metadata(old.metadata, changes)
            return await self._put(
                change, before, replace(old, name=own_name or old.name, metadata=merged)
            )

    async def rename(
        self, id_: str, name: str | None, *, if_version: IfVersion | None = None
    ) -> Changed:
        """Give a tenant another name; ``None`` removes its name.

        Raises:
            InvalidTenantError: If the name is not valid.
            UnknownTenantError: If there is no tenant with this id.
            VersionMismatchError: If the tenant has another version.
        """
        own_name = read_name(name)
        async with self._changes.begin() as change:
            before = await self._changeable(change, id_, if_version)
            wanted = replace(before or TenantRecord(id=id_), name=own_name)
            return await self._put(change, before, wanted)

    async def set_policy(
        self,
        id_: str,
        policy: Mapping[str, object],
        *,
        merges: bool,
        metadata: Mapping[str, object] = _NOTHING,
        if_version: IfVersion | None = None,
        check: Callable[[Overrides], None] = lambda overrides: None,
    ) -> Changed:
        """Give a tenant a policy.

        Args:
            id_: The id of the tenant.
            policy: Fields of :class:`~groundwire.policy.policy.Overrides`; ``None`` unsets a field.
            merges: Whether fields that are not named stay as they are.
            metadata: Changes of the tenant's metadata, made in the same transaction.
            if_version: The version that the tenant must have; 0: it must not be stored yet;
                ``"*"``: it must be stored.
            check: Function that raises ConfigError if the tenant's new settings, from policy,
                metadata and configuration, are not possible. It is called within the transaction,
                when nobody else can change the tenant.

        Raises:
            ConfigError: If a field or a value is not valid; the message lists valid ones.
            InvalidTenantError: If the metadata is not valid.
            UnknownTenantError: If there is no tenant with this id.
            VersionMismatchError: If the tenant has another version.
        """
        changes, texts = read_policy(policy), read_metadata(metadata)
        async with self._changes.begin() as change:
            before = await self._changeable(change, id_, if_version)
            old = before or TenantRecord(id=id_)
            own = merge_policy(old.policy if merges else {}, changes)
            wanted = replace(old, policy=own, metadata=merge_metadata(old.metadata, texts))
            check(over(wanted.overrides, self._configured.tenants.get(id_)))
            return await self._put(change, before, wanted)

    async def delete(self, id_: str, *, if_version: IfVersion | None = None) -> Deleted:
        """Delete a stored tenant and its stored keys.

        If the tenant is also in the configuration, its settings and keys there stay.

        Raises:
            UnknownTenantError: If there is no tenant with this id.
            ConfiguredError: If the tenant is in the configuration alone.
            VersionMismatchError: If the tenant has another version.
        """
        async with self._changes.begin() as change:
            before = await self._changeable(change, id_, if_version)
            if before is None:
                raise ConfiguredError("tenant", id_)
            return Deleted(record=self._marked(before), keys=await change.remove(id_))

    # Reading everything at once.

    async def revision(self) -> int:
        """Return the number of changes of tenants and keys so far."""
        async with self._store.reading() as connection:
            return int(await connection.scalar(select(tables.changes.c.revision)) or 0)

    async def snapshot(self, known: TenantSnapshot | None = None) -> TenantSnapshot:
        """Read all tenants and keys at one moment.

        Args:
            known: An earlier snapshot. Tenants that have not changed are taken from it, so that
                their policies need not be parsed again.
        """
        before = {} if known is None else known.tenants
        tenants: dict[str, TenantRecord] = {}
        async with self._store.reading() as connection:
            revision = await connection.scalar(select(tables.changes.c.revision))
            # The rows are streamed, so that requests are answered meanwhile.
            async for row in await connection.stream(select(tables.tenants)):
                record, old = self._of_row(row), before.get(row.id)
                tenants[row.id] = old if old is not None and old == record else record
            keys = [key_of(row) async for row in await connection.stream(select(tables.keys))]
        return TenantSnapshot(revision=int(revision or 0), tenants=tenants, keys=tuple(keys))

    # Steps of the methods above.

    async def _put(
        self, change: Change, before: TenantRecord | None, wanted: TenantRecord
    ) -> Changed:
        """Store a tenant, unless nothing changes.

        Raises:
            InvalidTenantError: If the id cannot be stored: a configured tenant may have an id of
                another form.
        """
        read_id(wanted.id)
        if before is not None and wanted == before:
            return Changed(before=before, record=self._marked(before))
        return Changed(before=before, record=self._marked(await change.put(before, wanted)))

    def _marked(self, record: TenantRecord) -> TenantRecord:
        return replace(record, is_configured=record.id in self._configured.tenants)
