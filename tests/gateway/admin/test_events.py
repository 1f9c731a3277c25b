"""Events of the control plane: each change is on record before its response, with who did it."""

import json
from pathlib import Path
from typing import Any

from groundwire.config.keys import key_hash
from tests.gateway.admin.conftest import Planes
from tests.gateway.admin.plane import ADMIN, DVARAS, Plane
from tests.gateway.chats import KEY
from tests.gateway.wire import eventually

ACTOR = key_hash(ADMIN)[:12]
CHANGES = (
    "TENANT_CREATED",
    "TENANT_METADATA_UPDATED",
    "TENANT_POLICY_UPDATED",
    "TENANT_DELETED",
    "KEY_CREATED",
    "KEY_REVOKED",
)


def changes(own: Plane) -> list[tuple[str, str, dict[str, Any]]]:
    found = own.recorded(*CHANGES)
    assert all(each["payload"]["actor"] == ACTOR for each in found)
    return [(each["type"], each["tenant"], each["payload"]) for each in found]


def test_a_put_is_recorded_with_the_difference_it_made(stored: Plane) -> None:
    reply = stored.ask("PUT", "/tenants/acme", DVARAS)
    created, updated = stored.recorded(*CHANGES)
    assert (created["type"], created["tenant"]) == ("TENANT_CREATED", "acme")
    assert created["payload"] == {"actor": ACTOR, "version": 1}
    assert (updated["type"], updated["tenant"]) == ("TENANT_METADATA_UPDATED", "acme")
    assert updated["payload"] == {
        "actor": ACTOR,
        "version": 1,
        "diff": {"added": DVARAS["metadata"], "changed": {}, "removed": {}},
    }
    assert {each["trace_id"] for each in (created, updated)} == {reply.headers["X-Trace-ID"]}
    change = {"grounding.action": "LOG", "grounding.enabled": None, "grounding.max-sources": "20"}
    stored.ask("PUT", "/tenants/acme", {"metadata": change})
    assert changes(stored)[2:] == [
        (
            "TENANT_METADATA_UPDATED",
            "acme",
            {
                "actor": ACTOR,
                "version": 2,
                "diff": {
                    "added": {},
                    "changed": {"grounding.action": {"from": "BLOCK", "to": "LOG"}},
                    "removed": {"grounding.enabled": "true"},
                },
            },
        )
    ]


def test_what_changes_nothing_leaves_no_record(own: Plane) -> None:
    own.ask("PUT", "/tenants/acme", DVARAS)
    key = own.ask("POST", "/tenants/acme/keys", {}).json()["key"]["id"]
    own.ask("DELETE", f"/tenants/acme/keys/{key}")
    before = changes(own)
    assert own.ask("DELETE", f"/tenants/acme/keys/{key}").json()["status"] == "revoked"
    own.ask("PUT", "/tenants/acme", DVARAS)
    own.ask("PUT", "/tenants/acme", {})
    own.ask("PUT", "/tenants/acme/policy", {"action": "blok"})
    own.ask("PUT", "/tenants/acme/policy", {}, headers={"If-Match": '"9"'})
    own.ask("POST", "/tenants", {"id": "acme"})
    own.ask("DELETE", "/tenants/nobody")
    assert changes(own) == before


def test_policies_names_keys_and_ends_are_recorded(own: Plane) -> None:
    own.ask("POST", "/tenants", {"id": "acme", "name": "Acme", "policy": {"action": "block"}})
    own.ask("PATCH", "/tenants/acme/policy", {"action": None, "explain": False})
    own.ask("PATCH", "/tenants/acme", {"name": "Acme Inc."})
    made = own.ask("POST", "/tenants/acme/keys", {"name": "laptop"}).json()["key"]
    own.ask("DELETE", f"/tenants/acme/keys/{made['id']}")
    admin = own.ask("POST", "/keys", {"role": "auditor"}).json()["key"]
    own.ask("DELETE", "/tenants/acme")
    empty: dict[str, Any] = {"added": {}, "changed": {}, "removed": {}}
    key = {"key_id": made["id"], "role": None, "name": "laptop"}
    assert [
        (type_, tenant, _without_actor(payload)) for type_, tenant, payload in changes(own)
    ] == [
        ("TENANT_CREATED", "acme", {"version": 1, "name": "Acme"}),
        (
            "TENANT_POLICY_UPDATED",
            "acme",
            {"version": 1, "diff": {**empty, "added": {"action": "block"}}},
        ),
        (
            "TENANT_POLICY_UPDATED",
            "acme",
            {
                "version": 2,
                "diff": {
                    "added": {"explain": False},
                    "changed": {},
                    "removed": {"action": "block"},
                },
            },
        ),
        (
            "TENANT_METADATA_UPDATED",
            "acme",
            {"version": 3, "diff": empty, "name": {"from": "Acme", "to": "Acme Inc."}},
        ),
        ("KEY_CREATED", "acme", {**key, "expires_at": None}),
        ("KEY_REVOKED", "acme", key),
        (
            "KEY_CREATED",
            "-",
            {"key_id": admin["id"], "role": "auditor", "name": None, "expires_at": None},
        ),
        (
            "TENANT_DELETED",
            "acme",
            {
                "version": 3,
                "keys": [made["id"]],
                "metadata": {},
                "policy": {"explain": False},
                "name": "Acme Inc.",
            },
        ),
    ]


def _without_actor(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name != "actor"}


def test_what_people_write_is_redacted_as_all_texts_are(planes: Planes) -> None:
    own = planes("audit: {redact: email}")
    metadata = {"owner": "ann@example.com", "bob@example.com": "x"}
    own.ask("PUT", "/tenants/acme", {"metadata": metadata, "name": "of ann@example.com"})
    created, updated = own.recorded(*CHANGES)
    assert created["payload"]["name"] == "of [REDACTED:email]"
    assert updated["payload"]["diff"]["added"] == {
        "owner": "[REDACTED:email]",
        "[REDACTED:email]": "x",
    }
    assert own.get("/tenants/acme")["metadata"] == metadata
    own.ask("DELETE", "/tenants/acme")
    deleted = own.recorded(*CHANGES)[-1]
    assert deleted["payload"]["metadata"] == updated["payload"]["diff"]["added"]
    assert deleted["payload"]["name"] == "of [REDACTED:email]"


def test_a_value_that_is_a_secret_by_its_key_is_not_kept(own: Plane) -> None:
    secret = {
        "crm.password": "hunter22hunter22",
        "crm_password": "hunter22",
        "crm.api_key": "key1234 and more, all of it",
    }
    other = {"crm.owner": "the third team", "crm.password.rotation": "90 days"}
    own.ask("PUT", "/tenants/acme", {"metadata": {**secret, **other}})
    own.ask("PUT", "/tenants/acme", {"metadata": {"crm.password": "hunter23", "crm.api_key": None}})
    marker = "[REDACTED:secret]"
    added, changed = (each["payload"]["diff"] for each in own.recorded("TENANT_METADATA_UPDATED"))
    assert added["added"] == {**dict.fromkeys(secret, marker), **other}
    assert changed["changed"] == {"crm.password": {"from": marker, "to": marker}}
    assert changed["removed"] == {"crm.api_key": marker}


def test_the_filters_of_an_export_are_redacted_but_for_moments(planes: Planes) -> None:
    own = planes("audit: {redact: 'email, ip, phone'}")
    own.ask(
        "GET", "/audit/export?tenant=ann@example.com&writer=10.0.0.7&since=2026-01-01T00:00:00Z"
    )
    (event,) = own.recorded("RECORDS_EXPORTED")
    assert event["payload"]["filters"] == {
        "tenant": "[REDACTED:email]",
        "writer": "[REDACTED:ip]",
        "since": "2026-01-01T00:00:00+00:00",
    }


# Who came.


def test_the_first_use_of_an_admin_key_is_recorded(own: Plane) -> None:
    for _ in range(3):
        own.get("/me")
    auditor = own.make_admin("auditor")
    for _ in range(3):
        own.get("/me", key=auditor)
    eventually(lambda: len(own.recorded("ADMIN_LOGIN")) >= 2)
    found = [each["payload"] for each in own.recorded("ADMIN_LOGIN")]
    assert found == [
        {"actor": ACTOR, "role": "admin", "address": "127.0.0.1"},
        {"actor": key_hash(auditor)[:12], "role": "auditor", "address": "127.0.0.1"},
    ]


def test_failures_are_recorded_once_with_their_number(own: Plane) -> None:
    for key in ("x", "gwa_" + "u" * 43, KEY) * 30:
        assert own.ask("GET", "/me", key=key).status in (401, 403)
    for _ in range(5):
        assert own.ask("GET", "/me", key=None).status == 401  # a probe, and no try
    own.stop()
    found = [each["payload"] for each in own.recorded("ADMIN_LOGIN_FAILED")]
    assert found == [
        {"actor": None, "address": "127.0.0.1", "count": 1},
        {"actor": None, "address": "127.0.0.1", "count": 89},
    ]


# When records cannot be written.


def broken(own: Plane) -> Path:
    """Let the file of the audit log be none; remove the folder to mend it."""
    path = own.folder / "audit.jsonl"
    path.rename(own.folder / "before.jsonl")
    path.mkdir()
    own.ask("GET", "/me", key="nobody")  # whose failure is to be recorded
    eventually(lambda: own.get("//readyz", key=None)["audit"]["status"] == "failing")
    return path


def events_of(own: Plane) -> list[str]:
    lines = (own.folder / "audit.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["type"] for line in lines]


def test_nothing_is_changed_that_could_not_be_recorded_where_that_is_asked_for(
    planes: Planes, tmp_path: Path
) -> None:
    path = f"path: {json.dumps(str(tmp_path / 'audit.jsonl'))}"
    own = planes(f"audit: {{on_failure: refuse, {path}}}", folder=tmp_path)
    own.ask("PUT", "/tenants/acme", {})
    folder = broken(own)
    refused = own.ask("PUT", "/tenants/acme", DVARAS)
    assert (refused.status, refused.error["code"]) == (503, "audit_unavailable")
    assert "Nothing was changed" in refused.error["message"]
    assert refused.headers["Retry-After"]
    assert own.get("/tenants/acme")["metadata"] == {}
    assert own.get("//readyz")["status"] == "degraded"
    folder.rmdir()
    eventually(lambda: own.ask("PUT", "/tenants/acme", DVARAS).status == 200)
    eventually(lambda: events_of(own) == ["ADMIN_LOGIN_FAILED", "TENANT_METADATA_UPDATED"])


def test_else_a_change_is_made_and_recorded_once_it_can_be(planes: Planes, tmp_path: Path) -> None:
    path = f"path: {json.dumps(str(tmp_path / 'audit.jsonl'))}"
    own = planes(f"audit: {{{path}}}", folder=tmp_path)
    own.ask("PUT", "/tenants/acme", {})
    folder = broken(own)
    assert own.ask("PUT", "/tenants/acme", DVARAS).status == 200
    folder.rmdir()
    eventually(lambda: own.get("//readyz")["status"] == "ready")
    # Ready again is who has written the first of them.
    eventually(lambda: events_of(own) == ["ADMIN_LOGIN_FAILED", "TENANT_METADATA_UPDATED"])
