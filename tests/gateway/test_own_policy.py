"""What tenants have of their own: it holds at once, and for the whole of a request."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from groundwire.policy.policy import Action, Overrides
from tests.gateway.admin.plane import Plane, plane
from tests.gateway.chats import (
    SOURCES,
    WRONG,
    Gateway,
    events_of,
    finish_of,
    gateway,
    request,
    text_of,
)
from tests.gateway.client import PATIENCE_S, Reply
from tests.gateway.wire import DONE, Gate, Script, chunk, completion, event, stream_events

pytestmark = pytest.mark.merge

GOOD = SOURCES[0]
BAD = f"The Eiffel Tower was built in {WRONG}."


def checks(own: Gateway, detector: str) -> float:
    return own.metric("groundwire_checks_total", detector=detector)


def test_a_change_holds_for_the_next_request_without_a_restart(tmp_path: Path) -> None:
    tenants: dict[str, Overrides] = {}
    with gateway(tmp_path, "check: {action: log}", tenants=tenants) as own:
        own.upstream.otherwise(Script.json(completion(BAD)))
        assert own.post(request()).status_code == 200
        tenants["default"] = Overrides(action=Action.BLOCK)
        assert own.post(request()).status_code == 403
        tenants["default"] = Overrides(enabled=False)
        response = own.post(request())
        assert response.status_code == 200
        assert "x-groundwire-outcome" not in response.headers
        tenants.clear()
        assert own.post(request()).status_code == 200


def test_a_request_keeps_the_policy_that_it_began_with(tmp_path: Path) -> None:
    tenants = {"default": Overrides(action=Action.BLOCK, release="deferred")}
    gate = Gate()
    end = [event(chunk({}, finish="stop")), DONE]
    with gateway(tmp_path, tenants=tenants) as own:
        own.upstream.script(Script.sse([event(chunk({"content": BAD})), gate, *end]))
        with own.asking(request(stream=True)) as response:
            tenants["default"] = Overrides(action=Action.LOG)
            gate.open()
            events = events_of(response.read())
    assert (finish_of(events), text_of(events)) == ("content_filter", "")


def test_when_text_leaves_is_a_tenants_own(tmp_path: Path) -> None:
    tenants: dict[str, Overrides] = {}
    said = [event(chunk({"content": f"{GOOD} And"}))]
    yaml = "check: {action: block}\ngateway: {release: %s}"
    for configured, own_release, is_held in (
        ("sentence", None, False),
        ("sentence", "deferred", True),
        ("deferred", "sentence", False),
    ):
        tenants["default"] = Overrides(release=own_release)
        folder = tmp_path / f"{configured}-{own_release}"
        folder.mkdir()
        gate = Gate()
        with gateway(folder, yaml % configured, tenants=tenants) as own:
            own.upstream.script(Script.sse([*said, gate, event(chunk({}, finish="stop")), DONE]))
            with own.asking(request(stream=True)) as response:
                incoming, seen = response.iter_raw(), b""
                while not is_held and b"330 metres" not in seen:
                    seen += next(incoming)
                gate.open()
                seen += b"".join(incoming)
            (summary,) = own.wait_for_events(1)
        assert text_of(events_of(seen)) == f"{GOOD} And"
        assert summary["payload"]["release"] == (own_release or configured)


def test_records_name_the_detector_that_judged(tmp_path: Path) -> None:
    tenants = {"default": Overrides(detector="similarity:hash", similarity_threshold=0.9)}
    with gateway(tmp_path, "check: {action: header}", tenants=tenants) as own:
        own.upstream.otherwise(
            Script.json(completion("The Eiffel Tower is a hat that bananas wear in Ecuador."))
        )
        own.post(request())
        (found,) = own.wait_for_events(1)
        assert found["payload"]["detector"] == "similarity:hash"
        assert (checks(own, "similarity:hash"), checks(own, "fixed")) == (1, 0)
        tenants.clear()
        own.post(request())
        assert (checks(own, "similarity:hash"), checks(own, "fixed")) == (1, 1)


def test_a_detector_that_is_there_no_more_is_no_pass(tmp_path: Path) -> None:
    tenants = {"default": Overrides(detector="gone/model", action=Action.BLOCK)}
    with gateway(tmp_path, tenants=tenants) as own:
        own.upstream.script(Script.json(completion(GOOD)), Script.sse(stream_events([GOOD])))
        whole = own.post(request())
        assert (whole.status_code, whole.json()["error"]["code"]) == (403, "check_failed")
        events = own.stream()
        assert (text_of(events), events[-2]["groundwire"]["code"]) == ("", "check_failed")
        found = own.wait_for_events(3)
        assert checks(own, "none") == 2
    assert found[0]["payload"]["reason"] == "UnusableOverridesError"


def test_a_request_tightens_what_its_tenant_has_and_loosens_nothing(tmp_path: Path) -> None:
    tenants = {"default": Overrides(action=Action.HEADER)}
    with gateway(tmp_path, tenants=tenants) as own:
        own.upstream.otherwise(Script.json(completion(BAD)))
        for said, status in (("BLOCK", 403), ("LOG", 200)):
            metadata = {**request()["metadata"], "grounding.action": said}
            response = own.post(request(metadata=metadata))
            assert response.status_code == status
            assert status == 403 or response.headers["x-groundwire-action"] == "header"


def test_endpoints_that_are_not_checked_follow_the_tenant_too(tmp_path: Path) -> None:
    tenants: dict[str, Overrides] = {}
    with gateway(tmp_path, tenants=tenants) as own:
        own.upstream.otherwise(Script.json({}))
        assert own.post_to("complete", {"prompt": "?"}).headers["x-groundwire-checked"]
        tenants["default"] = Overrides(action=Action.BLOCK)
        assert own.post_to("complete", {"prompt": "?"}).status_code == 403


def test_a_detector_that_the_admin_plane_gives_a_tenant_judges_its_next_answer(
    tmp_path: Path,
) -> None:
    with plane(tmp_path, "check: {action: header}") as own:
        own.upstream.otherwise(
            Script.json(completion("The Eiffel Tower is a hat that bananas wear in Ecuador."))
        )
        assert own.chat().headers["x-groundwire-outcome"] == "grounded"
        policy = {"detector": "similarity:hash", "similarity_threshold": 0.9}
        assert own.ask("PUT", "/tenants/default/policy", policy).status == 200
        assert own.chat().headers["x-groundwire-outcome"] == "hallucinated"
        refused = own.ask("PATCH", "/tenants/default/policy", {"operating_point": 0.5})
        assert (refused.status, "similarity_threshold" in refused.text) == (422, True)


CONVERSATION = {"request": request(), "response": completion(BAD)}
BLOCKING = {"action": "block", "max_sources": 1}
TWO_SPANS = {"answer": GOOD, "spans": [{"id": "S0", "text": GOOD}, {"id": "S1", "text": GOOD}]}


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("chat/completions", request(), 403, "hallucination_detected"),
        ("complete", {"prompt": "?"}, 403, "unchecked_endpoint"),
        ("check", CONVERSATION, 200, '"action":"block"'),
        ("check/batch", {"examples": [CONVERSATION]}, 200, '"action":"block"'),
        ("verify", TWO_SPANS, 413, "evidence.max_sources"),
    ],
)
@pytest.mark.parametrize("change", ["deleted", "changed"])
def test_a_request_that_was_let_in_keeps_its_policy_if_its_body_comes_late(
    tmp_path: Path, path: str, body: dict[str, Any], status: int, said: str, change: str
) -> None:
    with plane(tmp_path) as own:
        own.upstream.otherwise(Script.json(completion(BAD)))
        key = own.make_key("acme")
        assert own.ask("PUT", "/tenants/acme/policy", BLOCKING).status == 200
        with asking_late(own, f"/v1/{path}", body, key=key) as finish:
            if change == "deleted":
                assert own.ask("DELETE", "/tenants/acme").status == 204
            else:
                assert own.ask("PUT", "/tenants/acme/policy", {}).status == 200
            reply = finish()
    assert (reply.status, said in reply.text.replace(" ", "")) == (status, True), reply.text


@contextmanager
def asking_late(
    own: Plane, path: str, body: dict[str, Any], *, key: str
) -> Iterator[Callable[[], Reply]]:
    """Send a request whose body is half there when the block begins; the rest comes when asked."""
    parts = urlsplit(own.url)
    sent = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n"
        "Expect: 100-continue\r\nConnection: close\r\n\r\n"
    )
    half = len(sent) // 2
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S) as wire:
        wire.sendall(head.encode())
        # It is said when the body is read: then the request was let in.
        assert wire.recv(100).startswith(b"HTTP/1.1 100 ")
        wire.sendall(sent[:half])

        def finish() -> Reply:
            wire.sendall(sent[half:])
            with HTTPResponse(wire) as response:
                response.begin()
                return Reply(response.status, response.headers, response.read())

        yield finish
