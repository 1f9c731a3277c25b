"""What a process knows of tenants and keys."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import Config, parse
from groundwire.config.keys import key_hash
from groundwire.control.keys import AdminKey, Key, Role
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.record import KeyRecord, TenantRecord, TenantSnapshot
from groundwire.errors import ConfigError
from groundwire.policy.policy import Action, Overrides

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
FILE = """\
admin: {api_key: gwa_configured_admin_key}
tenants:
  acme: {action: flag, min_severity: 1, keys: gw_configured_key_of_acme}
  file: {action: body}
"""


class Clock:
    """This moment, as a test wants it."""

    def __init__(self, moment: datetime = NOON) -> None:
        self.moment = moment

    def __call__(self) -> datetime:
        return self.moment


def key(secret: str, **own: Any) -> KeyRecord:  # noqa: ANN401 - its fields
    digest = key_hash(secret)
    own = own or {"tenant": "acme"}
    return KeyRecord(sha256=digest, created_at=NOON, **own)


def tenant(id_: str, *, version: int = 1, **policy: object) -> TenantRecord:
    return TenantRecord(id=id_, policy=policy, version=version, created_at=NOON, updated_at=NOON)


def snapshot(*records: TenantRecord | KeyRecord, revision: int = 1) -> TenantSnapshot:
    return TenantSnapshot(
        revision=revision,
        tenants={each.id: each for each in records if isinstance(each, TenantRecord)},
        keys=tuple(each for each in records if isinstance(each, KeyRecord)),
    )


def test_configured_and_stored_keys_are_taken_side_by_side() -> None:
    directory = Directory(parse(FILE, name=""))
    assert directory.revision == -1
    directory.apply(snapshot(tenant("acme"), key("gw_stored")))
    assert directory.revision == 1
    for secret in ("gw_configured_key_of_acme", "gw_stored"):
        assert directory.find(secret.encode()) == Key("acme", key_hash(secret)[:12])
    assert directory.find(b"gw_another") is None
    assert directory.find(key_hash("gw_stored").encode()) is None


def test_a_tenants_key_is_no_admin_key_and_the_other_way_round() -> None:
    directory = Directory(parse(FILE, name=""))
    directory.apply(snapshot(key("gw_stored"), key("gwa_stored", role=Role.AUDITOR, name="eve")))
    assert directory.find_admin(b"gwa_stored") == AdminKey(
        key_id=key_hash("gwa_stored")[:12], role=Role.AUDITOR, name="eve"
    )
    found = directory.find_admin(b"gwa_configured_admin_key")
    assert found is not None
    assert found.role is Role.ADMIN
    for admin in (b"gwa_stored", b"gwa_configured_admin_key"):
        assert directory.find(admin) is None
    for own in (b"gw_stored", b"gw_configured_key_of_acme"):
        assert directory.find_admin(own) is None


@given(st.binary(max_size=60))
def test_no_other_bytes_are_a_key(given_key: bytes) -> None:
    directory = Directory(Config())
    directory.apply(snapshot(key("gw_stored")))
    assert (directory.find(given_key) is None) == (given_key != b"gw_stored")


def test_a_key_ends_at_the_moment_it_says_without_another_snapshot() -> None:
    clock = Clock()
    directory = Directory(Config(), clock=clock)
    ends = NOON + timedelta(hours=1)
    directory.apply(
        snapshot(
            key("gw_stored", tenant="acme", expires_at=ends),
            key("gwa_stored", role=Role.ADMIN, expires_at=ends),
        )
    )
    clock.moment = ends - timedelta(microseconds=1)
    assert directory.find(b"gw_stored") is not None
    assert directory.find_admin(b"gwa_stored") is not None
    clock.moment = ends
    assert directory.find(b"gw_stored") is None
    assert directory.find_admin(b"gwa_stored") is None


def test_a_revoked_key_is_not_taken_and_stays_ours() -> None:
    directory = Directory(Config())
    imported = key("not-made-here", tenant="acme")
    directory.apply(snapshot(imported))
    directory.apply(snapshot(replace(imported, revoked_at=NOON), revision=2))
    assert directory.find(b"not-made-here") is None
    assert directory.is_ours(b"not-made-here")
    assert not directory.is_ours(b"sk-of-the-upstream")


def test_what_begins_like_a_key_of_ours_is_ours_even_if_it_was_deleted() -> None:
    keys = Directory(Config())
    assert keys.is_ours(b"gw_deleted")
    assert keys.is_ours(b"gwa_deleted")
    assert not keys.is_ours(b"sk-deleted")


def test_of_a_key_that_stands_in_both_the_file_says_whose_it_is() -> None:
    directory = Directory(parse(FILE, name=""))
    stored = key("gw_configured_key_of_acme", tenant="other", revoked_at=NOON)
    directory.apply(snapshot(stored))
    found = directory.find(b"gw_configured_key_of_acme")
    assert found is not None
    assert found.tenant == "acme"


@pytest.mark.parametrize("hashed", [False, True])
def test_an_admin_key_that_a_tenant_has_too_stops_the_start(hashed: bool) -> None:
    secret = "gw_configured_key_of_acme"
    other = f"sha256:{key_hash(secret)}" if hashed else secret
    text = f"admin:\n  api_key: '{other}'\ntenants: {{acme: {{keys: {secret}}}}}"
    with pytest.raises(ConfigError) as caught:
        Directory(parse(text, name="file.yaml"))
    assert str(caught.value) == (
        "file.yaml:2: admin.api_key is also a key of tenant 'acme'. Use another."
    )


def test_a_tenant_has_what_is_stored_else_what_is_configured() -> None:
    directory = Directory(parse(FILE, name=""))
    assert directory.get("acme") == Overrides(action=Action.FLAG, min_severity=1)
    stored = replace(tenant("acme", action="block"), metadata={"grounding.enabled": "no"})
    directory.apply(snapshot(stored, tenant("beta", explain=False)))
    assert directory.get("acme") == Overrides(action=Action.BLOCK, enabled=False, min_severity=1)
    assert directory.get("beta") == Overrides(explain=False)
    assert directory.get("file") == Overrides(action=Action.BODY)
    assert directory.get("nobody") is None


def test_the_mapping_of_all_tenants_is_always_what_is_known_now() -> None:
    directory = Directory(parse(FILE, name=""))
    tenants: Mapping[str, Overrides] = directory
    assert set(tenants) == {"acme", "file"}
    directory.apply(snapshot(tenant("beta", action="block")))
    assert tenants["beta"] == Overrides(action=Action.BLOCK)
    assert tenants.get("nobody") is None
    assert (len(tenants), "beta" in tenants) == (3, True)
    directory.apply(snapshot(revision=2))
    assert set(tenants) == {"acme", "file"}


def test_what_was_known_before_is_not_known_after() -> None:
    directory = Directory(Config())
    directory.apply(snapshot(tenant("acme", action="block"), key("gw_stored")))
    directory.apply(snapshot(tenant("acme", version=2, action="log"), revision=2))
    assert directory.get("acme") == Overrides(action=Action.LOG)
    assert directory.find(b"gw_stored") is None


def test_the_use_of_a_stored_key_is_noted_and_of_no_other() -> None:
    clock = Clock()
    directory = Directory(parse(FILE, name=""), clock=clock)
    active, revoked = key("gw_active"), key("gw_revoked", tenant="acme", revoked_at=NOON)
    admin = key("gwa_stored", role=Role.ADMIN)
    directory.apply(snapshot(active, revoked, admin))
    for secret in (b"gw_active", b"gw_revoked", b"gw_configured_key_of_acme", b"gw_unknown"):
        directory.find(secret)
    directory.find_admin(b"gwa_stored")
    directory.is_ours(b"gw_revoked")
    first = directory.take_uses()
    assert first == {active.id: NOON, admin.id: NOON}
    assert directory.take_uses() == {}

    clock.moment += timedelta(seconds=1)
    directory.find(b"gw_active")
    directory.return_uses(first)  # they could not be stored
    assert directory.take_uses() == {
        active.id: clock.moment,
        admin.id: NOON,
    }


def test_readers_in_other_threads_see_a_snapshot_whole() -> None:
    """Each snapshot has one tenant with one key and one action, which belong together."""
    actions = list(Action)
    snapshots = [
        snapshot(
            tenant("acme", version=n, action=str(action), min_severity=n % 5),
            key("gw_even" if n % 2 == 0 else "gw_odd"),
            revision=n,
        )
        for n, action in enumerate(actions * 5)
    ]
    directory, is_over = Directory(Config()), threading.Event()
    directory.apply(snapshots[0])
    torn: list[object] = []

    def read() -> None:
        while not is_over.is_set():
            state = directory._state  # what each of its methods takes once
            n, own = state.snapshot.revision, state.overrides["acme"]
            secret = "gw_even" if n % 2 == 0 else "gw_odd"
            if own.min_severity != n % 5 or set(state.keys) != {key_hash(secret)}:
                torn.append(state)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for each in threads:
        each.start()
    for _ in range(20):
        for each_snapshot in snapshots:
            directory.apply(each_snapshot)
    is_over.set()
    for each in threads:
        each.join(10)
    assert torn == []
    assert not any(each.is_alive() for each in threads)


def test_uses_may_be_noted_in_many_threads_while_they_are_taken() -> None:
    directory = Directory(Config())
    secrets = [f"gw_{n}" for n in range(50)]
    directory.apply(snapshot(*map(key, secrets)))
    taken: dict[str, datetime] = {}

    def use() -> None:
        for _ in range(50):
            for secret in secrets:
                directory.find(secret.encode())

    threads = [threading.Thread(target=use) for _ in range(4)]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        taken |= directory.take_uses()
    taken |= directory.take_uses()
    assert set(taken) == {key_hash(secret)[:12] for secret in secrets}


def test_no_key_and_no_hash_is_in_what_is_printed() -> None:
    directory = Directory(parse(FILE, name=""))
    directory.apply(snapshot(key("gw_stored")))
    for printed in (repr(directory), repr(snapshot(key("gw_stored")))):
        assert "gw_stored" not in printed
        assert key_hash("gw_stored") not in printed
    assert "configured_admin" not in repr(directory.configured)
