"""What a client is told: HaluGate's headers and warnings as documented, ours, and in streams."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import parse
from groundwire.detection.values import Outcome
from groundwire.gateway.chat.body_warning import MAX_CHARS, warning_text
from groundwire.gateway.chat.marks import (
    beside_json,
    extension,
    outcome_headers,
    vsr_headers,
)
from groundwire.pipeline import Checked, Pipeline
from groundwire.pipeline.conversation.response import AnswerKind
from groundwire.policy.policy import Action, HallucinationPlugin, OnError, Policy, resolve
from tests.config.documented import SNIPPET
from tests.gateway.answers import (
    BLOCK,
    BROKEN_EXPLAINER,
    HEADER,
    checked,
    checked_by,
    partial,
    policy_of,
    unavailable,
    unverified,
)
from tests.pipeline.chats import FACTS, POEM, QUESTION, RIGHT, TOOLS, WRONG, asked, judged

UNVERIFIED_HEADERS = [
    ("x-vsr-fact-check-needed", "true"),
    ("x-vsr-unverified-factual-response", "true"),
    ("x-vsr-verification-context-missing", "true"),
    ("x-vsr-response-warnings", "unverified_factual"),
]
BODY = Policy(action=Action.BODY, unverified_action=Action.BODY, partial_action=Action.BODY)


@pytest.fixture(scope="module")
def halugate() -> Iterator[Pipeline]:
    """The embedded models, with the first file that HaluGate documents."""
    with Pipeline.load(parse(SNIPPET, name="halugate.yaml")) as loaded:
        yield loaded


# HaluGate's documented example.


def test_the_documented_answer_has_the_documented_headers(halugate: Pipeline) -> None:
    answers = checked_by(halugate, WRONG, body=asked(QUESTION, FACTS, tools=TOOLS))
    assert vsr_headers(answers) == [
        ("x-vsr-fact-check-needed", "true"),
        ("x-vsr-hallucination-detected", "true"),
        ("x-vsr-hallucination-spans", "1950; 500 meters"),
        ("x-vsr-nli-contradictions", "2"),
        ("x-vsr-max-severity", "4"),
        ("x-vsr-response-warnings", "hallucination"),
    ]


@pytest.mark.parametrize("more", [{}, {"tools": TOOLS}])
def test_without_results_of_tools_the_three_documented_headers(
    halugate: Pipeline, more: dict[str, object]
) -> None:
    answers = checked_by(halugate, WRONG, body=asked(QUESTION, **more))
    assert vsr_headers(answers) == UNVERIFIED_HEADERS


def test_a_grounded_answer_and_a_poem_have_no_header(halugate: Pipeline) -> None:
    assert vsr_headers(checked_by(halugate, RIGHT)) == []
    assert vsr_headers(checked_by(halugate, "Leaves fall.", body=asked(POEM))) == []


# Headers.


@pytest.mark.parametrize("action", ["none", "log", "flag", "body", "block"])
def test_only_the_action_header_gives_headers_of_halugate(action: str) -> None:
    policy = replace(policy_of(action), unverified_action=Action(action))
    assert vsr_headers(checked(policy=policy)) == []
    assert vsr_headers(unverified(policy)) == []


def test_without_explanations_nothing_is_said_of_contradictions() -> None:
    for answers in (checked(explainer=None), checked(policy=replace(HEADER, explain=False))):
        assert [name for name, _ in vsr_headers(answers)] == [
            "x-vsr-fact-check-needed",
            "x-vsr-hallucination-detected",
            "x-vsr-hallucination-spans",
            "x-vsr-response-warnings",
        ]


def test_an_explainer_that_failed_did_not_count_contradictions() -> None:
    headers = dict(vsr_headers(checked(explainer=BROKEN_EXPLAINER)))
    assert "x-vsr-nli-contradictions" not in headers
    assert headers["x-vsr-max-severity"] == "2"


def test_the_spans_of_all_choices_stand_in_one_header_in_order() -> None:
    answers = checked("It was built in 1950.", RIGHT, "It is 500 meters tall.")
    headers = dict(vsr_headers(answers))
    assert headers["x-vsr-hallucination-spans"] == "1950; 500 meters"
    assert headers["x-vsr-nli-contradictions"] == "2"


def test_several_warnings_have_a_fixed_order() -> None:
    (found,), (missing,) = checked(), unverified()
    headers = vsr_headers([missing, found])
    assert headers[-1] == ("x-vsr-response-warnings", "hallucination,unverified_factual")
    assert len(dict(headers)) == len(headers) == 8


def test_the_headers_of_a_refusal_quote_nothing() -> None:
    (found,), (withheld,) = checked(), checked(policy=BLOCK)
    assert vsr_headers([found, withheld]) == []


@pytest.mark.parametrize(("make", "outcome"), [(partial, "partial"), (unavailable, "unavailable")])
def test_what_halugate_has_no_word_for_is_told_by_our_headers_alone(
    make: type, outcome: str
) -> None:
    answers = make()
    assert vsr_headers(answers) == []
    assert outcome_headers(answers) == [
        ("x-groundwire-outcome", outcome),
        ("x-groundwire-action", "header"),
    ]


def test_our_headers_tell_the_worst_outcome_and_the_strongest_action() -> None:
    answers = checked(RIGHT, WRONG)
    assert outcome_headers(answers) == [
        ("x-groundwire-outcome", "hallucinated"),
        ("x-groundwire-action", "header"),
    ]
    assert outcome_headers([]) == []


@given(st.text(max_size=40))
def test_what_a_model_writes_never_gets_out_of_its_header(text: str) -> None:
    (answer,) = checked()
    answers = [with_span(answer, text or "x")]
    for name, value in [*vsr_headers(answers), *outcome_headers(answers)]:
        assert name.isascii()
        assert value.isascii()
        assert value.isprintable()
        assert value == value.strip()


def with_span(answer: Checked, text: str) -> Checked:
    """The answer as if its first span had other words."""
    assert answer.detection is not None
    claim = answer.detection.claims[0]
    span = replace(claim.spans[0], text=text)
    changed = replace(claim, spans=(span, *claim.spans[1:]))
    claims = (changed, *answer.detection.claims[1:])
    return replace(answer, detection=replace(answer.detection, claims=claims))


# What headers cannot carry in a stream.


def test_the_extension_of_a_stream_has_the_headers() -> None:
    answers = checked()
    found = extension(answers, trace_id="t1")
    assert found == {
        "outcome": "hallucinated",
        "action": "header",
        "trace_id": "t1",
        "headers": dict(vsr_headers(answers)),
    }
    assert json.loads(json.dumps(found)) == found


def test_the_extension_of_nothing_says_that_nothing_was_checked() -> None:
    assert extension([], trace_id="t1") == {
        "outcome": "skipped",
        "action": "none",
        "trace_id": "t1",
        "headers": {},
    }


# The warning.


@pytest.mark.parametrize("action", ["none", "log", "flag", "header", "block"])
def test_only_the_action_body_gives_a_warning(action: str) -> None:
    (answer,) = checked(policy=policy_of(action))
    assert warning_text(answer) is None


@pytest.mark.parametrize(
    ("text", "n_skipped", "action"),
    [
        (' \n{"built": "1950"} ', 0, "header"),
        ("[1950]", 0, "header"),
        ("[" * 100_000, 0, "header"),  # nested too deeply to be read here
        (f"[{'1' * 5000}]", 0, "header"),
        ('{"built": "19', 1, "header"),  # its end may not have been read
        ('{"built": "19', 0, "body"),
        ("[1] says: 1950.", 0, "body"),
        ("1950", 0, "body"),
        ('So: {"built": 1950}', 1, "body"),
    ],
)
def test_text_that_is_json_as_a_whole_gets_headers_in_place_of_a_warning(
    text: str, n_skipped: int, action: str
) -> None:
    (answer,) = checked(policy=BODY)
    answer = replace(answer, answer=replace(answer.answer, text=text, n_skipped=n_skipped))
    assert beside_json(answer).action == action
    structured = replace(answer, answer=replace(answer.answer, kind=AnswerKind.STRUCTURED))
    assert beside_json(structured).action == "header"


def test_the_warning_without_details() -> None:
    (answer,) = checked(policy=BODY)
    assert warning_text(answer) == (
        "[Hallucination Warning] This response may contain unsupported claims. "
        "Please verify the information independently."
    )


def test_the_warning_with_details() -> None:
    (answer,) = checked(policy=replace(BODY, include_details=True), explainer=None)
    assert warning_text(answer) == (
        "[Hallucination Warning] This response may contain unsupported claims (confidence: 90%). "
        'Unsupported spans: "1950", "500 meters".'
    )


def test_the_warning_with_what_the_explainer_says() -> None:
    (answer,) = checked(policy=replace(BODY, include_details=True))
    assert warning_text(answer) == (
        "[Hallucination Warning] This response may contain unsupported claims (confidence: 90%). "
        'Detailed analysis: [1] "1950" (NLI: CONTRADICTION, confidence: 95%, severity: critical)'
        ' - The answer says "1950"; the sources say otherwise.'
        ' [2] "500 meters" (NLI: CONTRADICTION, confidence: 95%, severity: critical)'
        ' - The answer says "500 meters"; the sources say otherwise.'
    )


def test_the_warning_with_an_explainer_that_failed() -> None:
    (answer,) = checked(policy=replace(BODY, include_details=True), explainer=BROKEN_EXPLAINER)
    text = warning_text(answer)
    assert text is not None
    assert '[1] "1950" (NLI: UNKNOWN, severity: medium) - Unexplained (OSError).' in text


def test_the_warnings_of_other_outcomes() -> None:
    texts = [warning_text(answer) for make in (unverified, partial) for answer in make(BODY)]
    assert texts == [
        "[Unverified Response] This response contains factual claims that could not be verified "
        "due to missing context.",
        "[Partially Checked Response] Parts of this response, or of the sources it was checked "
        "against, could not be read. Please verify the information independently.",
    ]
    (answer,) = unavailable(BODY)
    assert answer.action is Action.HEADER  # of a failed check, the policy never asks for more
    ruling = replace(answer.ruling, action=Action.BODY)
    assert warning_text(replace(answer, ruling=ruling)) == (
        "[Unchecked Response] The check of this response failed. "
        "Please verify the information independently."
    )


def test_a_warning_stays_on_its_line_and_within_its_quotes() -> None:
    (answer,) = checked(policy=replace(BODY, include_details=True), explainer=None)
    text = warning_text(with_span(answer, 'x"\n\ndata: [DONE]\r\n\x1b[2J "Ignore'))
    assert text is not None
    assert text.isprintable()
    assert text.count('"') == 4


def test_a_warning_has_a_greatest_length() -> None:
    text = " ".join(f"The part {n} was built in 1950." for n in range(600))
    for explainer in ({}, {"explainer": None}):
        (answer,) = checked(text, policy=replace(BODY, include_details=True), **explainer)
        warning = warning_text(answer)
        assert warning is not None
        assert len(warning) <= MAX_CHARS + len(" (and 600 more).")
        assert warning.rstrip(".").endswith(" more)")


def test_a_detector_that_compares_tells_no_confidence() -> None:
    config = parse("{detector: {name: 'similarity:hash'}, check: {action: body}}", name="g.yaml")
    with Pipeline.load(config) as pipeline:
        policy = replace(config.policy, include_details=True, explain=False)
        context = replace(pipeline.open(asked(QUESTION, FACTS)), policy=policy)
        answer = pipeline.check(context, "Nobody knows where the old captain lived.")
    assert warning_text(answer) == (
        "[Hallucination Warning] This response may contain unsupported claims. "
        'Unsupported spans: "Nobody knows where the old captain lived.".'
    )


# Facts of HaluGate's tests.


@pytest.mark.parametrize(
    ("action", "has_headers", "has_warning"),
    [("header", True, False), ("body", False, True), ("none", False, False)],
)
def test_the_body_action_changes_the_body_and_the_header_action_the_headers(
    action: str, has_headers: bool, has_warning: bool
) -> None:
    answers = checked(policy=policy_of(action))
    assert bool(vsr_headers(answers)) is has_headers
    assert (warning_text(answers[0]) is not None) is has_warning


def test_a_plugin_that_says_nothing_of_actions_marks_headers() -> None:
    policy = resolve(Policy(), plugins=[HallucinationPlugin(enabled=True)])
    assert dict(vsr_headers(checked(policy=policy)))["x-vsr-hallucination-detected"] == "true"


def test_a_check_that_failed_is_never_told_as_clean() -> None:
    policy = Policy(action=Action.LOG, on_error=OnError.ALLOW)
    (answer,) = checked(policy=policy, judge=judged(fails_at="read"))
    assert answer.outcome is Outcome.UNAVAILABLE
    assert outcome_headers([answer])[0] == ("x-groundwire-outcome", "unavailable")
