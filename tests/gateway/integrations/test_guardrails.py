"""Hosts that ask for a verdict: NeMo, Portkey, LiteLLM, vLLM Semantic Router."""

from typing import Any

import pytest

from tests.gateway.integrations.conftest import KEY, Post, chat

NEMO, PORTKEY, ROUTER = "/alignscore_large", "/integrations/portkey", "/classify"
LITELLM = "/beta/litellm_basic_guardrail_api"
RIGHT, WRONG = "It is right.", "It is wrong."


@pytest.mark.shows("NeMo Guardrails", evidence="chunks and the answer")
@pytest.mark.parametrize(("claim", "passes"), [(RIGHT, True), (WRONG, False)])
def test_nemo_passes_what_is_grounded(post: Post, claim: str, *, passes: bool) -> None:
    found = post(NEMO, {"evidence": [RIGHT], "claim": claim}).json()
    assert (found["alignscore"] >= 0.5) is passes


@pytest.mark.shows("NeMo Guardrails", unchecked="the score 0, which blocks")
@pytest.mark.parametrize("claim", ["Это верно, и это сказано здесь.", "\udc00"])
def test_nemo_never_passes_what_was_not_checked(post: Post, claim: str) -> None:
    reply = post(NEMO, {"evidence": [RIGHT], "claim": claim})
    assert (reply.status_code, reply.json()["alignscore"]) == (200, 0.0)


def hook(asked: dict[str, Any], answer: str, event: str = "afterRequestHook") -> dict[str, Any]:
    body = {"choices": [{"message": {"role": "assistant", "content": answer}}]}
    response = {"text": answer, "json": body} if event == "afterRequestHook" else {}
    return {"request": {"json": asked, "text": ""}, "response": response, "eventType": event}


@pytest.mark.shows("Portkey", evidence="request and response together")
@pytest.mark.parametrize(("answer", "verdict"), [(RIGHT, True), (WRONG, False)])
def test_portkey_is_told_whether_a_response_may_pass(
    post: Post, answer: str, *, verdict: bool
) -> None:
    found = post(PORTKEY, hook(chat(RIGHT), answer)).json()
    assert found["verdict"] is verdict
    assert found["data"]["checked"] is True
    assert "wrong" not in found["data"]["explanation"]


@pytest.mark.shows("Portkey", unchecked='`"checked": false` in `data`')
def test_portkey_learns_that_an_answer_without_evidence_was_not_checked(post: Post) -> None:
    found = post(PORTKEY, hook(chat(), WRONG)).json()
    assert (found["verdict"], found["data"]["checked"]) == (True, False)
    strict = post(PORTKEY, hook(chat(), WRONG), authorization=f"Bearer {KEY}2").json()
    assert strict["verdict"] is False  # the tenant's unverified_action is block
    before = post(PORTKEY, hook(chat(RIGHT), "", "beforeRequestHook")).json()
    assert before == {"verdict": True, "data": {"outcome": "not_checked"}}


def ask(post: Post, call: str, asked: dict[str, Any], **headers: str) -> None:
    body = {"input_type": "request", "litellm_call_id": call, "request_data": {}}
    body["structured_messages"] = asked["messages"]
    assert post(LITELLM, body, **headers).json() == {"action": "NONE"}


def answer(post: Post, call: str | None, *texts: str, **more: object) -> dict[str, Any]:
    body = {"input_type": "response", "litellm_call_id": call, "texts": texts, **more}
    found: dict[str, Any] = post(LITELLM, body).json()
    return found


@pytest.mark.shows("LiteLLM", evidence="messages, then answers, joined by call id")
def test_litellm_blocks_what_the_messages_of_the_same_call_do_not_support(post: Post) -> None:
    ask(post, "one", chat(RIGHT))
    assert answer(post, "one", RIGHT) == {"action": "NONE", "stream_holdback_chars": [0]}
    found = answer(post, "one", RIGHT, WRONG)
    assert found["action"] == "BLOCKED"
    assert "wrong" not in found["blocked_reason"]


@pytest.mark.shows(
    "LiteLLM",
    unchecked="the action `NOT_CHECKED`, which LiteLLM logs and lets pass",
)
@pytest.mark.parametrize("call", ["never seen", None])
def test_litellm_learns_that_an_answer_of_an_unknown_call_was_not_checked(
    post: Post, call: str | None
) -> None:
    assert answer(post, call, WRONG)["action"] == "NOT_CHECKED"


def test_litellm_is_told_that_shortened_messages_are_not_checked(post: Post) -> None:
    ask(post, "cut", chat("[omitted: exceeds strip size limit]"))
    assert answer(post, "cut", WRONG)["action"] == "NOT_CHECKED"


def test_the_messages_of_a_call_are_those_of_its_tenant(post: Post) -> None:
    ask(post, "theirs", chat(RIGHT), authorization=f"Bearer {KEY}2")
    assert answer(post, "theirs", WRONG)["action"] == "NOT_CHECKED"


@pytest.mark.shows("LiteLLM", stream="held until the end, or by sentence")
def test_a_sentence_that_litellm_is_still_streaming_is_held(post: Post) -> None:
    ask(post, "stream", chat(RIGHT))
    sampled = {"additional_provider_specific_params": {"sampled": True}}
    found = answer(post, "stream", f"{RIGHT} It is wro", **sampled)
    assert found == {"action": "NOT_CHECKED", "stream_holdback_chars": [len("It is wro")]}
    assert answer(post, "stream", f"{RIGHT} {WRONG}", **sampled)["action"] == "BLOCKED"


@pytest.mark.shows("vLLM Semantic Router", evidence="answer, context, question")
def test_the_semantic_router_gets_spans_in_code_points(post: Post) -> None:
    body = {"inputs": f"Ä😀. {WRONG}", "parameters": {"context": RIGHT, "question": "?"}}
    spans = post(ROUTER, body).json()["spans"]
    assert [(each["start"], each["end"], each["text"]) for each in spans] == [(10, 15, "wrong")]


@pytest.mark.shows("vLLM Semantic Router", unchecked="`truncated_at`, or 503: an error there")
def test_the_semantic_router_never_takes_a_partial_scan_for_clean(post: Post) -> None:
    parameters = {"context": RIGHT}
    found = post(ROUTER, {"inputs": "Это верно, и это так.", "parameters": parameters}).json()
    assert "truncated_at" in found
    reply = post(ROUTER, {"inputs": WRONG, "parameters": {"context": []}})
    assert reply.status_code == 503 or "truncated_at" in reply.json()


def test_an_answer_that_claims_nothing_is_clean(post: Post) -> None:
    assert post(ROUTER, {"inputs": " ", "parameters": {"context": RIGHT}}).json() == {"spans": []}
    assert answer(post, None)["action"] == "NONE"  # a response of tool calls has no texts
