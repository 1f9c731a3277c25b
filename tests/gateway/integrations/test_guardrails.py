"""Hosts that ask for a verdict: NeMo, Portkey, LiteLLM, agentgateway, vLLM Semantic Router."""

from typing import Any

import pytest

from tests.gateway.integrations.conftest import KEY, RIGHT, WRONG, Post, chat

NEMO, PORTKEY, ROUTER = "/alignscore_large", "/integrations/portkey", "/classify"
LITELLM, AGENTGATEWAY = "/beta/litellm_basic_guardrail_api", "/integrations/agentgateway"


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


@pytest.mark.parametrize(
    ("key", "body", "outcome"),
    [
        (f"{KEY[:-4]}none", {"evidence": [RIGHT], "claim": RIGHT}, "invalid_api_key"),
        (KEY, {"evidence": [RIGHT]}, "invalid_body"),
    ],
)
def test_nemo_gets_a_score_that_blocks_in_place_of_an_error(
    post: Post, key: str, body: dict[str, Any], outcome: str
) -> None:
    """It lets an answer pass if the status is not 200."""
    reply = post(NEMO, body, authorization=f"Bearer {key}")
    assert (reply.status_code, reply.json()) == (200, {"alignscore": 0.0, "outcome": outcome})


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


@pytest.mark.parametrize(
    "choices",
    [
        [{"text": RIGHT}, {"text": WRONG}],
        [
            {"message": {"content": RIGHT}},
            {"message": {"content": [{"type": "text", "text": WRONG}]}},
        ],
    ],
)
def test_portkey_has_each_choice_checked_whatever_its_form(post: Post, choices: object) -> None:
    body = hook(chat(RIGHT), RIGHT)
    body["response"]["json"]["choices"] = choices
    assert post(PORTKEY, body).json()["data"]["outcome"] == ["grounded", "hallucinated"]


@pytest.mark.parametrize(
    "answered",
    [
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": WRONG}]}]},
        {"content": [{"type": "text", "text": WRONG}]},
    ],
)
def test_portkey_has_answers_of_the_other_apis_checked(
    post: Post, answered: dict[str, Any]
) -> None:
    body = hook(chat(RIGHT), "")
    body["response"] = {"json": answered, "text": ""}
    found = post(PORTKEY, body).json()
    assert (found["verdict"], found["data"]["outcome"]) == (False, ["hallucinated"])


@pytest.mark.parametrize(
    ("answered", "text"),
    [
        ({"choices": [{"message": {"content": None, "audio": {"transcript": WRONG}}}]}, None),
        ({"choices": [{"message": {"content": RIGHT, "note": f"Well, {WRONG}"}}]}, RIGHT),
        ({"choices": [{"text": WRONG, "message": {"content": RIGHT}}]}, RIGHT),
        ({"choices": [{"message": {"content": [{"type": "sound"}]}}]}, [{"type": "sound"}]),
        ({"candidates": []}, ""),
        ({"choices": []}, WRONG),
        (None, " "),
    ],
)
def test_portkey_learns_that_what_could_not_be_read_was_not_checked(
    post: Post, answered: object, text: object
) -> None:
    body = hook(chat(RIGHT), "")
    body["response"] = {"json": answered, "text": text}
    assert post(PORTKEY, body).json()["data"]["checked"] is False


@pytest.mark.shows("Portkey", unchecked='`"checked": false` in `data`')
def test_portkey_learns_that_an_answer_without_evidence_was_not_checked(post: Post) -> None:
    found = post(PORTKEY, hook(chat(), WRONG)).json()
    assert (found["verdict"], found["data"]["checked"]) == (True, False)
    strict = post(PORTKEY, hook(chat(), WRONG), authorization=f"Bearer {KEY}2").json()
    assert strict["verdict"] is False  # the tenant's unverified_action is block
    before = post(PORTKEY, hook(chat(RIGHT), "", "beforeRequestHook")).json()
    assert before == {"verdict": True, "data": {"outcome": "not_checked"}}


def test_a_host_learns_that_a_tenant_whose_checks_are_off_was_not_checked(post: Post) -> None:
    found = post(PORTKEY, hook(chat(RIGHT), WRONG), authorization=f"Bearer {KEY}3").json()
    assert (found["verdict"], found["data"]["checked"]) == (True, False)


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
    unchecked="the action `NOT_CHECKED`, which LiteLLM lets pass; its debug log has it",
)
@pytest.mark.parametrize("call", ["never seen", None])
def test_litellm_learns_that_an_answer_of_an_unknown_call_was_not_checked(
    post: Post, call: str | None
) -> None:
    assert answer(post, call, WRONG)["action"] == "NOT_CHECKED"


def test_litellm_is_told_that_shortened_messages_are_not_checked(post: Post) -> None:
    ask(post, "cut", chat("[omitted: exceeds strip size limit]"))
    assert answer(post, "cut", WRONG)["action"] == "NOT_CHECKED"
    ask(post, "whole", chat(RIGHT))
    assert answer(post, "whole", "[omitted: exceeds strip size limit]")["action"] == "NOT_CHECKED"


def test_who_writes_the_words_for_shortened_messages_is_checked_all_the_same(post: Post) -> None:
    asked = chat(RIGHT, question='Is it right? "[omitted: exceeds strip size limit]')
    ask(post, "written", asked)
    assert answer(post, "written", WRONG)["action"] == "BLOCKED"


def test_an_answer_whose_check_fails_is_withheld(failing: Post) -> None:
    ask(failing, "fails", chat(RIGHT))
    assert answer(failing, "fails", RIGHT)["action"] == "BLOCKED"
    assert failing(PORTKEY, hook(chat(RIGHT), RIGHT)).json()["verdict"] is False
    reply = failing(NEMO, {"evidence": [RIGHT], "claim": RIGHT})
    assert reply.json()["alignscore"] == 0.0


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


def guarded(
    post: Post, call: str | None, *answers: str, asked: dict[str, Any] | None = None, **headers: str
) -> dict[str, Any]:
    """The action that agentgateway gets for answers, once it has asked about the messages.

    Of each message it sends the role and the text.
    """
    sent = {"authorization": f"Bearer {KEY}", **({"x-request-id": call} if call else {}), **headers}
    if asked is not None:
        messages = [
            {"role": each["role"], "content": each.get("content") or ""}
            for each in asked["messages"]
        ]
        before = post(AGENTGATEWAY, {"body": {"messages": messages}}, **sent).json()
        assert before == {"action": {"reason": "not checked: a request"}}
    choices = [{"message": {"role": "assistant", "content": each}} for each in answers]
    found = post(AGENTGATEWAY, {"body": {"choices": choices}}, **sent).json()
    assert set(found) == {"action"}
    action: dict[str, Any] = found["action"]
    return action


@pytest.mark.shows(
    "agentgateway", evidence="texts of messages, then answers, joined by `x-request-id`"
)
def test_agentgateway_rejects_what_the_messages_of_the_same_request_do_not_support(
    post: Post,
) -> None:
    assert guarded(post, "a1", RIGHT, asked=chat(RIGHT)) == {"reason": "checked: grounded"}
    found = guarded(post, "a1", WRONG)
    assert found["status_code"] == 403
    assert "hallucination detected" in found["body"]
    assert "wrong" not in str(found)


def test_agentgateway_masks_the_wrong_one_of_several_answers(post: Post) -> None:
    found = guarded(post, "a2", RIGHT, WRONG, asked=chat(RIGHT))
    right, wrong = (each["message"] for each in found["body"]["choices"])
    assert right == {"role": "assistant", "content": RIGHT}
    assert wrong["role"] == "assistant"
    assert wrong["content"] == found["reason"]
    assert "wrong" not in str(found)
    assert "status_code" not in found  # with it, the action would reject


@pytest.mark.shows("agentgateway", unchecked="a pass with the `reason` `not checked`")
def test_agentgateway_is_told_that_answers_without_messages_were_not_checked(post: Post) -> None:
    assert guarded(post, "a3", WRONG) == {"reason": "not checked: unverified"}
    assert guarded(post, None, WRONG, asked=chat(RIGHT)) == {"reason": "not checked: unverified"}
    long = "a" * 300
    assert guarded(post, long, WRONG, asked=chat(RIGHT)) == {"reason": "not checked: unverified"}
    strict = guarded(post, "a1", RIGHT, authorization=f"Bearer {KEY}2")  # another tenant's call
    assert strict["status_code"] == 403  # its unverified_action is block


def test_agentgateway_passes_answers_that_claim_nothing(post: Post) -> None:
    """The content of an answer with tool calls is empty; a response may have no choices."""
    assert guarded(post, "a4", "", asked=chat(RIGHT)) == {"reason": "checked: skipped"}
    assert guarded(post, "a4") == {"reason": "not checked: no answer"}


def test_messages_of_an_earlier_request_are_no_evidence_for_a_later_one(post: Post) -> None:
    assert guarded(post, "a5", RIGHT, asked=chat(RIGHT)) == {"reason": "checked: grounded"}
    found = guarded(post, "a5", RIGHT, asked={"messages": []})
    assert found == {"reason": "not checked: unverified"}


@pytest.mark.parametrize(
    "body", [{}, {"messages": [], "choices": []}, {"choices": [{"text": RIGHT}]}, {"choices": 1}]
)
def test_agentgateway_never_gets_a_pass_for_a_body_of_another_shape(
    post: Post, body: dict[str, Any]
) -> None:
    assert post(AGENTGATEWAY, {"body": body}).status_code == 422


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
