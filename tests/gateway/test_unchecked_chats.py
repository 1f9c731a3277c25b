"""Chats of which no answer can be checked: passed on as they are, whatever they say."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from groundwire import Pipeline
from groundwire.config import Config
from groundwire.policy.gate import Gate, GateResult
from tests.gateway.chats import Gateway, fixed, gateway, request
from tests.gateway.test_chat_whole import BAD
from tests.gateway.wire import Script, completion, eventually, stream_events

pytestmark = pytest.mark.merge

OFF = "check: {enabled: false}"


def test_without_checks_the_upstream_says_what_is_no_conversation(tmp_path: Path) -> None:
    with gateway(tmp_path, OFF) as own:
        own.upstream.script(Script.json({"error": "no messages"}, status=400))
        response = own.post({"model": "scripted-1", "messages": 1})
        assert (response.status_code, response.json()) == (400, {"error": "no messages"})


def test_a_request_that_asks_for_a_check_has_one_where_checks_are_off(tmp_path: Path) -> None:
    with gateway(tmp_path, OFF) as own:
        own.upstream.script(Script.json(completion(BAD)))
        own.post(request(metadata={**request()["metadata"], "grounding.enabled": True}))
        eventually(lambda: own.metric("groundwire_checks_total", outcome="hallucinated") == 1)


def test_an_endpoint_that_is_refused_counts_as_a_refusal(tmp_path: Path) -> None:
    with gateway(tmp_path, "check: {action: block}") as own:
        url = f"{own.url}/threads/runs"
        response = httpx.post(
            url, json={"input": "?"}, headers=own.headers, timeout=20, verify=False
        )
        assert response.status_code == 403
        eventually(lambda: own.metric("groundwire_refusals_total", code="unchecked_endpoint") == 1)


class SlowGate(Gate):
    """A gate that answers too late."""

    def __init__(self) -> None: ...

    def classify(self, prompt: str) -> GateResult:
        time.sleep(0.3)
        raise OSError(prompt)


@contextmanager
def slow_to_open(folder: Path, yaml: str) -> Iterator[Gateway]:
    """A gateway that cannot say in time what a request is to be checked with."""

    def piped(config: Config) -> Pipeline:
        return Pipeline(fixed(), gate=SlowGate(), policy=config.policy, bypasses_gate=False)

    settings = f"check: {yaml}\ngateway: {{check_timeout_s: 0.1}}"
    with gateway(folder, settings, pipeline_of=piped) as own:
        yield own


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    "yaml",
    [
        "{action: log, on_error: allow}",
        "{action: flag}",
        "{action: header}",
        "{action: block, on_error: allow}",
    ],
)
def test_a_request_that_is_not_read_in_time_passes_unless_failures_block(
    tmp_path: Path, yaml: str, streams: bool
) -> None:
    with slow_to_open(tmp_path, yaml) as own:
        script = Script.sse(stream_events([BAD])) if streams else Script.json(completion(BAD))
        own.upstream.script(script)
        response = own.post(request(stream=streams))
        (event,) = own.wait_for_events(1)
        assert own.metric("groundwire_checks_total", outcome="unavailable") == 1
    assert response.status_code == 200
    assert BAD in response.text
    assert response.headers["x-groundwire-outcome"] == "unavailable"
    assert event["payload"]["reason"] == "CheckTimeoutError"


@pytest.mark.parametrize("yaml", ["{action: block}", "{action: log, on_error: block}"])
def test_a_request_that_is_not_read_in_time_is_refused_where_failures_block(
    tmp_path: Path, yaml: str
) -> None:
    with slow_to_open(tmp_path, yaml) as own:
        own.upstream.script(Script.json(completion(BAD)))
        response = own.post(request())
    assert (response.status_code, response.json()["error"]["code"]) == (503, "check_unavailable")
