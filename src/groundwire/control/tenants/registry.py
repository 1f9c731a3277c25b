"""Reads and changes tenants and keys in the database."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.config.keys import DEFAULT_TENANT
from groundwire.control.keys import Role
from groundwire.control.store import Store, tables
from groundwire.control.store.moments import now
from groundwire.control.tenants import errors, legal
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.record import (
    Changed,
    Deleted,
    FirstStart,
    IfVersion,
    KeyRecord,
    NewKey,
    Revoked,
    TenantRecord,
    TenantSnapshot,
    over,
)
from groundwire.control.tenants.transaction import Change, Changes, key_of, tenant_of
from groundwire.policy.policy import Overrides

#: The name of the keys that :meth:`Registry.first_keys` makes.
FIRST_START = "first start"

_USES_AT_ONCE = 500

_KEYS = tables.keys.c

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Registry:
    """Reads and changes tenants and keys. Every method may raise StoreError.

    If a tenant is only configured, the tenant is stored when its name, metadata or policy is
    changed, or a key is made for it. This fails if the id is not valid for a stored tenant.
    """

    def __init__(
        self,
        store: Store,
        *,
        configured: ConfiguredTenants | None = None,
        check: Callable[[Overrides], None] = lambda overrides: None,
    ) -> None:
        """Make a registry.

        Args:
            store: The database; it must be open when another method is called.
            configured: Tenants and keys of the configuration. They are listed with the stored ones,
                but their values in the configuration cannot be changed here.
            check: Function that raises ConfigError or ModelError if answers cannot be checked with
                the settings of a tenant. It is called within the transaction that changes a policy.
        """
        self._store, self._configured = store, configured or ConfiguredTenants()
        self._changes, self._check = Changes(store), check

    # Reading and changing tenants.

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
        """Return the tenant with an id, stored or configured.

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
    ) -> Changed:
        """Store a new tenant.

        ``metadata`` has texts by key, see :meth:`put_metadata`; ``policy`` has fields of
        :class:`~groundwire.policy.policy.Overrides`.

        Raises:
            InvalidTenantError: If the id, the name or the metadata is not valid, or the policy is
                too long.
            ConfigError: If the policy is not valid, or answers cannot be checked with the policy
                and the metadata.
            ModelError: If a model that the policy needs is missing.
            TenantExistsError: If there is a tenant with this id.
        """
        legal.read_id(id_)
        wanted = TenantRecord(
            id=id_,
            name=legal.read_name(name),
            metadata=legal.merge_metadata({}, legal.read_metadata(metadata)),
            policy=legal.merge({}, legal.read_policy(policy)),
        )
        async with self._changes.begin() as change:
            if id_ in self._configured.tenants or await change.tenant(id_) is not None:
                raise errors.TenantExistsError(id_)
            if wanted.policy:
                self._check(wanted.overrides)
            return await self._put(change, None, wanted)

    async def put_metadata(
        self,
        id_: str,
        metadata: Mapping[str, object],
        *,
        name: str | None = None,
        if_version: IfVersion | None = None,
    ) -> Changed:
        """Merge values into the metadata of a tenant; store the tenant if it is not stored yet.

        Args:
            id_: The id of the tenant.
            metadata: Texts by key; numbers, true and false are kept as JSON writes them. A value of
                ``None`` removes its key.
            name: A name for people to read; ``None`` leaves the name as it is.
            if_version: The version that the tenant must have, see :data:`IfVersion`; ``None``: any.

        Raises:
            InvalidTenantError: If the id, the name or the metadata is not valid.
            VersionMismatchError: If the tenant has another version than ``if_version``.
        """
        legal.read_id(id_)
        own_name, changes = legal.read_name(name), legal.read_metadata(metadata)
        async with self._changes.begin() as change:
            before = await change.tenant(id_, if_version=if_version)
            old = before or TenantRecord(id=id_)
            merged = legal.merge_metadata(old.metadata, changes)
            return await self._put(
                change, before, replace(old, name=own_name or old.name, metadata=merged)
            )

    async def rename(
        self, id_: str, name: str | None, *, if_version: IfVersion | None = None
    ) -> Changed:
        """Give a tenant another name; ``None`` removes its name.

        Raises:
            InvalidTenantError: If the name is not valid, or the id cannot be stored.
            UnknownTenantError: If there is no tenant with this id.
            VersionMismatchError: If the tenant has another version than ``if_version``. The version
                of a tenant that is not stored is 0.
        """
        own_name = legal.read_name(name)
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
    ) -> Changed:
        """Change the policy of a tenant, and its metadata.

        Args:
            id_: The id of the tenant.
            policy: Fields of :class:`~groundwire.policy.policy.Overrides`; ``None`` unsets a field.
            merges: Whether fields that are not named stay as they are; otherwise they are unset.
            metadata: Changes of the metadata; a value of ``None`` removes its key.
            if_version: The version that the tenant must have, see :data:`IfVersion`; ``None``: any.

        Raises:
            ConfigError: If the policy is not valid, or answers cannot be checked with the tenant's
                new settings from policy, metadata and configuration.
            ModelError: If a model that the settings need is missing.
            InvalidTenantError: If the metadata is not valid, the policy is too long, or the id
                cannot be stored.
            UnknownTenantError: If there is no tenant with this id.
            VersionMismatchError: If the tenant has another version than ``if_version``. The version
                of a tenant that is not stored is 0.
        """
        changes, texts = legal.read_policy(policy), legal.read_metadata(metadata)
        async with self._changes.begin() as change:
            before = await self._changeable(change, id_, if_version)
            old = before or TenantRecord(id=id_)
            own = legal.merge(old.policy if merges else {}, changes)
            wanted = replace(old, policy=own, metadata=legal.merge_metadata(old.metadata, texts))
            self._check(over(wanted.overrides, self._configured.tenants.get(id_)))
            return await self._put(change, before, wanted)

    async def delete(self, id_: str, *, if_version: IfVersion | None = None) -> Deleted:
        """Delete a stored tenant and its stored keys.

        If the tenant is also in the configuration, its configured settings and keys stay.

        Raises:
            UnknownTenantError: If there is no tenant with this id.
            ConfiguredError: If the tenant is in the configuration alone.
            VersionMismatchError: If the tenant has another version than ``if_version``. The version
                of a tenant that is not stored is 0.
        """
        async with self._changes.begin() as change:
            before = await self._changeable(change, id_, if_version)
            if before is None:
                raise errors.ConfiguredError("tenant", id_)
            return Deleted(record=self._marked(before), keys=await change.remove(id_))

    # Reading and changing keys.

    async def keys(self, tenant: str | None) -> tuple[KeyRecord, ...]:
        """Return the keys of a tenant; if ``tenant`` is ``None``, the keys of the admin plane.

        Configured keys come first, then stored keys, the newest first.

        Raises:
            UnknownTenantError: If there is no tenant with this id.
        """
        query = select(tables.keys).where(_of(tenant))
        async with self._store.reading() as connection:
            if tenant is not None:
                await self._known(connection, tenant)
            rows = await connection.execute(query.order_by(_KEYS.created_at.desc(), _KEYS.id))
            return (*self._configured.keys_of(tenant), *map(key_of, rows))

    async def create_key(
        self,
        *,
        tenant: str | None = None,
        role: Role | None = None,
        name: str | None = None,
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Make a key of a tenant, or an admin key with a role.

        The key expires at ``expires_at``; ``None``: it does not expire.

        Raises:
            InvalidKeyError: If there are both tenant and role, or neither, or ``expires_at`` is not
                valid.
            InvalidTenantError: If the name is not valid, or the tenant's id cannot be stored.
            UnknownTenantError: If there is no tenant with this id.
        """
        if (tenant is None) == (role is None):
            raise errors.InvalidKeyError("key", "it is either a tenant's, or has a role")
        key_name, ends = legal.read_name(name), legal.read_expiry(expires_at, now=now())
        async with self._changes.begin() as change:
            stored = () if tenant is None else await self._put_bare(change, tenant)
            wanted = KeyRecord(tenant=tenant, role=role, name=key_name, expires_at=ends)
            return replace(await change.make_key(wanted), tenants=stored)

    async def revoke_key(self, key_id: str, *, tenant: str | None) -> Revoked:
        """Revoke a key of a tenant; if ``tenant`` is ``None``, revoke a key of the admin plane.

        A key that is revoked already stays as it is.

        Raises:
            UnknownKeyError: If the tenant or the admin plane has no key with this id.
            ConfiguredError: If the key is in the configuration alone.
        """
        if not legal.KEY_ID.fullmatch(key_id):
            raise errors.UnknownKeyError
        async with self._changes.begin() as change:
            found = await change.find_keys((_KEYS.id == key_id) & _of(tenant))
            if not found:
                raise self._no_key(key_id, tenant)
            record = found[0]
            if record.revoked_at is not None:
                return Revoked(record=record, is_new=False)
            return Revoked(record=await change.revoke(record), is_new=True)

    async def note_use(self, uses: Mapping[str, datetime]) -> None:
        """Store the moments when keys were used last, by the ids of the keys.

        If this fails, some moments may be stored already.
        """
        ids = sorted(uses)
        for start in range(0, len(ids), _USES_AT_ONCE):
            # There are several transactions, so that other changes can come in between.
            async with self._changes.begin() as change:
                for key_id in ids[start : start + _USES_AT_ONCE]:
                    await change.note_use(key_id, uses[key_id])

    # Making the keys that a new gateway needs.

    async def first_keys(self, *, has_admin_plane: bool) -> FirstStart:
        """Make a key of the tenant ``default``, and an admin key, if there are none.

        The tenant's key is made if no tenant has a key, stored or configured, valid or not. The
        admin key is made if no admin key is configured, and no stored key with the role admin is
        valid. If several processes start at once on one database, only one makes the missing keys.

        Without an admin plane, no admin key is made.
        """
        has_key = any(key.tenant is not None for key in self._configured.keys)
        needs_admin = has_admin_plane and not self._configured.keys_of(None)
        own = admin = None
        is_live = _KEYS.revoked_at.is_(None) & (
            _KEYS.expires_at.is_(None) | (_KEYS.expires_at > now())
        )
        async with self._changes.begin() as change:
            of_tenants, of_admins = _KEYS.tenant.is_not(None), _KEYS.role == str(Role.ADMIN)
            if not has_key and not await change.find_keys(of_tenants, limit=1):
                stored = await self._put_bare(change, DEFAULT_TENANT, is_asked=True)
                own = await change.make_key(KeyRecord(tenant=DEFAULT_TENANT, name=FIRST_START))
                own = replace(own, tenants=stored)
            if needs_admin and not await change.find_keys(of_admins & is_live, limit=1):
                admin = await change.make_key(KeyRecord(role=Role.ADMIN, name=FIRST_START))
        return FirstStart(tenant_key=own, admin_key=admin)

    # Reading everything at once, and the number of changes.

    async def revision(self) -> int:
        """Return the number of changes of tenants and keys so far."""
        async with self._store.reading() as connection:
            return int(await connection.scalar(select(tables.changes.c.revision)) or 0)

    async def snapshot(self, known: TenantSnapshot | None = None) -> TenantSnapshot:
        """Read all stored tenants and keys, as they are at one moment.

        Unchanged tenants are taken from the earlier snapshot ``known``, so that their policies need
        not be parsed again.
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
            InvalidTenantError: If the id cannot be stored.
        """
        legal.read_id(wanted.id)
        if before is not None and wanted == before:
            return Changed(before=before, record=self._marked(before))
        return Changed(before=before, record=self._marked(await change.put(before, wanted)))

    def _marked(self, record: TenantRecord) -> TenantRecord:
        return replace(record, is_configured=record.id in self._configured.tenants)

    async def _put_bare(
        self, change: Change, id_: str, *, is_asked: bool = False
    ) -> tuple[Changed, ...]:
        """Store a tenant without a policy or metadata, so that it can have keys.

        With ``is_asked``, the tenant may be new; otherwise, it must be stored or configured.

        Returns:
            The change that stored the tenant; empty if the tenant was stored before.

        Raises:
            UnknownTenantError: If the tenant is neither stored nor configured, unless ``is_asked``.
            InvalidTenantError: If the id cannot be stored.
        """
        if await self._changeable(change, id_, None, is_asked=is_asked) is not None:
            return ()
        record = await change.put(None, TenantRecord(id=legal.read_id(id_)))
        return (Changed(before=None, record=record),)

    async def _changeable(
        self, change: Change, id_: str, if_version: IfVersion | None, *, is_asked: bool = False
    ) -> TenantRecord | None:
        """Return the stored tenant to change; ``None`` if it is not stored.

        Raises:
            UnknownTenantError: If the tenant is neither stored nor configured, unless ``is_asked``.
            VersionMismatchError: If the tenant has another version than ``if_version``. The version
                of a tenant that is not stored is 0.
        """
        before = await change.tenant(id_, if_version=if_version) if legal.is_id(id_) else None
        if before is None and not is_asked and id_ not in self._configured.tenants:
            raise errors.UnknownTenantError(id_)
        return before

    async def _known(self, connection: AsyncConnection, id_: str) -> TenantRecord:
        if legal.is_id(id_):
            query = select(tables.tenants).where(tables.tenants.c.id == id_)
            row = (await connection.execute(query)).first()
            if row is not None:
                return self._of_row(row)
        if id_ in self._configured.tenants:
            return TenantRecord(id=id_, is_configured=True)
        raise errors.UnknownTenantError(id_)

    def _of_row(self, row: Row[Any]) -> TenantRecord:
        return tenant_of(row, is_configured=row.id in self._configured.tenants)

    def _no_key(self, key_id: str, tenant: str | None) -> Exception:
        if any(key.id == key_id for key in self._configured.keys_of(tenant)):
            return errors.ConfiguredError("key", key_id)
        return errors.UnknownKeyError()


def _of(tenant: str | None) -> ColumnElement[bool]:
    """Return the SQL condition for a tenant's keys; for ``None``, for keys of the admin plane."""
    return _KEYS.role.is_not(None) if tenant is None else _KEYS.tenant == tenant
