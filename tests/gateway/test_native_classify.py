"""HaluGate's endpoints: the gate and the explainer's model, over HTTP."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from groundwire import Gate, Pipeline
from groundwire.config import parse
from groundwire.detection.values import Entailment, EvidenceRef
from groundwire.explain import Explainer, best_lines
from groundwire.gateway.native.classify import likeliest
from groundwire.policy.gate import decide
from tests.gateway.client import Reply, fetch
from tests.gateway.native_app import fixed_pipeline, native

pytestmark = pytest.mark.merge

FACT_CHECK, NLI = "/api/v1/classify/fact-check", "/api/v1/nli"
FACT = "The Eiffel Tower was completed in 1889."
CLAIM = "The Eiffel Tower was completed in 1950."
PAIR = {"premise": FACT, "hypothesis": FACT}


@pytest.fixture(scope="module")
def real() -> Iterator[Pipeline]:
    with Pipeline.load(parse("detector: {threads: 2}", name="groundwire.yaml")) as pipeline:
        yield pipeline


@pytest.fixture(scope="module")
def base(real: Pipeline) -> Iterator[str]:
    with native(real) as url:
        yield url


def ask(base: str, text: object, **more: object) -> Reply:
    return fetch(base + FACT_CHECK, data={"text": text, **more})


# Does a prompt call for a check?


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("When was the Eiffel Tower built?", "needs_fact_check"),
        ("Write a poem about autumn leaves.", "no_fact_check_needed"),
    ],
)
def test_a_prompt_is_classified_as_by_the_gate(
    base: str, real: Pipeline, text: str, label: str
) -> None:
    assert real.gate is not None
    expected = real.gate.classify(text)
    found = ask(base, text).json()
    assert isinstance(found.pop("processing_time_ms"), int)  # HaluGate's clients read no other
    assert found == {
        "needs_fact_check": expected.needs_fact_check,
        "confidence": expected.confidence,
        "label": label,
    }


@pytest.mark.parametrize("text", ["", " \n "])
def test_an_empty_prompt_needs_no_check_for_sure(base: str, text: str) -> None:
    for options in (None, {"confidence_threshold": 0.1}):
        found = ask(base, text, options=options).json()
        assert (found["needs_fact_check"], found["confidence"]) == (False, 1.0)
        assert found["label"] == "no_fact_check_needed"


def test_a_threshold_of_the_request_decides(base: str, real: Pipeline) -> None:
    assert real.gate is not None
    text = "When was the Eiffel Tower built?"
    probability = real.gate.classify(text).probability
    expected = decide(probability, threshold=1.0)
    found = ask(base, text, options={"confidence_threshold": 1.0}).json()
    assert found["needs_fact_check"] == expected.needs_fact_check
    assert found["confidence"] == expected.confidence
    for options in ({}, {"confidence_threshold": 0}, {"include_explanation": True}):
        assert ask(base, text, options=options).json()["label"] == "needs_fact_check"


def test_with_the_gate_off_the_label_says_so() -> None:
    with native(None, "gate: {enabled: false}") as base:
        found = ask(base, "When?").json()
    assert found == {
        "needs_fact_check": False,
        "confidence": 0.0,
        "label": "fact_check_disabled",
        "processing_time_ms": 0,
    }


def test_a_pipeline_without_a_gate_says_so_too() -> None:
    with fixed_pipeline() as pipeline, native(pipeline) as base:
        assert ask(base, "When?").json()["label"] == "fact_check_disabled"


class BrokenEmbedder:
    """An encoder that fails."""

    def embed(self, texts: object) -> Any:  # noqa: ANN401 - it gives nothing
        raise RuntimeError(f"s3cret {texts}")


def test_a_gate_that_fails_says_to_check() -> None:
    gate = replace(Gate.load(threads=1), _embedder=BrokenEmbedder())  # type: ignore[arg-type]
    with fixed_pipeline(gate=gate) as pipeline, native(pipeline) as base:
        reply = ask(base, "When?")
    assert (reply.status, reply.error["code"]) == (500, "FACT_CHECK_CLASSIFICATION_FAILED")
    assert reply.error["next_step"] == "Check the answer to this prompt."
    assert "s3cret" not in reply.text


@pytest.mark.parametrize(
    ("data", "param"),
    [
        ({}, "text"),
        ({"text": 1}, "text"),
        ({"text": None}, "text"),
        ({"text": "x", "options": 1}, "options"),
        ({"text": "x", "options": {"confidence_threshold": 2}}, "options.confidence_threshold"),
        ({"text": "\ud800"}, "text"),
    ],
)
def test_what_is_no_prompt_is_invalid_input(base: str, data: object, param: str) -> None:
    reply = fetch(base + FACT_CHECK, data=data)
    assert (reply.status, reply.error["code"]) == (400, "INVALID_INPUT")
    assert (reply.error["type"], reply.error["param"]) == ("invalid_request_error", param)


# What does a premise say of a hypothesis?


def test_entailment_is_what_explanations_are_made_with(base: str, real: Pipeline) -> None:
    assert isinstance(real.explainer, Explainer)
    expected = real.explainer.entailment(CLAIM, best_lines(FACT, CLAIM))
    found = fetch(base + NLI, data={"premise": FACT, "hypothesis": CLAIM}).json()
    assert isinstance(found.pop("processing_time_ms"), int)
    assert found == {
        "label": likeliest(expected)[0],
        "confidence": likeliest(expected)[1],
        "entailment_prob": expected.entailment,
        "neutral_prob": expected.neutral,
        "contradiction_prob": expected.contradiction,
        "premise_chars": len(FACT),
        "premise_read": [{"start": 0, "end": len(FACT)}],
    }


def test_the_same_words_are_entailed(base: str) -> None:
    assert fetch(base + NLI, data=PAIR).json()["label"] == "ENTAILMENT"


@pytest.mark.parametrize(
    ("shares", "label"),
    [
        ((0.5, 0.3, 0.2), "ENTAILMENT"),
        ((0.2, 0.5, 0.3), "NEUTRAL"),
        ((0.2, 0.3, 0.5), "CONTRADICTION"),
    ],
)
def test_the_label_is_the_likeliest(shares: tuple[float, float, float], label: str) -> None:
    entailment, neutral, contradiction = shares
    found = Entailment(entailment=entailment, neutral=neutral, contradiction=contradiction)
    assert likeliest(found) == (label, 0.5)


def test_of_a_long_premise_it_says_what_was_read(base: str) -> None:
    filler = "The weather over the northern hills stayed mild, and the herds moved on. "
    premise = filler * 100 + FACT + " " + filler * 100
    found = fetch(base + NLI, data={"premise": premise, "hypothesis": FACT}).json()
    read = [premise[each["start"] : each["end"]] for each in found["premise_read"]]
    assert read == [FACT]
    assert found["premise_chars"] == len(premise)
    assert found["label"] == "ENTAILMENT"


@pytest.mark.parametrize(
    ("data", "param"),
    [
        ({"premise": FACT}, "hypothesis"),
        ({"hypothesis": FACT}, "premise"),
        ({"premise": "", "hypothesis": FACT}, "premise"),
        ({"premise": FACT, "hypothesis": " \n"}, "hypothesis"),
        ({"premise": FACT, "hypothesis": 1}, "hypothesis"),
        ({"premise": FACT, "hypothesis": "x" * 10_001}, "hypothesis"),
        ({"premise": "x" * 1_000_001, "hypothesis": FACT}, "premise"),
        ({"premise": "\udfff", "hypothesis": FACT}, "premise"),
    ],
)
def test_what_is_no_pair_is_invalid_input(base: str, data: object, param: str) -> None:
    reply = fetch(base + NLI, data=data)
    assert (reply.status, reply.error["code"]) == (400, "INVALID_INPUT")
    assert reply.error["param"] == param
    assert len(reply.text) < 1_000


@pytest.mark.parametrize("text", ["Она стоит в Париже.", "!!!", "- " * 5_000])
def test_what_the_model_cannot_read_is_invalid_input(base: str, text: str) -> None:
    for data in ({"premise": text, "hypothesis": FACT}, {"premise": FACT, "hypothesis": text[:99]}):
        reply = fetch(base + NLI, data=data)
        assert (reply.status, reply.error["code"]) == (400, "INVALID_INPUT")


def test_without_explanations_there_is_no_model() -> None:
    for pipeline in (None, fixed_pipeline()):
        with native(pipeline, "gate: {enabled: false}") as base:
            reply = fetch(base + NLI, data=PAIR)
        assert (reply.status, reply.error["code"]) == (503, "NLI_MODEL_NOT_READY")
        assert "explain.enabled" in reply.error["next_step"]


def broken(hypothesis: str, evidence: tuple[EvidenceRef, ...]) -> Entailment:
    raise RuntimeError(f"s3cret {hypothesis} {evidence}")


def test_a_model_that_fails_says_so() -> None:
    with fixed_pipeline(explainer=Explainer(broken)) as pipeline, native(pipeline) as base:
        reply = fetch(base + NLI, data=PAIR)
    assert (reply.status, reply.error["code"]) == (500, "NLI_CLASSIFICATION_FAILED")
    assert "RuntimeError" in reply.error["message"]
    assert "s3cret" not in reply.text
