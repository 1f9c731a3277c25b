"""Reads and changes the keys of tenants and of the admin plane in the database."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.keys import Role
from groundwire.control.store import Store, tables
from groundwire.control.store.moments import now
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.errors import (
    ConfiguredError,
    InvalidKeyError,
    LastAdminKeyError,
    UnknownKeyError,
    UnknownTenantError,
)
from groundwire.control.tenants.legal import KEY_ID, is_id, read_expiry, read_id, read_name
from groundwire.control.tenants.record import (
    Changed,
    IfVersion,
    KeyRecord,
    KeyStatus,
    NewKey,
    Revoked,
    TenantRecord,
)
from groundwire.control.tenants.transaction import Change, Changes, key_of, tenant_of

#: The name of the keys that the first start of a gateway makes.
FIRST_START = "first start"

_USES_AT_ONCE = 500

_KEYS = tables.keys.c


class StoredKeys:
    """Reads and changes keys: the part of a registry that is about keys."""

    def __init__(self, store: Store, *, configured: ConfiguredTenants | None = None) -> None:
        """Make a registry.

        Args:
            store: The database; it must be open when another method is called.
            configured: Tenants and keys of the configuration. They are listed, but cannot be
                changed here.
        """
        self._store, self._configured = store, configured or ConfiguredTenants()
        self._changes = Changes(store)

    async def keys(self, tenant: str | None) -> tuple[KeyRecord, ...]:
        """Return the keys of a tenant: configured keys, then stored keys, the latest first.

        Args:
            tenant: The id of the tenant; ``None``: the keys of the admin plane.

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

        Raises:
            InvalidKeyError: If there are both tenant and role, or neither, or ``expires_at`` is not
                valid.
            InvalidTenantError: If the name is not valid.
            UnknownTenantError: If there is no tenant with this id.
        """
        if (tenant is None) == (role is None):
            raise InvalidKeyError("key", "it is either a tenant's, or has a role")
        key_name, ends = read_name(name), read_expiry(expires_at, now=now())
        async with self._changes.begin() as change:
            stored = () if tenant is None else await self._put_bare(change, tenant)
            made = await change.make_key(tenant=tenant, role=role, name=key_name, expires_at=ends)
            return replace(made, tenants=stored)

    async def revoke_key(
        self, key_id: str, *, tenant: str | None, keeps_admin: bool = False
    ) -> Revoked:
        """Revoke a key for good. A key that is revoked already stays as it is.

        Args:
            key_id: The id of the key.
            tenant: The tenant of the key; ``None`` for an admin key. Keys of others are not found.
            keeps_admin: Whether an admin key that does not expire must be left. This is for callers
                without access to the database, who could not make another key.

        Raises:
            UnknownKeyError: If the tenant or the admin plane has no key with this id.
            ConfiguredError: If the key is in the configuration.
            LastAdminKeyError: If ``keeps_admin``, and no admin key would be left that does not
                expire.
        """
        if not KEY_ID.fullmatch(key_id):
            raise UnknownKeyError
        async with self._changes.begin() as change:
            found = await change.find_keys((_KEYS.id == key_id) & _of(tenant))
            if not found:
                raise self._no_key(key_id, tenant)
            record = found[0]
            if record.revoked_at is not None:
                return Revoked(record=record, is_new=False)
            if keeps_admin:
                await self._require_another_admin(change, record)
            return Revoked(record=await change.revoke(record), is_new=True)

    async def note_use(self, uses: Mapping[str, datetime]) -> None:
        """Store the moments when keys were used last.

        Args:
            uses: Id of a key → moment of its last use. Keys that are not stored are left out.
        """
        ids = sorted(uses)
        for start in range(0, len(ids), _USES_AT_ONCE):
            # There are several transactions, so that other changes can come in between.
            async with self._changes.begin() as change:
                for key_id in ids[start : start + _USES_AT_ONCE]:
                    await change.note_use(key_id, uses[key_id])

    # The first start.

    async def first_keys(
        self, *, tenant: str | None, needs_admin: bool
    ) -> tuple[NewKey | None, NewKey | None]:
        """Make the first keys if there are none. Only one of several processes makes them.

        Args:
            tenant: The tenant to make, with a key, if no tenant has a stored key; ``None``: no such
                key is made.
            needs_admin: Whether to make an admin key if no stored key with the role admin is valid.

        Returns:
            The tenant's key and the admin key; ``None`` for a key that was not made.
        """
        own = admin = None
        is_live = _KEYS.revoked_at.is_(None) & (
            _KEYS.expires_at.is_(None) | (_KEYS.expires_at > now())
        )
        async with self._changes.begin() as change:
            if tenant is not None and not await change.find_keys(
                _KEYS.tenant.is_not(None), limit=1
            ):
                stored = await self._put_bare(change, tenant, is_asked=True)
                own = await change.make_key(tenant=tenant, name=FIRST_START)
                own = replace(own, tenants=stored)
            if needs_admin and not await change.find_keys(
                (_KEYS.role == str(Role.ADMIN)) & is_live, limit=1
            ):
                admin = await change.make_key(role=Role.ADMIN, name=FIRST_START)
        return own, admin

    # Steps of the methods above, and of those of a registry.

    async def _require_another_admin(self, change: Change, record: KeyRecord) -> None:
        """Refuse to revoke a key if no other admin key would be left that does not expire.

        Changes are made one after the other, so if two admins revoke each other's key at once, the
        second is refused.
        """
        is_idle = record.status is not KeyStatus.ACTIVE
        if record.role is not Role.ADMIN or is_idle or self._configured.keys_of(None):
            return
        lasts = _KEYS.revoked_at.is_(None) & _KEYS.expires_at.is_(None)
        is_other = (_KEYS.role == str(Role.ADMIN)) & (_KEYS.id != record.id)
        if not await change.find_keys(is_other & lasts, limit=1):
            raise LastAdminKeyError(record.id)

    async def _put_bare(
        self, change: Change, id_: str, *, is_asked: bool = False
    ) -> tuple[Changed, ...]:
        """Store a configured tenant, so that it can have keys.

        Args:
            change: The change to make.
            id_: The id of the tenant.
            is_asked: Whether to store the tenant even if it is not configured.

        Returns:
            The change; empty if the tenant was stored before.
        """
        if await self._changeable(change, id_, None, is_asked=is_asked) is not None:
            return ()
        record = await change.put(None, TenantRecord(id=read_id(id_)))
        return (Changed(before=None, record=record),)

    async def _changeable(
        self, change: Change, id_: str, if_version: IfVersion | None, *, is_asked: bool = False
    ) -> TenantRecord | None:
        """Return the stored tenant to change; ``None`` if it is not stored, but can be.

        Raises:
            UnknownTenantError: If the tenant is neither stored nor configured, unless ``is_asked``.
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

    def _no_key(self, key_id: str, tenant: str | None) -> Exception:
        if any(key.id == key_id for key in self._configured.keys_of(tenant)):
            return ConfiguredError("key", key_id)
        return UnknownKeyError()


def _of(tenant: str | None) -> ColumnElement[bool]:
    """Match the keys of a tenant, or with ``None`` those of the admin plane."""
    return _KEYS.role.is_not(None) if tenant is None else _KEYS.tenant == tenant
