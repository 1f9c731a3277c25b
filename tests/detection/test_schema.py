"""The published JSON Schema says what detections look like, and nothing else passes it."""

import json
from collections.abc import Callable
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from groundwire.detection.rules import ConflictKind
from groundwire.detection.values import (
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    EvidenceRef,
    Label,
    Outcome,
    Reason,
    Score,
    Span,
)
from tests.fakes import FixedDetector

SCHEMA = json.loads(
    resources.files("groundwire")
    .joinpath("detection/schemas/detection.schema.json")
    .read_text("utf-8")
)
VALIDATOR = Draft202012Validator(SCHEMA)


def detected() -> dict[str, Any]:
    detector = FixedDetector(unsupported=["500 m"], reasons={Reason.LANGUAGE: 2})
    return detector.detect(sources=["It is 330 m tall."], answer="It is 500 m tall.").to_dict()


shares = st.floats(0, 1)
texts = st.text(min_size=1, max_size=10)
starts, ends = st.integers(0, 9), st.integers(10, 10**9)
evidence = st.builds(EvidenceRef, source_id=texts, start=starts, end=ends, text=texts)
cosines = st.floats(-1, 1)
spans = st.sampled_from(Score).flatmap(
    lambda score: st.builds(
        Span,
        start=starts,
        end=ends,
        text=texts,
        label=st.sampled_from([Label.UNSUPPORTED, Label.CONTRADICTED]),
        probability=shares if score is Score.PROBABILITY else st.none(),
        similarity=cosines if score is Score.SIMILARITY else st.none(),
        severity=st.integers(0, 4),
        conflict=st.none() | st.sampled_from(ConflictKind).map(str),
        evidence=st.lists(evidence, max_size=2).map(tuple),
    )
)
claims = st.builds(
    Claim,
    start=starts,
    end=ends,
    text=texts,
    label=st.sampled_from(Label),
    probability=st.none() | shares,
    similarity=st.none() | cosines,
    citations=st.lists(texts, max_size=3, unique=True).map(tuple),
    spans=st.lists(spans, max_size=2).map(tuple),
    evidence=st.lists(evidence, max_size=2).map(tuple),
    reason=st.sampled_from(Reason),
)
detections = st.builds(
    Detection,
    answer=texts,
    outcome=st.sampled_from(Outcome),
    probability=st.none() | shares,
    claims=st.lists(claims, max_size=3).map(tuple),
    coverage=st.integers(0, 100).flatmap(
        lambda whole: st.builds(
            Coverage,
            offered_chars=st.just(whole),
            indexed_chars=st.integers(0, whole),
            attended_chars=st.integers(0, whole),
            answer_chars=st.just(whole),
            read_chars=st.integers(0, whole),
            reasons=st.dictionaries(st.sampled_from(Reason), st.integers(1, 9)),
        )
    ),
    detector=st.builds(
        DetectorInfo,
        name=texts,
        revision=st.text(max_size=5),
        operating_point=st.sampled_from(["precision", "balanced", "recall", "custom"]),
        threshold=st.floats(0, 1, exclude_min=True),
        score=st.sampled_from(Score),
    ),
    timings_ms=st.dictionaries(texts, st.floats(0, 1e9), max_size=3),
)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@given(detections)
def test_every_detection_fits(detection: Detection) -> None:
    VALIDATOR.validate(json.loads(json.dumps(detection.to_dict())))


def test_the_schema_knows_every_outcome_label_and_reason() -> None:
    definitions = SCHEMA["$defs"]
    assert SCHEMA["properties"]["outcome"]["enum"] == list(Outcome)
    assert definitions["claim"]["properties"]["label"]["enum"] == list(Label)
    assert definitions["reason"]["enum"] == list(Reason)
    assert definitions["span"]["properties"]["conflict"]["enum"] == [*ConflictKind, None]
    assert definitions["detector"]["properties"]["score"]["enum"] == list(Score)


def test_an_answer_without_a_statement_has_a_reason_of_its_own() -> None:
    data = detected()
    data["coverage"]["reasons"] = {"no_claim": 1}
    VALIDATOR.validate(data)


def test_objects_are_closed_and_all_their_keys_required() -> None:
    found = 0
    for schema in [SCHEMA, *SCHEMA["$defs"].values()]:
        if "properties" in schema:
            found += 1
            assert schema["additionalProperties"] is False
            assert sorted(schema["required"]) == sorted(schema["properties"])
    assert found == 8


def change(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    *parents, last = path.split(".")

    def apply(data: dict[str, Any]) -> None:
        target: Any = data
        for key in parents:
            target = target[int(key) if key.isdecimal() else key]
        target[last] = value

    return apply


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("outcome", "fine"),
        ("probability", 1.1),
        ("probability", -0.1),
        ("probability", "high"),
        ("more", 1),
        ("spans.0.more", 1),
        ("spans.0.label", "supported"),
        ("spans.0.probability", 1.1),
        ("spans.0.probability", None),
        ("spans.0.similarity", 0.5),
        ("claims.0.similarity", -1.1),
        ("detector.score", "logit"),
        ("spans.0.severity", 5),
        ("spans.0.conflict", "numbers"),
        ("spans.0.start", -1),
        ("spans.0.text", ""),
        ("spans.0.evidence.0.start", 0.5),
        ("claims.0.label", "wrong"),
        ("claims.0.label", "unchecked"),  # without a reason
        ("claims.0.reason", "because"),
        ("coverage.answer", 2),
        ("coverage.reasons", {"because": 1}),
        ("coverage.reasons", {"language": 0}),
        ("detector.threshold", 0),
        ("timings_ms", {"read": "fast"}),
    ],
)
def test_what_no_detection_says_does_not_fit(path: str, value: object) -> None:
    data = detected()
    VALIDATOR.validate(data)
    change(path, value)(data)
    with pytest.raises(ValidationError):
        VALIDATOR.validate(data)
