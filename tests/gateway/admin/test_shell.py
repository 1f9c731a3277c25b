"""Around the admin plane: the local demo, probes, metrics, its own limits, a clean end."""

import logging
import threading
from collections.abc import Iterator

import pytest

from groundwire.config import parse
from groundwire.errors import ConfigError
from groundwire.gateway.metrics import admin_endpoint_of
from groundwire.gateway.server import is_reachable, listen
from tests.gateway.admin.conftest import Planes
from tests.gateway.admin.plane import ADMIN, DVARAS, Plane
from tests.gateway.chats import KEY
from tests.gateway.client import fetch
from tests.gateway.serving import PATIENCE_S
from tests.gateway.wire import Script, eventually

NO_KEYS = {"GROUNDWIRE_GATEWAY_API_KEY": "", "GROUNDWIRE_ADMIN_API_KEY": ""}


# The local demo.


@pytest.fixture
def demo(planes: Planes) -> Plane:
    return planes(environ=NO_KEYS, is_local_demo=True)


def test_a_local_demo_needs_no_key_and_makes_none(demo: Plane) -> None:
    assert demo.get("/me", key=None) == {"key_id": "local-demo", "role": "admin", "name": None}
    assert demo.ask("PUT", "/tenants/acme", DVARAS, key=None).status == 201
    assert demo.get("/keys", key=None)["keys"] == []
    assert demo.starts == []
    assert [each["payload"]["actor"] for each in demo.recorded("TENANT_CREATED")] == ["local-demo"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8090", "127.0.0.1.evil.example"])
def test_it_is_called_by_the_name_of_this_machine(demo: Plane, host: str) -> None:
    for path in ("/v1/admin/tenants", "/metrics", "/openapi.json"):
        reply = fetch(demo.admin_url + path, host=host)
        assert (reply.status, reply.error["code"]) == (403, "host_not_local")


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_it_serves_no_pages_of_websites(demo: Plane, origin: str) -> None:
    headers = {"Origin": origin, "Content-Type": "text/plain"}
    reply = fetch(f"{demo.admin_url}/v1/admin/keys", method="POST", headers=headers, body=b"{}")
    assert (reply.status, reply.error["code"]) == (403, "origin_not_local")


def test_no_form_of_a_page_is_taken_for_json(demo: Plane) -> None:
    headers = {"Content-Type": "text/plain"}
    body = b'{"role": "admin"}'
    reply = fetch(f"{demo.admin_url}/v1/admin/keys", method="POST", headers=headers, body=body)
    assert reply.status == 415


# Ports.


@pytest.mark.merge
def test_both_ports_of_a_demo_are_on_this_machine() -> None:
    config = parse("{gateway: {port: 0}, admin: {host: 0.0.0.0, port: 0}}", name="")
    with pytest.raises(ConfigError, match=r"reached from elsewhere\. Use admin"):
        listen(config, is_admin=True, is_local_demo=True)
    for sockets, reachable in ((listen(config), False), (listen(config, is_admin=True), True)):
        assert is_reachable(sockets) is reachable
        for each in sockets:
            each.close()


# Metrics.


def metric(own: Plane, name: str) -> list[str]:
    text = fetch(f"{own.admin_url}/metrics").text
    assert "acme" not in text
    return [line for line in text.splitlines() if line.startswith(name)]


def test_requests_to_the_admin_plane_are_counted_apart(own: Plane) -> None:
    own.ask("PUT", "/tenants/acme", DVARAS)
    own.ask("GET", "/tenants/acme/keys")
    own.ask("GET", "/me", key=None)
    assert sorted(metric(own, "groundwire_admin_requests_total")) == [
        'groundwire_admin_requests_total{endpoint="me",status_class="4xx"} 1.0',
        'groundwire_admin_requests_total{endpoint="tenant_keys",status_class="2xx"} 1.0',
        'groundwire_admin_requests_total{endpoint="tenants",status_class="2xx"} 1.0',
    ]
    assert metric(own, "groundwire_requests_total") == []
    assert metric(own, "groundwire_in_flight") == ["groundwire_in_flight 0.0"]
    assert metric(own, "groundwire_store_up") == ["groundwire_store_up 1.0"]
    (revision,) = metric(own, "groundwire_directory_revision")
    assert float(revision.split()[1]) == own.control.directory.revision >= 1
    (age,) = metric(own, "groundwire_directory_age_seconds")
    assert 0 <= float(age.split()[1]) < 60
    assert fetch(f"{own.url}/metrics").text.count("groundwire_admin_requests_total{") == 4


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/admin/tenants", "tenants"),
        ("/v1/admin/tenants/acme", "tenants"),
        ("/v1/admin/tenants/acme/policy", "policies"),
        ("/v1/admin/tenants/acme/effective", "effective"),
        ("/v1/admin/tenants/acme/keys", "tenant_keys"),
        ("/v1/admin/tenants/acme/keys/0a", "tenant_keys"),
        ("/v1/admin/tenants/acme/else", "other"),
        ("/v1/admin/keys/0a", "admin_keys"),
        ("/v1/admin/audit/events/0a", "audit_events"),
        ("/v1/admin/audit/verify", "audit_verify"),
        ("/anything/else", "other"),
    ],
)
def test_endpoints_have_names_of_a_fixed_few(path: str, name: str) -> None:
    assert admin_endpoint_of(path) == name


# The two planes are two.


def test_neither_plane_answers_for_the_other(own: Plane) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    for path in ("/v1/chat/completions", "/v1/models", "/v1/check", "/"):
        reply = fetch(own.admin_url + path, headers=admin)
        assert (reply.status, reply.error["code"]) == (404, "unknown_path")
    own.upstream.script(Script.error(404))
    assert own.upstream.requests == ()
    reply = fetch(f"{own.url}/v1/admin/tenants", headers=admin)
    assert reply.status == 401
    document = own.get("//openapi.json")
    assert all(path.startswith("/v1/admin/") for path in document["paths"])
    assert not any("admin" in path for path in fetch(f"{own.url}/openapi.json").json()["paths"])


def test_no_request_for_the_admin_plane_goes_upstream(own: Plane) -> None:
    """A client that takes one port for the other must not tell an upstream about tenants."""
    headers = {"Authorization": f"Bearer {KEY}"}
    reply = fetch(f"{own.url}/v1/admin/tenants/acme", method="PUT", headers=headers, data=DVARAS)
    assert (reply.status, reply.error["code"]) == (404, "unknown_path")
    assert own.upstream.requests == ()


def test_the_document_is_valid_and_complete(own: Plane) -> None:
    document = own.get("//openapi.json")
    reason = "openapi-spec-validator is not installed"
    pytest.importorskip("openapi_spec_validator", reason=reason).validate(document)
    for path, item in document["paths"].items():
        for operation in item.values():
            assert operation["summary"], path
            assert len(operation["description"]) > 20, path
            assert {"401", "403", "422", "503"} <= set(operation["responses"]), path
    text = str(document)
    for name in document["components"]["schemas"]:
        assert f"#/components/schemas/{name}'" in text, name


# The end.


def test_a_request_that_is_under_way_ends_before_it_does(planes: Planes) -> None:
    """Its body comes slowly; once it is there, the change is made, recorded and answered."""
    own, is_ending, statuses = planes(), threading.Event(), list[int]()

    def body() -> Iterator[bytes]:
        yield b'{"metadata": '
        is_ending.wait(PATIENCE_S)
        yield b'{"a": "b"}}'

    def put() -> None:
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
        url = f"{own.admin_url}/v1/admin/tenants/acme"
        statuses.append(fetch(url, method="PUT", headers=headers, body=body()).status)

    asking, ending = threading.Thread(target=put), threading.Thread(target=own.stop)
    asking.start()
    eventually(lambda: bool(own.recorded("ADMIN_LOGIN")))  # it has been let in
    ending.start()
    is_ending.set()
    asking.join(PATIENCE_S)
    ending.join(PATIENCE_S)
    assert statuses == [201]
    types = [each["type"] for each in own.recorded()]
    assert types[-3:] == ["TENANT_CREATED", "TENANT_METADATA_UPDATED", "CHAIN_ENDED"]
    assert own.failures == []


def test_an_end_leaves_nothing_behind(planes: Planes, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        own = planes()
        own.make_key("acme")
        eventually(lambda: own.get("//readyz")["audit"]["waiting"] == 0)
        own.stop()
    assert caplog.text == ""


# Its own limits.


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/me", "GET"),
        ("DELETE", "/tenants", "GET, POST"),
        ("PUT", "/tenants/acme/keys/0a", "DELETE"),
        ("GET", "/audit/verify", "POST"),
        ("OPTIONS", "/tenants/acme", "DELETE, GET, PATCH, PUT"),
    ],
)
def test_another_method_is_refused_with_those_that_there_are(
    own: Plane, method: str, path: str, allowed: str
) -> None:
    reply = own.ask(method, path, None if method in ("GET", "OPTIONS") else {})
    assert (reply.status, reply.error["code"]) == (405, "method_not_allowed")
    assert reply.headers["Allow"] == allowed


def test_a_body_that_comes_slowly_is_refused(own: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.gateway.admin.route.AdminRoute.body_timeout_s", 0.05)
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    was_refused = threading.Event()

    def body() -> Iterator[bytes]:
        yield b'{"metadata": '
        was_refused.wait(3.0)
        yield b"{}}"

    url = f"{own.admin_url}/v1/admin/tenants/acme"
    reply = fetch(url, method="PUT", headers=headers, body=body())
    assert (reply.status, reply.error["code"]) == (408, "request_timeout")


def test_a_body_over_the_limit_is_refused_and_no_setting_is_named(own: Plane) -> None:
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    url = f"{own.admin_url}/v1/admin/tenants/acme"
    reply = fetch(url, method="PUT", headers=headers, body=b" " * 65_537)
    assert (reply.status, reply.error["code"]) == (413, "body_too_large")
    assert reply.error["next_step"] == "Send less."
