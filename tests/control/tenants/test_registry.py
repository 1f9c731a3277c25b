"""Tenants in a database, the same on SQLite and PostgreSQL."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, update

from groundwire.config import parse
from groundwire.control.store import Store, tables
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.errors import (
    ConfiguredError,
    InvalidTenantError,
    TenantExistsError,
    UnknownTenantError,
    VersionMismatchError,
)
from groundwire.control.tenants.registry import Registry
from groundwire.errors import ConfigError
from groundwire.policy.policy import Action, Overrides

pytestmark = pytest.mark.asyncio

DOCUMENTED = {
    "grounding.enabled": "true",
    "grounding.action": "BLOCK",
    "grounding.max-sources": "20",
    "grounding.max-source-length": "5000",
}
FILE = """\
tenants:
  acme: {action: flag, keys: gw_configured_key_of_acme}
  an odd name: {action: body}
"""


async def test_metadata_as_dvara_documents_them_make_a_tenant_and_hold(registry: Registry) -> None:
    changed = await registry.put_metadata("acme", DOCUMENTED)
    assert changed.is_new
    record = await registry.tenant("acme")
    assert record == changed.record
    assert (record.metadata, record.version) == (DOCUMENTED, 1)
    own = record.overrides
    assert (own.enabled, own.action, own.max_sources, own.max_source_chars) == (
        *(True, Action.BLOCK),
        *(20, 5000),
    )


async def test_metadata_are_merged(registry: Registry) -> None:
    await registry.put_metadata("acme", {"a": "1", "b": "2"}, name="Acme")
    changed = await registry.put_metadata("acme", {"b": 3, "c": True, "a": None})
    assert changed.record.metadata == {"b": "3", "c": "true"}
    assert (changed.record.version, changed.record.name, changed.is_new) == (2, "Acme", False)
    assert changed.before is not None
    assert changed.before.metadata == {"a": "1", "b": "2"}


async def test_what_cannot_be_meant_is_kept_as_it_came(registry: Registry) -> None:
    await registry.put_metadata("acme", {"grounding.action": "blok", "team": "\N{SNOWMAN} R&D"})
    record = await registry.tenant("acme")
    assert record.metadata == {"grounding.action": "blok", "team": "\N{SNOWMAN} R&D"}
    assert record.overrides.action is None
    assert len(record.warnings) == 1


async def test_what_changes_nothing_is_no_change(registry: Registry) -> None:
    first = await registry.put_metadata("acme", {"a": "1"})
    revision = await registry.revision()
    again = await registry.put_metadata("acme", {"a": 1, "b": None}, name=None)
    assert again.before == again.record
    assert again.record == first.record
    assert await registry.revision() == revision


async def test_a_policy_is_replaced_or_merged(registry: Registry) -> None:
    await registry.create("acme", policy={"action": "REJECT", "min_severity": 2})
    merged = await registry.set_policy(
        "acme", {"min_severity": None, "explain": "off"}, merges=True
    )
    assert merged.record.policy == {"action": "block", "explain": False}
    replaced = await registry.set_policy("acme", {"max_sources": 3, "action": None}, merges=False)
    assert replaced.record.policy == {"max_sources": 3}
    assert (await registry.tenant("acme")).policy == {"max_sources": 3}


async def test_true_is_not_1(registry: Registry) -> None:
    await registry.create("acme", policy={"explain": True, "min_severity": 1})
    policy = (await registry.tenant("acme")).policy
    assert policy["explain"] is True
    assert type(policy["min_severity"]) is int


async def test_what_is_refused_changes_nothing(registry: Registry) -> None:
    await registry.create("acme", policy={"action": "log"})
    with pytest.raises(ConfigError, match="action = 'blok' is not possible"):
        await registry.set_policy("acme", {"explain": True, "action": "blok"}, merges=True)
    with pytest.raises(InvalidTenantError, match="lists and objects are not kept"):
        await registry.put_metadata("acme", {"a": "1", "b": []})
    record = await registry.tenant("acme")
    assert (record.policy, record.metadata, record.version) == ({"action": "log"}, {}, 1)


async def test_a_tenant_is_made_once(registry: Registry) -> None:
    await registry.create("acme", name="Acme")
    with pytest.raises(TenantExistsError, match="There is a tenant 'acme' already"):
        await registry.create("acme")
    results = await asyncio.gather(
        *(registry.create("other") for _ in range(10)), return_exceptions=True
    )
    assert sum(isinstance(each, TenantExistsError) for each in results) == 9


async def test_a_change_is_for_a_version(registry: Registry) -> None:
    await registry.put_metadata("acme", {"a": "1"}, if_version=0)
    await registry.put_metadata("acme", {"a": "2"}, if_version=1)
    with pytest.raises(VersionMismatchError) as caught:
        await registry.put_metadata("acme", {"a": "3"}, if_version=1)
    assert (caught.value.expected, caught.value.found) == (1, 2)
    assert "is of version 2 by now, and the change was for version 1" in str(caught.value)
    for change in (
        registry.put_metadata("acme", {}, if_version=0),
        registry.set_policy("acme", {}, merges=True, if_version=3),
        registry.rename("acme", "x", if_version=3),
        registry.delete("acme", if_version=3),
    ):
        with pytest.raises(VersionMismatchError):
            await change
    assert (await registry.tenant("acme")).metadata == {"a": "2"}


async def test_of_many_changes_for_one_version_one_is_made(registry: Registry) -> None:
    await registry.create("acme")
    results = await asyncio.gather(
        *(registry.rename("acme", f"name {n}", if_version=1) for n in range(20)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, VersionMismatchError) for each in results) == 19
    assert (await registry.tenant("acme")).version == 2


async def test_many_who_change_one_tenant_at_once_lose_nothing(store_url: str) -> None:
    stores = [Store(store_url) for _ in range(4)]  # as many processes would
    for each in stores:
        await each.open()
    try:
        registries = [Registry(each) for each in stores]
        await asyncio.gather(
            *(registries[n % 4].put_metadata("acme", {f"key {n}": n}) for n in range(40))
        )
        record = await registries[0].tenant("acme")
        assert record.metadata == {f"key {n}": str(n) for n in range(40)}
        assert record.version == 40
        assert await registries[0].revision() == 40
    finally:
        for each in stores:
            await each.close()


async def test_a_name_is_given_and_taken_away(registry: Registry) -> None:
    await registry.create("acme")
    renamed = await registry.rename("acme", "Acme")
    assert renamed.record.name == "Acme"
    assert (await registry.rename("acme", None)).record.name is None


@pytest.mark.parametrize("id_", ["nobody", "no/id", "\0", "\udc80", "x" * 10_000])
async def test_a_tenant_that_does_not_exist_is_not_found(registry: Registry, id_: str) -> None:
    for call in (
        registry.tenant(id_),
        registry.keys(id_),
        registry.set_policy(id_, {}, merges=True),
        registry.rename(id_, "x"),
        registry.delete(id_),
        registry.create_key(tenant=id_),
    ):
        with pytest.raises(UnknownTenantError):
            await call
    assert await registry.revision() == 0


async def test_a_list_is_by_id(registry: Registry) -> None:
    ids = ["Zebra", "a-b", "a.b", "a_b", "ab", "b", "10", "9"]
    for each in ids:
        await registry.create(each)
    assert [record.id for record in await registry.tenants()] == sorted(ids)


async def test_a_deleted_tenant_takes_its_keys_with_it(registry: Registry) -> None:
    await registry.create("acme")
    await registry.create("other")
    keys = {(await registry.create_key(tenant="acme")).record.id for _ in range(3)}
    kept = await registry.create_key(tenant="other")
    deleted = await registry.delete("acme")
    assert {each.id for each in deleted.keys} == keys
    assert deleted.record.id == "acme"
    with pytest.raises(UnknownTenantError):
        await registry.tenant("acme")
    snapshot = await registry.snapshot()
    assert [key.id for key in snapshot.keys] == [kept.record.id]
    await registry.create("acme")
    assert await registry.keys("acme") == ()


async def test_a_change_for_a_deleted_tenant_is_none_for_a_new_one_of_its_id(
    registry: Registry,
) -> None:
    seen = [(await registry.put_metadata("acme", {"n": n})).record.version for n in range(3)]
    for _ in range(3):
        await registry.delete("acme")
        seen.append((await registry.put_metadata("acme", {"of": "another"})).record.version)
        seen.append((await registry.rename("acme", "Acme")).record.version)
    assert seen == sorted(set(seen))
    for version in seen[:-1]:
        with pytest.raises(VersionMismatchError):
            await registry.put_metadata("acme", {"late": "1"}, if_version=version)
    await registry.put_metadata("acme", {"in": "time"}, if_version=seen[-1])


async def test_any_version_is_one_of_a_tenant_that_is_stored(registry: Registry) -> None:
    for change in (
        registry.put_metadata("acme", {"a": "1"}, if_version="*"),
        registry.rename("acme", "Acme", if_version="*"),
    ):
        with pytest.raises(VersionMismatchError, match="is not stored, and the change was for one"):
            await change
    assert await registry.tenants() == ()
    await registry.create("acme")
    await registry.put_metadata("acme", {"a": "1"}, if_version="*")


class TestConfigured:
    async def test_a_tenant_of_the_file_is_listed_and_read(self, store: Store) -> None:
        registry = Registry(store, configured=ConfiguredTenants.of(parse(FILE, name="")))
        await registry.create("beta")
        listed = await registry.tenants()
        assert [(each.id, each.version > 0, each.is_configured) for each in listed] == [
            ("acme", False, True),
            ("an odd name", False, True),
            ("beta", True, False),
        ]
        record = await registry.tenant("acme")
        assert (record.version, record.created_at, record.policy) == (0, None, {})

    async def test_its_first_change_stores_it(self, store: Store) -> None:
        registry = Registry(store, configured=ConfiguredTenants.of(parse(FILE, name="")))
        with pytest.raises(TenantExistsError):
            await registry.create("acme")
        changed = await registry.set_policy("acme", {"action": "block"}, merges=True, if_version=0)
        assert changed.is_new
        assert (changed.record.version, changed.record.is_configured) == (1, True)
        assert [each.id for each in await registry.tenants()] == ["acme", "an odd name"]

    async def test_it_is_removed_where_it_stands(self, store: Store) -> None:
        registry = Registry(store, configured=ConfiguredTenants.of(parse(FILE, name="")))
        with pytest.raises(ConfiguredError, match="The tenant 'acme' stands in the configuration"):
            await registry.delete("acme")
        await registry.create_key(tenant="acme")
        assert (await registry.tenant("acme")).version > 0
        assert len((await registry.delete("acme")).keys) == 1
        assert not (await registry.tenant("acme")).version > 0

    async def test_an_id_that_no_store_takes_is_read_only(self, store: Store) -> None:
        registry = Registry(store, configured=ConfiguredTenants.of(parse(FILE, name="")))
        assert (await registry.tenant("an odd name")).is_configured
        with pytest.raises(InvalidTenantError, match="it must be 1 to 128 letters"):
            await registry.set_policy("an odd name", {"action": "log"}, merges=True)
        with pytest.raises(InvalidTenantError, match="it must be 1 to 128 letters"):
            await registry.create_key(tenant="an odd name")


async def test_a_snapshot_takes_what_is_known_from_an_earlier_one(registry: Registry) -> None:
    for n in range(3):
        await registry.create(f"tenant-{n}", policy={"min_severity": n})
    keys = [await registry.create_key(tenant=f"tenant-{n}") for n in range(3)]
    first = await registry.snapshot()
    assert first.revision == 6

    await registry.set_policy("tenant-0", {"action": "log"}, merges=True)
    await registry.delete("tenant-1")
    await registry.revoke_key(keys[2].record.id, tenant="tenant-2")
    await registry.delete("tenant-2")
    await registry.create("tenant-2")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    await registry.create_key(tenant="tenant-2", expires_at=tomorrow)
    second = await registry.snapshot(first)
    assert second == await registry.snapshot()
    assert second.revision == 12
    assert second.tenants["tenant-2"].created_at != first.tenants["tenant-2"].created_at
    third = await registry.snapshot(second)
    assert all(third.tenants[each] is second.tenants[each] for each in second.tenants)
    assert third.keys == second.keys


async def test_a_snapshot_has_all_tenants_however_many_come_at_a_time(
    registry: Registry, store: Store
) -> None:
    now = datetime.now(UTC)
    row = {"metadata": {}, "policy": {}, "created_at": now, "updated_at": now, "version": 1}
    rows = [row | {"id": f"tenant-{n}"} for n in range(1201)]
    async with store.writing() as connection:
        await connection.execute(insert(tables.tenants), rows)
    first = await registry.snapshot()
    async with store.writing() as connection:
        await connection.execute(update(tables.tenants).values(version=2))
    second = await registry.snapshot(first)
    for snapshot, version in ((first, 1), (second, 2)):
        assert set(snapshot.tenants) == {each["id"] for each in rows}
        assert {each.version for each in snapshot.tenants.values()} == {version}


def not_both(own: Overrides) -> None:
    if own.detector is not None and own.operating_point is not None:
        raise ConfigError(["operating_point is not possible with this detector"])


async def test_of_two_policies_that_hold_alone_and_not_together_one_is_refused(
    store: Store,
) -> None:
    registry = Registry(store, check=not_both)
    await registry.create("acme")
    parts: list[dict[str, object]] = [{"detector": "lexical"}, {"operating_point": "recall"}]
    made = await asyncio.gather(
        *(registry.set_policy("acme", each, merges=True) for each in parts),
        return_exceptions=True,
    )
    assert [type(each) for each in made].count(ConfigError) == 1
    record = await registry.tenant("acme")
    assert (len(record.policy), record.version) == (1, 2)


async def test_a_policy_has_to_hold_with_what_else_a_tenant_has(store: Store) -> None:
    config = parse("tenants: {acme: {operating_point: recall}}", name="")
    registry = Registry(store, configured=ConfiguredTenants.of(config), check=not_both)
    with pytest.raises(ConfigError, match="not possible with this detector"):
        await registry.set_policy("acme", {"detector": "lexical"}, merges=False)
    assert not (await registry.tenant("acme")).version > 0
    with pytest.raises(ConfigError, match="not possible with this detector"):
        await registry.create("beta", policy={"detector": "lexical", "operating_point": "recall"})
    with pytest.raises(UnknownTenantError):
        await registry.tenant("beta")
