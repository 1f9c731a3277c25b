"""Libraries that ask for structured answers, unchanged, through the gateway."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.gateway.chats import KEY, WRONG, Gateway, gateway
from tests.gateway.test_openai_client import client
from tests.gateway.wire import Script, completion

pytestmark = [
    pytest.mark.merge,
    # Some of them leave sockets to the garbage collector, and warn of each other's changes.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

PROMPT = (
    "Context:\nThe Eiffel Tower was built from 1887 to 1889. It is 330 metres tall.\n\n"
    "Question: When was the Eiffel Tower built?"
)
RIGHT = {"built": "1887 to 1889", "height": 330}
BAD = {"built": f"in {WRONG}", "height": 330}


class Tower(BaseModel):
    """What the clients are to return."""

    built: str
    height: int


def answer(body: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """The completion that a model gives to a request: a call of its only tool, or JSON."""
    answer, arguments = completion(json.dumps(said)), json.dumps(said)
    if tools := body.get("tools"):
        function = {"name": tools[0]["function"]["name"], "arguments": arguments}
        call = {"id": "call_1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        answer["choices"][0] |= {"message": message, "finish_reason": "tool_calls"}
    return answer


def by_instructor(own: Gateway) -> Tower:
    instructor = pytest.importorskip("instructor")
    with client(own) as plain:
        asking = instructor.from_openai(plain)
        messages = [{"role": "user", "content": PROMPT}]
        found = asking.chat.completions.create(
            model="scripted-1", messages=messages, response_model=Tower, max_retries=0
        )
    assert isinstance(found, Tower)
    return found


def by_pydantic_ai(own: Gateway) -> Tower:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    models = pytest.importorskip("pydantic_ai.models.openai")
    providers = pytest.importorskip("pydantic_ai.providers.openai")
    plain = openai.AsyncOpenAI(
        base_url=own.url,
        api_key=KEY,
        http_client=openai.DefaultAsyncHttpxClient(timeout=20, verify=False),
        max_retries=0,
    )
    provider = providers.OpenAIProvider(openai_client=plain)
    model = models.OpenAIChatModel("scripted-1", provider=provider)
    found = pydantic_ai.Agent(model, output_type=Tower).run_sync(PROMPT).output
    assert isinstance(found, Tower)
    return found


def by_langchain(own: Gateway) -> Tower:
    langchain = pytest.importorskip("langchain_openai")
    model = langchain.ChatOpenAI(
        model="scripted-1",
        base_url=own.url,
        api_key=KEY,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(timeout=20, verify=False),
    )
    found = model.with_structured_output(Tower, method="function_calling").invoke(PROMPT)
    assert isinstance(found, Tower)
    return found


def by_openai(own: Gateway) -> Tower:
    with client(own) as plain:
        messages: Any = [{"role": "user", "content": PROMPT}]
        said = plain.chat.completions.parse(
            model="scripted-1", messages=messages, response_format=Tower
        )
    found = said.choices[0].message.parsed
    assert isinstance(found, Tower)
    return found


CLIENTS = pytest.mark.parametrize("ask", [by_instructor, by_pydantic_ai, by_langchain, by_openai])


def scripted(own: Gateway, ask: Callable[[Gateway], Tower], said: dict[str, Any]) -> Tower:
    """Ask twice: the first request shows which tool there is."""
    own.upstream.script(Script.json(completion("?"), status=400))
    with pytest.raises(Exception):  # noqa: B017, PT011 - of any client
        ask(own)
    own.upstream.script(Script.json(answer(own.upstream.requests[-1].json(), said)))
    return ask(own)


@CLIENTS
def test_a_right_answer_arrives(tmp_path: Path, ask: Callable[[Gateway], Tower]) -> None:
    with gateway(tmp_path, "check: {action: block}") as own:
        assert scripted(own, ask, RIGHT).model_dump() == RIGHT
        assert own.metric("groundwire_checks_total", outcome="grounded") == 1


@CLIENTS
def test_a_wrong_answer_is_refused(tmp_path: Path, ask: Callable[[Gateway], Tower]) -> None:
    with gateway(tmp_path, "check: {action: block}") as own:
        with pytest.raises(Exception, match=r"hallucination|403") as found:
            scripted(own, ask, BAD)
        assert own.metric("groundwire_refusals_total", code="hallucination_detected") >= 1
    assert WRONG not in str(found.value)


@CLIENTS
def test_the_action_body_leaves_it_readable(
    tmp_path: Path, ask: Callable[[Gateway], Tower]
) -> None:
    with gateway(tmp_path, "check: {action: body}") as own:
        assert scripted(own, ask, BAD).model_dump() == BAD
        (event,) = own.wait_for_events(1)
    assert event["payload"]["unsupported_pointers"] == ["/built"]
