"""Decisions in the pipeline: before the answer, and settled after it."""

import pytest

from groundwire import Gate
from groundwire.config import parse
from groundwire.pipeline import CheckPath, Pipeline
from groundwire.policy.policy import Action
from groundwire.policy.signals import Signals
from tests.pipeline.chats import FACTS, POEM, QUESTION, RIGHT, WRONG, asked, piped, sent

FINDINGS = """
decisions:
  - name: contradictions
    priority: 10
    rules: {operator: AND, conditions: [{type: hallucination, name: detected}]}
    plugins: [{type: hallucination, configuration: {enabled: true, action: block}}]
  - name: all others
    plugins: [{type: hallucination, configuration: {enabled: true, action: header}}]
"""
FACTUAL = """
decisions:
  - name: factual
    rules: {operator: AND, conditions: [{type: fact_check, name: needs_fact_check}]}
    plugins: [{type: hallucination, configuration: {enabled: true, action: body}}]
"""


def configured(text: str, gate: Gate | None = None) -> Pipeline:
    config = parse(text, name="groundwire.yaml")
    return piped(
        gate=gate,
        signals=Signals(config.signals),
        decisions=config.decisions,
        policy=config.policy,
    )


def test_a_decision_about_findings_is_settled_by_what_was_found(gate: Gate) -> None:
    pipeline = configured(FINDINGS, gate)
    context = pipeline.open(asked(QUESTION, FACTS))
    assert context.policy.action is Action.BLOCK  # until it is known, the strictest counts
    assert [each.decision.name for each in context.choice.unsettled] == ["contradictions"]
    wrong, right = pipeline.check(context, WRONG), pipeline.check(context, RIGHT)
    assert (str(wrong.context.choice), wrong.action) == (
        "contradictions (hallucination:detected)",
        "block",
    )
    assert (str(right.context.choice), right.action) == ("all others", "none")
    assert context.choice.unsettled  # the request's own context is as it was


def test_an_answer_that_could_not_be_checked_leaves_it_unsettled(gate: Gate) -> None:
    pipeline = configured(FINDINGS, gate)
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), "It is \ud800.")
    assert checked.context.choice.unsettled
    assert checked.action is Action.BLOCK


def test_a_signal_is_read_once_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    text = FINDINGS.replace("detected", "detected}, {type: language, name: en")
    config, seen = parse(text, name="groundwire.yaml"), list[str]()

    def identify(prompt: str) -> str:
        seen.append(prompt)
        return "en"

    monkeypatch.setattr("groundwire.policy.signals.identify", identify)
    pipeline = piped(signals=Signals(config.signals), decisions=config.decisions)
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert checked.action is Action.BLOCK
    assert seen == [QUESTION]


def test_the_gate_is_a_signal(gate: Gate) -> None:
    pipeline = configured(FACTUAL, gate)
    context = pipeline.open(asked(QUESTION, FACTS))
    assert str(context.choice) == "factual (fact_check:needs_fact_check)"
    assert str(pipeline.open(asked(POEM, FACTS)).choice) == "none"


def test_who_names_sources_calls_for_a_check_as_a_signal_too(gate: Gate) -> None:
    context = configured(FACTUAL, gate).open(sent(FACTS, question=POEM))
    assert str(context.choice) == "factual (fact_check:needs_fact_check)"


def test_without_a_gate_the_signal_is_unknown_and_the_stricter_policy_counts() -> None:
    context = configured(FACTUAL).open(asked(QUESTION, FACTS))
    assert "fact_check:needs_fact_check unknown" in str(context.choice)
    assert context.policy.action is Action.BODY


def test_a_decision_can_turn_the_check_off() -> None:
    text = FACTUAL.replace("{enabled: true, action: body}", "{enabled: false}")
    context = configured(f"gate: {{enabled: false}}\n{text}").open(sent(FACTS))
    assert context.path is CheckPath.OFF
    assert configured(text).open(asked(QUESTION, FACTS)).path is CheckPath.CHECKED  # unknown
