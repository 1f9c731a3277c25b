"""What the first start makes, and the next ones do not."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from groundwire.config import Config, parse
from groundwire.control.keys import Role
from groundwire.control.store import Store
from groundwire.control.store.moments import now
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.record import FirstStart
from groundwire.control.tenants.registry import Registry

pytestmark = pytest.mark.asyncio

CONFIGURED = "tenants: {acme: {keys: gw_configured_key_of_acme}}"


async def prepare(store: Store, config: Config) -> FirstStart:
    """Start a gateway."""
    registry = Registry(store, configured=ConfiguredTenants.of(config))
    return await registry.first_keys(has_admin_plane=config.admin.enabled)


async def known(registry: Registry, config: Config | None = None) -> Directory:
    directory = Directory(config or Config())
    directory.apply(await registry.snapshot())
    return directory


async def test_the_first_start_makes_a_tenant_with_a_key_and_an_admin_key(
    registry: Registry, store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    start = await prepare(store, Config())
    assert start.tenant_key is not None
    assert start.admin_key is not None
    directory = await known(registry)
    found = directory.find(start.tenant_key.secret.encode())
    assert found is not None
    assert found.tenant == "default"
    admin = directory.find_admin(start.admin_key.secret.encode())
    assert admin is not None
    assert admin.role is Role.ADMIN
    assert start.admin_key.secret.startswith("gwa_")
    assert (await registry.tenant("default")).version > 0
    assert capfd.readouterr() == ("", "")  # whoever shows them does it once


async def test_the_next_start_makes_nothing(registry: Registry, store: Store) -> None:
    await prepare(store, Config())
    revision = await registry.revision()
    assert await prepare(store, Config()) == FirstStart()
    assert await registry.revision() == revision


async def test_keys_of_the_file_need_none_beside_them(store: Store) -> None:
    start = await prepare(store, parse(CONFIGURED, name=""))
    assert start.tenant_key is None
    assert start.admin_key is not None
    config = parse("admin: {api_key: gwa_configured_admin_key}", name="")
    other = await prepare(store, config)
    assert other.tenant_key is not None
    assert other.admin_key is None


async def test_without_an_admin_plane_no_key_is_made_for_it(store: Store) -> None:
    start = await prepare(store, parse("admin: {enabled: false}", name=""))
    assert start.tenant_key is not None
    assert start.admin_key is None


async def test_who_has_revoked_all_keys_of_tenants_gets_no_new_one(
    registry: Registry, store: Store
) -> None:
    first = await prepare(store, Config())
    assert first.tenant_key is not None
    await registry.revoke_key(first.tenant_key.record.id, tenant="default")
    assert (await prepare(store, Config())).tenant_key is None


async def test_nobody_locks_themselves_out_of_the_admin_plane(
    registry: Registry, store: Store
) -> None:
    first = await prepare(store, Config())
    assert first.admin_key is not None
    await registry.create_key(role=Role.AUDITOR)
    soon = datetime.now(UTC) + timedelta(milliseconds=50)
    await registry.create_key(role=Role.ADMIN, expires_at=soon)
    await registry.revoke_key(first.admin_key.record.id, tenant=None)
    while now() < soon:
        await asyncio.sleep(0.01)
    again = await prepare(store, Config())
    assert again.admin_key is not None


async def test_of_many_first_starts_at_once_one_makes_the_keys(store_url: str) -> None:
    stores = [Store(store_url) for _ in range(4)]  # as many processes would
    for each in stores:
        await each.open()
    try:
        starts = await asyncio.gather(*(prepare(each, Config()) for each in stores))
        made = [start for start in starts if start != FirstStart()]
        assert len(made) == 1
        assert made[0].tenant_key is not None
        assert made[0].admin_key is not None
    finally:
        for each in stores:
            await each.close()
