"""Who may use the admin plane, and what a key of one tenant can see of another: nothing."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundwire import Detector
from tests.gateway.admin.conftest import Planes
from tests.gateway.admin.plane import ADMIN, DVARAS, Plane, plane
from tests.gateway.chats import KEY
from tests.gateway.client import Reply, fetch
from tests.gateway.wire import Script, completion

UNKNOWN = "gwa_" + "u" * 43

#: The action makes the response wait for its check.
SOURCES = {
    "grounding.sources": ["The Eiffel Tower was built from 1887 to 1889."],
    "grounding.action": "HEADER",
}

ROUTES = [
    ("GET", "/tenants", None),
    ("POST", "/tenants", {"id": "new"}),
    ("GET", "/tenants/default", None),
    ("GET", "/tenants/acme", None),
    ("GET", "/tenants/nobody", None),
    ("PUT", "/tenants/acme", DVARAS),
    ("PATCH", "/tenants/acme", {"name": "x"}),
    ("DELETE", "/tenants/acme", None),
    ("GET", "/tenants/acme/policy", None),
    ("PUT", "/tenants/acme/policy", {"action": "log"}),
    ("PATCH", "/tenants/nobody/policy", {"action": "log"}),
    ("GET", "/tenants/acme/effective", None),
    ("GET", "/tenants/acme/keys", None),
    ("POST", "/tenants/acme/keys", {}),
    ("DELETE", "/tenants/acme/keys/0123456789ab", None),
    ("GET", "/keys", None),
    ("POST", "/keys", {"role": "admin"}),
    ("DELETE", "/keys/0123456789ab", None),
    ("GET", "/audit/events", None),
    ("GET", "/audit/events/00000000-0000-0000-0000-000000000000", None),
    ("GET", "/audit/export", None),
    ("POST", "/audit/verify", None),
    ("GET", "/me", None),
    ("GET", "/no/such/path", None),
    ("POST", "//", {}),
    ("GET", "//v1/chat/completions", None),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A gateway with a tenant acme, which no test here can change."""
    with plane(tmp_path_factory.mktemp("shared")) as started:
        assert started.ask("PUT", "/tenants/acme", {}).status == 201
        yield started
        assert started.get("/tenants/acme")["version"] == 1


@pytest.fixture(scope="module")
def acme(shared: Plane) -> str:
    """A key of acme."""
    made = shared.ask("POST", "/tenants/acme/keys", {})
    return str(made.json()["secret"])


@pytest.fixture(scope="module")
def auditor(shared: Plane) -> str:
    """A key with the role auditor."""
    return shared.make_admin("auditor")


def without_trace(reply: Reply) -> tuple[int, dict[str, Any]]:
    return reply.status, {k: v for k, v in reply.error.items() if k != "trace_id"}


# Keys of tenants.


@pytest.mark.merge
def test_a_key_of_a_tenant_gets_the_same_answer_whatever_it_asks_for(
    shared: Plane, acme: str
) -> None:
    found = [
        without_trace(shared.ask(method, path, body, key=key))
        for method, path, body in ROUTES
        for key in (acme, KEY)
    ]
    assert all(each == found[0] for each in found)
    assert (found[0][0], found[0][1]["code"]) == (403, "admin_key_required")


@pytest.mark.merge
@pytest.mark.parametrize("key", [UNKNOWN, "gw_" + "u" * 43, "x", ADMIN + "x", ADMIN[:-1]])
def test_a_key_of_nobody_gets_the_same_answer_whatever_it_asks_for(shared: Plane, key: str) -> None:
    found = [
        without_trace(shared.ask(method, path, body, key=key)) for method, path, body in ROUTES
    ]
    assert all(each == found[0] for each in found)
    assert (found[0][0], found[0][1]["code"]) == (401, "invalid_api_key")


@pytest.mark.merge
def test_without_a_key_nothing_but_probes_is_answered(shared: Plane) -> None:
    for method, path, body in ROUTES:
        reply = shared.ask(method, path, body, key=None)
        assert (reply.status, reply.error["code"]) == (401, "missing_api_key")
        assert reply.headers["WWW-Authenticate"] == "Bearer"
    for path in ("/livez", "/readyz", "/metrics", "/openapi.json"):
        assert fetch(shared.admin_url + path).status == 200


@pytest.mark.merge
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {ADMIN}"},
        {"X-API-Key": ADMIN},
        {"X-Groundwire-Key": ADMIN},
        {"Authorization": "Bearer other", "X-API-Key": ADMIN},
    ],
)
def test_an_admin_key_comes_in_the_same_headers_as_others(
    shared: Plane, headers: dict[str, str]
) -> None:
    assert fetch(f"{shared.admin_url}/v1/admin/me", headers=headers).status == 200


@pytest.mark.merge
def test_a_key_of_a_tenant_beside_an_admin_key_changes_nothing(shared: Plane, acme: str) -> None:
    headers = {"X-API-Key": acme}
    assert shared.ask("GET", "/me", key=ADMIN, headers=headers).status == 200


# Roles.


@pytest.mark.merge
def test_an_auditor_reads_everything_and_changes_nothing(shared: Plane, auditor: str) -> None:
    assert shared.get("/me", key=auditor)["role"] == "auditor"
    before = shared.get("/tenants"), shared.get("/keys"), shared.get("/tenants/acme/keys")
    for method, path, body in ROUTES:
        reply = shared.ask(method, path, body, key=auditor)
        if method == "GET" or path == "/audit/verify":
            assert reply.status in (200, 404), (path, reply.text)
        else:
            assert (reply.status, reply.error["code"]) == (403, "read_only_role"), path
    assert (shared.get("/tenants"), shared.get("/tenants/acme/keys")) == (before[0], before[2])
    assert [each["id"] for each in shared.get("/keys")["keys"]] == [
        each["id"] for each in before[1]["keys"]
    ]


@pytest.mark.merge
def test_an_auditor_cannot_change_by_another_spelling(shared: Plane, auditor: str) -> None:
    for path in ("//v1/admin/audit/verify/", "//v1//admin/audit/verify", "//V1/ADMIN/AUDIT/VERIFY"):
        reply = shared.ask("POST", path, {}, key=auditor)
        assert (reply.status, reply.error["code"]) == (403, "read_only_role")
    override = {"X-HTTP-Method-Override": "DELETE"}
    assert shared.ask("GET", "/tenants/acme", key=auditor, headers=override).status == 200


# The data plane.


@pytest.mark.merge
def test_an_admin_key_is_none_for_requests_and_never_goes_upstream(
    shared: Plane, auditor: str
) -> None:
    for key in (ADMIN, auditor, UNKNOWN):
        reply = shared.chat(key=key)
        assert (reply.status, reply.error["code"]) == (401, "invalid_api_key")
    shared.upstream.script(*[Script.json({"data": []}) for _ in range(4)])
    n_before = len(shared.upstream.requests)
    for headers in (
        {"X-Groundwire-Key": KEY, "Authorization": f"Bearer {auditor}"},
        {"X-Groundwire-Key": KEY, "X-API-Key": ADMIN},
        {"X-Groundwire-Key": KEY, "api-key": auditor},
        {"Authorization": f"Bearer {KEY}", "X-API-Key": auditor},
    ):
        assert fetch(f"{shared.url}/v1/files", headers=headers).status == 200
    sent = shared.upstream.requests[n_before:]
    assert len(sent) == 4
    for each in sent:
        assert ADMIN not in str(each.headers)
        assert auditor not in str(each.headers)


def test_a_revoked_key_goes_nowhere_either(own: Plane) -> None:
    key = own.make_key("acme")
    (stored,) = own.get("/tenants/acme/keys")["keys"]
    assert own.ask("DELETE", f"/tenants/acme/keys/{stored['id']}").status == 200
    own.upstream.script(Script.json({"data": []}))
    headers = {"X-Groundwire-Key": KEY, "Authorization": f"Bearer {key}"}
    assert fetch(f"{own.url}/v1/files", headers=headers).status == 200
    assert key not in str(own.upstream.requests[0].headers)


def test_no_tenant_sees_what_another_has_in_the_cache(planes: Planes) -> None:
    detector = Detector.load(threads=2)
    own = planes(detector=detector)
    first, other = own.make_key("a"), own.make_key("b")
    read = []
    for key in (first, other, first, other):
        before = detector.cache
        own.upstream.script(Script.json(completion("It was built from 1887 to 1889.")))
        assert own.chat(key=key, metadata=SOURCES).status == 200
        after = detector.cache
        assert before is not None
        assert after is not None
        read.append(after.misses - before.misses)
    # As if nobody had ever sent that source: as much is read. How often it is found in the cache
    # depends on whether the answer comes before or after it was read.
    assert read == [read[0], read[0], 0, 0]
    assert read[0] > 0


# Secrets.


def test_no_key_is_in_a_log_an_answer_or_the_database(
    planes: Planes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = []
    with caplog.at_level(logging.DEBUG):
        own = planes(folder=tmp_path)
        keys = [own.make_key("acme"), own.make_admin("auditor")]
        for key in (*keys, ADMIN, KEY, UNKNOWN):
            for method, path, body in ROUTES:
                if method == "GET":
                    said.append(own.ask(method, path, body, key=key).text)
            said.append(own.chat(key=key).text)
        for url in (own.url, own.admin_url):
            said += [fetch(url + path).text for path in ("/metrics", "/readyz", "/openapi.json")]
        said.append(repr((own.control.directory, own.control.config, own.control)))
        own.stop()
    kept = b"".join(each.read_bytes() for each in tmp_path.iterdir() if each.is_file())
    assert b"KEY_CREATED" in kept
    for key in (*keys, ADMIN, KEY, UNKNOWN):
        assert key not in "".join(said)
        assert key not in caplog.text
        assert key.encode() not in kept


def test_what_names_a_key_by_mistake_does_not_repeat_it(own: Plane) -> None:
    """Whoever sends a key in place of its id has sent it; it must not be in the trail as well."""
    secret = own.make_key("acme")
    reply = own.ask("DELETE", f"/tenants/acme/keys/{secret}")
    assert reply.status == 404
    assert secret not in reply.text


def test_a_secret_is_shown_once(own: Plane) -> None:
    own.ask("PUT", "/tenants/acme", {})
    for path, body in (("/tenants/acme/keys", {}), ("/keys", {"role": "auditor"})):
        made = own.ask("POST", path, body)
        assert made.headers["Cache-Control"] == "no-store"
        assert set(made.json()) == {"key", "secret"}
        assert made.json()["secret"] not in str(own.get(path))
