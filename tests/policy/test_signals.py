from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from groundwire.detection.values import (
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    Label,
    Outcome,
    Reason,
    Span,
)
from groundwire.policy.signals import (
    GENERAL,
    Aggregation,
    Condition,
    DomainRule,
    EmbeddingRule,
    HallucinationRule,
    KeywordRule,
    LanguageRule,
    Observation,
    Operator,
    SignalRequest,
    SignalRules,
    Signals,
    SignalType,
    SignalValues,
)
from groundwire.policy.ternary_logic import Truth

LAW = DomainRule(name="law", description="law court", threshold=0.5)
TRADE = DomainRule(name="trade", description="money shop", threshold=0.5)


class WordEmbedder:
    """Texts with common words are alike; counts what it embeds."""

    words = ("law", "court", "money", "shop", "judge")

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.texts += texts
        rows = [[1e-3, *(text.split().count(word) for word in self.words)] for text in texts]
        return np.array(rows, dtype=np.float64)


def broken(_: object) -> NDArray[np.float64]:
    raise OSError("the model file is gone")


def detection(*labels: Label, outcome: Outcome, read: int = 100) -> Detection:
    spans = tuple(
        Span(
            start=10 * place,
            end=10 * place + 5,
            text="wrong",
            label=label,
            probability=0.9,
            severity=4 if label is Label.CONTRADICTED else 2,
        )
        for place, label in enumerate(labels)
    )
    claim = Claim(
        start=0, end=100, text="x" * 100, label=Label.SUPPORTED, probability=0.1, spans=spans
    )
    return Detection(
        answer="x" * 100,
        outcome=outcome,
        claims=(claim,),
        coverage=Coverage(
            offered_chars=9, indexed_chars=9, attended_chars=9, answer_chars=100, read_chars=read
        ),
        detector=DetectorInfo(name="f", revision="", operating_point="balanced", threshold=0.5),
    )


def read(rules: SignalRules, type_: SignalType, name: str, prompt: str = "") -> Observation:
    signals = Signals(rules, embed=WordEmbedder())
    return signals.open(SignalRequest(prompt=prompt)).read(Condition(type_, name))


def fact_check(name: str, *, needed: bool | None) -> Truth:
    readings = Signals(SignalRules()).open(SignalRequest(prompt="", needs_fact_check=needed))
    return readings.read(Condition(SignalType.FACT_CHECK, name)).truth


def test_fact_check_is_what_the_gate_says() -> None:
    assert fact_check("needs_fact_check", needed=True) is Truth.TRUE
    assert fact_check("no_fact_check_needed", needed=True) is Truth.FALSE
    assert fact_check("no_fact_check_needed", needed=False) is Truth.TRUE


def test_a_gate_that_failed_makes_both_unknown() -> None:
    assert fact_check("needs_fact_check", needed=None) is Truth.UNKNOWN
    assert fact_check("no_fact_check_needed", needed=None) is Truth.UNKNOWN


@pytest.mark.parametrize(
    ("operator", "prompt", "truth"),
    [
        (Operator.OR, "urgent", Truth.TRUE),
        (Operator.OR, "ticket 42", Truth.TRUE),
        (Operator.OR, "hello", Truth.FALSE),
        (Operator.AND, "urgent: ticket 42", Truth.TRUE),
        (Operator.AND, "urgent", Truth.FALSE),
        (Operator.NOT, "hello", Truth.TRUE),
        (Operator.NOT, "Urgent", Truth.FALSE),
    ],
)
def test_words_and_patterns_are_joined_by_the_operator(
    operator: Operator, prompt: str, truth: Truth
) -> None:
    rule = KeywordRule(name="k", words=("urgent",), patterns=(r"ticket \d+",), operator=operator)
    assert read(SignalRules(keywords=(rule,)), SignalType.KEYWORD, "k", prompt).truth is truth


def test_a_domain_holds_from_its_threshold_on() -> None:
    law = read(SignalRules(domains=(LAW,)), SignalType.DOMAIN, "law", "a law question")
    assert law.truth is Truth.TRUE
    other = read(SignalRules(domains=(LAW,)), SignalType.DOMAIN, "law", "a shop")
    assert other.truth is Truth.FALSE


def test_general_holds_where_no_other_domain_in_play_does() -> None:
    rules = SignalRules(domains=(LAW, TRADE))
    assert read(rules, SignalType.DOMAIN, GENERAL, "the judge sings").truth is Truth.TRUE
    assert read(rules, SignalType.DOMAIN, GENERAL, "the court").truth is Truth.FALSE


def test_general_alone_holds_always_and_needs_no_embedding() -> None:
    readings = Signals(SignalRules()).open(SignalRequest(prompt="When was the tower built?"))
    assert readings.read(Condition(SignalType.DOMAIN, GENERAL)).truth is Truth.TRUE


def test_general_is_unknown_if_another_domain_is() -> None:
    readings = Signals(SignalRules(domains=(LAW,)), embed=broken).open(SignalRequest(prompt="p"))
    general = readings.read(Condition(SignalType.DOMAIN, GENERAL))
    assert general.truth is Truth.UNKNOWN
    assert general.reason == "OSError"  # its message might quote the prompt


@pytest.mark.parametrize(("aggregation", "truth"), [("max", Truth.TRUE), ("mean", Truth.FALSE)])
def test_examples_count_by_the_best_or_by_the_mean(aggregation: str, truth: Truth) -> None:
    rule = EmbeddingRule(
        name="e", examples=("law", "money"), threshold=0.9, aggregation=Aggregation(aggregation)
    )
    assert read(SignalRules(embeddings=(rule,)), SignalType.EMBEDDING, "e", "law").truth is truth


@pytest.mark.parametrize(
    ("prompt", "truth"),
    [
        ("Wann wurde das gebaut?", Truth.TRUE),
        ("When was it built?", Truth.FALSE),
        ("Berlin", Truth.UNKNOWN),
    ],
)
def test_a_language_that_cannot_be_told_is_unknown(prompt: str, truth: Truth) -> None:
    rules = SignalRules(languages=(LanguageRule(name="german", codes=("de",)),))
    assert read(rules, SignalType.LANGUAGE, "german", prompt).truth is truth


def hallucination(found: Detection | None, name: str = "severe") -> Truth:
    rule = HallucinationRule(name="severe", label=Label.CONTRADICTED, min_severity=3)
    signals = Signals(SignalRules(hallucination=(rule,)))
    readings = signals.open(SignalRequest(prompt="", detection=found))
    return readings.read(Condition(SignalType.HALLUCINATION, name)).truth


def test_a_finding_counts_by_label_and_severity() -> None:
    both = detection(Label.UNSUPPORTED, Label.CONTRADICTED, outcome=Outcome.HALLUCINATED)
    mild = detection(Label.UNSUPPORTED, outcome=Outcome.HALLUCINATED)
    assert hallucination(both) is Truth.TRUE
    assert hallucination(mild) is Truth.FALSE
    assert hallucination(mild, "detected") is Truth.TRUE
    assert hallucination(mild, "contradicted") is Truth.FALSE


@pytest.mark.parametrize(
    ("outcome", "truth"),
    [
        (Outcome.GROUNDED, Truth.FALSE),
        (Outcome.SKIPPED, Truth.FALSE),
        (Outcome.PARTIAL, Truth.UNKNOWN),
        (Outcome.UNVERIFIED, Truth.UNKNOWN),
        (Outcome.UNAVAILABLE, Truth.UNKNOWN),
    ],
)
def test_an_answer_that_could_not_be_checked_is_never_clean(outcome: Outcome, truth: Truth) -> None:
    assert hallucination(detection(outcome=outcome)) is truth


def test_what_was_not_read_may_hold_what_was_not_found() -> None:
    mild = detection(Label.UNSUPPORTED, outcome=Outcome.HALLUCINATED, read=50)
    assert hallucination(mild) is Truth.UNKNOWN
    assert hallucination(mild, "unsupported") is Truth.TRUE


def test_before_the_response_a_finding_is_unknown() -> None:
    assert hallucination(None) is Truth.UNKNOWN


def test_a_claim_that_failed_leaves_it_unknown() -> None:
    mild = detection(Label.UNSUPPORTED, outcome=Outcome.HALLUCINATED)
    failed = Claim(
        start=99,
        end=100,
        text="x",
        label=Label.UNCHECKED,
        probability=None,
        reason=Reason.DETECTOR_FAILED,
    )
    object.__setattr__(mild, "claims", (*mild.claims, failed))
    assert hallucination(mild) is Truth.UNKNOWN


def readings_of_all(embedder: WordEmbedder) -> SignalValues:
    rules = SignalRules(
        domains=(LAW, TRADE),
        embeddings=(EmbeddingRule(name="e", examples=("judge",)),),
        languages=(
            LanguageRule(name="de", codes=("de",)),
            LanguageRule(name="en", codes=("en",)),
        ),
    )

    return Signals(rules, embed=embedder).open(SignalRequest(prompt="the law"))


def test_a_signal_is_read_when_it_is_asked_for_and_at_most_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder, identified = WordEmbedder(), list[str]()

    def identify(text: str) -> str:
        identified.append(text)
        return "en"

    monkeypatch.setattr("groundwire.policy.signals.identify", identify)
    readings = readings_of_all(embedder)
    assert (embedder.texts, identified) == ([], [])
    for _ in range(3):
        readings.read(Condition(SignalType.DOMAIN, "law"))
    assert embedder.texts == ["the law", "law court"]
    for name in ("de", "en", "de"):
        readings.read(Condition(SignalType.LANGUAGE, name))
    assert identified == ["the law"]
    for condition in (Condition(SignalType.DOMAIN, GENERAL), Condition(SignalType.EMBEDDING, "e")):
        readings.read(condition)
    # The prompt was embedded once for all, and "law" decided about "general" without "trade".
    assert embedder.texts == ["the law", "law court", "judge"]


def test_descriptions_are_embedded_once_for_all_requests() -> None:
    embedder = WordEmbedder()
    signals = Signals(SignalRules(domains=(LAW,)), embed=embedder)
    for prompt in ("one", "two"):
        signals.open(SignalRequest(prompt=prompt)).read(Condition(SignalType.DOMAIN, "law"))
    assert embedder.texts == ["one", "law court", "two"]


@pytest.mark.parametrize(
    ("embed", "reason"),
    [
        (None, "there is no embedder"),
        (broken, "OSError"),
        (lambda texts: np.zeros((len(texts), 3)), "zero or not finite"),
        (lambda texts: np.full((len(texts), 3), np.nan), "zero or not finite"),
    ],
)
def test_what_fails_is_unknown_and_says_why(embed: object, reason: str) -> None:
    signals = Signals(SignalRules(domains=(LAW,)), embed=embed)  # type: ignore[arg-type]
    readings = signals.open(SignalRequest(prompt="p"))
    observation = readings.read(Condition(SignalType.DOMAIN, "law"))
    assert observation.truth is Truth.UNKNOWN
    assert reason in observation.reason


def test_a_failure_is_not_tried_again_for_the_same_request() -> None:
    calls = []

    def embed(texts: Sequence[str]) -> NDArray[np.float64]:
        calls.append(texts)
        raise OSError("gone")

    readings = Signals(SignalRules(domains=(LAW, TRADE)), embed=embed).open(
        SignalRequest(prompt="")
    )
    for name in ("law", "trade", GENERAL):
        assert readings.read(Condition(SignalType.DOMAIN, name)).truth is Truth.UNKNOWN
    assert len(calls) == 1
