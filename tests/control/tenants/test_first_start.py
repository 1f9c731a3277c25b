"""What the first start makes, and the next ones do not."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from groundwire.config import Config, parse
from groundwire.config.keys import key_hash
from groundwire.control.keys import Key
from groundwire.control.store import Store
from groundwire.control.store.moments import now
from groundwire.control.tenants import Directory, FirstStart, Registry, Role, prepare
from groundwire.errors import ConfigError
from tests.gateway.keys import write_keys

pytestmark = pytest.mark.asyncio

CONFIGURED = "tenants: {acme: {keys: gw_configured_key_of_acme}}"


async def known(registry: Registry, config: Config | None = None) -> Directory:
    directory = Directory(config or Config())
    directory.apply(await registry.snapshot())
    return directory


async def test_the_first_start_makes_a_tenant_with_a_key_and_an_admin_key(
    registry: Registry, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    start = await prepare(registry, Config(), tmp_path)
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
    assert (await registry.tenant("default")).is_stored
    assert capfd.readouterr() == ("", "")  # whoever shows them does it once


async def test_the_next_start_makes_nothing(registry: Registry, tmp_path: Path) -> None:
    await prepare(registry, Config(), tmp_path)
    revision = await registry.revision()
    assert await prepare(registry, Config(), tmp_path) == FirstStart()
    assert await registry.revision() == revision


async def test_keys_of_the_file_need_none_beside_them(registry: Registry, tmp_path: Path) -> None:
    start = await prepare(registry, parse(CONFIGURED, name=""), tmp_path)
    assert start.tenant_key is None
    assert start.admin_key is not None
    config = parse("admin: {api_key: gwa_configured_admin_key}", name="")
    other = await prepare(registry, config, tmp_path)
    assert other.tenant_key is not None
    assert other.admin_key is None


async def test_without_an_admin_plane_no_key_is_made_for_it(
    registry: Registry, tmp_path: Path
) -> None:
    start = await prepare(registry, parse("admin: {enabled: false}", name=""), tmp_path)
    assert start.tenant_key is not None
    assert start.admin_key is None


async def test_who_has_revoked_all_keys_of_tenants_gets_no_new_one(
    registry: Registry, tmp_path: Path
) -> None:
    first = await prepare(registry, Config(), tmp_path)
    assert first.tenant_key is not None
    await registry.revoke_key(first.tenant_key.record.id, tenant="default")
    assert (await prepare(registry, Config(), tmp_path)).tenant_key is None


async def test_nobody_locks_themselves_out_of_the_admin_plane(
    registry: Registry, store: Store, tmp_path: Path
) -> None:
    first = await prepare(registry, Config(), tmp_path)
    assert first.admin_key is not None
    await registry.create_key(role=Role.AUDITOR)
    soon = datetime.now(UTC) + timedelta(milliseconds=50)
    await registry.create_key(role=Role.ADMIN, expires_at=soon)
    await registry.revoke_key(first.admin_key.record.id, tenant=None)
    while now() < soon.timestamp() * 1_000_000:
        await asyncio.sleep(0.01)
    again = await prepare(registry, Config(), tmp_path)
    assert again.admin_key is not None


async def test_of_many_first_starts_at_once_one_makes_the_keys(
    store_url: str, tmp_path: Path
) -> None:
    stores = [Store(store_url) for _ in range(4)]  # as many processes would
    for each in stores:
        await each.open()
    try:
        starts = await asyncio.gather(
            *(prepare(Registry(each), Config(), tmp_path) for each in stores)
        )
        made = [start for start in starts if start != FirstStart()]
        assert len(made) == 1
        assert made[0].tenant_key is not None
        assert made[0].admin_key is not None
    finally:
        for each in stores:
            await each.close()


async def test_the_key_of_an_earlier_version_stays_valid(
    registry: Registry, tmp_path: Path
) -> None:
    write_keys(tmp_path / "keys.json", [Key("default", key_hash("gw_of_an_earlier_version"))])
    start = await prepare(registry, Config(), tmp_path)
    assert (start.n_imported, start.tenant_key) == (1, None)
    found = (await known(registry)).find(b"gw_of_an_earlier_version")
    assert found is not None
    assert found.tenant == "default"
    assert [each.name for each in tmp_path.iterdir() if "keys" in each.name] == [
        "keys.json.imported"
    ]


async def test_a_key_that_was_taken_over_and_deleted_does_not_come_back(
    registry: Registry, tmp_path: Path
) -> None:
    write_keys(tmp_path / "keys.json", [Key("default", key_hash("gw_of_an_earlier_version"))])
    await prepare(registry, Config(), tmp_path)
    await registry.delete("default")
    start = await prepare(registry, Config(), tmp_path)
    assert start.n_imported == 0
    assert start.tenant_key is not None
    assert (await known(registry)).find(b"gw_of_an_earlier_version") is None


async def test_replicas_with_files_of_their_own_all_bring_their_keys(
    registry: Registry, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write_keys(tmp_path / name / "keys.json", [Key("default", key_hash(f"gw_{name}"))])
        assert (await prepare(registry, Config(), tmp_path / name)).n_imported == 1
    directory = await known(registry)
    assert directory.find(b"gw_one") is not None
    assert directory.find(b"gw_two") is not None


async def test_a_key_that_was_not_taken_beside_configured_ones_is_not_taken_now(
    registry: Registry, tmp_path: Path
) -> None:
    write_keys(tmp_path / "keys.json", [Key("default", key_hash("gw_of_an_earlier_version"))])
    config = parse(CONFIGURED, name="")
    assert (await prepare(registry, config, tmp_path)).n_imported == 0
    assert (await known(registry, config)).find(b"gw_of_an_earlier_version") is None
    assert (tmp_path / "keys.json").exists()


async def test_a_file_that_cannot_be_read_stops_the_start(
    registry: Registry, tmp_path: Path
) -> None:
    (tmp_path / "keys.json").write_text("{")
    with pytest.raises(ConfigError, match="the stored key cannot be read"):
        await prepare(registry, Config(), tmp_path)
    assert await registry.revision() == 0


async def test_a_file_that_stays_where_it_is_does_not_stop_it(
    registry: Registry, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_keys(tmp_path / "keys.json", [Key("default", key_hash("gw_of_an_earlier_version"))])
    (tmp_path / "keys.json.imported").mkdir()
    assert (await prepare(registry, Config(), tmp_path)).n_imported == 1
    assert "keys.json was taken over, and is to be removed: " in caplog.text
    assert (await prepare(registry, Config(), tmp_path)).n_imported == 0
