import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from groundwire import audit_trace_budget, detect_hallucination
from groundwire.verify.report import VerificationReport
from tests.verify.scripted import Asked, Reply, ScriptedEndpoint, error, in_turn

pytestmark = pytest.mark.merge

SPANS = [{"sid": "S0", "text": "The sky is blue."}]
ANSWER = "The sky is blue [S0]."
KEY = "sk-very-secret"
Check = Callable[..., VerificationReport]

#: As the documented page shows it.
DETAIL = {
    "idx": 0,
    "claim": "The sky is blue [S0].",
    "cites": ["S0"],
    "flagged": False,
    "required": {"min": 3.8, "max": 3.9, "units": "bits"},
    "observed": {"min": 4.0, "max": 4.1, "units": "bits"},
    "budget_gap": {"min": -0.3, "max": -0.1, "units": "bits"},
    "has_any_citations": True,
    "missing_citations": False,
    "prior_yes": {"p_lower": 0.05, "p_upper": 0.05, "generated": "UNSURE", "topk": []},
    "post_yes": {"p_lower": 0.97, "p_upper": 0.97, "generated": "YES", "topk": []},
}
BAD = DETAIL | {"flagged": True, "budget_gap": {"min": 6.9, "max": 7.1, "units": "bits"}}


def report(*details: dict[str, Any], **more: Any) -> Reply:  # noqa: ANN401
    flagged = any(each["flagged"] for each in details)
    body = {"flagged": flagged, "under_budget": flagged, "summary": {}, "details": list(details)}
    return Reply(200, json.dumps(body | more).encode())


@contextmanager
def asking(respond: Callable[[Asked], Reply]) -> Iterator[tuple[ScriptedEndpoint, Check]]:
    with ScriptedEndpoint(respond) as wire:

        def check(answer: str = ANSWER, **how: Any) -> VerificationReport:  # noqa: ANN401
            asked = {"verifier": "service", "service_url": wire.origin, "api_key": KEY}
            return detect_hallucination(answer, SPANS, **asked | how)

        yield wire, check


def test_a_service_is_sent_the_answer_its_spans_and_the_documented_arguments() -> None:
    with asking(in_turn(report(DETAIL))) as (wire, check):
        check(verifier_model="m", require_citations=True)
    (asked,) = wire.asked
    assert asked.path == "/detect_hallucination"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "answer": ANSWER,
        "spans": [{"id": "S0", "text": "The sky is blue."}],
        "verifier_model": "m",
        "default_target": 0.95,
        "max_claims": 25,
        "require_citations": True,
        "context_mode": "cited",
        "timeout_s": 60.0,
    }


def test_what_else_was_changed_is_sent_too() -> None:
    with asking(in_turn(report(DETAIL))) as (wire, check):
        check(units="nats", placeholder="[GONE]")
    sent = wire.asked[0].body
    assert (sent["units"], sent["placeholder"]) == ("nats", "[GONE]")
    assert "temperature" not in sent


def test_its_report_is_ours_and_names_it() -> None:
    with asking(in_turn(report(DETAIL, BAD | {"idx": 1}))) as (_, check):
        found = check().to_dict()
    assert found["flagged"] is found["under_budget"] is True
    good, bad = found["details"]
    assert {key: good[key] for key in ("claim", "cites", "flagged", "budget_gap")} == {
        key: DETAIL[key] for key in ("claim", "cites", "flagged", "budget_gap")
    }
    assert (good["status"], bad["status"]) == ("passed", "under_budget")
    assert good["post_yes"]["p_lower"] == 0.97
    summary = found["summary"]
    assert (summary["backend"], summary["flagged_idxs"]) == ("service", [1])
    assert summary["rule"] == "service"


def test_a_status_of_its_own_is_kept() -> None:
    told = BAD | {"status": "contradicted", "missing_citations": False}
    with asking(in_turn(report(told))) as (_, check):
        assert [str(each.status) for each in check().details] == ["contradicted"]


def test_claims_beyond_the_limit_flag_whatever_it_says() -> None:
    with asking(in_turn(report(DETAIL))) as (_, check):
        found = check("The sky is blue [S0]. It is high [S0].", max_claims=1)
    assert found.flagged
    assert found.summary["unscored"][0]["claim"] == "It is high."


def test_a_service_may_say_that_it_left_claims_out() -> None:
    cut = report(DETAIL, flagged=True, under_budget=True, summary={"truncated": True})
    with asking(in_turn(cut)) as (_, check):
        assert check().truncated


@pytest.mark.parametrize(
    "lacks", [{"missing_citations": True}, {"has_any_citations": False, "cites": []}]
)
def test_a_pass_without_the_citations_that_were_required_is_none(lacks: dict[str, Any]) -> None:
    for is_required in (True, False):
        with asking(in_turn(report(DETAIL | lacks))) as (_, check):
            assert check(require_citations=is_required).flagged is is_required


@pytest.mark.parametrize(
    ("post_yes", "status"),
    [
        ({"p_lower": 0.0, "p_upper": 0.01, "generated": "NO"}, "contradicted"),
        ({"p_lower": 0.5, "p_upper": 0.6, "generated": "UNSURE"}, "not_entailed"),
        ({"p_lower": 0.9, "p_upper": 0.96, "generated": "YES"}, "ambiguous_verifier"),
    ],
)
def test_what_is_below_the_target_has_not_passed_by_whatever_rule(
    post_yes: dict[str, Any], status: str
) -> None:
    with asking(in_turn(report(DETAIL | {"post_yes": post_yes}))) as (_, check):
        found = check()
    assert (found.flagged, found.error) == (True, None)
    assert [str(each.status) for each in found.details] == [status]


THREE = "The sky is blue [S0]. It is high [S0]. It is wide [S0]."


def test_claims_of_an_answer_that_it_does_not_tell_of_flag() -> None:
    with asking(in_turn(report(DETAIL))) as (_, check):
        found = check(THREE)
    assert (found.flagged, found.truncated, found.error) == (True, True, None)
    assert (found.summary["claims_scored"], found.summary["claims_total"]) == (1, 3)


@pytest.mark.parametrize(
    ("told", "is_flagged"),
    [
        ("The sky is blue [S0]. It is high [S0]. It is wide [S0].", False),
        ("The sky is blue. It is high. It is wide.", False),
        ("The sky is blue [S0]. It is wide [S0].", True),
    ],
)
def test_a_service_may_join_claims_that_it_tells_of_in_full(told: str, is_flagged: bool) -> None:
    with asking(in_turn(report(DETAIL | {"claim": told}))) as (_, check):
        found = check(THREE)
    assert found.flagged is found.truncated is is_flagged


@pytest.mark.parametrize(
    "told",
    [
        {"status": "not_entailed"},
        {"error": "SECRET"},
        {"unknown_citations": ["S9"]},
        {"skipped_verifier": True},
        {"budget_gap": BAD["budget_gap"]},
    ],
)
def test_a_pass_that_its_own_details_speak_against_is_none(told: dict[str, Any]) -> None:
    with asking(in_turn(report(DETAIL | told))) as (_, check):
        found = check()
    assert (found.flagged, found.error) == (True, None)
    assert [str(each.status) for each in found.details] == [told.get("status", "under_budget")]


def test_a_target_below_the_one_that_was_asked_for_does_not_count() -> None:
    low = {"target": 0.5, "post_yes": {"p_lower": 0.6, "p_upper": 0.6, "generated": "YES"}}
    with asking(in_turn(report(DETAIL | low))) as (_, check):
        (found,) = check().details
    assert (found.target, str(found.status)) == (0.95, "not_entailed")


def test_a_flagged_report_without_a_flagged_claim_is_flagged() -> None:
    with asking(in_turn(report(DETAIL, flagged=True))) as (_, check):
        assert check().flagged


def test_a_service_may_count_more_claims_than_it_tells_of() -> None:
    with asking(in_turn(report(DETAIL, summary={"claims_total": 3}))) as (_, check):
        assert check().truncated


def test_a_service_may_divide_an_answer_further() -> None:
    with asking(in_turn(report(DETAIL, DETAIL | {"idx": 1}))) as (_, check):
        assert not check().flagged


@pytest.mark.parametrize("told", [[7], [7, 8, 10], [7, 8, 9, 10], [7, 8, 8]])
def test_a_trace_is_reported_by_the_steps_that_were_sent_or_not_at_all(told: list[int]) -> None:
    steps = [{"idx": idx, "claim": "The sky is blue.", "cites": ["S0"]} for idx in (7, 8, 9)]
    with ScriptedEndpoint(in_turn(report(*(DETAIL | {"idx": idx} for idx in told)))) as wire:
        found = audit_trace_budget(
            steps, SPANS, verifier="service", service_url=wire.origin, api_key=KEY
        )
    assert (found.flagged, found.error_type) == (True, "malformed_response")


def test_a_step_has_to_reach_its_own_target() -> None:
    steps = [{"claim": "The sky is blue.", "cites": ["S0"], "confidence": 0.99}]
    with ScriptedEndpoint(in_turn(report(DETAIL))) as wire:
        found = audit_trace_budget(
            steps, SPANS, verifier="service", service_url=wire.origin, api_key=KEY
        )
    assert [(each.target, str(each.status)) for each in found.details] == [(0.99, "not_entailed")]


def test_whether_it_answers_or_not_the_rule_is_its_own() -> None:
    for reply in (report(DETAIL), error(500)):
        with asking(in_turn(reply)) as (_, check):
            assert check().summary["rule"] == "service"


def test_a_trace_is_sent_with_the_target_of_each_step() -> None:
    steps: list[dict[str, Any]] = [
        {"claim": "The sky is blue.", "cites": ["S0"], "confidence": 0.9},
        {"claim": "B [S0]."},
    ]
    with ScriptedEndpoint(in_turn(report(DETAIL, DETAIL | {"idx": 1}))) as wire:
        found = audit_trace_budget(
            steps, SPANS, verifier="service", service_url=f"{wire.origin}/", api_key=KEY
        )
    assert wire.asked[0].path == "/audit_trace_budget"
    assert wire.asked[0].body["steps"] == [
        {"idx": 0, "claim": "The sky is blue.", "cites": ["S0"], "confidence": 0.9},
        {"idx": 1, "claim": "B [S0].", "cites": ["S0"], "confidence": 0.95},
    ]
    assert (found.summary["steps_scored"], found.flagged) == (2, False)


@pytest.mark.parametrize(
    ("reply", "error_type", "said"),
    [
        (error(401), "authentication_failed", "Authentication failed"),
        (error(402), "budget_exceeded", "Budget exceeded"),
        (error(404), "not_found", "Service error (404). The service has no such"),
        (error(422), "request_refused", "Service error (422). The service refuses the request."),
        (error(429), "rate_limited", "Service error (429). The service refuses more calls"),
        (error(500), "service_error", "Service error (500). The service fails."),
        (Reply(200, b"<html>"), "malformed_response", "documented shape"),
        (Reply(200, b"{}"), "malformed_response", "documented shape"),
        (report(), "malformed_response", "documented shape"),
        (report(DETAIL | {"flagged": 0}), "malformed_response", "documented shape"),
        (report(DETAIL | {"idx": 10**400}), "malformed_response", "documented shape"),
        (report(BAD, error="SECRET"), "malformed_response", "tells of an error"),
    ],
)
def test_a_failure_flags_with_its_kind_and_quotes_nothing(
    reply: Reply, error_type: str, said: str
) -> None:
    with asking(in_turn(reply)) as (_, check):
        found = check().to_dict()
    assert (found["flagged"], found["under_budget"], found["details"]) == (True, True, [])
    assert found["error_type"] == error_type
    assert said in found["error"]
    for secret in (KEY, "sk-secret", "SECRET", "blue"):
        assert secret not in found["error"]


def test_what_a_service_leaves_open_stays_unknown() -> None:
    open_ = {"required": None, "observed": {"min": None, "max": None}, "cites": None}
    with asking(in_turn(report(DETAIL | open_))) as (_, check):
        found = check()
    assert found.error is None
    (detail,) = found.to_dict()["details"]
    assert detail["observed"]["min"] is None


def test_no_answer_in_time_flags() -> None:
    with asking(in_turn(Reply(200, b"{}", delay_s=20.0))) as (_, check):
        found = check(timeout_s=0.1)
    assert (found.flagged, found.error_type) == (True, "timeout")


def test_a_service_that_is_not_there_flags() -> None:
    found = detect_hallucination(
        ANSWER, SPANS, verifier="service", service_url="http://127.0.0.1:9", api_key=KEY
    )
    assert (found.flagged, found.error_type) == (True, "connection_failed")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with ScriptedEndpoint(in_turn(report(DETAIL))) as other:
        moved = Reply(status, b"{}", {"Location": f"{other.origin}/detect_hallucination"})
        with asking(in_turn(moved)) as (_, check):
            found = check()
        assert other.asked == []
    assert (found.flagged, found.error_type) == (True, "service_error")


@pytest.mark.parametrize(
    "url", ["http://berry.example.com", "http://10.0.0.1:8000", "ftp://x", "x"]
)
def test_plain_http_to_another_machine_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = detect_hallucination(ANSWER, SPANS, verifier="service", service_url=url, api_key=KEY)
    monkeypatch.setenv("BERRY_SERVICE_URL", url)
    found = detect_hallucination(ANSWER, SPANS, verifier="service", api_key=KEY)
    for each in (given, found):
        assert (each.flagged, each.error_type) == (True, "invalid_argument")


def test_what_is_missing_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    found = detect_hallucination(ANSWER, SPANS, verifier="service", api_key=KEY)
    assert "BERRY_SERVICE_URL" in str(found.error)
    monkeypatch.setenv("BERRY_SERVICE_URL", "http://127.0.0.1:9")
    found = detect_hallucination(ANSWER, SPANS, verifier="service")
    assert "OPENAI_API_KEY" in str(found.error)
    assert found.flagged


def test_a_key_that_no_header_can_hold_is_refused_and_not_shown() -> None:
    key = "sk\nX-Evil: 1"
    found = detect_hallucination(
        ANSWER, SPANS, verifier="service", service_url="http://127.0.0.1:9", api_key=key
    )
    assert (found.flagged, found.error_type) == (True, "invalid_argument")
    assert "Evil" not in str(found.error)


def test_a_trace_without_steps_is_not_sent() -> None:
    with ScriptedEndpoint(in_turn(report())) as wire:
        found = audit_trace_budget(
            [], SPANS, verifier="service", service_url=wire.origin, api_key=KEY
        )
    assert (found.flagged, wire.asked) == (False, [])
