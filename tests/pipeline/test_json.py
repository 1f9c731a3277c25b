"""What is written as JSON has the published shape."""

import json
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from groundwire import Gate, Outcome
from groundwire.detection.values import Entailment, EvidenceRef, Label
from groundwire.explain import Category, Explainer, Subtype
from groundwire.pipeline import CheckPath, GateStatus
from groundwire.pipeline.conversation.request import SourceOrigin
from groundwire.pipeline.conversation.response import AnswerKind
from groundwire.policy.policy import Action, Policy, SourceLimits
from tests.pipeline.chats import (
    EXPLAINER,
    FACTS,
    POEM,
    QUESTION,
    RIGHT,
    WRONG,
    answered,
    asked,
    judged,
    piped,
    sent,
)


def read_schema(name: str) -> dict[str, Any]:
    path = resources.files("groundwire").joinpath(f"detection/schemas/{name}.schema.json")
    schema: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return schema


SCHEMA, DETECTION = read_schema("checked"), read_schema("detection")
REGISTRY: Registry[Any] = Registry().with_resource(
    DETECTION["$id"], Resource.from_contents(DETECTION)
)
VALIDATOR = Draft202012Validator(SCHEMA, registry=REGISTRY)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "body",
    [
        asked(POEM, FACTS),
        asked(QUESTION),
        asked(None, FACTS),
        asked(QUESTION, FACTS, [{"type": "image_url", "image_url": {"url": "x"}}], "x" * 300),
        sent(FACTS, 7),
    ],
)
def test_every_response_fits_and_survives_json(gate: Gate, body: dict[str, Any]) -> None:
    pipeline = piped(
        gate=gate,
        explainer=EXPLAINER,
        policy=Policy(action=Action.HEADER),
        limits=SourceLimits(max_source_chars=200),
    )
    calls = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
    response = pipeline.check_response(
        pipeline.open(body), answered(RIGHT, WRONG, calls, "It is \ud800.")
    )
    data = response.to_dict()
    VALIDATOR.validate(data)
    assert json.loads(json.dumps(data)) == data
    hash(response)


def test_what_stays_marked_although_it_is_entailed_fits_too() -> None:
    def entails(claim: str, evidence: tuple[EvidenceRef, ...]) -> Entailment:
        return Entailment(entailment=0.9, neutral=0.05, contradiction=0.05)

    pipeline = piped(judged(located=0.9), explainer=Explainer(entails, drops_entailed=False))
    response = pipeline.check_response(
        pipeline.open(asked(QUESTION, FACTS)), answered("It is located in Paris, France.")
    )
    VALIDATOR.validate(response.to_dict())
    (checked,) = response.answers
    assert checked.explanations[0].label is Label.SUPPORTED
    assert (checked.outcome, checked.ruling.label) == ("hallucinated", Label.UNSUPPORTED)
    assert checked.ruling.severity == 0


def test_objects_are_closed_and_all_their_keys_required() -> None:
    for schema in [SCHEMA, *SCHEMA["$defs"].values()]:
        if "properties" in schema:
            assert schema["additionalProperties"] is False
            assert sorted(schema["required"]) == sorted(schema["properties"])


def test_the_schema_knows_every_word() -> None:
    definitions = SCHEMA["$defs"]
    assert definitions["outcome"]["enum"] == list(Outcome)
    assert definitions["action"]["enum"] == list(Action)
    assert definitions["path"]["enum"] == list(CheckPath)
    assert definitions["origin"]["enum"] == list(SourceOrigin)
    assert definitions["gate"]["properties"]["status"]["enum"] == list(GateStatus)
    assert definitions["answer"]["properties"]["kind"]["enum"] == list(AnswerKind)
    explanation = definitions["explanation"]["properties"]
    assert explanation["category"]["enum"] == list(Category)
    assert explanation["subtype"]["enum"] == list(Subtype)
    assert explanation["label"]["enum"] == [each for each in Label if each != "unchecked"]
