"""Clients of OpenAI's guardrails-python with the check."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # of what the clients themselves use
]
needs("guardrails", extra="openai-guardrails")
if find_spec("guardrails_ai"):
    pytest.skip("Guardrails AI has a package of the same name", allow_module_level=True)

import httpx
from guardrails import GuardrailTripwireTriggered
from guardrails.registry import default_spec_registry

from groundwire.errors import DetectionError

CALL = {"id": "call_1", "type": "function", "function": {"name": "landmark", "arguments": "{}"}}
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": TOWER},
]
ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": QUESTION},
    {"type": "function_call", "call_id": "call_1", "name": "landmark", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": TOWER},
]


class ScriptedModel(httpx.MockTransport):
    """OpenAI's API with a model that always says the same."""

    def __init__(self, says: str) -> None:
        self.says = says
        super().__init__(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/responses"):
            part = {"type": "output_text", "text": self.says, "annotations": []}
            message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
            made = {"id": "resp_1", "object": "response", "created_at": 0, "model": "scripted"}
            more = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": False}
            return httpx.Response(200, json={**made, **more, "output": [message]})
        said = {"role": "assistant", "content": self.says}
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        made = {"id": "chat_1", "object": "chat.completion", "created": 0, "model": "scripted"}
        return httpx.Response(200, json={**made, "choices": [choice]})


@pytest.fixture(autouse=True)
def registered_anew() -> Iterator[None]:
    yield
    default_spec_registry.remove("Groundedness")


def client(says: str, **options: Any) -> Any:
    """The client of the page's snippet, with a scripted model."""
    http = httpx.Client(transport=ScriptedModel(says))
    return snippet(
        "OpenAI Guardrails", options={"api_key": "none", "http_client": http, **options}
    )["client"]


def chat(says: str, messages: Any = CHAT, **options: Any) -> Any:
    return client(says, **options).chat.completions.create(model="scripted", messages=messages)


@pytest.mark.shows("OpenAI Guardrails", evidence="results of tools")
def test_a_wrong_answer_triggers_the_tripwire_and_a_right_one_is_untouched() -> None:
    with pytest.raises(GuardrailTripwireTriggered) as caught:
        chat(WRONG)
    assert "330 metres" in caught.value.guardrail_result.info["reason"]
    default_spec_registry.remove("Groundedness")
    response = chat(RIGHT)
    assert response.choices[0].message.content == RIGHT
    (result,) = response.guardrail_results.output
    assert (result.tripwire_triggered, result.info["status"]) == (False, "passed")


def test_responses_are_checked_as_chats_are() -> None:
    with pytest.raises(GuardrailTripwireTriggered):
        client(WRONG).responses.create(model="scripted", input=ITEMS)
    default_spec_registry.remove("Groundedness")
    response = client(RIGHT).responses.create(model="scripted", input=ITEMS)
    (result,) = response.guardrail_results.output
    assert (response.output_text, result.info["status"]) == (RIGHT, "passed")


@pytest.mark.shows("OpenAI Guardrails", evidence="system messages")
def test_system_messages_are_evidence() -> None:
    with pytest.raises(GuardrailTripwireTriggered):
        chat(WRONG, [{"role": "system", "content": TOWER}, CHAT[0]])


@pytest.mark.shows(
    "OpenAI Guardrails",
    unchecked="`execution_failed` of the result; an error with `raise_guardrail_errors`",
)
def test_an_answer_without_evidence_is_a_check_that_failed_to_run() -> None:
    response = chat(RIGHT, CHAT[:1])
    (result,) = response.guardrail_results.output
    assert (result.execution_failed, result.tripwire_triggered) == (True, False)
    assert result.info["status"] == "not checked"
    default_spec_registry.remove("Groundedness")
    with pytest.raises(DetectionError, match="Not checked: "):
        chat(RIGHT, CHAT[:1], raise_guardrail_errors=True)


def test_an_answer_that_claims_nothing_passes() -> None:
    response = chat("You're welcome!", raise_guardrail_errors=True)
    (result,) = response.guardrail_results.output
    assert (result.execution_failed, result.tripwire_triggered) == (False, False)


@pytest.mark.shows("OpenAI Guardrails", stream="words leave before the check")
def test_a_wrong_answer_in_a_stream_triggers_the_tripwire_at_its_end() -> None:
    def stream(request: httpx.Request) -> httpx.Response:
        head = '{"id": "chat_1", "object": "chat.completion.chunk", "created": 0, "model": "m", '
        words = [
            f'data: {head}"choices": [{{"index": 0, "delta": {{"content": "{word} "}}}}]}}\n\n'
            for word in WRONG.split()
        ]
        kind = {"content-type": "text/event-stream"}
        return httpx.Response(200, text="".join([*words, "data: [DONE]\n\n"]), headers=kind)

    http = httpx.Client(transport=httpx.MockTransport(stream))
    made = client(WRONG, http_client=http)
    chunks = made.chat.completions.create(model="m", messages=CHAT, stream=True)
    seen = [next(chunks).choices[0].delta.content for _ in WRONG.split()]
    assert "".join(seen).split() == WRONG.split()
    with pytest.raises(GuardrailTripwireTriggered):
        next(chunks)
