"""A stage that fails never makes an answer look clean."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from groundwire import Detector, Gate, Outcome
from groundwire.detection.example import Source
from groundwire.detection.values import Detection
from groundwire.errors import InvalidConversationError, InvalidTextError
from groundwire.pipeline import CheckPath, GateStatus
from groundwire.pipeline.pipeline import Pipeline
from groundwire.policy.decisions import Decision, Rule
from groundwire.policy.policy import Action, HallucinationPlugin, OnError, Policy
from groundwire.policy.signals import (
    Condition,
    DomainRule,
    Operator,
    SignalRules,
    Signals,
    SignalType,
)
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
)

HEADER = Policy(action=Action.HEADER)


class BrokenEmbedder:
    """Raises."""

    revision = "broken"

    def embed(self, texts: Sequence[str]) -> NoReturn:
        raise OSError("out of memory")

    def reads(self, text: str) -> NoReturn:
        raise NotImplementedError

    def n_unread(self, parts: object) -> NoReturn:
        raise NotImplementedError


class BrokenExplainer:
    """Raises."""

    def explain(self, detection: Detection, sources: Sequence[Source]) -> NoReturn:
        raise OSError(f"no room for {detection.answer!r}")


# The gate.


def test_a_gate_that_fails_means_check(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    pipeline = piped(gate=replace(gate, _embedder=BrokenEmbedder()))
    context = pipeline.open(asked(POEM))
    assert (context.path, context.gate.status) == (CheckPath.NO_EVIDENCE, GateStatus.FAILED)
    assert context.gate.reason == "GateError"
    assert context.gate.needs_fact_check is None
    assert "GateError" in caplog.text


# Signals.


def test_a_signal_that_fails_keeps_what_its_decision_would_do() -> None:
    condition = Condition(SignalType.DOMAIN, "law")
    strict = Decision(
        name="strict",
        rule=Rule(Operator.AND, (condition,)),
        plugin=HallucinationPlugin(enabled=True, action=Action.BLOCK),
    )
    rules = SignalRules(domains=(DomainRule(name="law", description="Law."),))
    signals = Signals(rules, embed=BrokenEmbedder().embed)
    pipeline = piped(signals=signals, decisions=[strict], policy=Policy(enabled=False))
    context = pipeline.open(asked(QUESTION, FACTS))
    assert "domain:law unknown: OSError" in str(context.choice)
    assert pipeline.check(context, WRONG).action is Action.BLOCK


# The detector.


@pytest.mark.parametrize("fails_at", ["open", "read"])
def test_a_detector_that_fails_makes_the_answer_unavailable(fails_at: str) -> None:
    pipeline = piped(judged(fails_at=fails_at), policy=HEADER)
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), RIGHT)
    assert checked.outcome is Outcome.UNAVAILABLE
    assert checked.action is Action.HEADER
    assert checked.ruling.is_failure
    assert checked.reason == ("OSError" if fails_at == "open" else "detector_failed")


def test_an_answer_over_the_limit_is_unavailable_not_cut() -> None:
    detector = Detector(judged(), max_answer_chars=10, threads=1)
    pipeline = Pipeline(detector, policy=HEADER)
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert (checked.outcome, checked.reason) == (Outcome.UNAVAILABLE, "LimitExceededError")


def test_an_answer_that_is_no_valid_text_is_unavailable() -> None:
    pipeline = piped()
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), "It is \ud800.")
    assert (checked.outcome, checked.reason) == (Outcome.UNAVAILABLE, "InvalidTextError")


def test_a_detector_that_was_closed_is_unavailable() -> None:
    pipeline = piped()
    context = pipeline.open(asked(QUESTION, FACTS))
    pipeline.close()
    assert pipeline.check(context, RIGHT).reason == "DetectionError"
    assert pipeline.stream(context).finish().outcome is Outcome.SKIPPED  # there was no text
    with pipeline.stream(context) as flow:
        assert flow.feed(RIGHT) == []
        assert flow.finish().outcome is Outcome.UNAVAILABLE


@pytest.mark.parametrize(
    ("on_error", "action"),
    [(OnError.ALLOW, "log"), (OnError.AUTO, "block"), (OnError.WARN, "header")],
)
def test_the_policy_says_what_a_failure_does(on_error: OnError, action: str) -> None:
    policy = Policy(action=Action.BLOCK, on_error=on_error)
    pipeline = piped(judged(fails_at="open"), policy=policy)
    assert pipeline.check(pipeline.open(asked(QUESTION, FACTS)), RIGHT).action == action


def test_one_failed_answer_leaves_the_others() -> None:
    pipeline = piped(policy=HEADER)
    context = pipeline.open(asked(QUESTION, FACTS))
    response = pipeline.check_response(context, answered("It is \ud800.", RIGHT, WRONG))
    assert [checked.outcome for checked in response.answers] == [
        "unavailable",
        "grounded",
        "hallucinated",
    ]


# The explainer.


def test_an_explainer_that_fails_leaves_all_spans_unexplained(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    pipeline = piped(policy=HEADER, explainer=BrokenExplainer())
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert (checked.outcome, checked.action) == (Outcome.HALLUCINATED, Action.HEADER)
    assert checked.detection is not None
    assert [span.text for span in checked.detection.spans] == ["1950", "500 meters"]
    assert checked.unexplained == "OSError"
    assert [each.text[:22] for each in checked.explanations] == ["Unexplained (OSError)."] * 2
    assert [each.severity for each in checked.explanations] == [2, 2]
    assert "1950" not in caplog.text  # an answer has no place in a log


def test_what_is_no_explanation_leaves_all_spans_unexplained() -> None:
    class Wrong:
        def explain(self, *_: object) -> Any:  # noqa: ANN401 - not what it should be
            return None

    pipeline = piped(policy=HEADER, explainer=Wrong())
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert (checked.outcome, checked.unexplained) == (Outcome.HALLUCINATED, "TypeError")
    assert len(checked.explanations) == 2


def test_what_fails_after_the_check_makes_it_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> NoReturn:
        raise ZeroDivisionError

    pipeline = piped(policy=HEADER)
    context = pipeline.open(asked(QUESTION, FACTS))
    monkeypatch.setattr("groundwire.pipeline.concluding.rule", broken)
    checked = pipeline.check(context, RIGHT)
    assert (checked.outcome, checked.reason) == (Outcome.UNAVAILABLE, "ZeroDivisionError")
    assert checked.action is Action.HEADER


def test_without_an_explainer_findings_have_no_explanation() -> None:
    pipeline = piped()
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert (checked.explanations, checked.unexplained) == ((), None)


def test_a_policy_without_explanations_asks_no_explainer() -> None:
    pipeline = piped(policy=Policy(explain=False), explainer=BrokenExplainer())
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert (checked.explanations, checked.unexplained) == ((), None)
    assert checked.outcome is Outcome.HALLUCINATED


def test_explanations_stand_beside_the_spans_they_are_about() -> None:
    pipeline = piped(explainer=EXPLAINER)
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert checked.detection is not None
    assert [(each.start, each.end) for each in checked.explanations] == [
        (span.start, span.end) for span in checked.detection.spans
    ]


# What is no conversation.


def test_what_is_no_request_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidConversationError, match=r"messages\[0\]"):
        piped().open({"messages": [1]})
    with pytest.raises(InvalidTextError, match="question"):
        piped().open(asked("When \ud800?"))


def test_what_is_no_response_is_refused() -> None:
    pipeline = piped()
    with pytest.raises(InvalidConversationError, match="choices"):
        pipeline.check_response(pipeline.open(asked(QUESTION)), {"error": {}})


# A request that is not read.


def test_the_answers_to_a_request_that_was_not_read_are_unavailable() -> None:
    blocking = Decision(
        name="law",
        rule=Rule(Operator.AND, (Condition(SignalType.DOMAIN, "law"),)),
        plugin=HallucinationPlugin(enabled=True, action=Action.BLOCK),
    )
    with piped(policy=HEADER, decisions=[blocking]) as pipeline:
        context = pipeline.unopened("CheckTimeoutError")
        checked = pipeline.check(context, WRONG)
    assert (checked.outcome, checked.reason) == (Outcome.UNAVAILABLE, "CheckTimeoutError")
    assert checked.action is Action.BLOCK  # as any decision may apply
