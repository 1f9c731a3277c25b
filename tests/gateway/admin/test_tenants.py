"""Tenants and their policies over HTTP: as DVARA documents it, and under our names."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from groundwire.config.tenants import KINDS
from tests.gateway.admin.conftest import Planes
from tests.gateway.admin.plane import ADMIN, DVARAS, Plane, plane
from tests.gateway.chats import WRONG
from tests.gateway.client import Reply, fetch
from tests.gateway.wire import Script, completion

pytestmark = pytest.mark.merge

BAD = f"It was built in {WRONG}."


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A gateway for tests that leave it as it was: with the tenants default and acme."""
    with plane(tmp_path_factory.mktemp("shared")) as started:
        assert started.ask("PUT", "/tenants/acme", {}).status == 201
        yield started
        assert {each["id"]: each["policy"] for each in started.get("/tenants")["tenants"]} == {
            "acme": {},
            "default": {},
        }


def asked(own: Plane, key: str) -> tuple[int, str | None]:
    """What a tenant gets for a hallucinated answer: status and code."""
    own.upstream.script(Script.json(completion(BAD)))
    reply = own.chat(key=key)
    return reply.status, reply.error["code"] if reply.status != 200 else None


def error_of(reply: Reply) -> tuple[int, str, str | None]:
    return reply.status, reply.error["code"], reply.error["param"]


# As DVARA documents it.


def test_a_put_makes_a_tenant_and_the_next_merges_into_it(stored: Plane) -> None:
    made = stored.ask("PUT", "/tenants/acme", DVARAS)
    assert (made.status, made.headers["ETag"]) == (201, '"1"')
    assert made.json()["metadata"] == DVARAS["metadata"]
    assert made.json()["warnings"] == []
    changes = {"grounding.action": "LOG", "grounding.enabled": None, "team": "search"}
    changed = stored.ask("PUT", "/tenants/acme", {"metadata": changes})
    assert (changed.status, changed.headers["ETag"]) == (200, '"2"')
    assert changed.json()["metadata"] == {
        "grounding.action": "LOG",
        "grounding.max-sources": "20",
        "grounding.max-source-length": "5000",
        "team": "search",
    }
    assert stored.get("/tenants/acme") == changed.json()


def test_a_change_is_in_effect_before_its_response(stored: Plane) -> None:
    key = stored.make_key("acme")
    assert asked(stored, key) == (200, None)
    assert stored.ask("PUT", "/tenants/acme", DVARAS).status == 200
    assert asked(stored, key) == (403, "hallucination_detected")
    assert stored.ask("PUT", "/tenants/acme/policy", {"action": "header"}).status == 200
    assert asked(stored, key) == (200, None)
    off = {"metadata": {"grounding.enabled": "no", "grounding.action": "blok"}}
    assert stored.ask("PUT", "/tenants/acme", off).json()["warnings"]
    block = {"enabled": True, "action": "block"}
    assert stored.ask("PUT", "/tenants/acme/policy", block).status == 200
    assert asked(stored, key) == (403, "hallucination_detected")


def test_values_that_cannot_be_meant_are_kept_told_and_inherit(own: Plane) -> None:
    body = {"metadata": {"grounding.action": "blok", "grounding.max-sources": "fifty"}}
    reply = own.ask("PUT", "/tenants/acme", body)
    assert reply.status == 201
    assert reply.json()["metadata"] == body["metadata"]
    first, second = reply.json()["warnings"]
    assert first.startswith("grounding.action = 'blok' is not possible; did you mean 'block'?")
    assert second.startswith("grounding.max-sources = 'fifty' is not possible")
    assert asked(own, own.make_key("acme")) == (200, None)


def test_fields_that_are_no_tenants_are_ignored_and_told(own: Plane) -> None:
    reply = own.ask("PUT", "/tenants/acme", {**DVARAS, "status": "ACTIVE", "plan": {"seats": 3}})
    assert reply.status == 201
    assert reply.json()["warnings"] == [
        "'status' is no field of a tenant, and is ignored.",
        "'plan' is no field of a tenant, and is ignored.",
    ]


def test_numbers_and_flags_are_kept_as_texts(own: Plane) -> None:
    body = {"metadata": {"grounding.enabled": True, "grounding.max-sources": 20, "share": 0.5}}
    kept = own.ask("PUT", "/tenants/acme", body).json()["metadata"]
    assert kept == {"grounding.enabled": "true", "grounding.max-sources": "20", "share": "0.5"}


# Tenants.


def test_tenants_are_made_named_and_deleted(stored: Plane) -> None:
    body = {"id": "acme", "name": "Acme", "metadata": {"a": "b"}, "policy": {"action": "BLOCK"}}
    made = stored.ask("POST", "/tenants", body)
    assert made.status == 201
    assert made.json()["policy"] == {"action": "block"}
    again = stored.ask("POST", "/tenants", {"id": "acme"})
    assert error_of(again) == (409, "tenant_exists", None)
    named = stored.ask("PATCH", "/tenants/acme", {"name": "Acme Inc."})
    assert (named.status, named.json()["name"], named.json()["version"]) == (200, "Acme Inc.", 2)
    assert stored.get("/tenants/acme") == named.json()
    assert stored.ask("DELETE", "/tenants/acme").status == 204
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/policy"), ("GET", "/effective")):
        gone = stored.ask(method, f"/tenants/acme{path}")
        assert error_of(gone) == (404, "unknown_tenant", None)


def test_the_keys_of_a_deleted_tenant_are_taken_no_more(own: Plane) -> None:
    key = own.make_key("acme")
    assert asked(own, key) == (200, None)
    assert own.ask("DELETE", "/tenants/acme").status == 204
    assert own.chat(key=key).status == 401
    # They are none of the upstream's either.
    assert own.ask("PUT", "/tenants/acme", {}).status == 201
    assert own.chat(key=key).status == 401


def test_lists_come_in_pages(stored: Plane) -> None:
    ids = [f"t{n:02d}" for n in range(7)]
    for each in reversed(ids):
        assert stored.ask("POST", "/tenants", {"id": each}).status == 201
    found: list[str] = []
    path = "/tenants?limit=3"
    sizes = []
    while True:
        page = stored.get(path)
        sizes.append(len(page["tenants"]))
        found += [each["id"] for each in page["tenants"]]
        if page["next"] is None:
            break
        path = f"/tenants?limit=3&cursor={page['next']}"
    assert found == ["default", *ids]
    assert sizes == [3, 3, 2]


@pytest.mark.parametrize("cursor", ["x", "!", "%00", "AA==", "AAAA", "a" * 3000, "%F0%9F%92%A9"])
@pytest.mark.parametrize("path", ["/tenants", "/tenants/default/keys", "/keys"])
def test_a_cursor_that_is_none_is_refused(shared: Plane, path: str, cursor: str) -> None:
    reply = shared.ask("GET", f"{path}?cursor={cursor}")
    assert error_of(reply) == (400, "invalid_cursor", "cursor")


def test_a_tenant_of_the_configuration_is_listed_and_changed_over_it(planes: Planes) -> None:
    own = planes("tenants: {acme: {action: block, keys: [gw_0123456789abcdef]}}")
    found = own.get("/tenants/acme")
    assert (found["version"], found["is_configured"], found["created_at"]) == (0, True, None)
    assert asked(own, "gw_0123456789abcdef") == (403, "hallucination_detected")
    refused = own.ask("DELETE", "/tenants/acme")
    assert error_of(refused) == (409, "configured", None)
    assert own.ask("PUT", "/tenants/acme/policy", {"action": "flag"}).status == 200
    assert asked(own, "gw_0123456789abcdef") == (200, None)
    assert own.ask("DELETE", "/tenants/acme").status == 204
    assert asked(own, "gw_0123456789abcdef") == (403, "hallucination_detected")


# Versions.


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "", {"metadata": {"a": "1"}}),
        ("PATCH", "", {"name": "x"}),
        ("PUT", "/policy", {"action": "block"}),
        ("PATCH", "/policy", {"action": "block"}),
        ("DELETE", "", None),
    ],
)
def test_a_change_for_another_version_is_refused_with_the_present_one(
    own: Plane, method: str, path: str, body: dict[str, Any] | None
) -> None:
    for n in range(2):
        own.ask("PUT", "/tenants/acme", {"metadata": {"n": n}})
    stale = own.ask(method, f"/tenants/acme{path}", body, headers={"If-Match": '"1"'})
    assert (stale.status, stale.error["code"]) == (412, "version_mismatch")
    assert stale.headers["ETag"] == '"2"'
    assert own.get("/tenants/acme")["metadata"] == {"n": "1"}
    for good in ('W/"2"', "*"):
        fresh = own.ask(method, f"/tenants/acme{path}", body, headers={"If-Match": good})
        assert fresh.status in (200, 204), fresh.text
        if method == "DELETE":
            break


def test_a_change_for_any_version_makes_no_tenant(own: Plane) -> None:
    reply = own.ask("PUT", "/tenants/fresh", {}, headers={"If-Match": "*"})
    assert (reply.status, reply.error["code"]) == (412, "version_mismatch")
    assert "ETag" not in reply.headers
    assert own.ask("GET", "/tenants/fresh").status == 404


def test_a_change_for_a_deleted_tenant_is_none_for_a_new_one_of_its_id(own: Plane) -> None:
    first = own.ask("PUT", "/tenants/acme", DVARAS).headers["ETag"]
    assert own.ask("DELETE", "/tenants/acme").status == 204
    second = own.ask("PUT", "/tenants/acme", {}).headers["ETag"]
    late = own.ask("PUT", "/tenants/acme/policy", {}, headers={"If-Match": first})
    assert (late.status, late.headers["ETag"]) == (412, second)


@pytest.mark.parametrize("value", ["1", '"one"', '"1", "2"', '"-1"', '"99999999999999999999"', ""])
def test_what_is_no_version_is_refused(shared: Plane, value: str) -> None:
    reply = shared.ask("PATCH", "/tenants/acme", {"name": "x"}, headers={"If-Match": value})
    assert error_of(reply) == (400, "invalid_if_match", "If-Match")


# Policies.


def test_a_policy_is_replaced_and_changed_field_by_field(stored: Plane) -> None:
    stored.ask("PUT", "/tenants/acme", {})
    put = stored.ask("PUT", "/tenants/acme/policy", {"action": "BLOCK", "max_sources": 5})
    assert put.json() == {
        "tenant": "acme",
        "policy": {"action": "block", "max_sources": 5},
        "version": 2,
    }
    assert put.headers["ETag"] == '"2"'
    merged = stored.ask("PATCH", "/tenants/acme/policy", {"max_sources": None, "explain": False})
    assert merged.json()["policy"] == {"action": "block", "explain": False}
    assert stored.get("/tenants/acme/policy") == merged.json()
    assert stored.ask("PUT", "/tenants/acme/policy", {}).json()["policy"] == {}


@pytest.mark.parametrize(
    ("policy", "field", "legal"),
    [
        ({"action": "blok"}, "action", "one of none, log, flag, header, body, repair, block"),
        ({"acton": "block"}, "acton", "did you mean 'action'"),
        ({"min_severity": 9}, "min_severity", "from 0 to 4"),
        ({"max_sources": -1}, "max_sources", "0 or more"),
        ({"release": "late"}, "release", "sentence, deferred"),
        ({"detector": "nobody"}, "detector", "reader"),
        ({"operating_point": 7}, "operating_point", "precision"),
        ({"enabled": []}, "enabled", "true or false"),
        ({"on_error": {"a": [1]}}, "on_error", "one of allow, warn, auto, block"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST"])
def test_what_a_policy_cannot_be_is_refused_with_what_it_can(
    shared: Plane, method: str, policy: dict[str, Any], field: str, legal: str
) -> None:
    if method == "POST":
        reply = shared.ask("POST", "/tenants", {"id": "new", "policy": policy})
    else:
        reply = shared.ask(method, "/tenants/acme/policy", policy)
    assert error_of(reply) == (422, "invalid_policy", field)
    assert legal in reply.error["message"]
    assert shared.get("/tenants/acme")["version"] == 1


def test_the_schema_of_a_policy_has_every_field(shared: Plane) -> None:
    document = shared.get("//openapi.json")
    content = document["paths"]["/v1/admin/tenants/{tenant}/policy"]["put"]["requestBody"]
    schema = content["content"]["application/json"]["schema"]
    assert list(schema["properties"]) == list(KINDS)
    assert schema["additionalProperties"] is False


def test_what_holds_is_told_with_who_says_so(planes: Planes) -> None:
    own = planes("check: {action: flag}\ntenants: {acme: {on_error: warn, explain: false}}")
    own.ask(
        "PUT",
        "/tenants/acme",
        {"metadata": {"grounding.max-sources": "7", "grounding.action": "nothing"}},
    )
    own.ask("PUT", "/tenants/acme/policy", {"min_severity": 2})
    found = own.get("/tenants/acme/effective")
    assert found["tenant"] == "acme"
    by_name = {each["name"]: each for each in found["values"]}
    assert list(by_name) == list(KINDS)
    values = {name: (each["value"], each["origin"]) for name, each in by_name.items()}
    assert values["min_severity"] == (2, "policy")
    assert values["max_sources"] == (7, "metadata")
    assert values["on_error"] == ("warn", "configuration (groundwire.yaml:2)")
    assert values["action"] == ("flag", "configuration (groundwire.yaml:1)")
    assert values["max_source_chars"] == (None, "default")
    assert "grounding.action = 'nothing' is not possible" in by_name["action"]["warning"]


# Hostile input.


HOSTILE_IDS = [
    "..%2F..%2Fetc",
    "%2e%2e",
    "a%2Fb",
    "a%00b",
    "%00",
    "%F0%9F%92%A9",
    "%ED%A0%80",
    "%FF",
    "-",
    ".hidden",
    "a%20b",
    "a%0d%0aX-Evil:%201",
    "a%22%3E%3Cscript%3E",
    "a" * 129,
    "a" * 10_000,
    "%61" * 3000,
    "a';DROP%20TABLE%20tenants;--",
    "%5Ba%5D",
]


HOSTILE_REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("PUT", "", DVARAS),
    ("PATCH", "", {"name": "x"}),
    ("DELETE", "", None),
    ("PUT", "/policy", {"action": "block"}),
    ("POST", "/keys", {}),
    ("GET", "/keys", None),
]


@pytest.mark.parametrize(
    ("id_", "method", "path", "body"),
    [
        *((each, *HOSTILE_REQUESTS[1]) for each in HOSTILE_IDS),
        *((HOSTILE_IDS[0], *each) for each in HOSTILE_REQUESTS),
    ],
    ids=range(len(HOSTILE_IDS) + len(HOSTILE_REQUESTS)),
)
def test_a_hostile_id_is_no_tenant(
    shared: Plane, id_: str, method: str, path: str, body: object
) -> None:
    reply = shared.ask(method, f"/tenants/{id_}{path}", body)
    assert reply.status in (404, 422), reply.text
    assert len(reply.body) < 1000
    assert reply.headers["X-Evil"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"id": "a/b"},
        {"id": "\u0000"},
        {"id": "\ud800"},
        {"id": 3},
        {"id": None},
        {"id": "a" * 10_000},
        {},
        {"id": "a", "name": "x" * 201},
        {"id": "a", "name": "a\nb"},
        {"id": "a", "name": ["x"]},
        {"id": "a", "name": "\ud800"},
        {"id": "a", "metadata": {"a": {}}},
        {"id": "a", "metadata": {"a": "\u0000"}},
        {"id": "a", "metadata": {"a": "\udfff"}},
        {"id": "a", "metadata": {"\ud800": "a"}},
        {"id": "a", "metadata": {"a": "x" * 1025}},
        {"id": "a", "metadata": {"a" * 129: "x"}},
        {"id": "a", "metadata": {f"k{n}": "x" for n in range(101)}},
        {"id": "a", "metadata": {"": "x"}},
        {"id": "a", "metadata": {"a": 1e400}},
        {"id": "a", "metadata": []},
        {"id": "a", "policy": {"\ud800": 1}},
        {"id": "a", "policy": {"action": "\ud800"}},
        {"id": "a", "policy": {f"p{n}": 1 for n in range(500)}},
        {"id": "a", "policy": "block"},
        {"id": "a", "unknown": 1},
        [],
        "a",
        None,
    ],
)
def test_what_cannot_be_a_tenant_is_refused(shared: Plane, body: object) -> None:
    raw = json.dumps(body).replace("Infinity", "1e400").encode()
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    reply = fetch(f"{shared.admin_url}/v1/admin/tenants", method="POST", headers=headers, body=raw)
    assert reply.status in (400, 422), reply.text
    assert reply.error["message"]


def test_any_text_that_is_one_survives(stored: Plane) -> None:
    metadata = {"名前": "\u2028 ' \" \\ ; -- 💩 \r\n\t\u0085", "a b": "", "x'y": "\x01\x7f"}
    made = stored.ask("PUT", "/tenants/a.b-c_d:e@f", {"metadata": metadata, "name": "Zoë 💩"})
    assert made.status == 201, made.text
    found = stored.get("/tenants/a.b-c_d:e@f")
    assert (found["metadata"], found["name"]) == (metadata, "Zoë 💩")


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, b"{}", 415),
        ({"Content-Type": "application/json"}, b"{", 400),
        ({"Content-Type": "application/json"}, b"", 400),
        ({"Content-Type": "application/json"}, b"[" * 60_000, 400),
        ({"Content-Type": "application/json"}, b'{"metadata": NaN}', 400),
        ({"Content-Type": "application/json"}, b" " * 65_537, 413),
        ({"Content-Type": "application/x-www-form-urlencoded"}, b"metadata=1", 415),
    ],
)
def test_a_body_is_json_and_not_too_large(
    shared: Plane, headers: dict[str, str], body: bytes, status: int
) -> None:
    sent = {"Authorization": f"Bearer {ADMIN}", **headers}
    url = f"{shared.admin_url}/v1/admin/tenants/acme"
    assert fetch(url, method="PUT", headers=sent, body=body).status == status
