"""Keys over HTTP: made, shown once, listed, revoked."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.gateway.admin.conftest import Planes
from tests.gateway.admin.plane import ADMIN, Plane
from tests.gateway.chats import KEY
from tests.gateway.client import fetch
from tests.gateway.wire import Script, completion


def in_hours(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


def is_taken(own: Plane, key: str) -> bool:
    own.upstream.script(Script.json(completion("Hello.")))
    status = own.chat(key=key).status
    assert status in (200, 401)
    return status == 200


def test_a_key_is_taken_at_once_and_until_it_is_revoked(stored: Plane) -> None:
    stored.ask("PUT", "/tenants/acme", {})
    made = stored.ask("POST", "/tenants/acme/keys", {"name": "laptop"})
    assert made.status == 201
    key, secret = made.json()["key"], made.json()["secret"]
    assert secret.startswith("gw_")
    assert (key["tenant"], key["role"], key["name"]) == ("acme", None, "laptop")
    assert (key["status"], key["revoked_at"], key["last_used_at"]) == ("active", None, None)
    assert is_taken(stored, secret)
    revoked = stored.ask("DELETE", f"/tenants/acme/keys/{key['id']}")
    assert (revoked.status, revoked.json()["status"]) == (200, "revoked")
    assert not is_taken(stored, secret)
    again = stored.ask("DELETE", f"/tenants/acme/keys/{key['id']}")
    assert again.json() == revoked.json()
    (listed,) = stored.get("/tenants/acme/keys")["keys"]
    assert listed == revoked.json()


def test_a_change_is_on_the_disk_when_it_is_told(own: Plane) -> None:
    assert own.control.store._is_synced


def test_the_other_port_says_where_keys_are_made(own: Plane) -> None:
    reply = fetch(f"{own.url}/v1/admin/keys", headers={"Authorization": f"Bearer {KEY}"})
    assert reply.status == 404
    assert "The admin plane has a port of its own" in reply.error["next_step"]


def test_a_key_of_one_tenant_is_not_revoked_under_another(own: Plane) -> None:
    key = own.make_key("acme")
    own.ask("PUT", "/tenants/beta", {})
    (listed,) = own.get("/tenants/acme/keys")["keys"]
    for path in ("/tenants/beta/keys", "/tenants/nobody/keys", "/tenants/default/keys", "/keys"):
        reply = own.ask("DELETE", f"{path}/{listed['id']}")
        assert (reply.status, reply.error["code"]) == (404, "unknown_key")
    assert is_taken(own, key)
    assert own.get("/tenants/beta/keys")["keys"] == []


@pytest.mark.parametrize(
    ("expires_at", "part"),
    [
        pytest.param(in_hours(-1), "past", id="an hour ago"),
        ("2030-01-01T00:00:00", "timezone"),
        ("9999-12-31T23:59:59-23:59", "no date"),
        ("0001-01-01T00:00:00+23:59", "no date"),
        ("tomorrow", "datetime"),
        (1e300, "datetime"),
        (True, "datetime"),
    ],
)
def test_a_moment_that_cannot_be_is_refused(own: Plane, expires_at: object, part: str) -> None:
    for path, more in (("/tenants/default/keys", {}), ("/keys", {"role": "auditor"})):
        reply = own.ask("POST", path, {"expires_at": expires_at, **more})
        assert reply.status == 422, reply.text
        assert reply.error["param"] == "expires_at"
        assert part in reply.error["message"]


def test_a_key_that_expires_says_when(own: Plane) -> None:
    own.ask("PUT", "/tenants/acme", {})
    moment = in_hours(24)
    made = own.ask("POST", "/tenants/acme/keys", {"expires_at": moment}).json()
    assert datetime.fromisoformat(made["key"]["expires_at"]) == datetime.fromisoformat(moment)
    assert is_taken(own, made["secret"])


def test_keys_of_the_configuration_are_listed_and_not_revoked(own: Plane) -> None:
    (key,) = own.get("/tenants/default/keys")["keys"]
    (admin,) = own.get("/keys")["keys"]
    for path, each in (("/tenants/default/keys", key), ("/keys", admin)):
        assert (each["is_configured"], each["created_at"], each["status"]) == (True, None, "active")
        if path != "/keys":
            reply = own.ask("DELETE", f"{path}/{each['id']}")
            assert (reply.status, reply.error["code"]) == (409, "configured")


def test_an_admin_key_has_a_role_and_does_not_revoke_itself(stored: Plane) -> None:
    made = stored.ask("POST", "/keys", {"role": "admin", "name": "Ann"})
    assert made.status == 201
    secret, id_ = made.json()["secret"], made.json()["key"]["id"]
    assert secret.startswith("gwa_")
    assert stored.get("/me", key=secret) == {"key_id": id_, "role": "admin", "name": "Ann"}
    own = stored.ask("DELETE", f"/keys/{id_}", key=secret)
    assert (own.status, own.error["code"]) == (409, "own_key")
    assert stored.ask("DELETE", f"/keys/{id_}").status == 200
    assert stored.ask("GET", "/me", key=secret).status == 401


@pytest.mark.parametrize(
    "body", [{}, {"role": "owner"}, {"role": None}, {"role": "admin", "tenant": "acme"}]
)
def test_a_role_is_one_of_two(own: Plane, body: object) -> None:
    assert own.ask("POST", "/keys", body).status == 422


def test_keys_come_in_pages_the_latest_first(own: Plane) -> None:
    own.ask("PUT", "/tenants/default", {})
    made = [own.ask("POST", "/tenants/default/keys", {}).json()["key"]["id"] for _ in range(5)]
    found, sizes, path = [], [], "/tenants/default/keys?limit=2"
    while True:
        page = own.get(path)
        sizes.append(len(page["keys"]))
        found += [each["id"] for each in page["keys"] if not each["is_configured"]]
        if page["next"] is None:
            break
        path = f"/tenants/default/keys?limit=2&cursor={page['next']}"
    assert sizes == [2, 2, 2]
    assert found == made[::-1]


@pytest.mark.parametrize("limit", ["0", "-1", "501", "x", "1e9", ""])
def test_a_limit_is_a_small_number(own: Plane, limit: str) -> None:
    for path in ("/tenants", "/keys", "/tenants/default/keys"):
        reply = own.ask("GET", f"{path}?limit={limit}")
        assert (reply.status, reply.error["param"]) == (422, "limit")


def test_the_first_start_makes_one_key_of_each_kind(planes: Planes) -> None:
    none = {"GROUNDWIRE_GATEWAY_API_KEY": "", "GROUNDWIRE_ADMIN_API_KEY": ""}
    own = planes(environ=none)
    (start,) = own.starts
    assert start.tenant_key is not None
    assert start.admin_key is not None
    assert is_taken(own, start.tenant_key.secret)
    admin = start.admin_key.secret
    assert own.get("/me", key=admin)["role"] == "admin"
    own.stop()
    made = own.recorded("TENANT_CREATED", "KEY_CREATED")
    assert [(each["type"], each["tenant"], each["payload"]["actor"]) for each in made] == [
        ("TENANT_CREATED", "default", "first-start"),
        ("KEY_CREATED", "default", "first-start"),
        ("KEY_CREATED", "-", "first-start"),
    ]


def test_a_configured_tenant_that_is_stored_with_its_key_is_recorded(own: Plane) -> None:
    assert own.ask("POST", "/tenants/default/keys", {}).status == 201
    own.stop()
    types = [each["type"] for each in own.recorded("TENANT_CREATED", "KEY_CREATED")]
    assert types == ["TENANT_CREATED", "KEY_CREATED"]


def test_when_a_key_was_used_last_is_told_after_a_while(planes: Planes) -> None:
    own = planes()
    secret = own.make_key("acme")
    assert is_taken(own, secret)
    own.stop()
    again = planes(folder=own.folder)
    (key,) = again.get("/tenants/acme/keys")["keys"]
    used = datetime.fromisoformat(key["last_used_at"])
    assert timedelta() <= datetime.now(UTC) - used < timedelta(minutes=10)


def test_whatever_the_admin_plane_says_is_kept_by_nobody(own: Plane) -> None:
    for path in ("/v1/admin/tenants", "/v1/admin/no", "/readyz", "/openapi.json"):
        reply = fetch(own.admin_url + path, headers={"Authorization": f"Bearer {ADMIN}"})
        assert reply.headers["Cache-Control"] == "no-store"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
