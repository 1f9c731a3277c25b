import pytest

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
    Condition,
    HallucinationRule,
    KeywordRule,
    Observation,
    Operator,
    SignalRequest,
    SignalRules,
    Signals,
    SignalType,
)
from groundwire.policy.ternary_logic import Truth


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
    return Signals(rules).open(SignalRequest(prompt=prompt)).read(Condition(type_, name))


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
        (Operator.OR, "a ticket", Truth.TRUE),
        (Operator.OR, "hello", Truth.FALSE),
        (Operator.AND, "urgent: a ticket", Truth.TRUE),
        (Operator.AND, "urgent", Truth.FALSE),
        (Operator.NOT, "hello", Truth.TRUE),
        (Operator.NOT, "Urgent", Truth.FALSE),
    ],
)
def test_words_are_joined_by_the_operator(operator: Operator, prompt: str, truth: Truth) -> None:
    rule = KeywordRule(name="k", words=("urgent", "ticket"), operator=operator)
    assert read(SignalRules(keywords=(rule,)), SignalType.KEYWORD, "k", prompt).truth is truth


def test_every_prompt_is_general() -> None:
    readings = Signals(SignalRules()).open(SignalRequest(prompt="When was the tower built?"))
    assert readings.read(Condition(SignalType.DOMAIN, GENERAL)).truth is Truth.TRUE


def test_a_signal_without_a_rule_is_unknown_and_says_why() -> None:
    found = read(SignalRules(), SignalType.DOMAIN, "law")
    assert (found.truth, found.reason) == (Truth.UNKNOWN, "there is no rule 'law'")


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


def test_a_signal_is_read_when_it_is_asked_for_and_at_most_once() -> None:
    rules = SignalRules(keywords=(KeywordRule(name="k", words=("law",)),))
    readings = Signals(rules).open(SignalRequest(prompt="the law"))
    assert not readings.work
    for _ in range(3):
        assert readings.read(Condition(SignalType.KEYWORD, "k")).truth is Truth.TRUE
    assert readings.work["keyword"] == 1
