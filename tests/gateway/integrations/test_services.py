"""Services whose clients can point here: Azure's groundedness, Bedrock's guardrail."""

from base64 import b64encode
from typing import Any

import pytest

from tests.gateway.integrations.conftest import KEY, Post

AZURE = "/contentsafety/text:detectGroundedness?api-version=2024-09-15-preview"
BEDROCK = "/guardrail/any/version/DRAFT/apply"


def azure(text: str, *sources: str, **more: object) -> dict[str, Any]:
    return {"domain": "Generic", "task": "QnA", "text": text, "groundingSources": sources, **more}


def bedrock(answer: str, *sources: str, source: str = "OUTPUT") -> dict[str, Any]:
    texts = [{"text": each, "qualifiers": ["grounding_source"]} for each in sources]
    texts += [{"text": "Is it right?", "qualifiers": ["query"]}, {"text": answer}]
    return {"source": source, "content": [{"text": each} for each in texts]}


@pytest.mark.shows("Azure", evidence="sources, question, text")
def test_azure_is_told_where_an_answer_is_ungrounded_in_all_three_units(post: Post) -> None:
    reply = post(AZURE, azure("Ä😀. It is wrong.", "It is right.", reasoning=True))
    assert reply.status_code == 200
    found = reply.json()
    assert found["ungroundedDetected"] is True
    (detail,) = [each for each in found["ungroundedDetails"] if each["text"] == "wrong"]
    assert detail["offset"] == {"utf8": 14, "utf16": 11, "codePoint": 10}
    assert detail["length"] == {"utf8": 5, "utf16": 5, "codePoint": 5}
    assert detail["reason"]
    assert 0 < found["ungroundedPercentage"] <= 1


def test_azure_passes_a_grounded_answer(post: Post) -> None:
    found = post(AZURE, azure("It is right.", "It is right.")).json()
    assert found == {
        "ungroundedDetected": False,
        "ungroundedPercentage": 0.0,
        "ungroundedDetails": [],
    }


@pytest.mark.shows(
    "Azure",
    unchecked="an ungrounded stretch with the reason, or status 422",
)
def test_azure_never_passes_what_was_not_checked(post: Post) -> None:
    reply = post(AZURE, azure("Это верно. Здесь всё сказано правильно.", "It is right."))
    assert reply.json()["ungroundedDetected"] is True
    assert post(AZURE, azure("It is right.", "")).json()["ungroundedDetected"] is True
    assert post(AZURE, azure("It is right.")).status_code == 422  # without any source
    assert post(AZURE, azure("", "It is right.")).status_code == 422


@pytest.mark.parametrize(
    "headers",
    [
        {"Ocp-Apim-Subscription-Key": KEY},
        {"Authorization": "Basic " + b64encode(f"groundwire:{KEY}".encode()).decode()},
    ],
)
def test_keys_come_as_the_clients_of_hosts_send_them(post: Post, headers: dict[str, str]) -> None:
    body = azure("It is right.", "It is right.")
    assert post(AZURE, body, **headers).status_code == 200
    assert (
        post(
            AZURE, body, **{name: f"{value[:-4]}none" for name, value in headers.items()}
        ).status_code
        == 401
    )


@pytest.mark.shows("Bedrock", evidence="sources, question, content")
def test_bedrock_intervenes_where_an_answer_is_not_grounded(post: Post) -> None:
    found = post(BEDROCK, bedrock("It is wrong.", "It is right.")).json()
    assert found["action"] == "GUARDRAIL_INTERVENED"
    (grounding,) = found["assessments"][0]["contextualGroundingPolicy"]["filters"]
    assert (grounding["type"], grounding["action"]) == ("GROUNDING", "BLOCKED")
    assert grounding["score"] < grounding["threshold"]
    assert "wrong" not in str(found["outputs"])
    assert found["guardrailCoverage"]["textCharacters"] == {"guarded": 12, "total": 12}


def test_bedrock_passes_a_grounded_answer_and_any_input(post: Post) -> None:
    found = post(BEDROCK, bedrock("It is right.", "It is right.")).json()
    assert (found["action"], found["outputs"]) == ("NONE", [])
    (grounding,) = found["assessments"][0]["contextualGroundingPolicy"]["filters"]
    assert grounding["score"] >= grounding["threshold"]
    found = post(BEDROCK, bedrock("It is wrong.", "It is right.", source="INPUT")).json()
    assert (found["action"], found["assessments"]) == ("NONE", [])


@pytest.mark.shows("Bedrock", unchecked="no filter in `assessments`, and `actionReason`")
def test_bedrock_is_told_that_an_answer_was_not_checked(post: Post) -> None:
    found = post(BEDROCK, bedrock("Это верно. Здесь всё сказано правильно.", "It is right.")).json()
    assert (found["action"], found["assessments"]) == ("NONE", [{}])
    assert found["actionReason"] == "Not all content was checked: partial"


@pytest.mark.shows("Bedrock", unchecked="status 400 without sources")
def test_bedrock_is_told_that_sources_are_missing(post: Post) -> None:
    reply = post(BEDROCK, bedrock("It is right."))
    assert reply.status_code == 400
    found = reply.json()
    assert found["error"]["code"] == "missing_grounding_source"
    # Clients of AWS read an error where its code and its message are outside.
    assert found["code"] == "missing_grounding_source"
    assert found["message"] == found["error"]["message"]


def test_the_identifier_of_a_bedrock_guardrail_may_be_an_arn(post: Post) -> None:
    path = BEDROCK.replace("any", "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aguardrail%2Fx1")
    found = post(path, bedrock("It is wrong.", "It is right."))
    assert (found.status_code, found.json()["action"]) == (200, "GUARDRAIL_INTERVENED")


def test_bedrock_says_that_content_without_text_was_not_checked(post: Post) -> None:
    body = bedrock("It is wrong.", "It is right.")
    body["content"] = [{"image": {"format": "png", "source": {"bytes": ""}}}]
    found = post(BEDROCK, body).json()
    assert (found["action"], found["assessments"]) == ("NONE", [])
    assert "Not all content was checked" in found["actionReason"]
