"""DVARA's grounding guardrail, fact by fact, over HTTP and under its names.

What its own tests assert, then what its page documents. Verdicts are those of ``similarity:hash``,
its default; where only the way of an answer matters, a judge doubts one word.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from groundwire import Detector, Pipeline
from groundwire.config.findings import ConfigWarning
from groundwire.config.names import DVARA
from tests.fixed_judge import RecordingJudge
from tests.gateway.chats import (
    SOURCES,
    WRONG,
    Gateway,
    events_of,
    finish_of,
    gateway,
    text_of,
    unmarked,
)
from tests.gateway.chats import request as chat
from tests.gateway.wire import (
    DONE,
    End,
    Gate,
    Piece,
    Script,
    chunk,
    completion,
    event,
    eventually,
    stream_events,
)

pytestmark = pytest.mark.merge

PREFIX = "DVARA_LLM_GATEWAY_GUARDRAIL_GROUNDING_"
GOOD = SOURCES[0]
BAD = f"The Eiffel Tower was built in {WRONG} by Gustave Eiffel."
RELEASES = pytest.mark.parametrize("release", ["sentence", "deferred"])
FULL = Path("/dev/full")


def grounding(**settings: object) -> str:
    """A file under DVARA's names, with the guardrail on unless it says otherwise."""
    given = {"enabled": "true", "action": "BLOCK"} | settings
    said = ", ".join(f"{name.replace('_', '-')}: {value}" for name, value in given.items())
    return f"{DVARA}: {{{said}}}"


def judging(**more: Any) -> RecordingJudge:  # noqa: ANN401
    return RecordingJudge(doubtful={WRONG: 0.9}, **more)


@contextmanager
def judged(
    folder: Path,
    yaml: str,
    judge: RecordingJudge | None = None,
    **more: Any,  # noqa: ANN401
) -> Iterator[tuple[Gateway, RecordingJudge]]:
    """A gateway whose detector notes what it is asked."""
    own = judging() if judge is None else judge
    with gateway(folder, yaml, detector=Detector(own), **more) as running:
        yield running, own


def deferred(yaml: str) -> str:
    return f"{yaml}\ngateway: {{release: deferred}}"


def with_sources(*sources: object, **more: object) -> dict[str, Any]:
    return chat(metadata={"grounding.sources": list(sources)}, **more)


def of_type(own: Gateway, type_: str) -> list[dict[str, Any]]:
    return [each for each in own.events() if each["type"] == type_]


def summary(own: Gateway) -> dict[str, Any]:
    eventually(lambda: len(of_type(own, "STREAMING_ENFORCEMENT_SUMMARY")) == 1)
    payload = of_type(own, "STREAMING_ENFORCEMENT_SUMMARY")[0]["payload"]
    assert isinstance(payload, dict)
    return payload


# Its own tests.


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("yaml", [f"{DVARA}.action: BLOCK", grounding(enabled="false")])
def test_grounding_disabled_the_detector_is_never_invoked(
    tmp_path: Path, yaml: str, *, stream: bool
) -> None:
    with judged(tmp_path, yaml) as (own, judge):
        script = Script.sse(stream_events([BAD])) if stream else Script.json(completion(BAD))
        own.upstream.script(script)
        assert own.post(chat(stream=stream)).content == b"".join(map(bytes, script.body))  # type: ignore[arg-type]
        assert own.events() == []
    assert (judge.opened, judge.claims) == ([], [])


def test_block_and_ungrounded_is_hallucination_detected_and_audited(tmp_path: Path) -> None:
    with judged(tmp_path, grounding()) as (own, judge):
        own.upstream.script(Script.json(completion(BAD)))
        response = own.post(chat())
        (found,) = own.wait_for_events(1)
    assert (response.status_code, judge.claims) == (403, [BAD])
    assert response.json()["error"]["code"] == "hallucination_detected"
    assert found["type"] == "HALLUCINATION_DETECTED"


@pytest.mark.parametrize("metadata", [None, {}, {"grounding.sources": []}, {"team": "x"}])
def test_enabled_without_sources_the_check_is_skipped(
    tmp_path: Path, metadata: dict[str, object] | None
) -> None:
    with judged(tmp_path, grounding()) as (own, judge):
        own.upstream.script(Script.json(completion(BAD)))
        response = own.post(chat(metadata=metadata))
        assert own.events() == []
        assert own.metric("gateway_grounding_check_total") == 0
    assert (response.status_code, response.json()) == (200, completion(BAD))
    assert not any(name.startswith("x-vsr-") for name in response.headers)
    assert judge.claims == []


def test_of_4_sources_with_max_sources_2_exactly_2_reach_the_detector(tmp_path: Path) -> None:
    with judged(tmp_path, grounding(max_sources=2)) as (own, judge):
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(with_sources("one", "two", "three", "four"))
    assert judge.opened == [["one", "two"]]


def test_with_max_source_length_10_only_short_reaches_the_detector(tmp_path: Path) -> None:
    with judged(tmp_path, grounding(max_source_length=10)) as (own, judge):
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(with_sources("short", "a source that is far too long"))
    assert judge.opened == [["short"]]


TENANT = "gw_" + "t" * 40


def test_a_workspace_that_is_off_over_a_global_on_the_detector_is_not_called(
    tmp_path: Path,
) -> None:
    yaml = f'{grounding()}\ntenants: {{acme: {{enabled: "false", keys: [{TENANT}]}}}}'
    with judged(tmp_path, yaml) as (own, judge):
        own.upstream.otherwise(Script.json(completion(BAD)))
        assert own.post(chat(), headers={"Authorization": f"Bearer {TENANT}"}).status_code == 200
        assert judge.opened == []
        assert own.post(chat()).status_code == 403


def test_a_workspace_may_be_on_over_a_global_off(tmp_path: Path) -> None:
    yaml = f"{grounding(enabled=False)}\ntenants: {{acme: {{enabled: yes, keys: [{TENANT}]}}}}"
    with judged(tmp_path, yaml) as (own, _):
        own.upstream.otherwise(Script.json(completion(BAD)))
        assert own.post(chat(), headers={"Authorization": f"Bearer {TENANT}"}).status_code == 403
        assert own.post(chat()).status_code == 200


def test_workspace_action_log_over_global_block_the_detector_runs_and_the_response_passes(
    tmp_path: Path,
) -> None:
    yaml = f"{grounding()}\ntenants: {{acme: {{action: LOG, keys: [{TENANT}]}}}}"
    with judged(tmp_path, yaml) as (own, judge):
        own.upstream.script(Script.json(completion(BAD)))
        response = own.post(chat(), headers={"Authorization": f"Bearer {TENANT}"})
        (found,) = own.wait_for_events(1)
    assert (response.status_code, judge.claims) == (200, [BAD])
    assert (found["tenant"], found["payload"]["action"]) == ("acme", "log")


def test_limits_of_a_workspace_are_its_own(tmp_path: Path) -> None:
    yaml = (
        f"{grounding(max_sources=1)}\n"
        f"tenants: {{acme: {{max_sources: 2, max_source_chars: 4, keys: [{TENANT}]}}}}"
    )
    with judged(tmp_path, yaml) as (own, judge):
        own.upstream.otherwise(Script.json(completion(GOOD)))
        own.post(with_sources("one", "three", "two"), headers={"Authorization": f"Bearer {TENANT}"})
        own.post(with_sources("one", "three", "two"))
    assert judge.opened == [["one", "two"], ["one"]]


def test_bad_values_in_metadata_raise_nothing_and_the_defaults_are_used(tmp_path: Path) -> None:
    """In a file, a tenant's settings stand in our names, and bad ones stop the start."""
    metadata = {
        "grounding.sources": SOURCES,
        "grounding.action": "blok",
        "grounding.max-sources": "fifty",
        "grounding.enabled": "perhaps",
    }
    with judged(tmp_path, grounding(action="LOG")) as (own, judge):
        own.upstream.script(Script.json(completion(BAD)))
        assert own.post(chat(metadata=metadata)).status_code == 200
        (found,) = own.wait_for_events(1)
    assert (judge.opened, found["payload"]["action"]) == ([SOURCES], "log")


def test_an_ungrounded_claim_with_an_address_is_audited_as_hashes_without_it(
    tmp_path: Path,
) -> None:
    claim = f"The tower was built in {WRONG} by alice@example.com."
    with judged(tmp_path, f"{grounding()}\naudit: {{text: hash}}") as (own, _):
        own.upstream.script(Script.json(completion(claim)), Script.sse(stream_events([claim])))
        own.post(chat())
        own.post(chat(stream=True))
        eventually(lambda: len(own.events()) == 3)
        for found in own.events()[:2]:
            digest = sha256(claim.encode()).hexdigest()[:16]
            assert found["payload"]["ungrounded_claim_hashes"] == [digest]
        assert "alice" not in own.audit.read_text()


@pytest.fixture(scope="module")
def documented() -> Iterator[Pipeline]:
    """As a user gets it who turns the guardrail on: similarity:hash, gate and all."""
    from groundwire.config import parse

    with pytest.warns(ConfigWarning, match="similarity:hash at 0.7"):
        loaded = Pipeline.load(parse(grounding(), name="application.yml"))
    with loaded:
        yield loaded


@RELEASES
def test_a_stream_under_block_of_60_ungrounded_pieces_delivers_0_characters(
    tmp_path: Path, documented: Pipeline, release: str
) -> None:
    yaml = f"{grounding()}\ngateway: {{release: {release}}}"
    with gateway(tmp_path, yaml, pipeline_of=lambda _: documented) as own:
        own.upstream.script(Script.sse(stream_events(["The answer is "] * 60)))
        events = own.stream()
        assert summary(own)["delivered_chars"] == 0
    assert (text_of(events), finish_of(events)) == ("", "content_filter")


@pytest.mark.skipif(not FULL.exists(), reason="no file here is always full")
@RELEASES
def test_the_same_with_an_audit_sink_that_fails_still_delivers_0_characters(
    tmp_path: Path, release: str
) -> None:
    yaml = f"{grounding()}\ngateway: {{release: {release}, shutdown_s: 0.1}}"
    environ = {"GROUNDWIRE_AUDIT_PATH": str(FULL)}
    with judged(tmp_path, yaml, environ=environ) as (own, _):
        own.upstream.script(
            Script.sse(stream_events([f"The answer is {WRONG} "] * 60)),
            Script.json(completion(BAD)),
        )
        events = own.stream()
        assert own.post(chat()).status_code == 403
        eventually(lambda: own.metric("groundwire_audit_failures_total") > 0)
    assert (text_of(events), finish_of(events)) == ("", "content_filter")


def test_a_stream_under_log_is_delivered_in_full_and_its_event_has_no_message(
    tmp_path: Path,
) -> None:
    with judged(tmp_path, grounding(action="LOG")) as (own, _):
        own.upstream.script(Script.sse(stream_events([BAD])))
        assert text_of(own.stream()) == BAD
        (found,) = own.wait_for_events(1)
    assert found["type"] == "HALLUCINATION_DETECTED_STREAMING"
    assert "message" not in found["payload"]


@RELEASES
def test_a_stream_under_block_whose_detector_throws_is_refused_empty(
    tmp_path: Path, release: str
) -> None:
    """As in DVARA's newer versions, which fail closed; ``on_error: auto`` says so."""
    yaml = f"{grounding()}\ncheck: {{on_error: auto}}\ngateway: {{release: {release}}}"
    with judged(tmp_path, yaml, judging(fails=True)) as (own, _):
        own.upstream.script(Script.sse(stream_events([GOOD])))
        events = own.stream()
        assert summary(own)["scan_failed"] is True
    assert (text_of(events), finish_of(events)) == ("", "content_filter")


@pytest.mark.parametrize("stream", [False, True])
def test_by_default_a_detector_that_throws_lets_pass_as_documented(
    tmp_path: Path, *, stream: bool
) -> None:
    """Its first version, which is the documented one, fails open; one setting is for both ways."""
    with judged(tmp_path, grounding(), judging(fails=True)) as (own, _):
        own.upstream.script(
            Script.sse(stream_events([BAD])) if stream else Script.json(completion(BAD))
        )
        response = own.post(chat(stream=stream))
        found = own.wait_for_events(1)[0]
    assert response.status_code == 200
    assert WRONG in response.text
    assert (found["type"], found["payload"]["outcome"]) == ("CHECK_INCOMPLETE", "unavailable")


@pytest.mark.parametrize("end", [End.RESET, End.CLOSE])
def test_a_stream_under_block_whose_upstream_throws_after_2_chunks_delivers_nothing(
    tmp_path: Path, end: End
) -> None:
    events = [event(chunk({"content": piece})) for piece in ("It is in Paris. ", "It is tall.")]
    with judged(tmp_path, deferred(grounding())) as (own, _):
        own.upstream.script(Script.sse(events, end=end))
        got = own.stream()
        payload = summary(own)
    assert (text_of(got), finish_of(got)) == ("", "content_filter")
    assert (payload["code"], payload["truncated"]) == ("stream_incomplete_ungrounded", True)


def test_with_release_by_sentence_the_same_delivers_what_was_judged_and_no_more(
    tmp_path: Path,
) -> None:
    events = [event(chunk({"content": piece})) for piece in ("It is in Paris. ", "It is tal")]
    with judged(tmp_path, grounding()) as (own, _):
        own.upstream.script(Script.sse(events, end=End.RESET))
        got = own.stream()
    assert text_of(got).strip() in ("", "It is in Paris.")
    assert finish_of(got) == "content_filter"


@RELEASES
def test_when_the_client_cancels_under_block_there_is_only_the_summary(
    tmp_path: Path, release: str
) -> None:
    with judged(tmp_path, f"{grounding()}\ngateway: {{release: {release}}}") as (own, _):
        events: list[Piece] = [event(chunk({"content": "It is in Par"})), Gate()]
        own.upstream.script(Script.sse(events))
        with own.asking(chat(stream=True)):
            own.upstream.wait_for(1)
        payload = summary(own)
        assert [each["type"] for each in own.events()] == ["STREAMING_ENFORCEMENT_SUMMARY"]
    assert (payload["disposition"], payload["delivered_chars"]) == ("cancelled", 0)


@RELEASES
def test_a_stream_with_an_empty_list_of_sources_is_relayed_unaffected(
    tmp_path: Path, release: str
) -> None:
    script = [b": hello\n\n", *stream_events([BAD, " ", BAD], usage=True)]
    with judged(tmp_path, f"{grounding()}\ngateway: {{release: {release}}}") as (own, judge):
        own.upstream.script(Script.sse(script))
        assert own.post(with_sources(stream=True)).content == b"".join(script)
        assert own.events() == []
    assert judge.claims == []


BOUND = "gateway: {release: deferred, max_held_chars: 100}"


def test_text_exactly_at_the_bound_is_judged_and_delivered(tmp_path: Path) -> None:
    with judged(tmp_path, f"{grounding()}\n{BOUND}") as (own, judge):
        own.upstream.script(Script.sse(stream_events(["It is tall. " * 8, "Yes."])))
        events = own.stream()
    assert text_of(events) == "It is tall. " * 8 + "Yes."
    assert (len(text_of(events)), finish_of(events), len(judge.claims)) == (100, "stop", 9)


def test_text_over_the_bound_deferred_is_refused_and_the_detector_reads_none_of_it(
    tmp_path: Path,
) -> None:
    """Text is judged while it arrives; the piece that is too much, and all after it, is not."""
    with judged(tmp_path, f"{grounding()}\n{BOUND}") as (own, judge):
        own.upstream.script(Script.sse(stream_events(["It is tall. " * 9, f"In {WRONG}."])))
        events = own.stream()
        payload = summary(own)
        assert own.metric("groundwire_checks_total") == 0
        assert len(own.events()) == 1
    assert (text_of(events), finish_of(events)) == ("", "content_filter")
    assert (payload["code"], payload["scan_incomplete"]) == ("stream_too_large_to_scan", True)
    assert judge.claims == []


def test_text_over_the_bound_in_pieces_leaves_no_verdict(tmp_path: Path) -> None:
    """What came before the bound was judged on arrival; of that, nothing is counted or audited."""
    with judged(tmp_path, f"{grounding()}\n{BOUND}") as (own, judge):
        own.upstream.script(Script.sse(stream_events([f"In {WRONG}. "] * 20)))
        events = own.stream()
        summary(own)
        assert own.metric("groundwire_checks_total") == 0
        assert [each["type"] for each in own.events()] == ["STREAMING_ENFORCEMENT_SUMMARY"]
    assert (text_of(events), finish_of(events)) == ("", "content_filter")
    assert len(judge.claims) <= 11


def test_text_over_the_bound_immediate_is_delivered_and_the_scan_incomplete(
    tmp_path: Path,
) -> None:
    """DVARA flags its summary, which is for streams that are held; here it is an event itself."""
    yaml = f"{grounding(action='LOG')}\ngateway: {{max_held_chars: 100}}"
    with judged(tmp_path, yaml) as (own, judge):
        own.upstream.script(Script.sse(stream_events(["It is tall. "] * 20)))
        assert text_of(own.stream()) == "It is tall. " * 20
        (found,) = own.wait_for_events(1)
    assert (found["type"], found["payload"]["outcome"]) == ("CHECK_INCOMPLETE", "partial")
    assert found["payload"]["reasons"] == {"unread_answer": 1}
    assert len(judge.claims) == 9  # the last is cut by the bound


# What is sent.


def test_entries_that_are_no_text_are_ignored(tmp_path: Path) -> None:
    with judged(tmp_path, grounding()) as (own, judge):
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(with_sources("one", 2, None, ["three"], {"text": "four"}, True, "five"))
    assert judge.opened == [["one", "five"]]


def test_lengths_are_filtered_first_and_then_counted(tmp_path: Path) -> None:
    with judged(tmp_path, grounding(max_sources=2, max_source_length=5)) as (own, judge):
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(with_sources("far too long", "one", "as long as that", "two", "three"))
    assert judge.opened == [["one", "two"]]


@pytest.mark.parametrize("stream", [False, True])
def test_all_filtered_out_is_no_sources_and_the_response_passes(
    tmp_path: Path, *, stream: bool
) -> None:
    with judged(tmp_path, grounding(max_source_length=5)) as (own, judge):
        own.upstream.script(
            Script.sse(stream_events([BAD])) if stream else Script.json(completion(BAD))
        )
        response = own.post(chat(stream=stream))
        assert own.metric("gateway_grounding_check_total") == 0
    assert (response.status_code, WRONG in response.text) == (200, True)
    assert judge.claims == []


def test_other_metadata_goes_on_to_the_upstream(tmp_path: Path) -> None:
    metadata = {"grounding.sources": SOURCES, "workspace_id": "acme", "user": "u"}
    with judged(tmp_path, grounding()) as (own, _):
        own.upstream.script(Script.json(completion(GOOD)))
        own.post(chat(metadata=metadata))
        assert own.upstream.requests[0].json()["metadata"] == {
            "workspace_id": "acme",
            "user": "u",
        }


# Its settings, by variables too.


def test_variables_turn_it_on(tmp_path: Path) -> None:
    environ = {
        f"{PREFIX}ENABLED": "true",
        f"{PREFIX}ACTION": "BLOCK",
        f"{PREFIX}SIMILARITY_THRESHOLD": "0.7",
        f"{PREFIX}MAX_SOURCES": "1",
        f"{PREFIX}MAX_SOURCE_LENGTH": "100",
    }
    with judged(tmp_path, "", environ=environ) as (own, judge):
        own.upstream.script(Script.json(completion(BAD)))
        assert own.post(with_sources(SOURCES[0], "two", "three")).status_code == 403
    assert judge.opened == [SOURCES]


def test_the_documented_detector_compares_and_says_so(tmp_path: Path, documented: Pipeline) -> None:
    grounded = "The Eiffel Tower was built from 1887 to 1889."
    ungrounded = "Bananas are grown on plantations in Ecuador every year."
    with gateway(tmp_path, grounding(), pipeline_of=lambda _: documented) as own:
        own.upstream.script(Script.json(completion(grounded)), Script.json(completion(ungrounded)))
        passed, refused = (own.post(with_sources(grounded)) for _ in range(2))
        (found,) = own.wait_for_events(1)
        labels = {"detector": "similarity:hash", "mode": "complete"}
        eventually(lambda: own.metric("groundwire_checks_total", outcome="grounded", **labels) == 1)
        eventually(
            lambda: own.metric("groundwire_checks_total", outcome="hallucinated", **labels) == 1
        )
    assert (passed.status_code, refused.status_code) == (200, 403)
    payload = found["payload"]
    assert payload["detector"] == "similarity:hash"
    assert -1 <= payload["overall_similarity"] < 0.7
    assert 0 <= payload["confidence"] <= 1


# Actions.


def test_flag_differs_from_log_in_the_label_of_the_metric_alone(tmp_path: Path) -> None:
    seen = {}
    for action in ("LOG", "FLAG"):
        folder = tmp_path / action
        folder.mkdir()
        with judged(folder, grounding(action=action)) as (own, _):
            own.upstream.script(Script.json(completion(BAD)))
            response = own.post(chat(), headers={"X-Trace-ID": "same"})
            eventually(
                lambda own=own, action=action: (  # type: ignore[misc]
                    own.metric("gateway_grounding_check_total", grounded="false", action=action)
                    == 1
                )
            )
        headers = {k: v for k, v in response.headers.items() if k != "date"}
        seen[action] = (response.status_code, headers, response.content)
        assert "x-gateway-grounding-warning" not in response.headers
    assert seen["LOG"] == seen["FLAG"]
    assert seen["LOG"][2] == json.dumps(completion(BAD)).encode()


def test_a_refusal_is_the_documented_envelope(tmp_path: Path) -> None:
    with judged(tmp_path, grounding()) as (own, _):
        own.upstream.script(Script.json(completion(f"{BAD} {BAD}")))
        response = own.post(chat(), headers={"X-Trace-ID": "trace-1"})
    error = response.json()["error"]
    assert response.status_code == 403
    assert response.headers["x-trace-id"] == "trace-1"
    assert error.pop("param") is None  # OpenAI's clients know it
    assert error == {
        "type": "guardrail_violation",
        "code": "hallucination_detected",
        "message": "Response blocked: hallucination detected (2 ungrounded claims)",
        "trace_id": "trace-1",
    }


@RELEASES
def test_the_last_chunk_of_a_blocked_stream_keeps_the_usage(tmp_path: Path, release: str) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    events = [event(chunk({"content": piece}, usage=usage)) for piece in (BAD, " ", BAD)]
    with judged(tmp_path, f"{grounding()}\ngateway: {{release: {release}}}") as (own, _):
        own.upstream.script(Script.sse([*events, event(chunk({}, finish="stop")), DONE]))
        *_, last, done = own.stream()
    assert done == "[DONE]"
    assert last["usage"] == usage
    assert last["choices"][0]["finish_reason"] == "content_filter"
    assert last["groundwire"]["code"] == "hallucination_detected"


# The counter.


def test_the_counter_counts_responses_once_and_streams_never(tmp_path: Path) -> None:
    with judged(tmp_path, grounding(action="LOG")) as (own, _):
        own.upstream.script(
            Script.json(completion(GOOD, n=3)),
            Script.json(completion(BAD, n=3)),
            Script.sse(stream_events([BAD])),
        )
        own.post(chat())
        own.post(chat())
        own.stream()
        eventually(lambda: own.metric("groundwire_checks_total") == 7)
        counted = {
            grounded: own.metric("gateway_grounding_check_total", grounded=grounded, action="LOG")
            for grounded in ("true", "false")
        }
        eventually(lambda: own.metric("groundwire_checks_total", mode="stream") == 1)
    assert counted == {"true": 1, "false": 1}


def test_nothing_to_check_counts_as_grounded(tmp_path: Path, documented: Pipeline) -> None:
    with gateway(tmp_path, grounding(), pipeline_of=lambda _: documented) as own:
        own.upstream.script(Script.json(completion("Bananas. Yes, they are.")))
        assert own.post(chat()).status_code == 200
        eventually(
            lambda: (
                own.metric("gateway_grounding_check_total", grounded="true", action="BLOCK") == 1
            )
        )
        assert own.events() == []


def test_partial_and_failed_checks_count_in_our_metric_alone(tmp_path: Path) -> None:
    with judged(tmp_path, grounding(max_sources=1), judging(cannot_read="Chinese")) as (own, judge):
        own.upstream.script(
            Script.json(completion("It is tall. This would be Chinese.")),
            Script.json(completion(GOOD)),
        )
        own.post(chat())
        own.post(with_sources(*SOURCES, "dropped"))
        eventually(lambda: own.metric("groundwire_checks_total", outcome="partial") == 2)
        assert own.metric("gateway_grounding_check_total") == 0
    assert judge.opened == [SOURCES, SOURCES]


# Audit.


def test_the_payload_of_a_finding_is_the_documented_one(tmp_path: Path) -> None:
    long = f"It was built in {WRONG} and {'so on and ' * 20}so forth."
    with judged(tmp_path, grounding(action="LOG")) as (own, _):
        own.upstream.script(Script.json(completion(f"{GOOD} {long}")))
        response = own.post(chat())
        (found,) = own.wait_for_events(1)
    payload = found["payload"]
    assert payload["grounded"] is False
    assert payload["ungrounded_claim_count"] == 1
    assert payload["ungrounded_claims"] == [long[:100] + "..."]
    assert 0 <= payload["confidence"] <= 1
    assert 0 <= payload["overall_similarity"] <= 1
    assert "source" not in payload
    assert payload["workspace_id"] == found["tenant"] == "default"
    assert found["trace_id"] == response.headers["x-trace-id"]
    assert {"id", "timestamp"} < set(found)


@pytest.mark.parametrize(("action", "has_message"), [("FLAG", False), ("BLOCK", True)])
def test_the_payload_of_a_stream_says_so_and_has_a_message_when_it_blocks(
    tmp_path: Path, action: str, *, has_message: bool
) -> None:
    with judged(tmp_path, deferred(grounding(action=action))) as (own, _):
        own.upstream.script(Script.sse(stream_events([f"{BAD} ", f"{BAD} ", GOOD])))
        own.stream()
        found = own.wait_for_events(1)[0]
    payload = found["payload"]
    assert found["type"] == "HALLUCINATION_DETECTED_STREAMING"
    assert payload["source"] == "streaming_response"
    assert payload["workspace_id"] == "default"
    assert payload["ungrounded_claim_count"] == 2
    message = "Streaming response contains 2 ungrounded claim(s)" if has_message else None
    assert payload.get("message") == message


@pytest.mark.parametrize("stream", [False, True])
def test_a_grounded_answer_writes_nothing(tmp_path: Path, *, stream: bool) -> None:
    with judged(tmp_path, grounding(action="LOG")) as (own, _):
        own.upstream.script(
            Script.sse(stream_events([GOOD])) if stream else Script.json(completion(GOOD))
        )
        own.post(chat(stream=stream))
        eventually(lambda: own.metric("groundwire_checks_total", outcome="grounded") == 1)
        assert own.events() == []


def test_a_held_stream_leaves_one_summary_with_flags_only_where_they_are_true(
    tmp_path: Path,
) -> None:
    with judged(tmp_path, deferred(grounding())) as (own, _):
        own.upstream.script(Script.sse(stream_events([GOOD])))
        own.stream()
        payload = summary(own)
    assert payload["disposition"] == "delivered"
    assert not {"scan_incomplete", "scan_failed", "truncated"} & set(payload)


def test_calls_of_tools_do_not_reach_the_detector(tmp_path: Path) -> None:
    call = {"index": 0, "id": "1", "function": {"name": "f", "arguments": f'{{"a": "{WRONG}"}}'}}
    answer = completion(None)
    answer["choices"][0]["message"]["tool_calls"] = [call]
    script = [event(chunk({"tool_calls": [call]})), event(chunk({}, finish="tool_calls")), DONE]
    with judged(tmp_path, grounding()) as (own, judge):
        own.upstream.script(Script.json(answer), Script.sse(script))
        assert own.post(chat()).json() == answer
        assert unmarked(own.stream()) == events_of(b"".join(script))
    assert judge.claims == []
