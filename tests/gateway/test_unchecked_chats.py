"""Chats of which no answer can be checked: passed on as they are, whatever they say."""

from pathlib import Path

import httpx2 as httpx
import pytest

from tests.gateway.chats import gateway, request
from tests.gateway.test_chat_whole import BAD
from tests.gateway.wire import Script, completion, eventually

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
        url = f"{own.url}/responses"
        response = httpx.post(
            url, json={"input": "?"}, headers=own.headers, timeout=20, verify=False
        )
        assert response.status_code == 403
        eventually(lambda: own.metric("groundwire_refusals_total", code="unchecked_endpoint") == 1)
