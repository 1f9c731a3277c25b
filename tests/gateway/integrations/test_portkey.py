"""Portkey's own gateway with the guardrail of docs/integrations.md, before a scripted model."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.gateway.integrations.conftest import ASKED_WITH_TOOL, KEY, RIGHT, WRONG, chat
from tests.gateway.integrations.page import examples
from tests.gateway.started import PATIENCE_S, free_port, started
from tests.gateway.wire import Script, ScriptedUpstream, completion, stream_events

PROGRAM = Path(__file__).parent / "node_modules/@portkey-ai/gateway/build/start-server.js"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        not (PROGRAM.is_file() and shutil.which("node")),
        reason=f"needs node, and `npm install` in {PROGRAM.parents[4]}",
    ),
]


@dataclass(frozen=True)
class Portkey:
    """A gateway of Portkey that runs.

    Attributes:
        url: Its base URL, with ``/v1``.
        gateway: Base URL of ours.
        model: What is behind it.
    """

    url: str
    gateway: str
    model: ScriptedUpstream

    def post(
        self,
        says: Script,
        asked: object,
        *,
        path: str = "chat/completions",
        provider: str = "openai",
        key: str = KEY,
        gateway: str = "",
    ) -> httpx.Response:
        """Its response to a client, while the model says the same each time it is asked."""
        self.model.otherwise(says)
        example = examples("Portkey")[0].replace("gw_...", key)
        assert "http://127.0.0.1:8080" in example
        guardrail = json.loads(example.replace("http://127.0.0.1:8080", gateway or self.gateway))
        config = {
            **{"provider": provider, "api_key": "none", "custom_host": self.model.url},
            "after_request_hooks": [guardrail],
        }
        headers = {"x-portkey-config": json.dumps(config)}
        return httpx.post(f"{self.url}/{path}", json=asked, headers=headers, timeout=PATIENCE_S)

    def whole(self, says: str, *sources: str, **options: str) -> tuple[int, str]:
        """The status, and the answer or the message of the error."""
        reply = self.post(Script.json(completion(says)), chat(*sources), **options)
        body = reply.json()
        if "choices" not in body:
            return reply.status_code, str(body["error"]["message"])
        return reply.status_code, str(body["choices"][0]["message"]["content"])


def result_of(reply: httpx.Response) -> dict[str, Any]:
    """What Portkey says of the only check that it asked for after a request."""
    ((check,),) = (each["checks"] for each in reply.json()["hook_results"]["after_request_hooks"])
    found: dict[str, Any] = check
    return found


@pytest.fixture(scope="module")
def portkey(gateway: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portkey]:
    port, log = free_port(), tmp_path_factory.mktemp("portkey") / "log"
    command = ["node", str(PROGRAM), f"--port={port}", "--headless"]
    with ScriptedUpstream() as model, started(command, port, log=log):
        yield Portkey(f"http://127.0.0.1:{port}/v1", gateway, model)


@pytest.mark.shows("Portkey", evidence="request and response together")
def test_a_wrong_answer_is_withheld_and_a_right_one_is_untouched(portkey: Portkey) -> None:
    assert portkey.whole(RIGHT, RIGHT) == (200, RIGHT)
    reply = portkey.post(Script.json(completion(WRONG)), chat(RIGHT))
    assert reply.status_code == 446
    assert WRONG not in reply.text
    assert result_of(reply)["data"]["responseData"]["outcome"] == ["hallucinated"]


@pytest.mark.shows("Portkey", unchecked='`"checked": false` in `data`')
@pytest.mark.parametrize("answer", [WRONG, "Это верно, и это сказано здесь."])
def test_an_answer_that_was_not_checked_passes_and_the_response_says_so(
    portkey: Portkey, answer: str
) -> None:
    sources = [] if answer == WRONG else [RIGHT]
    reply = portkey.post(Script.json(completion(answer)), chat(*sources))
    assert reply.status_code == 200
    assert reply.json()["choices"][0]["message"]["content"] == answer
    assert result_of(reply)["data"]["responseData"]["checked"] is False


@pytest.mark.parametrize("options", [{"key": "gw_no"}, {"gateway": "http://127.0.0.1:9"}])
def test_a_check_that_fails_withholds_all_answers(
    portkey: Portkey, options: dict[str, str]
) -> None:
    """By ``failOnError``, as the page has it."""
    status, message = portkey.whole(RIGHT, RIGHT, **options)
    assert (status, RIGHT in message) == (446, False)


@pytest.mark.parametrize(("text", "status"), [(RIGHT, 200), (WRONG, 446)])
def test_completions_and_messages_are_checked_as_well(
    portkey: Portkey, text: str, status: int
) -> None:
    choice = {"index": 0, "text": text, "finish_reason": "stop"}
    asked: dict[str, Any] = {"model": "m", "prompt": f"Sources: {RIGHT}\n\nIs it right?"}
    says = Script.json({**completion(text), "choices": [choice]})
    replies = [portkey.post(says, asked, path="completions")]
    asked = {"model": "m", "max_tokens": 9, "messages": ASKED_WITH_TOOL}
    message = {"id": "i", "type": "message", "role": "assistant", "model": "m"}
    says = Script.json({**message, "content": [{"type": "text", "text": text}]})
    replies.append(portkey.post(says, asked, path="messages", provider="anthropic"))
    for reply in replies:
        assert (reply.status_code, f'"{text}"' in reply.text) == (status, status == 200)
        assert result_of(reply)["data"]["responseData"]["checked"] is True


@pytest.mark.shows("Portkey", stream="not asked")
def test_streams_and_responses_leave_unchecked(portkey: Portkey) -> None:
    """As the page says: Portkey does not ask."""
    streamed = portkey.post(Script.sse(stream_events([WRONG])), {**chat(RIGHT), "stream": True})
    assert (streamed.status_code, WRONG in streamed.text) == (200, True)
    asked = {"model": "m", "input": f"{RIGHT}\n\nIs it right?"}
    content = [{"type": "output_text", "text": WRONG, "annotations": []}]
    item = {"type": "message", "id": "i", "role": "assistant", "content": content}
    says = Script.json({"id": "r", "object": "response", "model": "m", "output": [item]})
    reply = portkey.post(says, asked, path="responses")
    assert (reply.status_code, WRONG in reply.text) == (200, True)
    assert "hook_results" not in reply.json()
