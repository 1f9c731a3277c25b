"""Structured answers: each leaf is a claim, and findings stand in the raw JSON."""

import json
from typing import Any

import pytest

from groundwire.detection.example import Source
from groundwire.detection.values import Outcome
from groundwire.pipeline import Checked
from groundwire.pipeline.conversation.answer_form import AnswerForm
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.pipeline.json_leaves import MAX_DEPTH, choices_at, leaves_of
from groundwire.pipeline.structured import read_structured
from groundwire.policy.policy import Action, Policy
from tests.pipeline.chats import EXPLAINER, answered, judged, piped, sent

SOURCE = "The Eiffel Tower was built from 1887 to 1889. It is 330 metres tall."
JSON: dict[str, Any] = {"response_format": {"type": "json_object"}}
TOOL: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "Tower", "parameters": {}}}],
    "tool_choice": {"type": "function", "function": {"name": "Tower"}},
}
BLOCK = Policy(action=Action.BLOCK)


def calling(*arguments: str, name: str = "Tower", content: str | None = None) -> dict[str, Any]:
    """A message that calls a tool, once for each text of arguments."""
    calls = [{"id": "c", "function": {"name": name, "arguments": each}} for each in arguments]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def check(message: object, form: dict[str, Any], policy: Policy = BLOCK, **stages: Any) -> Checked:  # noqa: ANN401
    with piped(policy=policy, **stages) as pipeline:
        return pipeline.check_response(
            pipeline.open(sent(SOURCE, **form)), answered(message)
        ).answers[0]


def statements(
    document: object, schema: dict[str, Any] | None = None, source: str = SOURCE
) -> list[str]:
    """What is checked of a document."""
    answer = Answer(index=0, kind=AnswerKind.TEXT, text=json.dumps(document))
    form = AnswerForm(is_json=True, schema=schema or {})
    found = read_structured(answer, form, [Source(text=source, id="S0")])
    assert found is not None
    return [found.text[each.start : each.end] for each in found.statements]


def test_a_remark_in_a_value_stands_in_the_raw_json_too() -> None:
    remark = "Let me know if you have questions."
    raw = json.dumps({"built": 1889, "note": remark})
    found = check(raw, JSON).detection
    assert found is not None
    (aside,) = found.asides
    assert (aside.text, raw[aside.start : aside.end]) == (remark, remark)


@pytest.mark.parametrize("is_tool", [False, True])
def test_a_finding_stands_at_the_value_in_the_raw_json(is_tool: bool) -> None:
    raw = (
        '{ "tower": {"names": ["La Tour", "Eiffel \\"Tower\\""],\n "builtIn": "in 1950 \\u00e9"} }'
    )
    message, form = (calling(raw), TOOL) if is_tool else (raw, JSON)
    found = check(message, form, explainer=EXPLAINER)
    assert (found.outcome, found.action) == (Outcome.HALLUCINATED, Action.BLOCK)
    assert (found.answer.kind, found.answer.text) == (AnswerKind.STRUCTURED, raw)
    assert found.detection is not None
    (span,) = found.detection.spans
    assert (span.text, raw[span.start : span.end]) == ("1950", "1950")
    assert found.pointers == ("/tower/builtIn",)
    assert (found.explanations[0].start, found.explanations[0].end) == (span.start, span.end)
    claims = found.detection.claims
    assert [raw[claim.start : claim.end] for claim in claims] == [claim.text for claim in claims]
    assert claims[-1].text == '"builtIn": "in 1950 \\u00e9"'


def test_a_finding_in_a_key_is_one_in_its_value() -> None:
    found = check('{"of_meters": "330 of 500", "meters": 7}', JSON, explainer=EXPLAINER)
    assert found.detection is not None
    assert [span.text for span in found.detection.spans] == ["500", "7"]
    assert found.pointers == ("/of_meters", "/meters")
    assert len(found.explanations) == 2


def test_a_right_document_is_grounded() -> None:
    assert check(calling('{"built": "1887-1889"}'), TOOL).outcome is Outcome.GROUNDED


def test_an_ordinary_call_is_skipped() -> None:
    found = check(calling('{"built": 1950}'), {"tools": TOOL["tools"]})
    assert (found.outcome, found.reason) == (Outcome.SKIPPED, "tool_calls")


def test_prose_before_a_call_is_checked_with_it_and_half_a_document_never_leaves() -> None:
    found = check(calling('{"height": 330, "built": 1950}', content="It is tall."), TOOL)
    assert found.pointers == ("/built",)
    assert found.n_clear == len("It is tall.\n\n") == found.answer.n_prose
    found = check(calling('{"built": 1887}', content="It is from 1950."), TOOL)
    assert (found.pointers, found.n_clear) == (("",), 0)


def test_several_calls_are_told_apart_by_their_number() -> None:
    assert check(calling('{"built": 1887}', '{"built": 1950}'), TOOL).pointers == ("/1/built",)


@pytest.mark.parametrize(
    "raw", ['{"built": 1950', '{"built": 1, "built": 1950}', "In 1950.", "[" * 9999 + "1950"]
)
def test_what_is_no_json_is_checked_as_the_text_that_it_is(raw: str) -> None:
    found = check(calling(raw), TOOL)
    assert found.outcome is Outcome.HALLUCINATED
    assert found.detection is not None
    assert found.detection.spans[0].text == "1950"


def test_a_document_that_is_nested_too_deeply_is_not_read() -> None:
    assert leaves_of(f"{'[' * MAX_DEPTH}1950{']' * MAX_DEPTH}") is not None
    assert leaves_of(f"{'[' * 60}1950{']' * 60}") is None


def test_a_document_without_claims_is_skipped() -> None:
    found = check('{"is_open": true, "note": null, "tags": []}', JSON)
    assert (found.outcome, found.reason) == (Outcome.SKIPPED, "structured")


@pytest.mark.parametrize(("message", "form"), [('{"built": 1887}', JSON), (calling("{}"), TOOL)])
def test_a_structured_answer_whose_check_fails_is_unavailable(
    message: object, form: dict[str, Any]
) -> None:
    found = check(message, form, judge=judged(fails_at="open"))
    assert (found.outcome, found.action) == (Outcome.UNAVAILABLE, Action.BLOCK)


def test_json_is_judged_when_it_is_complete() -> None:
    raw = '{"built": "1887. And so on.", "height": 500}'
    with piped(policy=BLOCK) as pipeline:
        context = pipeline.open(sent(SOURCE, **JSON))
        with pipeline.stream(context) as flow:
            for character in raw:
                assert flow.feed(character) == []
                assert flow.review().clear_to == 0
            found = flow.finish()
        assert found == pipeline.check(context, raw)
    assert (found.pointers, found.n_clear) == (("/height",), 0)


# Which leaves are claims.


def test_a_leaf_is_a_statement_with_its_path() -> None:
    document = {"tower": {"builtIn": "1889", "floor_heights": [57, 115.5]}, "opened": "1889-03"}
    assert statements(document) == [
        "tower built In: 1889",
        "tower floor heights: 57",
        "tower floor heights: 115.5",
        "opened: March 1889",
    ]


def test_prose_speaks_for_itself() -> None:
    assert statements({"answer": "It was built from 1887 to 1889."}) == [
        "It was built from 1887 to 1889."
    ]


def test_names_grades_labels_and_flags_are_no_claims() -> None:
    own = {"id": "a7", "confidence": 95, "match_score": 0.8, "is_open": True, "error": None}
    assert statements(own | {"intent": "refund_request", "note": " "}) == []
    assert statements({"order_id": "A7", "home_score": 3}) == ["order id: A7", "home score: 3"]


def test_keys_that_state_something_are_claims_if_no_schema_names_them() -> None:
    said = {
        "Built in 1950": True,
        "1950": "built",
        "facts": {"Made of steel": {"holds": "yes"}},
        "It was built in 1950.": None,
        "It was finished in 1951.": "",
    }
    assert statements(said) == [
        "Built in 1950",
        "1950: built",
        "facts Made of steel holds: yes",
        "It was built in 1950.",
        "It was finished in 1951.",
    ]
    keys = {"propertyNames": {"enum": ["1950"]}, "properties": {key: {} for key in said}}
    assert statements({"Built in 1950": True, "1950": True}, keys) == []
    assert statements({"Built in 1950": False, "Date of birth": None, "Sold in": "unknown"}) == []


def test_a_finding_in_a_key_alone_is_the_whole_leaf() -> None:
    found = check('{"facts": {"Built in 1950": true}}', JSON, explainer=EXPLAINER)
    assert found.detection is not None
    assert [span.text for span in found.detection.spans] == ['"Built in 1950": true']
    assert found.pointers == ("/facts/Built in 1950",)


def test_an_id_of_several_words_is_a_claim() -> None:
    assert statements({"id": "built in 1950"}) == ["id: built in 1950"]


def test_with_a_schema_the_listed_values_are_labels_and_others_are_not() -> None:
    schema = {
        "properties": {"mood": {"$ref": "#/$defs/Mood"}, "city": {"type": "string"}},
        "$defs": {"Mood": {"enum": ["good", "bad"]}},
    }
    assert statements({"mood": "good", "city": "paris"}, schema) == ["city: paris"]


def test_a_listed_value_is_a_claim_where_the_evidence_names_one_of_them() -> None:
    for listed in (["Paris", "London"], ["London", "1889"]):
        schema = {"properties": {"place": {"enum": listed}}}
        assert statements({"place": "London"}, schema, "In Paris in 1889.") == ["place: London"]
        assert statements({"place": "London"}, schema, "In Parish 18890.") == []
    schema = {"properties": {"is_tall": {"enum": ["Yes", "No"]}, "rank": {"enum": ["A", "high"]}}}
    said = {"is_tall": "Yes", "rank": "A"}
    assert statements(said, schema, "No. A tower, and high it is. Yes.") == []


def test_plain_words_are_labels_only_under_keys_of_labels() -> None:
    assert statements({"material": "steel", "mood": "glad", "kind": "refund-request"}) == [
        "material: steel"
    ]


def test_points_in_time_are_written_as_texts_have_them() -> None:
    said = {"day": "2026-02-14T00:00:00Z", "at": "2026-02-14T09:30:00.5+01:00", "no": "2026-02-14T"}
    written = ["day: 14 February 2026", "at: 14 February 2026, 09:30", "no: 2026-02-14T"]
    assert statements(said) == written


@pytest.mark.parametrize(
    ("schema", "is_one"),
    [
        ({"items": {"properties": {"a": {"const": 1}}}}, True),
        ({"items": {"anyOf": [{"properties": {"a": {"enum": [1]}}}]}}, True),
        ({"items": {"properties": {"a": {"anyOf": [{"enum": [1]}, {"type": "null"}]}}}}, True),
        ({"items": {"properties": {"a": {"anyOf": [{"enum": [1]}, {"type": "string"}]}}}}, False),
        ({"items": {"additionalProperties": {"enum": [1]}}}, True),
        ({"items": {"$ref": "#/items"}}, False),
        ({"items": {"$ref": "#/nowhere"}, "properties": 1}, False),
        ({}, False),
    ],
)
def test_a_schema_lists_the_values_of_a_leaf(schema: dict[str, Any], is_one: bool) -> None:
    assert choices_at(schema, (0, "a")) == ([1] if is_one else [])
