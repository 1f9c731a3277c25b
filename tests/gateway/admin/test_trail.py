"""The audit trail over HTTP: pages, one event, exports, whether it is what was written."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from groundwire.control.audit.event import EventType
from tests.gateway.admin.conftest import Planes
from tests.gateway.admin.plane import ADMIN, DVARAS, Plane
from tests.gateway.chats import KEY, WRONG
from tests.gateway.wire import Script, completion, eventually


def error_of(reply: Any) -> tuple[int, str, str | None]:  # noqa: ANN401
    return reply.status, reply.error["code"], reply.error["param"]


def types(page: dict[str, Any]) -> list[str]:
    return [each["type"] for each in page["events"]]


def found_something(own: Plane, tenant: str = "default", key: str = KEY) -> dict[str, Any]:
    """The event of a hallucinated answer, once it is there."""
    own.upstream.script(Script.json(completion(f"It was built in {WRONG}.")))
    assert own.chat(key=key).status == 200
    path = f"/audit/events?tenant={tenant}&type=HALLUCINATION_DETECTED"
    eventually(lambda: bool(own.get(path)["events"]))
    return dict(own.get(path)["events"][0])


def test_what_was_found_and_what_was_changed_is_in_one_trail(stored: Plane) -> None:
    stored.ask("PUT", "/tenants/acme", DVARAS)
    event = found_something(stored)
    assert (event["tenant"], event["has_detail"], event["is_readable"]) == ("default", True, True)
    assert event["payload"]["ungrounded_claim_count"] == 1
    page = stored.get("/audit/events?tenant=acme")
    assert types(page) == ["TENANT_METADATA_UPDATED", "TENANT_CREATED"]
    assert types(stored.get("/audit/events?tenant=acme&order=oldest")) == types(page)[::-1]
    either = stored.get("/audit/events?type=TENANT_CREATED&type=HALLUCINATION_DETECTED")
    assert sorted(types(either)) == ["HALLUCINATION_DETECTED", "TENANT_CREATED"]
    one = stored.get(f"/audit/events?trace_id={event['trace_id']}")
    assert [each["id"] for each in one["events"]] == [event["id"]]


def test_one_event_has_what_was_found_in_full(own: Plane) -> None:
    event = found_something(own)
    assert "detail" not in event
    whole = own.get(f"/audit/events/{event['id']}")
    detail = whole.pop("detail")
    assert whole == event
    assert WRONG in json.dumps(detail)


@pytest.mark.parametrize("path", ["-", "audit.jsonl"])
def test_a_trail_that_is_elsewhere_is_not_shown_as_an_empty_one(
    planes: Planes, tmp_path: Path, path: str
) -> None:
    elsewhere = path if path == "-" else str(tmp_path / path)
    own = planes(environ={"GROUNDWIRE_AUDIT_PATH": elsewhere})
    own.ask("PUT", "/tenants/acme", DVARAS)
    asked = [
        ("GET", "/audit/events"),
        ("GET", "/audit/events?limit=0"),
        ("GET", "/audit/events/00000000-0000-0000-0000-000000000000"),
        ("GET", "/audit/export"),
        ("POST", "/audit/verify"),
    ]
    for key in (ADMIN, own.make_admin("auditor")):
        for method, at in asked:
            reply = own.ask(method, at, key=key)
            assert error_of(reply) == (409, "trail_elsewhere", None)
            assert "audit.path" in reply.error["message"]
    assert own.ask("GET", "/audit/events", key=None).status == 401


def test_the_document_says_that_a_trail_may_be_elsewhere(own: Plane) -> None:
    paths = own.get("//openapi.json")["paths"]
    audit = [each for path, each in paths.items() if path.startswith("/v1/admin/audit/")]
    assert len(audit) == 4
    assert all("409" in method["responses"] for each in audit for method in each.values())


@pytest.mark.parametrize(
    "id_", ["x", "00000000-0000-0000-0000-000000000000", "%00", "%F0%9F%92%A9", "a" * 5000, "..%5C"]
)
def test_an_event_that_there_is_not_is_told(own: Plane, id_: str) -> None:
    assert error_of(own.ask("GET", f"/audit/events/{id_}")) == (404, "unknown_event", None)


def test_events_come_in_pages(own: Plane) -> None:
    for n in range(7):
        own.ask("POST", "/tenants", {"id": f"t{n}"})
    found, path, n_pages = [], "/audit/events?type=TENANT_CREATED&limit=3", 0
    while True:
        page = own.get(path)
        found += [each["tenant"] for each in page["events"]]
        n_pages += 1
        if n_pages == 1:
            own.ask("POST", "/tenants", {"id": "late"})  # which moves nothing
        if page["next"] is None:
            break
        path = f"/audit/events?type=TENANT_CREATED&limit=3&cursor={page['next']}"
    assert found == [f"t{n}" for n in range(6, -1, -1)]


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ("type=NOTHING", "invalid_body", "type[0]"),
        ("type=tenant_created", "invalid_body", "type[0]"),
        (f"tenant={'a' * 200}", "invalid_body", "tenant"),
        ("tenant=%00", "invalid_body", "tenant"),
        ("trace_id=%0A", "invalid_body", "trace_id"),
        ("since=2026-01-01T00:00:00", "invalid_body", "since"),
        ("since=yesterday", "invalid_body", "since"),
        ("until=1e400", "invalid_body", "until"),
        ("limit=0", "invalid_body", "limit"),
        ("limit=501", "invalid_body", "limit"),
        ("order=random", "invalid_body", "order"),
        ("tenant_id=acme", "unknown_parameter", "tenant_id"),
        ("cursor=x", "invalid_cursor", "cursor"),
        (f"cursor={'a' * 3000}", "invalid_cursor", "cursor"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(own: Plane, query: str, code: str, param: str) -> None:
    reply = own.ask("GET", f"/audit/events?{query}")
    assert reply.status in (400, 422)
    assert (reply.error["code"], reply.error["param"]) == (code, param)
    if not query.startswith(("limit", "order", "cursor")):
        assert own.ask("GET", f"/audit/export?{query}").status == reply.status


@pytest.mark.parametrize(
    "moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999-23:59", "1700000000"]
)
def test_any_moment_can_be_asked_for(own: Plane, moment: str) -> None:
    for field in ("since", "until"):
        assert own.ask("GET", f"/audit/events?{field}={quote(moment)}").status == 200


def test_moments_bound_what_is_found(own: Plane) -> None:
    own.ask("POST", "/tenants", {"id": "acme"})
    (event,) = own.get("/audit/events?tenant=acme")["events"]
    at = quote(event["timestamp"])
    assert own.get(f"/audit/events?tenant=acme&since={at}")["events"] == [event]
    assert own.get(f"/audit/events?tenant=acme&until={at}")["events"] == []


# Exports.


def test_an_export_has_all_of_it_and_is_recorded(stored: Plane) -> None:
    stored.ask("PUT", "/tenants/acme", DVARAS)
    found_something(stored)
    reply = stored.ask("GET", "/audit/export")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/jsonl"
    assert "attachment" in reply.headers["Content-Disposition"]
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert [each["chain"]["seq"] for each in lines][:3] == [1, 2, 3]
    assert {"TENANT_CREATED", "HALLUCINATION_DETECTED"} <= {each["type"] for each in lines}
    assert any("detail" in each for each in lines)
    (event,) = stored.get("/audit/events?type=RECORDS_EXPORTED")["events"]
    assert event["payload"] == {"actor": "3565c73a1c3c", "filters": {}}


def test_a_part_of_it_can_be_exported(own: Plane) -> None:
    own.ask("PUT", "/tenants/acme", DVARAS)
    own.ask("PUT", "/tenants/beta", DVARAS)
    asked = "tenant=acme&type=TENANT_CREATED&since=2020-01-01T00:00:00Z"
    (line,) = own.ask("GET", f"/audit/export?{asked}").text.splitlines()
    assert (json.loads(line)["tenant"], json.loads(line)["type"]) == ("acme", "TENANT_CREATED")
    (event,) = own.get("/audit/events?type=RECORDS_EXPORTED")["events"]
    assert event["payload"]["filters"] == {
        "tenant": "acme",
        "type": ["TENANT_CREATED"],
        "since": "2020-01-01T00:00:00+00:00",
    }
    assert own.ask("GET", "/audit/export?tenant=nobody").text == ""


# Whether it is what was written.


def test_a_trail_is_verified_while_it_is_written(stored: Plane) -> None:
    stored.ask("PUT", "/tenants/acme", DVARAS)
    verdict = stored.ask("POST", "/audit/verify")
    assert verdict.status == 200
    found = verdict.json()
    assert (found["status"], found["chains"], found["findings"]) == ("intact", 1, [])
    assert found["records"] >= 3


def test_what_was_changed_in_the_database_is_found_and_can_be_seen(planes: Planes) -> None:
    own = planes()
    own.ask("PUT", "/tenants/acme", DVARAS)
    with sqlite3.connect(own.folder / "groundwire.db") as connection:
        connection.execute(
            "UPDATE audit_records SET line = replace(line, 'BLOCK', 'LOG') "
            "WHERE type = 'TENANT_METADATA_UPDATED'"
        )
        connection.execute(
            "UPDATE audit_records SET line = replace(line, '\"version\":1', '\"version\":NaN') "
            "WHERE type = 'TENANT_CREATED'"
        )
    connection.close()
    found = own.ask("POST", "/audit/verify").json()
    assert (found["status"], found["findings_total"]) == ("tampered", 2)
    assert [each["kind"] for each in found["findings"]] == ["edited", "edited"]
    page = own.get("/audit/events?tenant=acme&order=oldest")
    assert [each["is_readable"] for each in page["events"]] == [False, True]
    for each in page["events"]:
        assert own.ask("GET", f"/audit/events/{each['id']}").status == 200
    assert own.ask("GET", "/audit/export").status == 200


def test_every_event_type_can_be_asked_for(own: Plane) -> None:
    for type_ in EventType:
        assert own.ask("GET", f"/audit/events?type={type_}").status == 200


def test_a_verdict_names_no_secret(own: Plane) -> None:
    text = own.ask("POST", "/audit/verify").text
    key = (own.folder / "audit.key").read_text().strip()
    assert key not in text
    assert re.fullmatch(r"[0-9a-f]{64}", key)
