"""What the audit log says: DVARA's payloads as documented, and that nothing is left untold."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.compat.dvara import GroundingResult
from groundwire.config import parse
from groundwire.config.findings import findings
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.events import (
    MAX_TEXTS,
    STREAMED,
    Disposition,
    StreamSummary,
    response_events,
    summary_event,
    unchecked_endpoint_event,
)
from groundwire.control.audit.quoted import AuditText, Keeping, cut, hashed
from groundwire.control.audit.record import compact
from groundwire.pipeline import Checked, Pipeline
from groundwire.policy.policy import Action, Policy
from tests.gateway.answers import (
    BLOCK,
    BROKEN_EXPLAINER,
    HEADER,
    checked,
    checked_by,
    partial,
    policy_of,
    unavailable,
    unverified,
)
from tests.pipeline.chats import POEM, RIGHT, WRONG, asked, judged, sent

GOLDEN = Path(__file__).with_name("golden")
LOG = Policy(action=Action.LOG)
OF: dict[str, Any] = {"tenant": "acme", "trace_id": "t1"}
HASHED = Keeping(text=AuditText.HASH)
ABOUT_ANSWERS = {
    EventType.HALLUCINATION_DETECTED,
    EventType.HALLUCINATION_DETECTED_STREAMING,
    EventType.STREAMING_ENFORCEMENT_SUMMARY,
    EventType.CHECK_INCOMPLETE,
    EventType.UNCHECKED_ENDPOINT,
}
HELD = StreamSummary(
    release="deferred", disposition=Disposition.REFUSED, delivered_chars=0, withheld_chars=900
)


def stream_events(
    answers: Sequence[Checked],
    *,
    summary: StreamSummary | None = None,
    **more: Any,  # noqa: ANN401
) -> tuple[AuditEvent, ...]:
    """The events of a streamed response, with its summary if its text was held back."""
    told = () if summary is None else (summary_event(summary, **OF),)
    return (*response_events(answers, **more, origin=STREAMED), *told)


def written(event: AuditEvent) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(compact(event.to_dict()).encode())
    return data


def golden(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return data


def fixed(event: AuditEvent) -> dict[str, Any]:
    """The event as if it had been made at a known time."""
    moment = datetime(2026, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)
    return written(replace(event, id="00000000-0000-4000-8000-000000000000", timestamp=moment))


# Payloads, as files.


def test_the_event_of_a_response_is_as_in_the_file() -> None:
    (event,) = response_events(checked(policy=LOG), **OF)
    assert fixed(event) == golden("hallucination_detected")


def test_the_event_with_hashes_is_as_in_the_file() -> None:
    (event,) = response_events(checked(policy=LOG), **OF, keeping=HASHED)
    assert fixed(event) == golden("hallucination_detected_hash")


def test_the_events_of_a_blocked_stream_are_as_in_the_files() -> None:
    summary = replace(HELD, code="hallucination_detected")
    found, told = stream_events(checked(policy=BLOCK), **OF, summary=summary)
    assert fixed(found) == golden("hallucination_detected_streaming")
    assert fixed(told) == golden("streaming_enforcement_summary")


def test_the_event_of_an_answer_that_failed_is_as_in_the_file() -> None:
    (event,) = response_events(unavailable(BLOCK), **OF)
    assert fixed(event) == golden("check_incomplete")


def test_the_event_of_an_endpoint_that_is_not_checked_is_as_in_the_file() -> None:
    event = unchecked_endpoint_event(**OF, path="/v1/responses", model="gpt-4o", decision="refuse")
    assert fixed(event) == golden("unchecked_endpoint")


def test_every_type_that_is_about_answers_has_a_file() -> None:
    types = {golden(path.stem)["type"] for path in GOLDEN.glob("*.json")}
    assert types == ABOUT_ANSWERS


# DVARA's facts.


def test_the_documented_fields() -> None:
    (answer,) = answers = checked(policy=LOG)
    (event,) = response_events(answers, **OF)
    assert answer.detection is not None
    result = GroundingResult.of(answer.detection)
    assert event.payload["grounded"] is False
    assert event.payload["confidence"] == pytest.approx(result.confidence, abs=1e-6)
    assert event.payload["overall_similarity"] == pytest.approx(result.overall_similarity, abs=1e-6)
    assert event.payload["ungrounded_claim_count"] == 1
    assert event.payload["ungrounded_claims"] == (WRONG,)
    assert event.payload["detector"] == "fixed"


def test_a_grounded_answer_writes_nothing() -> None:
    assert response_events(checked(RIGHT), **OF) == ()
    assert stream_events(checked(RIGHT), **OF) == ()


def test_a_drawn_answer_has_an_event_more_whatever_was_found() -> None:
    keeping = Keeping(text=AuditText.FULL, sample=1.0)
    (right,) = response_events(checked(RIGHT), **OF, keeping=keeping)
    assert (right.type, right.payload["outcome"]) == ("ANSWER_SAMPLED", "grounded")
    assert right.payload["sample"] == 1.0
    assert right.detail is not None
    assert right.detail["answer"]["text"] == RIGHT
    found, drawn = response_events(checked(), **OF, keeping=keeping)
    assert (found.type, drawn.type) == ("HALLUCINATION_DETECTED", "ANSWER_SAMPLED")
    (silent,) = response_events(checked(policy=policy_of("none")), **OF, keeping=keeping)
    assert (silent.type, silent.payload["outcome"]) == ("ANSWER_SAMPLED", "hallucinated")
    assert [each.type for each in response_events(unavailable(), **OF, keeping=keeping)] == [
        "CHECK_INCOMPLETE"  # nothing was checked, so there is nothing to judge
    ]


def test_answers_are_drawn_with_the_probability_that_is_set() -> None:
    answers, keeping = checked(RIGHT), Keeping(text=AuditText.FULL, sample=0.25)
    n_drawn = sum(len(response_events(answers, **OF, keeping=keeping)) for _ in range(800))
    assert 120 < n_drawn < 280  # six standard deviations


@pytest.mark.parametrize(
    ("yaml", "sample"),
    [
        ("{text: full, sample: 0.5}", 0.5),
        ("{sample: 0.5}", 0.0),
        ("{text: full, sample: 0.5, detail_days: 0}", 0.0),
    ],
)
def test_a_sample_that_nobody_could_judge_is_not_kept_and_that_is_said(
    yaml: str, sample: float
) -> None:
    config = parse(f"audit: {yaml}", name="test.yaml", environ={})
    assert Keeping.of(config.audit).sample == sample
    said = [each.message for each in findings(config) if "audit.sample" in each.message]
    assert len(said) == (0 if sample else 1)


def test_block_and_ungrounded_is_written() -> None:
    (event,) = response_events(checked(policy=BLOCK), **OF)
    assert (event.type, event.payload["action"]) == ("HALLUCINATION_DETECTED", "block")


def test_an_address_in_a_claim_is_not_in_the_log_if_texts_are_hashed() -> None:
    text = "Write to alice@example.com, who was born in 1950."
    for make in (response_events, stream_events):
        (event,) = make(checked(text), **OF, keeping=HASHED)
        assert b"alice" not in compact(event.to_dict()).encode()
        assert event.payload["ungrounded_claim_hashes"] == (hashed(text),)
        assert re.fullmatch("[0-9a-f]{16}", hashed(text))


def test_a_span_alone_has_no_hash_that_could_be_guessed() -> None:
    (event,) = response_events(checked(), **OF, keeping=HASHED)
    assert hashed("1950") not in compact(event.to_dict()).encode().decode()
    assert event.payload["unsupported_span_count"] == 2


def test_a_stream_under_log_has_an_event_without_message() -> None:
    (event,) = stream_events(checked(policy=LOG), **OF)
    assert event.type == "HALLUCINATION_DETECTED_STREAMING"
    assert event.payload["source"] == "streaming_response"
    assert "message" not in event.payload


def test_a_stream_under_block_has_the_documented_message() -> None:
    text = "It was built in 1950. It is 500 meters tall."
    (event,) = stream_events(checked(text, policy=BLOCK), **OF)
    assert event.payload["message"] == "Streaming response contains 2 ungrounded claim(s)"


def test_a_client_that_leaves_under_block_has_the_summary_alone() -> None:
    summary = replace(HELD, disposition=Disposition.CANCELLED)
    (event,) = stream_events((), **OF, summary=summary)
    assert event.type == "STREAMING_ENFORCEMENT_SUMMARY"
    assert event.payload["disposition"] == "cancelled"


@pytest.mark.parametrize("flag", ["scan_incomplete", "scan_failed", "truncated"])
def test_a_flag_is_there_only_when_it_is_true(flag: str) -> None:
    (without,) = stream_events((), **OF, summary=HELD)
    flags: dict[str, Any] = {flag: True}
    (with_it,) = stream_events((), **OF, summary=replace(HELD, **flags))
    assert dict(with_it.payload) == {**without.payload, flag: True}


def test_the_numbers_of_the_similarity_detector_are_dvaras() -> None:
    text = "dvara: {llm-gateway: {guardrail: {grounding: {enabled: true}}}}"
    with Pipeline.load(parse(text, name="application.yaml")) as pipeline:
        body = sent("The tower is 330 metres tall.")
        answers = checked_by(pipeline, "Nobody knows where the old captain lived.", body=body)
    (event,) = response_events(answers, **OF)
    similarity = event.payload["overall_similarity"]
    assert event.payload["detector"].startswith("similarity")
    assert answers[0].detection is not None
    threshold = answers[0].detection.detector.threshold
    sure = abs(similarity - threshold) / max(threshold, 1 - threshold)
    assert event.payload["confidence"] == pytest.approx(sure, abs=1e-5)


# Nothing is left untold.


@pytest.mark.parametrize(
    ("make", "outcome", "reason"),
    [
        (partial, "partial", "language"),
        (unverified, "unverified", "no_evidence"),
        (unavailable, "unavailable", "OSError"),
    ],
)
def test_what_was_not_checked_in_full_is_told_with_its_reason(
    make: Any,  # noqa: ANN401
    outcome: str,
    reason: str,
) -> None:
    for build, is_streamed in ((response_events, False), (stream_events, True)):
        (event,) = build(make(), **OF)
        assert event.type == "CHECK_INCOMPLETE"
        assert (event.payload["outcome"], event.payload["reason"]) == (outcome, reason)
        assert event.payload["action"] == "header"
        assert ("source" in event.payload) is is_streamed


def test_a_detector_that_fails_on_a_claim_is_told() -> None:
    (event,) = response_events(checked(RIGHT, judge=judged(fails_at="read")), **OF)
    assert event.payload["reason"] == "detector_failed"
    assert event.payload["reasons"] == {"detector_failed": 1}


def test_a_prompt_that_calls_for_no_check_leaves_nothing() -> None:
    with Pipeline.load() as pipeline:
        assert response_events(checked_by(pipeline, "Leaves.", body=asked(POEM)), **OF) == ()


def test_where_the_policy_does_nothing_nothing_is_written() -> None:
    assert response_events(checked(policy=policy_of("none")), **OF) == ()


def test_each_choice_has_its_event_with_its_number() -> None:
    events = response_events(checked(WRONG, RIGHT, "It is 500 meters tall."), **OF)
    assert [event.payload["choice"] for event in events] == [0, 2]
    (event,) = response_events(checked(), **OF)
    assert "choice" not in event.payload


def test_what_the_headers_of_a_stream_could_not_say_is_in_its_event() -> None:
    (event,) = stream_events(checked(policy=HEADER), **OF)
    assert event.payload["unsupported_spans"] == ("1950", "500 meters")
    assert event.payload["nli_contradictions"] == 2
    assert event.payload["max_severity"] == 4


def test_without_explanations_nothing_is_said_of_contradictions() -> None:
    (plain,) = response_events(checked(explainer=None), **OF)
    (failed,) = response_events(checked(explainer=BROKEN_EXPLAINER), **OF)
    assert {"nli_contradictions", "max_severity"}.isdisjoint(plain.payload)
    assert "nli_contradictions" not in failed.payload
    assert failed.payload["max_severity"] == 2


def test_an_event_is_bounded_and_counts_all() -> None:
    n = MAX_TEXTS + 5
    (event,) = response_events(checked(" ".join(["It was built in 1950."] * n)), **OF)
    assert event.payload["ungrounded_claim_count"] == n
    assert len(event.payload["ungrounded_claims"]) == MAX_TEXTS


# Its form.


def test_an_event_has_its_own_id_and_its_time_in_utc() -> None:
    (one,), (other,) = (stream_events((), **OF, summary=HELD) for _ in range(2))
    assert one.id != other.id
    elsewhere = timezone(timedelta(hours=2))
    late = replace(one, timestamp=datetime(2026, 1, 1, 1, 30, tzinfo=elsewhere))
    assert written(late)["timestamp"] == "2025-12-31T23:30:00.000Z"


@given(st.text(), st.text(), st.none() | st.text())
def test_whatever_strangers_write_is_one_line_of_plain_json(
    tenant: str, path: str, model: str | None
) -> None:
    event = unchecked_endpoint_event(
        tenant=tenant, trace_id="t1", path=path, model=model, decision="mark"
    )
    line = compact(event.to_dict()).encode()
    assert line.isascii()
    assert line.decode().isprintable()
    assert json.loads(line)["tenant"] == tenant


def test_half_a_surrogate_pair_stays_written_out() -> None:
    event = unchecked_endpoint_event(
        tenant="\ud800", trace_id="t1", path="\n\x1b\u2028", model=None, decision="mark"
    )
    assert rb"\ud800" in compact(event.to_dict()).encode()
    assert rb"\n\u001b\u2028" in compact(event.to_dict()).encode()


def test_an_event_cannot_be_changed() -> None:
    (event,) = stream_events((), **OF, summary=HELD)
    with pytest.raises(TypeError):
        event.payload["reason"] = "x"  # type: ignore[index]


# Texts.


def test_a_text_is_cut_at_100_characters() -> None:
    assert cut("a" * 100) == "a" * 100
    assert cut("a" * 101) == "a" * 100 + "..."
