"""Checks of the gateway's own endpoints are counted, on record, and bounded in time as all are."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from groundwire import Detector
from groundwire.policy.policy import Action, Overrides
from tests.fixed_judge import FixedJudge
from tests.gateway.chats import SOURCES, WRONG, Gateway, gateway, request, without_ids
from tests.gateway.settled import GIVES_UP_S, ask, watched
from tests.gateway.wire import eventually

pytestmark = pytest.mark.merge

GOOD = {"sources": SOURCES, "answer": "It was built from 1887 to 1889."}
BAD = {"sources": SOURCES, "answer": f"It was built in {WRONG}."}
UNSURE = {"sources": [], "answer": "It was built by Gustave Eiffel."}
CHAT = {
    "request": {key: value for key, value in request().items() if key != "model"},
    "response": {
        "choices": [
            {"message": {"role": "assistant", "content": each["answer"]}} for each in (GOOD, BAD)
        ]
    },
}
BEFORE = "audit: {durability: before_response}\n"
REFUSING = "audit: {durability: before_response, on_failure: refuse}\n"


class FailingJudge(FixedJudge):
    """A judge that fails."""

    def open(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        raise RuntimeError(WRONG)


class StuckJudge(FixedJudge):
    """A judge that waits until it is let go."""

    go_on = threading.Event()

    def open(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401
        self.go_on.wait(20)
        return super().open(*args, **settings)


def counted(own: Gateway, **labels: str) -> float:
    return own.metric("groundwire_checks_total", mode="native", **labels)


# On record, and counted.


def test_a_finding_leaves_the_same_event_as_that_of_a_chat(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: block}") as own:
        response = own.post_to("check", BAD)
        (event,) = own.wait_for_events(1)
        assert counted(own, outcome="hallucinated", action="block", detector="fixed") == 1
        assert own.metric("gateway_grounding_check_total") == 0  # of responses of upstreams
    assert (response.status_code, response.json()["outcome"]) == (200, "hallucinated")
    assert event["type"] == "HALLUCINATION_DETECTED"
    assert event["trace_id"] == response.headers["x-trace-id"]
    payload = event["payload"]
    assert list(payload)[:3] == ["workspace_id", "source", "action"]
    assert (payload["source"], payload["action"]) == ("native", "block")
    assert payload["ungrounded_claims"] == [BAD["answer"]]


def test_what_is_grounded_is_counted_and_leaves_no_event(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: header}") as own:
        assert own.post_to("check", GOOD).status_code == 200
        assert own.post_to("check", UNSURE).status_code == 200
        (event,) = own.wait_for_events(1)
        assert counted(own, outcome="grounded", action="none") == 1
        assert counted(own, outcome="unverified") == 1
    assert (event["type"], event["payload"]["source"]) == ("CHECK_INCOMPLETE", "native")


def test_each_answer_of_a_conversation_is_on_record(tmp_path: Path) -> None:
    with gateway(tmp_path) as own:
        own.post_to("check", CHAT)
        (event,) = own.wait_for_events(1)
        assert counted(own) == 2
    assert (event["payload"]["choice"], event["payload"]["source"]) == (1, "native")


def test_each_row_of_a_batch_is_on_record_with_its_number(tmp_path: Path) -> None:
    with gateway(tmp_path) as own:
        rows = [GOOD, BAD, {"answer": ""}, BAD]
        found = own.post_to("check/batch", {"examples": rows}).json()
        events = own.wait_for_events(2)
        assert counted(own) == 3
    assert found["summary"]["errors"] == 1
    assert sorted(each["payload"]["row"] for each in events) == [2, 4]
    assert len({each["trace_id"] for each in events}) == 1


def test_what_cannot_be_checked_as_it_is_leaves_nothing(tmp_path: Path) -> None:
    with gateway(tmp_path) as own:
        assert own.post_to("check", {**BAD, "answer": " "}).status_code == 400
        assert own.post_to("check", {**BAD, "operating_point": "best"}).status_code == 400
        assert counted(own) == 0
    assert own.events() == []


def test_a_check_that_fails_is_on_record_as_unavailable(tmp_path: Path) -> None:
    with gateway(tmp_path, detector=Detector(FailingJudge(doubtful={}))) as own:
        response = own.post_to("check", BAD)
        rows = own.post_to("check/batch", {"examples": [BAD]}).json()
        first, second = own.wait_for_events(2)
        assert counted(own, outcome="unavailable") == 2
    assert response.status_code == 500
    assert WRONG not in without_ids(response.text)
    assert rows["summary"]["errors"] == 1
    assert first["payload"]["outcome"] == second["payload"]["outcome"] == "unavailable"
    assert first["payload"]["reason"] == "RuntimeError"


# The tenant's own.


def test_the_detector_and_the_threshold_of_the_tenant_hold(tmp_path: Path) -> None:
    tenants = {"default": Overrides(detector="similarity:hash", similarity_threshold=0.9)}
    with gateway(tmp_path, tenants=tenants) as own:
        found = own.post_to("check", GOOD).json()
        assert (found["detector"]["name"], found["detector"]["threshold"]) == (
            "similarity:hash",
            0.9,
        )
        rows = own.post_to("check/batch", {"examples": [GOOD], "operating_point": 0.8}).json()
        assert rows["results"][0]["detector"]["threshold"] == 0.8
        assert counted(own, detector="similarity:hash") == 2
        tenants["default"] = Overrides(similarity_threshold=0.5)
        assert own.post_to("check", GOOD).json()["error"]["code"] == "check_failed"


def test_a_tenant_that_is_not_checked_may_still_ask(tmp_path: Path) -> None:
    with gateway(tmp_path, tenants={"default": Overrides(enabled=False)}) as own:
        assert own.post_to("check", BAD).json()["outcome"] == "hallucinated"
        assert counted(own, outcome="hallucinated", action="none") == 1
    assert own.events() == []


# Bounded in time.


@pytest.mark.parametrize("path", ["check", "check/batch"])
def test_a_check_that_takes_too_long_is_given_up(tmp_path: Path, path: str) -> None:
    StuckJudge.go_on.clear()
    detector = Detector(StuckJudge(doubtful={}))
    body = {"examples": [{**BAD, "id": "a"}]} if path == "check/batch" else BAD
    with gateway(tmp_path, "gateway: {check_timeout_s: 0.2}", detector=detector) as own:
        try:
            response = own.post_to(path, body)
            (event,) = own.wait_for_events(1)
            assert counted(own, outcome="unavailable") == 1
        finally:
            StuckJudge.go_on.set()
    assert event["payload"]["reason"] == "CheckTimeoutError"
    if path == "check":
        assert response.status_code == 503
        error = response.json()["error"]
    else:
        (row,) = response.json()["results"]
        assert row["id"] == "a"
        error = row["error"]
    assert error["code"] == "check_timeout"
    assert "0.2 s" in error["message"]


def test_nemo_never_passes_what_took_too_long(tmp_path: Path) -> None:
    StuckJudge.go_on.clear()
    detector = Detector(StuckJudge(doubtful={}))
    with gateway(tmp_path, "gateway: {check_timeout_s: 0.2}", detector=detector) as own:
        try:
            claim = {"evidence": SOURCES, "claim": GOOD["answer"]}
            response = own.post_to("../alignscore_large", claim)
        finally:
            StuckJudge.go_on.set()
    assert response.json() == {"alignscore": 0.0, "outcome": "check_timeout"}


# With ``before_response``.


@pytest.mark.parametrize("body", [BAD, CHAT])
def test_a_result_does_not_leave_before_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any]
) -> None:
    with watched(tmp_path, BEFORE, monkeypatch) as (own, sink):
        client = ask(own, sink, body, path="check")
        found = json.loads(client.wait())
    assert found["outcome"] == "hallucinated"
    assert (sink.early, sink.before) == ([], b"")


def test_a_row_does_not_leave_before_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, BEFORE, monkeypatch) as (own, sink):
        client = ask(own, sink, {"examples": [GOOD, BAD]}, path="check/batch")
        found = json.loads(client.wait())
    assert found["summary"]["outcomes"] == {"grounded": 1, "hallucinated": 1}
    assert sink.early == []
    assert sink.before is not None
    assert WRONG.encode() not in without_ids(sink.before)


def test_without_record_a_result_is_refused_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, REFUSING, monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.client, sink.is_broken = None, True
        first = own.post_to("check", BAD)
        eventually(lambda: own.metric("groundwire_audit_failures_total") > 0)
        second = own.post_to("check", GOOD)  # which would leave none, but nobody knew
        rows = own.post_to("check/batch", {"examples": [BAD]}).json()["results"]
        for error in (first.json()["error"], second.json()["error"], rows[0]["error"]):
            assert error["code"] == "audit_unavailable"
        assert (first.status_code, second.status_code) == (503, 503)
        eventually(lambda: own.metric("groundwire_refusals_total", code="audit_unavailable") == 3)
        sink.is_broken = False
        eventually(lambda: own.metric("groundwire_audit_queue_depth") == 0)
        assert own.post_to("check", GOOD).status_code == 200


def test_an_action_that_does_nothing_leaves_no_record(tmp_path: Path) -> None:
    with gateway(tmp_path, tenants={"default": Overrides(action=Action.NONE)}) as own:
        own.post_to("check", BAD)
        assert counted(own, action="none") == 1
    assert own.events() == []
