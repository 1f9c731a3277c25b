"""Keys in a database, the same on SQLite and PostgreSQL."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from groundwire.config import parse
from groundwire.config.keys import key_hash
from groundwire.control.keys import Role
from groundwire.control.store import Store, tables
from groundwire.control.store.moments import now
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.errors import (
    ConfiguredError,
    InvalidKeyError,
    InvalidTenantError,
    UnknownKeyError,
)
from groundwire.control.tenants.record import KeyStatus, Revoked
from groundwire.control.tenants.registry import Registry

pytestmark = pytest.mark.asyncio

LATER = timedelta(microseconds=5)

TOMORROW = datetime.now(UTC) + timedelta(days=1)


async def test_a_key_is_shown_once_and_its_hash_is_kept(registry: Registry, store: Store) -> None:
    await registry.create("acme")
    new = await registry.create_key(tenant="acme", name="of the chatbot", expires_at=TOMORROW)
    assert new.secret.startswith("gw_")
    assert len(new.secret) == 3 + 43
    (kept,) = await registry.keys("acme")
    assert kept == new.record
    assert (kept.sha256, kept.id) == (key_hash(new.secret), key_hash(new.secret)[:12])
    assert (kept.name, kept.tenant, kept.role) == ("of the chatbot", "acme", None)
    assert kept.expires_at == TOMORROW
    async with store.reading() as connection:
        (row,) = await connection.execute(select(tables.keys))
    assert new.secret not in str(row)


async def test_an_admin_key_has_a_role_and_looks_different(registry: Registry) -> None:
    auditor = await registry.create_key(role=Role.AUDITOR)
    assert auditor.secret.startswith("gwa_")
    assert (auditor.record.tenant, auditor.record.role) == (None, Role.AUDITOR)
    assert await registry.keys(None) == (auditor.record,)


async def test_a_key_is_either_a_tenants_or_has_a_role(registry: Registry) -> None:
    for tenant, role in ((None, None), ("acme", Role.ADMIN)):
        with pytest.raises(InvalidKeyError, match="either a tenant's, or has a role"):
            await registry.create_key(tenant=tenant, role=role)


async def test_a_key_that_cannot_be_as_asked_is_not_made(registry: Registry) -> None:
    await registry.create("acme")
    with pytest.raises(InvalidKeyError, match="expires_at: it is past"):
        await registry.create_key(tenant="acme", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidTenantError, match="name: it must be one line"):
        await registry.create_key(tenant="acme", name="a\nb")
    assert await registry.keys("acme") == ()


async def test_the_latest_keys_come_first(registry: Registry) -> None:
    await registry.create("acme")
    made = [(await registry.create_key(tenant="acme")).record.id for _ in range(7)]
    await registry.create_key(role=Role.ADMIN)
    assert [key.id for key in await registry.keys("acme")] == made[::-1]


@pytest.mark.parametrize("key_id", ["0" * 12, "", "\0", "\udc80", "' OR 1=1", "z" * 12])
async def test_a_key_that_does_not_exist_is_not_found(registry: Registry, key_id: str) -> None:
    await registry.create("acme")
    for call in (
        registry.revoke_key(key_id, tenant="acme"),
        registry.revoke_key(key_id, tenant=None),
    ):
        with pytest.raises(UnknownKeyError, match="There is no key"):
            await call


async def test_a_key_is_revoked_once_and_for_good(registry: Registry) -> None:
    await registry.create("acme")
    new = await registry.create_key(tenant="acme")
    done = await registry.revoke_key(new.record.id, tenant="acme")
    revoked = done.record
    assert done.is_new
    assert revoked.status is KeyStatus.REVOKED
    revision = await registry.revision()
    again = await registry.revoke_key(new.record.id, tenant="acme")
    assert again == Revoked(record=revoked, is_new=False)
    assert await registry.revision() == revision
    assert await registry.keys("acme") == (revoked,)


async def test_a_key_is_revoked_under_its_owner_alone(registry: Registry) -> None:
    for tenant in ("acme", "other"):
        await registry.create(tenant)
    own = await registry.create_key(tenant="acme")
    admin = await registry.create_key(role=Role.ADMIN)
    wrong: list[tuple[str, str | None]] = [
        (own.record.id, "other"),
        (own.record.id, None),
        (admin.record.id, "acme"),
    ]
    for key_id, owner in wrong:
        with pytest.raises(UnknownKeyError):
            await registry.revoke_key(key_id, tenant=owner)
    assert [each.revoked_at for each in await registry.keys("acme")] == [None]
    assert [each.revoked_at for each in await registry.keys(None)] == [None]


async def test_when_a_key_was_used_last_is_kept_and_no_news(registry: Registry) -> None:
    await registry.create("acme")
    keys = [(await registry.create_key(tenant="acme")).record.id for _ in range(3)]
    revision, moment = await registry.revision(), now()
    await registry.note_use({keys[0]: moment, keys[1]: moment, "0" * 12: moment})
    await registry.note_use(
        {keys[0]: moment - LATER, keys[1]: moment + LATER}
    )  # of another replica
    used = {key.id: key.last_used_at for key in await registry.keys("acme")}
    assert used == {
        keys[0]: moment,
        keys[1]: moment + LATER,
        keys[2]: None,
    }
    assert await registry.revision() == revision


@pytest.mark.merge
async def test_more_uses_are_kept_than_fit_in_a_transaction(registry: Registry) -> None:
    await registry.create("acme")
    key = (await registry.create_key(tenant="acme")).record.id
    moment = now()
    await registry.note_use(dict.fromkeys([*(f"{n:012x}" for n in range(1200)), key], moment))
    assert [each.last_used_at for each in await registry.keys("acme")] == [moment]


async def test_keys_of_the_file_are_listed_first_and_removed_there(store: Store) -> None:
    text = """\
admin: {api_key: gwa_configured_admin_key}
tenants: {acme: {keys: [gw_configured_key_one, gw_configured_key_two]}}
"""
    registry = Registry(store, configured=ConfiguredTenants.of(parse(text, name="")))
    stored = await registry.create_key(tenant="acme")
    one, two, last = await registry.keys("acme")
    assert (one.id, two.id) == (
        key_hash("gw_configured_key_one")[:12],
        key_hash("gw_configured_key_two")[:12],
    )
    assert one.is_configured
    assert last == stored.record
    (admin,) = await registry.keys(None)
    assert (admin.role, admin.name, admin.is_configured) == (Role.ADMIN, "admin.api_key", True)
    for key, tenant in ((one, "acme"), (admin, None)):
        with pytest.raises(ConfiguredError, match=r"^The key .* stands in the config"):
            await registry.revoke_key(key.id, tenant=tenant)
