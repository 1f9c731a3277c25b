"""LiteLLM's own proxy with the configuration of docs/integrations.md, before a scripted model."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from ruamel.yaml import YAML

from tests.gateway.integrations.conftest import ASKED_WITH_TOOL, KEY, RIGHT, WRONG, chat
from tests.gateway.integrations.page import examples
from tests.gateway.started import PATIENCE_S, free_port, started
from tests.gateway.wire import Script, ScriptedUpstream, completion, stream_events

pytestmark = pytest.mark.nightly
for package in ("litellm", "apscheduler", "backoff", "fastapi_sso"):
    if find_spec(package) is None:
        pytest.skip(f"needs {package}: the extra proxies", allow_module_level=True)

MASTER_KEY = f"sk-{'0123456789abcdef' * 4}"  # LiteLLM refuses to start without one


def configuration(gateway: str, model: str, *, sampled: bool) -> dict[str, Any]:
    """The configuration of the page, for a gateway and a model.

    Args:
        gateway: Base URL.
        model: Base URL of an API like OpenAI's.
        sampled: Whether LiteLLM asks while an answer is written, as the section of LiteLLM says.
    """
    load = YAML(typ="safe").load
    found: dict[str, Any] = load(examples()[0])
    ((guardrail,),) = found.values()
    settings = guardrail["litellm_params"]
    assert settings["api_base"] == "http://127.0.0.1:8080"
    settings["api_base"] = gateway
    if sampled:
        del settings["streaming_buffer_until_moderated"]
        settings |= {"streaming_transform_mode": "incremental_diff", **load(examples("LiteLLM")[0])}
    own = {"model": "openai/m", "api_base": model, "api_key": "none"}
    found["model_list"] = [{"model_name": "m", "litellm_params": own}]
    broken = {**settings, "api_key": "gw_no", "default_on": False}
    found["guardrails"].append({"guardrail_name": "no key", "litellm_params": broken})
    found["router_settings"] = {"disable_cooldowns": True}
    return found


def response(text: str) -> dict[str, Any]:
    """A response of OpenAI's Responses API."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
    return {
        **{"id": "resp_1", "object": "response", "created_at": 1700000000, "model": "m"},
        **{"status": "completed", "output": [{**message, "status": "completed"}]},
        **{"parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
    }


@dataclass(frozen=True)
class Proxy:
    """A LiteLLM that runs.

    Attributes:
        url: Its base URL, with ``/v1``.
        model: What is behind it.
        log: What it writes, with everything that it writes at all.
    """

    url: str
    model: ScriptedUpstream
    log: Path

    def post(self, says: Script, asked: object, *, path: str = "chat/completions") -> Any:  # noqa: ANN401
        """Its response to a client while the model says the same each time it is asked."""
        self.model.otherwise(says)
        headers = {"authorization": f"Bearer {MASTER_KEY}"}
        return httpx.post(f"{self.url}/{path}", json=asked, headers=headers, timeout=PATIENCE_S)

    def whole(self, says: str, *sources: str) -> tuple[int, str]:
        """The status, and the answer or the message of the error."""
        reply = self.post(Script.json(completion(says)), chat(*sources))
        body = reply.json()
        if reply.status_code != 200:
            return reply.status_code, str(body["error"]["message"])
        return reply.status_code, str(body["choices"][0]["message"]["content"])

    def streamed(self, says: str, *sources: str) -> tuple[str, str]:
        """What a client has read of a streamed answer, and the message of the error at its end."""
        pieces = [says[start : start + 4] for start in range(0, len(says), 4)]
        reply = self.post(Script.sse(stream_events(pieces)), {**chat(*sources), "stream": True})
        if reply.status_code != 200:
            return "", str(reply.json()["error"]["message"])
        text, error = "", ""
        for line in reply.text.splitlines():
            if not line.startswith("data: {"):
                continue
            data = json.loads(line.removeprefix("data: "))
            error += data["error"]["message"] if "error" in data else ""
            text += "".join(
                each["delta"].get("content") or "" for each in data.get("choices") or ()
            )
        return text, error


@pytest.fixture(scope="module")
def models() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as model:
        yield model


def running(
    folder: Path, gateway: str, model: ScriptedUpstream, *, sampled: bool
) -> Iterator[Proxy]:
    port, file, log = free_port(), folder / "config.yaml", folder / "log"
    file.write_text(json.dumps(configuration(gateway, model.url, sampled=sampled)))
    environ = {
        "GROUNDWIRE_KEY": KEY,
        "LITELLM_MASTER_KEY": MASTER_KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # it would fetch a list of prices
        "LITELLM_LOG": "DEBUG",
    }
    program = str(Path(sys.executable).parent / "litellm")
    command = [program, "--config", str(file), "--host", "127.0.0.1", "--port", str(port)]
    with started(command, port, log=log, environ=environ, folder=folder):
        yield Proxy(f"http://127.0.0.1:{port}/v1", model, log)


@pytest.fixture(scope="module")
def proxy(
    tmp_path_factory: pytest.TempPathFactory, gateway: str, models: ScriptedUpstream
) -> Iterator[Proxy]:
    """With the configuration as it stands on the page."""
    yield from running(tmp_path_factory.mktemp("held"), gateway, models, sampled=False)


@pytest.fixture(scope="module")
def sampling(
    tmp_path_factory: pytest.TempPathFactory, gateway: str, models: ScriptedUpstream
) -> Iterator[Proxy]:
    """LiteLLM asks while an answer is written."""
    yield from running(tmp_path_factory.mktemp("sampled"), gateway, models, sampled=True)


@pytest.mark.shows("LiteLLM", evidence="messages, then answers, joined by call id")
def test_a_wrong_answer_is_withheld_and_a_right_one_is_untouched(proxy: Proxy) -> None:
    assert proxy.whole(RIGHT, RIGHT) == (200, RIGHT)
    status, message = proxy.whole(WRONG, RIGHT)
    assert (status, "hallucination detected" in message) == (400, True)
    assert "wrong" not in message


@pytest.mark.shows("LiteLLM", stream="held until the end, or by sentence")
def test_a_streamed_answer_is_held_to_its_end(proxy: Proxy) -> None:
    right = f"{RIGHT} {RIGHT}\n\n— «{RIGHT}»"
    assert proxy.streamed(right, RIGHT) == (right, "")
    text, error = proxy.streamed(f"{RIGHT} {WRONG} {RIGHT}", RIGHT)
    assert (text, "hallucination detected" in error) == ("", True)


@pytest.mark.shows(
    "LiteLLM", unchecked="the action `NOT_CHECKED`, which LiteLLM lets pass; its debug log has it"
)
def test_an_answer_without_evidence_passes_and_the_debug_log_says_so(proxy: Proxy) -> None:
    n_before = proxy.log.read_text().count("NOT_CHECKED")
    assert proxy.whole(WRONG) == (200, WRONG)
    assert proxy.streamed(WRONG) == (WRONG, "")
    assert proxy.log.read_text().count("NOT_CHECKED") >= n_before + 2


def test_a_guardrail_that_fails_withholds_all_answers(proxy: Proxy) -> None:
    reply = proxy.post(Script.json(completion(RIGHT)), {**chat(RIGHT), "guardrails": ["no key"]})
    assert reply.status_code >= 400
    assert "right" not in reply.text


def test_responses_and_messages_are_checked_as_well(proxy: Proxy) -> None:
    """LiteLLM asks the model for a response in both cases."""
    call = {"call_id": "c", "name": "f", "arguments": "{}"}
    items = [
        {"role": "user", "content": "Is it right?"},
        {"type": "function_call", **call},
        {"type": "function_call_output", "call_id": "c", "output": RIGHT},
    ]
    asked = {
        "responses": {"model": "m", "input": items},
        "messages": {"model": "m", "max_tokens": 9, "messages": ASKED_WITH_TOOL},
    }
    for path, body in asked.items():
        right = proxy.post(Script.json(response(RIGHT)), body, path=path)
        assert (right.status_code, f'"{RIGHT}"' in right.text) == (200, True), right.text
        wrong = proxy.post(Script.json(response(WRONG)), body, path=path)
        assert (wrong.status_code, "wrong" in wrong.text) == (400, False)


def test_sentences_leave_before_the_wrong_one(sampling: Proxy) -> None:
    right = f"{RIGHT} {RIGHT}\n\n— «{RIGHT}»."
    assert sampling.streamed(right, RIGHT) == (right, "")
    text, error = sampling.streamed(f"{RIGHT} {RIGHT} {WRONG} {RIGHT}", RIGHT)
    assert text.strip() == f"{RIGHT} {RIGHT}"
    assert "hallucination detected" in error


def test_a_last_sentence_without_a_full_stop_leaves_unjudged(sampling: Proxy) -> None:
    """As the page says."""
    cut = f"{RIGHT} {WRONG.removesuffix('.')}"
    assert sampling.streamed(cut, RIGHT) == (cut, "")
