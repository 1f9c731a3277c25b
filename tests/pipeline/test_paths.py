"""Which way an answer takes, and what comes of it there."""

from typing import Any

import pytest

from groundwire import Gate, Outcome, Reason
from groundwire.detection.example import Source
from groundwire.errors import InvalidConversationError
from groundwire.pipeline import CheckPath, GateStatus
from groundwire.policy.policy import Action, Overrides, Policy, Request, SourceLimits
from tests.pipeline.chats import (
    FACTS,
    POEM,
    QUESTION,
    RIGHT,
    TOOLS,
    WRONG,
    answered,
    asked,
    judged,
    piped,
    sent,
)

HEADER = Policy(action=Action.HEADER)
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]}
REFUSAL = {"role": "assistant", "content": None, "refusal": "I cannot say."}
SOUND = {"role": "assistant", "content": None, "audio": {"data": "AA=="}}
STAGES = ["evidence", "gate", "decide"]


# The three paths.


def test_a_prompt_that_is_not_factual_passes_and_nothing_is_read(gate: Gate) -> None:
    judge = judged()
    pipeline = piped(judge, gate=gate, policy=HEADER)
    checked = pipeline.check(pipeline.open(asked(POEM)), WRONG)
    assert (checked.path, checked.outcome, checked.action) == ("not_factual", "skipped", "none")
    assert (checked.detection, checked.reason) == (None, "not_factual")
    assert judge.work == {}


def test_a_factual_answer_without_evidence_is_unverified(gate: Gate) -> None:
    pipeline = piped(gate=gate, policy=HEADER)
    checked = pipeline.check(pipeline.open(asked(QUESTION)), WRONG)
    assert (checked.path, checked.outcome, checked.action) == (
        "no_evidence",
        "unverified",
        "header",
    )
    assert checked.detection is not None
    assert not checked.detection.spans


def test_tools_that_are_defined_and_not_called_are_no_evidence(gate: Gate) -> None:
    pipeline = piped(gate=gate, policy=HEADER)
    context = pipeline.open(asked(QUESTION, tools=TOOLS))
    assert context.conversation.has_tools
    assert pipeline.check(context, WRONG).outcome is Outcome.UNVERIFIED


def test_a_factual_answer_with_evidence_is_checked(gate: Gate) -> None:
    pipeline = piped(gate=gate, policy=HEADER)
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), WRONG)
    assert (checked.path, checked.outcome, checked.action) == ("checked", "hallucinated", "header")
    assert checked.detection is not None
    assert [span.text for span in checked.detection.spans] == ["1950", "500 meters"]


def test_a_policy_that_checks_nothing_asks_no_model(gate: Gate) -> None:
    judge = judged()
    pipeline = piped(judge, gate=gate, policy=Policy(enabled=False))
    context = pipeline.open(asked(QUESTION, FACTS))
    assert (context.path, context.gate.status) == (CheckPath.OFF, GateStatus.OFF)
    assert pipeline.check(context, WRONG).outcome is Outcome.SKIPPED
    assert judge.work == {}
    assert "gate" not in context.timings_ms


@pytest.mark.parametrize("sources", [(), (Source(id="S0", text=FACTS),)])
def test_a_policy_that_is_off_counts_for_an_answer_alone_only_where_it_decides(
    sources: tuple[Source, ...],
) -> None:
    pipeline = piped(policy=Policy(enabled=False))
    context = pipeline.open_answer(sources, decides=True)
    assert context.path is CheckPath.OFF
    assert pipeline.check(context, WRONG).outcome is Outcome.SKIPPED
    assert pipeline.open_answer(sources).path is not CheckPath.OFF


@pytest.mark.parametrize(
    ("body", "stages"),
    [
        (asked(POEM), [*STAGES, "total"]),
        (asked(QUESTION), [*STAGES, "index", "read", "total"]),
        (asked(QUESTION, FACTS), [*STAGES, "index", "read", "total"]),
    ],
)
def test_each_path_tells_the_time_of_its_stages(
    gate: Gate, body: dict[str, Any], stages: list[str]
) -> None:
    pipeline = piped(gate=gate)
    assert list(pipeline.check(pipeline.open(body), WRONG).timings_ms) == stages


# The gate.


def test_the_confidence_is_that_of_the_gate(gate: Gate) -> None:
    context = piped(gate=gate).open(asked(QUESTION))
    assert context.gate.result == gate.classify(QUESTION)
    assert context.to_dict()["gate"]["confidence"] == gate.classify(QUESTION).confidence


def test_who_names_sources_wants_a_check(gate: Gate) -> None:
    pipeline = piped(gate=gate)
    context = pipeline.open(sent("It was built in 1889.", question=POEM))
    assert (context.path, context.gate.status) == (CheckPath.CHECKED, GateStatus.BYPASSED)
    assert context.gate.needs_fact_check is True


def test_the_gate_can_be_asked_about_them_all_the_same(gate: Gate) -> None:
    context = piped(gate=gate, bypasses_gate=False).open(sent("A fact.", question=POEM))
    assert context.path is CheckPath.NOT_FACTUAL


def test_sources_that_no_limit_lets_through_are_named_all_the_same(gate: Gate) -> None:
    pipeline = piped(gate=gate, limits=SourceLimits(max_source_chars=5))
    context = pipeline.open(sent("It was built in 1889.", question=POEM))
    assert (context.path, context.gate.status) == (CheckPath.NO_EVIDENCE, GateStatus.BYPASSED)


def test_an_empty_list_of_sources_names_none(gate: Gate) -> None:
    assert piped(gate=gate).open(sent(question=POEM)).path is CheckPath.NOT_FACTUAL


@pytest.mark.parametrize("question", [POEM, "Which size should I order?", "Thanks!"])
def test_where_there_is_evidence_no_prompt_keeps_an_answer_from_its_check(
    gate: Gate, question: str
) -> None:
    pipeline = piped(gate=gate)
    for body in (asked(question, FACTS), asked(f"<context>\n{FACTS}\n</context>\n{question}")):
        context = pipeline.open(body)
        assert (context.path, context.gate.status) == (CheckPath.CHECKED, GateStatus.BYPASSED)


def test_evidence_that_cannot_be_read_is_evidence_all_the_same(gate: Gate) -> None:
    context = piped(gate=gate).open(asked(POEM, [IMAGE]))
    assert (context.path, context.gate.status) == (CheckPath.NO_EVIDENCE, GateStatus.BYPASSED)


def test_halugate_its_gate_decides_first(gate: Gate) -> None:
    pipeline = piped(gate=gate, asks_gate_last=False)
    assert pipeline.open(asked(POEM, FACTS)).path is CheckPath.NOT_FACTUAL
    assert pipeline.open(asked(QUESTION, FACTS)).gate.status is GateStatus.ASKED


def test_without_a_gate_every_answer_is_checked() -> None:
    context = piped().open(asked(POEM, FACTS))
    assert (context.path, context.gate.status) == (CheckPath.CHECKED, GateStatus.OFF)


def test_without_words_of_the_user_a_check_is_due(gate: Gate) -> None:
    context = piped(gate=gate).open(asked(None, FACTS))
    assert (context.path, context.gate.status) == (CheckPath.CHECKED, GateStatus.NO_PROMPT)


# Who says what is done.


def test_a_tenant_has_its_own_policy_and_limits() -> None:
    own = Overrides(action=Action.BODY, max_sources=1)
    pipeline = piped(policy=HEADER, limits=SourceLimits(max_sources=2), tenants={"acme": own})
    body = asked(QUESTION, FACTS, "It is brown.")
    assert pipeline.check(pipeline.open(body, tenant="acme"), WRONG).action == "body"
    assert len(pipeline.open(body, tenant="acme").conversation.offered) == 1
    assert pipeline.check(pipeline.open(body, tenant="other"), WRONG).action == "header"
    given = pipeline.open(body, tenant="acme", overrides=Overrides(enabled=False))
    assert given.path is CheckPath.OFF


def test_a_request_can_ask_for_a_check_and_never_for_none() -> None:
    pipeline = piped(policy=Policy(enabled=False))
    body = asked(QUESTION, FACTS)
    assert pipeline.open(body, request=Request(enabled=True)).path is CheckPath.CHECKED
    assert piped().open(body, request=Request(enabled=False)).path is CheckPath.CHECKED


# Evidence that was left out.


def test_dropped_evidence_makes_the_outcome_partial_at_best() -> None:
    pipeline = piped(limits=SourceLimits(max_source_chars=200))
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS, "x" * 201)), RIGHT)
    assert checked.outcome is Outcome.PARTIAL
    assert checked.detection is not None
    coverage = checked.detection.coverage
    assert coverage.reasons == {Reason.DROPPED_LONG: 1}
    assert coverage.offered_chars - coverage.indexed_chars == 201
    assert pipeline.check(checked.context, WRONG).outcome is Outcome.HALLUCINATED


def test_if_all_evidence_was_dropped_nothing_is_read_and_the_outcome_is_partial() -> None:
    pipeline = piped(limits=SourceLimits(max_source_chars=10))
    checked = pipeline.check(pipeline.open(asked(QUESTION, FACTS)), RIGHT)
    assert (checked.path, checked.outcome) == (CheckPath.NO_EVIDENCE, Outcome.PARTIAL)
    assert checked.detection is not None
    assert checked.detection.coverage.indexed == 0


def test_an_image_in_a_tool_result_makes_the_outcome_partial_at_best() -> None:
    pipeline = piped()
    context = pipeline.open(asked(QUESTION, [{"type": "text", "text": FACTS}, IMAGE]))
    checked = pipeline.check(context, RIGHT)
    assert checked.outcome is Outcome.PARTIAL
    assert checked.detection is not None
    assert checked.detection.coverage.reasons == {Reason.UNREAD_EVIDENCE: 1}
    assert not checked.detection.coverage.is_complete


def test_evidence_that_is_an_image_alone_is_offered_and_not_read() -> None:
    pipeline = piped()
    checked = pipeline.check(pipeline.open(asked(QUESTION, [IMAGE])), RIGHT)
    assert (checked.path, checked.outcome) == (CheckPath.NO_EVIDENCE, Outcome.PARTIAL)


def test_an_image_in_results_that_are_not_used_is_no_gap() -> None:
    pipeline = piped()
    body = asked(QUESTION, [IMAGE], metadata={"grounding.sources": [FACTS]})
    assert pipeline.check(pipeline.open(body), RIGHT).outcome is Outcome.GROUNDED


def test_a_named_source_that_is_no_text_is_a_gap() -> None:
    pipeline = piped()
    assert pipeline.check(pipeline.open(sent(FACTS, 7)), RIGHT).outcome is Outcome.PARTIAL


# Kinds of answers.


@pytest.mark.parametrize(
    ("message", "outcome", "reason"),
    [
        (CALLS, Outcome.SKIPPED, "tool_calls"),
        (REFUSAL, Outcome.SKIPPED, "refusal"),
        ("", Outcome.SKIPPED, "empty"),
        (" \n", Outcome.SKIPPED, "empty"),
        (SOUND, Outcome.PARTIAL, "unread_answer"),
    ],
)
def test_an_answer_without_text_says_why_it_was_not_checked(
    message: object, outcome: Outcome, reason: str
) -> None:
    pipeline = piped(policy=HEADER)
    context = pipeline.open(asked(QUESTION, FACTS))
    (checked,) = pipeline.check_response(context, answered(message)).answers
    assert (checked.outcome, checked.reason, checked.detection) == (outcome, reason, None)


def test_text_in_an_unknown_field_makes_the_outcome_partial_at_best() -> None:
    pipeline = piped()
    context = pipeline.open(asked(QUESTION, FACTS))
    body = answered(RIGHT)
    body["choices"][0]["message"]["note"] = "It was built in 1950, as everybody knows."
    assert pipeline.check_response(context, body).outcome is Outcome.PARTIAL
    body["choices"][0]["text"] = "It was built in 1950."
    with pytest.raises(InvalidConversationError, match="outside of its message"):
        pipeline.check_response(context, body)


def test_a_part_of_the_answer_that_is_no_text_makes_the_outcome_partial_at_best() -> None:
    pipeline = piped()
    context = pipeline.open(asked(QUESTION, FACTS))
    parts = [{"type": "text", "text": RIGHT}, IMAGE]
    response = pipeline.check_response(context, answered(parts))
    assert response.outcome is Outcome.PARTIAL
    detection = response.answers[0].detection
    assert detection is not None
    assert detection.coverage.reasons == {Reason.UNREAD_ANSWER: 1}


@pytest.mark.parametrize(
    ("contents", "outcome", "action"),
    [
        ((RIGHT, WRONG), "hallucinated", "header"),
        ((RIGHT, CALLS), "skipped", "none"),
        ((RIGHT, RIGHT), "grounded", "none"),
        ((), "skipped", "none"),
    ],
)
def test_a_response_is_as_bad_as_its_worst_answer(
    contents: tuple[object, ...], outcome: str, action: str
) -> None:
    pipeline = piped(policy=HEADER)
    response = pipeline.check_response(pipeline.open(asked(QUESTION, FACTS)), answered(*contents))
    assert (response.outcome, response.action) == (outcome, action)
    assert [checked.answer.index for checked in response.answers] == list(range(len(contents)))


@pytest.mark.parametrize(
    "question", ["Thanks! And the second one?", "Go on.", "yes", "ok continue"]
)
def test_a_short_question_is_asked_about_with_the_one_before(gate: Gate, question: str) -> None:
    body = asked(QUESTION)
    body["messages"] += [
        {"role": "assistant", "content": RIGHT},
        {"role": "user", "content": question},
    ]
    context = piped(gate=gate).open(body)
    assert (context.conversation.question, context.conversation.previous) == (question, QUESTION)
    assert context.path is CheckPath.NO_EVIDENCE


def test_a_short_question_without_one_before_stands_alone(gate: Gate) -> None:
    assert piped(gate=gate).open(asked("Thanks!")).path is CheckPath.NOT_FACTUAL
