"""Azure's client for Python with the lines of docs/integrations.md."""

from typing import Any

import pytest

from tests.gateway.integrations.conftest import KEY, RIGHT, WRONG
from tests.gateway.integrations.page import examples

pytest.importorskip("azure.ai.contentsafety", reason="azure-ai-contentsafety is not installed")
from azure.ai.contentsafety import ContentSafetyClient
from azure.core.credentials import AzureKeyCredential
from azure.core.rest import HttpRequest

pytestmark = pytest.mark.nightly


def sent(gateway: str, text: str, *sources: str, key: str = KEY) -> tuple[int, dict[str, Any]]:
    """The status and the body that the page's lines get, for another address, key and texts."""
    (code,) = examples("Azure")
    for old, new in {
        "http://127.0.0.1:8080": gateway,
        "gw_...": key,
        '"The tower is 350 m tall."': repr(text),
        '["The tower is 330 m tall."]': repr([*sources]),
        ".json()": "",
    }.items():
        assert old in code
        code = code.replace(old, new)
    known: dict[str, Any] = {
        "ContentSafetyClient": ContentSafetyClient,
        "AzureKeyCredential": AzureKeyCredential,
        "HttpRequest": HttpRequest,
    }
    exec(code, known)
    return known["found"].status_code, known["found"].json()


@pytest.mark.shows("Azure", evidence="sources, question, text")
def test_a_wrong_answer_is_ungrounded_and_a_right_one_is_not(gateway: str) -> None:
    status, found = sent(gateway, RIGHT, RIGHT)
    assert (status, found["ungroundedDetected"]) == (200, False)
    status, found = sent(gateway, WRONG, RIGHT)
    assert (status, found["ungroundedDetected"]) == (200, True)
    assert [each["text"] for each in found["ungroundedDetails"]] == ["wrong"]


@pytest.mark.shows("Azure", unchecked="an ungrounded stretch with the reason, or status 422")
def test_an_answer_that_was_not_checked_never_passes(gateway: str) -> None:
    status, found = sent(gateway, "Это верно. Здесь всё сказано правильно.", RIGHT)
    assert (status, found["ungroundedDetected"]) == (200, True)
    status, found = sent(gateway, RIGHT)
    assert (status, "error" in found) == (422, True)


def test_a_key_that_is_not_known_is_an_error(gateway: str) -> None:
    status, found = sent(gateway, RIGHT, RIGHT, key="gw_no")
    assert (status, found["error"]["code"]) == (401, "invalid_api_key")
