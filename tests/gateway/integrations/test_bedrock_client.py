"""AWS's client for Python with the lines of docs/integrations.md: botocore reads the answers."""

from typing import Any

import pytest

from tests.gateway.integrations.conftest import KEY, RIGHT, WRONG
from tests.gateway.integrations.page import examples

boto3 = pytest.importorskip("boto3", reason="boto3 is not installed: the extra proxies")
from botocore.exceptions import ClientError

pytestmark = pytest.mark.nightly

ARN = "arn:aws:bedrock:us-east-1:123456789012:guardrail/x1"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any keys of AWS, boto3 does not send a request."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")


def client(gateway: str, key: str = KEY) -> Any:  # noqa: ANN401
    """The client that the page makes, for another address and key."""
    (code,) = (each for each in examples("Bedrock") if "boto3.client" in each)
    assert "http://127.0.0.1:8080" in code
    known: dict[str, Any] = {"boto3": boto3, "key": key}
    exec(code.replace("http://127.0.0.1:8080", gateway), known)
    return known["client"]


def applied(made: Any, answer: str, *sources: str, guardrail: str = "x1") -> dict[str, Any]:  # noqa: ANN401
    """What ``apply_guardrail`` returns for an answer of a model."""
    content = [{"text": {"text": each, "qualifiers": ["grounding_source"]}} for each in sources]
    content += [
        {"text": {"text": "Is it right?", "qualifiers": ["query"]}},
        {"text": {"text": answer, "qualifiers": ["guard_content"]}},
    ]
    found: dict[str, Any] = made.apply_guardrail(
        guardrailIdentifier=guardrail, guardrailVersion="DRAFT", source="OUTPUT", content=content
    )
    return found


@pytest.mark.shows("Bedrock", evidence="sources, question, content")
@pytest.mark.parametrize("guardrail", ["x1", ARN])
def test_a_wrong_answer_is_stopped_and_a_right_one_passes(gateway: str, guardrail: str) -> None:
    own = client(gateway)
    found = applied(own, RIGHT, RIGHT, guardrail=guardrail)
    assert (found["action"], found["outputs"]) == ("NONE", [])
    found = applied(own, WRONG, RIGHT, guardrail=guardrail)
    assert found["action"] == "GUARDRAIL_INTERVENED"
    (assessment,) = found["assessments"]
    (grounding,) = assessment["contextualGroundingPolicy"]["filters"]
    assert (grounding["type"], grounding["action"]) == ("GROUNDING", "BLOCKED")
    assert grounding["score"] < grounding["threshold"]
    assert "wrong" not in str(found["outputs"])
    assert found["usage"]["contextualGroundingPolicyUnits"] == 1
    assert found["guardrailCoverage"]["textCharacters"] == {"guarded": 12, "total": 12}


@pytest.mark.shows("Bedrock", unchecked="no filter in `assessments`, and `actionReason`")
def test_an_answer_that_was_not_checked_has_the_reason(gateway: str) -> None:
    found = applied(client(gateway), "Это верно. Здесь всё сказано правильно.", RIGHT)
    assert (found["action"], found["assessments"]) == ("NONE", [{}])
    assert "not all" in found["actionReason"].lower()


@pytest.mark.shows("Bedrock", unchecked="status 400 without sources")
def test_errors_have_their_code_and_their_message(gateway: str) -> None:
    with pytest.raises(
        ClientError, match=r"missing_grounding_source.*No content has the qualifier"
    ) as failed:
        applied(client(gateway), RIGHT)
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    with pytest.raises(ClientError, match="invalid_api_key"):
        applied(client(gateway, "gw_no"), RIGHT, RIGHT)
