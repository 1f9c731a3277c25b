"""What a client gets in place of an answer: DVARA's envelope, and nothing that a model wrote."""

import json
from collections.abc import Collection
from typing import Any

import pytest

from groundwire.gateway.chat.chunks import chunk_of
from groundwire.gateway.chat.hold_buffer import HeldStream
from groundwire.gateway.chat.marks import extension
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.refusals import RefusalCode, blocked, refused, told_of
from groundwire.gateway.http.sse import ServerSentEvent
from groundwire.policy.policy import Action, Policy
from tests.gateway.answers import BLOCK, checked, partial, unavailable, unverified
from tests.pipeline.chats import RIGHT

STRICT = Policy(action=Action.BLOCK, unverified_action=Action.BLOCK, partial_action=Action.BLOCK)
CHUNK: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1700000000,
    "model": "gpt-4o",
    "system_fingerprint": "fp_1",
    "choices": [{"index": 0, "delta": {"content": "The secret"}, "finish_reason": None}],
}


def told(problem: Problem) -> tuple[int, str, str, str]:
    return problem.status, problem.type, problem.code, problem.message


def test_the_documented_envelope() -> None:
    two = "It was built in 1950. It is 500 meters tall."
    assert told(blocked(checked(two, policy=BLOCK))) == (
        403,
        "guardrail_violation",
        "hallucination_detected",
        "Response blocked: hallucination detected (2 ungrounded claims)",
    )


def test_the_documented_text_has_a_plural_also_for_one() -> None:
    assert blocked(checked(policy=BLOCK)).message.endswith("(1 ungrounded claims)")


def test_claims_are_counted_over_all_choices_that_are_withheld() -> None:
    answers = checked("It was built in 1950.", RIGHT, "It is 500 meters tall.", policy=BLOCK)
    assert "(2 ungrounded claims)" in blocked(answers).message


def test_other_outcomes_have_their_own_codes() -> None:
    codes = [blocked(make(STRICT)).code for make in (unverified, partial, unavailable)]
    assert codes == ["response_unverified", "response_partially_checked", "check_failed"]


def test_the_worst_outcome_is_told() -> None:
    answers = [*unverified(STRICT), *partial(STRICT), *unavailable(STRICT)]
    assert blocked(answers).code == "check_failed"
    assert blocked([*answers, *checked(policy=BLOCK)]).code == "hallucination_detected"


def test_an_answer_that_passes_is_no_reason_to_block() -> None:
    with pytest.raises(ValueError, match="none of 1 answers is to be blocked"):
        blocked(checked())


def test_no_refusal_is_one_that_clients_try_again_but_for_want_of_a_record() -> None:
    problem = refused(RefusalCode.AUDIT_UNAVAILABLE)
    assert (problem.status, problem.type, problem.code) == (503, "server_error", problem.code)
    for code in set(RefusalCode) - {RefusalCode.AUDIT_UNAVAILABLE}:
        problem = refused(code)
        assert (problem.status, problem.type, problem.code) == (403, "guardrail_violation", code)


def test_the_codes_of_dvara_in_lower_case() -> None:
    assert {
        "hallucination_detected",
        "stream_error",
        "stream_incomplete_ungrounded",
        "stream_too_large_to_scan",
        "stream_tool_arguments_unenforceable",
    } <= set(RefusalCode)
    assert all(code == code.lower() for code in RefusalCode)


def test_a_refusal_holds_no_word_of_the_answer() -> None:
    answers = checked("It was built by Zanzibar in 1950.", policy=BLOCK)
    problem = blocked(answers)
    marks = told_of(problem, trace_id="t1", extension=extension(answers, trace_id="t1"))
    for text in (problem.message, problem.next_step, json.dumps(marks)):
        assert "Zanzibar" not in text
        assert "1950" not in text


def test_the_mark_of_a_refused_stream_has_no_headers() -> None:
    found = {"outcome": "unavailable", "action": "block", "headers": {"x": "secret"}}
    assert told_of(refused(RefusalCode.STREAM_ERROR), trace_id="t1", extension=found) == {
        "outcome": "unavailable",
        "action": "block",
        "type": "guardrail_violation",
        "code": "stream_error",
        "message": "Response blocked: the check failed while it was written",
        "trace_id": "t1",
    }


def last_chunk(*chunks: dict[str, Any], passed: Collection[int] = ()) -> dict[str, Any]:
    """The chunk that ends a stream whose rest is withheld after these chunks."""
    held = HeldStream({"id": "a", "model": "m"}, trace_id="t1", withholds=True)
    for each in chunks:
        held.take(ServerSentEvent.of(b"data: " + json.dumps(each).encode()), chunk_of(each))
    event, done = held.refusal(refused(RefusalCode.STREAM_ERROR), passed=set(passed))
    assert done == b"data: [DONE]\n\n"
    return held.read(event)


def test_the_last_chunk_of_a_stream_ends_what_has_not_passed() -> None:
    others = [{"index": index, "delta": {"content": "No"}} for index in (1, 2)]
    chunk = last_chunk({**CHUNK, "choices": [*CHUNK["choices"], *others]}, passed={1})
    end: dict[str, Any] = {"delta": {}, "logprobs": None, "finish_reason": "content_filter"}
    marks = chunk.pop("groundwire")
    assert marks["code"] == "stream_error"
    assert chunk == {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "gpt-4o",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, **end}, {"index": 2, **end}],
    }


def test_a_stream_that_had_no_chunk_ends_with_a_whole_one() -> None:
    chunk = last_chunk()
    assert (chunk["id"], chunk["model"], len(chunk["choices"])) == ("a", "m", 1)


def test_usage_is_kept() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert last_chunk({**CHUNK, "usage": usage})["usage"] == usage
