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

#: The name of the keys of the first start.
FIRST_START = "first start"

_USES_AT_ONCE = 500

_KEYS = tables.keys.c


class StoredKeys:
    """Reads and changes keys: the part of a registry that is about them."""

    def __init__(self, store: Store, *, configured: ConfiguredTenants | None = None) -> None:
        """Make it.

        Args:
            store: The database, open by the time it is used.
            configured: Tenants and keys of the configuration. They are listed, and cannot be
                changed here.
        """
        self._store, self._configured = store, configured or ConfiguredTenants()
        self._changes = Changes(store)

    async def keys(self, tenant: str | None) -> tuple[KeyRecord, ...]:
        """Return the keys of a tenant: those of the configuration, then the latest first.

        Args:
            tenant: Whose keys; ``None``: those of the admin plane.

        Raises:
            UnknownTenantError: If there is no such tenant.
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
        """Make a key of a tenant, or one with a role on the admin plane.

        Raises:
            InvalidKeyError: If it cannot be as asked.
            UnknownTenantError: If there is no such tenant.
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
            key_id: Of the key.
            tenant: Whose it is; ``None``: one of the admin plane. No other's is found.
            keeps_admin: Whether an admin key has to be left that lasts. Who has the database at
                hand makes another, and who has keys alone cannot.

        Raises:
            UnknownKeyError: If there is no such key there.
            ConfiguredError: If it stands in the configuration.
            LastAdminKeyError: If no admin key would be left that lasts, and one has to be.
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
        """Store when keys were used last.

        Args:
            uses: Id of a key → the moment. Keys that are not stored are left out.
        """
        ids = sorted(uses)
        for start in range(0, len(ids), _USES_AT_ONCE):
            # Several transactions, so that others can change something in between.
            async with self._changes.begin() as change:
                for key_id in ids[start : start + _USES_AT_ONCE]:
                    await change.note_use(key_id, uses[key_id])

    # The first start.

    async def first_keys(
        self, *, tenant: str | None, needs_admin: bool
    ) -> tuple[NewKey | None, NewKey | None]:
        """Make the first keys, if there are none; of several processes at once, one makes them.

        Args:
            tenant: Who gets a key, and is made, if no tenant has a stored one; ``None``: nobody.
            needs_admin: Whether there has to be a stored key with the role admin that is taken.

        Returns:
            The tenant's key and the admin key, where one was made.
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

    # Helpers.

    async def _require_another_admin(self, change: Change, record: KeyRecord) -> None:
        """See to it that an admin key is left that lasts: changes follow each other, so of two
        that revoke each other's key at once, the second is refused.
        """  # noqa: D205
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
        """Store a configured tenant, so that it can have keys; return what that changed."""
        if await self._changeable(change, id_, None, is_asked=is_asked) is not None:
            return ()
        record = await change.put(None, TenantRecord(id=read_id(id_)))
        return (Changed(before=None, record=record),)

    async def _changeable(
        self, change: Change, id_: str, if_version: IfVersion | None, *, is_asked: bool = False
    ) -> TenantRecord | None:
        """Return a tenant that is to be changed; ``None`` if it is not stored but may be.

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

    def _no_key(self, key_id: str, tenant: str | None) -> Exception:
        if any(key.id == key_id for key in self._configured.keys_of(tenant)):
            return ConfiguredError("key", key_id)
        return UnknownKeyError()


def _of(tenant: str | None) -> ColumnElement[bool]:
    """Match the keys of a tenant, or with ``None`` those of the admin plane."""
    return _KEYS.role.is_not(None) if tenant is None else _KEYS.tenant == tenant
