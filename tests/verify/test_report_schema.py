"""What is written as JSON has the published shape."""

import json
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from groundwire import audit_trace_budget, detect_hallucination
from groundwire.verify.citations import CitationStatus
from groundwire.verify.report import VerificationReport
from groundwire.verify.rule import ClaimStatus
from groundwire.verify.run import run
from groundwire.verify.subject import AnswerSubject
from tests.verify.scripted import ScriptedEndpoint, ScriptedVerifier, honest, with_evidence

SCHEMA = json.loads(
    resources.files("groundwire")
    .joinpath("detection/schemas/verification.schema.json")
    .read_text("utf-8")
)
VALIDATOR = Draft202012Validator(SCHEMA)
SPANS = [{"sid": "S0", "text": "The sky is blue."}, {"sid": "S1", "text": "Grass is green."}]
ANSWER = "The sky is blue [S0]. Grass is red [1]. The sun is red [S9]. It is so."


def valid(report: VerificationReport) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    VALIDATOR.validate(data)
    return data


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_reports_of_answers_traces_and_errors_have_it() -> None:
    verifier = ScriptedVerifier(with_evidence(0.97, 0.05))
    valid(detect_hallucination(ANSWER, SPANS, verifier=verifier, max_claims=2))
    valid(detect_hallucination("", SPANS, verifier=verifier))
    valid(detect_hallucination(ANSWER, []))
    valid(audit_trace_budget([{"idx": -3, "claim": "Grass.", "cites": [1]}], SPANS))
    valid(audit_trace_budget([], SPANS, verifier=verifier))


def test_reports_with_citations_of_the_embedded_model_have_it() -> None:
    spans = [{"sid": "S2", "text": "Hugo Berger has run the ferry to Brenport since 1994."}]
    answer = "Hugo Berger has run the ferry to Brenport since 1971 [S2]. It is fast."
    data = valid(run(AnswerSubject(answer), spans, {}, "local", with_citations=True))
    assert data["citations"]["details"][0]["unsupported"]


@pytest.mark.merge
def test_reports_of_an_endpoint_with_its_prompts_have_it() -> None:
    with ScriptedEndpoint(honest(with_evidence(0.97, 0.05))) as wire:
        how = {"base_url": wire.base_url, "api_key": "sk-x", "include_prompts": True}
        data = valid(detect_hallucination(ANSWER, SPANS, verifier="openai", **how))  # type: ignore[arg-type]
    assert data["details"][0]["prompts"]["posterior"]
    assert data["details"][0]["post_yes"]["topk"]


def test_it_names_every_status() -> None:
    assert SCHEMA["$defs"]["status"]["enum"] == list(ClaimStatus)
    assert SCHEMA["$defs"]["finding"]["properties"]["status"]["enum"] == list(CitationStatus)


@pytest.mark.parametrize("name", ["flagged", "summary", "details"])
def test_what_lacks_something_does_not_have_it(name: str) -> None:
    data = valid(detect_hallucination(ANSWER, []))
    with pytest.raises(ValidationError):
        VALIDATOR.validate({key: value for key, value in data.items() if key != name})
