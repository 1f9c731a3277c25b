"""An answer in flight comes out exactly as the same answer at rest."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire import Gate, Outcome
from groundwire.detection.values import Reason
from groundwire.detector import Detector
from groundwire.pipeline import Checked, Pipeline
from groundwire.pipeline.conversation.response import Answer, AnswerKind, read_response
from groundwire.policy.policy import SourceLimits
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
from tests.tiers import costly

LONG = f"{RIGHT} {WRONG} It is brown.\n\nIt weighs 10,100 tonnes. Really!"


def in_pieces(
    pipeline: Pipeline, body: object, text: str, cuts: list[int], answer: Answer | None = None
) -> Checked:
    with pipeline.stream(pipeline.open(body)) as flow:
        places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
        for start, end in pairwise(places):
            flow.feed(text[start:end])
        return flow.finish(answer)


@settings(costly(0.5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.sampled_from(
        [
            asked(POEM, FACTS),
            asked(QUESTION),
            asked(QUESTION, FACTS),
            asked(QUESTION, FACTS, "x" * 500),
            asked(QUESTION, [{"type": "image_url", "image_url": {"url": "x"}}]),
        ]
    ),
    text=st.sampled_from([LONG, WRONG, "", " ", "!!!", "It is \ud800."]),
    cuts=st.lists(st.integers(0, 10_000), max_size=8),
    fails_at=st.sampled_from(["", "", "open", "read"]),
)
def test_a_stream_equals_its_text_at_rest(
    gate: Gate, body: dict[str, Any], text: str, cuts: list[int], fails_at: str
) -> None:
    pipeline = piped(
        judged(fails_at=fails_at),
        gate=gate,
        explainer=EXPLAINER,
        limits=SourceLimits(max_source_chars=400),
    )
    at_rest = pipeline.check(pipeline.open(body), text)
    assert in_pieces(pipeline, body, text, cuts) == at_rest


def test_an_answer_over_the_limit_is_the_same_in_flight() -> None:
    pipeline = Pipeline(Detector(judged(), max_answer_chars=90, threads=1))
    body = asked(QUESTION, FACTS)
    checked = in_pieces(pipeline, body, LONG, [20, 40, 60, 80, 100, 120])
    assert checked == pipeline.check(pipeline.open(body), LONG)
    assert checked.outcome is Outcome.UNAVAILABLE


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": [{"id": "c"}]},
        {"content": None, "refusal": "No."},
        {"content": [{"type": "text", "text": WRONG}, {"type": "audio", "data": "AA=="}]},
    ],
)
def test_what_else_an_answer_holds_is_told_at_the_end(message: dict[str, Any]) -> None:
    pipeline, body = piped(), asked(QUESTION, FACTS)
    (answer,) = read_response(answered({"role": "assistant", **message}))
    text = answer.text if answer.kind is AnswerKind.TEXT else ""
    checked = in_pieces(pipeline, body, text, [7], answer)
    assert checked == pipeline.check(pipeline.open(body), answer)


@pytest.mark.parametrize("kind", AnswerKind)
def test_text_that_was_fed_is_checked_whatever_the_answer_is_said_to_be(kind: AnswerKind) -> None:
    pipeline, body = piped(), asked(QUESTION, FACTS)
    checked = in_pieces(pipeline, body, WRONG, [7], Answer(index=0, kind=kind))
    assert checked == pipeline.check(pipeline.open(body), WRONG)
    assert checked.outcome is Outcome.HALLUCINATED


def test_claims_come_while_the_answer_arrives() -> None:
    pipeline = piped()
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        found = flow.feed(f"{WRONG} It is")
        assert [claim.text for claim in found] == [WRONG]
        assert [span.text for span in found[0].spans] == ["1950", "500 meters"]
        flow.finish()
        with pytest.raises(RuntimeError, match="finished"):
            flow.feed("More.")


def test_nothing_is_indexed_where_nothing_is_due(gate: Gate) -> None:
    judge = judged()
    pipeline = piped(judge, gate=gate)
    with pipeline.stream(pipeline.open(asked(POEM))) as flow:
        assert flow.feed(LONG) == []
        assert flow.finish() == flow.finish()
    assert judge.work == {}


def test_sources_are_indexed_before_the_answer() -> None:
    judge = judged()
    pipeline = piped(judge)
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))):
        assert judge.work == {"opened": 1}


# An answer that breaks off.


def cut(text: str) -> Checked:
    return in_pieces(
        piped(),
        asked(QUESTION, FACTS),
        text,
        [len(text) - 2, len(text) - 1],
        Answer(index=0, kind=AnswerKind.TEXT, text=text, is_cut=True),
    )


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (f"{RIGHT} It was built in 1950", Outcome.PARTIAL),
        (f"{RIGHT} It weighs 500", Outcome.PARTIAL),
        (f"{RIGHT} It was built in 1950.", Outcome.PARTIAL),  # maybe of a number
        (f"{RIGHT} It was built in 1950 by", Outcome.HALLUCINATED),
        (f"{RIGHT} It was built in 1950 ", Outcome.HALLUCINATED),
        (f"{RIGHT} 1950", Outcome.PARTIAL),
        (f"{RIGHT} 1950-19", Outcome.PARTIAL),
        (f"{RIGHT} 9:3", Outcome.PARTIAL),
        (RIGHT, Outcome.GROUNDED),
    ],
)
def test_the_word_at_which_an_answer_breaks_off_is_not_judged(text: str, outcome: Outcome) -> None:
    checked = cut(text)
    assert checked.outcome is outcome
    assert checked.detection is not None
    assert checked.detection.answer == text
    is_whole = text == RIGHT or text.endswith(" ")
    assert (checked.detection.coverage.reasons.get(Reason.CUT_OFF, 0) == 0) is is_whole
    with piped() as pipeline:
        (at_rest,) = pipeline.check_response(
            pipeline.open(asked(QUESTION, FACTS)),
            {"choices": [{"message": {"content": text}, "finish_reason": "length"}]},
        ).answers
    assert at_rest.detection == checked.detection


def test_json_that_breaks_off_is_judged_without_its_last_word() -> None:
    body = asked(QUESTION, FACTS, response_format={"type": "json_object"})
    with piped() as pipeline:
        for said, outcome in (('{"built": 1950', "partial"), ('{"built": 1950}', "hallucinated")):
            choice = {"message": {"content": said}, "finish_reason": "length"}
            (found,) = pipeline.check_response(pipeline.open(body), {"choices": [choice]}).answers
            assert str(found.outcome) == outcome
