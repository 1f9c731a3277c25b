"""What is kept in full of an answer: all that was found, and of texts what the settings say."""

import json
from dataclasses import fields, replace
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from groundwire.control.audit.detail import MAX_ROWS, VERSION, detail_of
from groundwire.control.audit.events import STREAMED, response_events
from groundwire.control.audit.quoted import AuditText, Keeping, hashed
from groundwire.control.audit.record import compact
from groundwire.control.audit.redact import Redaction, RedactionKind
from groundwire.detection.values import Claim, Detection, EvidenceRef, Label, Outcome, Span
from groundwire.explain import Category, Subtype
from groundwire.pipeline import Checked, CheckPath
from groundwire.pipeline.conversation.response import Answer
from groundwire.policy.policy import Action, Policy
from tests.detection.test_schema import detections
from tests.gateway.answers import checked, partial, unavailable, unverified
from tests.pipeline.chats import FACTS, QUESTION, RIGHT, WRONG, asked, judged, sent

CUT, HASHED, FULL = (
    Keeping(text=text, redaction=Redaction(tuple(RedactionKind)))
    for text in (AuditText.CUT, AuditText.HASH, AuditText.FULL)
)
OF: dict[str, Any] = {"tenant": "acme", "trace_id": "t1"}
MAIL = "alice@example.com"


def read_schema(name: str) -> dict[str, Any]:
    path = resources.files("groundwire").joinpath(f"detection/schemas/{name}.schema.json")
    schema: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return schema


SCHEMA = read_schema("audit_detail")
REGISTRY: Registry[Any] = Registry().with_resources(
    [
        (each["$id"], Resource.from_contents(each))
        for each in map(read_schema, ["detection", "checked"])
    ]
)
VALIDATOR = Draft202012Validator(SCHEMA, registry=REGISTRY)


def read(answer: Checked, keeping: Keeping = FULL) -> dict[str, Any]:
    """The detail as it is read again: it fits the schema."""
    detail: dict[str, Any] = json.loads(compact(detail_of(answer, keeping)))
    VALIDATOR.validate(detail)
    return detail


def one(answers: tuple[Checked, ...]) -> Checked:
    (answer,) = answers
    return answer


# Its shape.


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_objects_are_closed_and_all_their_keys_required() -> None:
    nested = [SCHEMA, *SCHEMA["$defs"].values(), SCHEMA["properties"]["limits"]]
    nested += [SCHEMA["$defs"]["request"]["properties"]["decision"]]
    nested += [SCHEMA["$defs"]["answer"]["properties"]["redactions"]["items"]]
    closed = [schema for schema in nested if "properties" in schema]
    assert len(closed) == 13
    for schema in closed:
        assert schema["additionalProperties"] is False
        assert sorted(schema["required"]) == sorted(schema["properties"])


def test_the_schema_knows_every_word() -> None:
    top, definitions = SCHEMA["properties"], SCHEMA["$defs"]
    assert top["version"]["const"] == VERSION
    assert top["text"]["enum"] == list(AuditText)
    assert top["outcome"]["enum"] == list(Outcome)
    assert top["action"]["enum"] == list(Action)
    assert top["path"]["enum"] == list(CheckPath)
    assert definitions["redacted"]["enum"] == list(RedactionKind)
    assert definitions["claim"]["properties"]["label"]["enum"] == list(Label)
    explanation = definitions["explanation"]["properties"]
    assert explanation["category"]["enum"] == list(Category)
    assert explanation["subtype"]["enum"] == list(Subtype)


@given(detections, st.sampled_from([CUT, HASHED, FULL]))
def test_whatever_was_found_fits(found: Detection, keeping: Keeping) -> None:
    answer = one(checked())
    strange = Answer(index=0, kind=answer.answer.kind, text=found.answer)
    read(replace(answer, answer=strange, detection=found, explanations=()), keeping)


@pytest.mark.parametrize("keeping", [CUT, HASHED, FULL], ids=lambda each: each.text)
@pytest.mark.parametrize("make", [partial, unverified, unavailable])
def test_an_answer_that_was_not_checked_in_full_has_a_detail_too(
    make: Any,  # noqa: ANN401
    keeping: Keeping,
) -> None:
    answer = one(make())
    detail = read(answer, keeping)
    assert (detail["outcome"], detail["reason"]) == (answer.outcome, answer.reason)
    assert (detail["detection"] is None) is (answer.detection is None)


# What it tells.


def test_it_tells_all_that_was_found_and_decided() -> None:
    policy = Policy(action=Action.HEADER, contradicted_action=Action.BLOCK)
    answer = one(checked(policy=policy))
    detail, found = read(answer), answer.detection
    assert found is not None
    spans, claims = detail["detection"]["spans"], detail["detection"]["claims"]
    assert [(each["start"], each["end"], each["text"]) for each in spans] == [
        (each.start, each.end, each.text) for each in found.spans
    ]
    assert [each["text"] for each in claims] == [WRONG]
    assert [each["conflict"] for each in spans] == [each.conflict for each in found.spans]
    assert [each["probability"] for each in spans] == [each.probability for each in found.spans]
    assert [each["category"] for each in detail["explanations"]] == ["contradiction"] * 2
    assert detail["detection"]["coverage"] == found.coverage.to_dict()
    assert detail["detection"]["detector"] == found.detector.to_dict()
    assert (detail["path"], detail["action"], detail["severity"]) == ("checked", "block", 4)
    assert detail["policy"]["contradicted_action"] == "block"
    assert set(detail["policy"]) == {each.name for each in fields(Policy)}
    assert detail["request"]["question"] == QUESTION
    assert detail["timings_ms"] == pytest.approx(dict(answer.timings_ms))
    assert detail["omitted"] == {}


def test_evidence_names_its_source_by_its_place_among_them() -> None:
    answer = one(checked(body=sent("It is very old.", FACTS)))
    assert answer.detection is not None
    start = FACTS.index("330")
    places = (
        EvidenceRef(source_id="S1", start=start, end=start + 3, text="330"),
        EvidenceRef(source_id="S0", start=3, end=5, text="is"),
        EvidenceRef(source_id="elsewhere", start=3, end=5, text="is"),
    )
    claim = replace(answer.detection.claims[0], evidence=places)
    detail = read(replace(answer, detection=replace(answer.detection, claims=(claim,))))
    assert [each["id"] for each in detail["sources"]] == ["S0", "S1"]
    assert detail["sources"][1]["place"] == 'metadata["grounding.sources"][1]'
    assert detail["sources"][1]["hash"] == hashed(FACTS)
    assert detail["sources"][1]["n_chars"] == len(FACTS)
    kept = detail["detection"]["claims"][0]["evidence"]
    assert [(each["source"], each["text"]) for each in kept] == [
        (1, "330"),
        (0, "is"),
        (None, "is"),
    ]
    assert FACTS[kept[0]["start"] : kept[0]["end"]] == "330"


def test_the_events_of_findings_and_of_incomplete_checks_carry_it() -> None:
    for answers in (checked(), partial(), unverified(), unavailable()):
        for of in (OF, OF | {"origin": STREAMED}):
            (event,) = response_events(answers, **of, keeping=FULL)
            assert event.detail == detail_of(one(answers), FULL)
            assert b"timings_ms" not in compact(event.to_dict()).encode()
            (bare,) = response_events(answers, **of, keeping=replace(FULL, keeps_detail=False))
            assert bare.detail is None


def test_each_choice_has_its_own() -> None:
    one_, other = response_events(checked(WRONG, RIGHT, "It is 500 meters tall."), **OF)
    assert one_.detail is not None
    assert other.detail is not None
    assert (one_.detail["index"], other.detail["index"]) == (0, 2)


# Texts.


def texts_of(data: object) -> list[str]:
    """All texts in JSON data, whatever they are."""
    if isinstance(data, str):
        return [data]
    if isinstance(data, dict):
        return [*data, *(text for each in data.values() for text in texts_of(each))]
    return [text for each in data for text in texts_of(each)] if isinstance(data, list) else []


def test_cut_keeps_beginnings() -> None:
    long = f"{RIGHT} It was built in 1950 by {'one of ' * 30} many."
    detail = read(one(checked(long, body=sent(FACTS, "x " * 400))), CUT)
    claims = detail["detection"]["claims"]
    assert claims[1]["text"].endswith("...")
    assert len(claims[1]["text"]) == 103
    assert claims[1]["end"] == len(long)
    assert detail["answer"]["text"] is None
    assert [each["text"] for each in detail["sources"]] == [None, None]


def test_full_keeps_answer_and_sources() -> None:
    detail = read(one(checked()))
    assert detail["answer"]["text"] == WRONG
    assert [each["text"] for each in detail["sources"]] == [FACTS]


def test_hash_keeps_hashes_of_claims_and_of_wholes_alone() -> None:
    answer = one(checked())
    detail = read(answer, HASHED)
    said = " ".join(texts_of(detail))
    for word in ("Eiffel", "Tower", "built", "1950", "meters", "Paris", "height", "call_0"):
        assert word not in said
    assert detail["detection"]["claims"][0]["hash"] == hashed(WRONG)
    assert detail["answer"]["hash"] == hashed(WRONG)
    assert hashed("1950") not in said
    assert [each["start"] for each in detail["detection"]["spans"]] == [
        WRONG.index("1950"),
        WRONG.index("500"),
    ]


def test_what_is_redacted_is_in_no_mode_and_no_place() -> None:
    wrong = f"Write to {MAIL}, who was born in 1950."
    source = f"The address is {MAIL} and she was born in 1887."
    body = sent(source, question=f"When was {MAIL} born?")
    body["metadata"]["note"] = MAIL
    answers = checked(wrong, body=body, judge=judged(alice=0.9, born=0.9))
    for keeping in (CUT, HASHED, FULL):
        (event,) = response_events(answers, **OF, keeping=keeping)
        said = compact(event.to_dict()).encode().decode() + compact(dict(event.detail or {}))
        assert "alice" not in said
        assert "example.com" not in said
    detail = read(one(answers))
    assert detail["answer"]["text"] == "Write to [REDACTED:email], who was born in 1950."
    assert detail["request"]["question"] == "When was [REDACTED:email] born?"
    assert "[REDACTED:email]" in {each["text"] for each in detail["explanations"]}


def test_offsets_count_in_the_answer_as_it_was() -> None:
    wrong = f"Write to {MAIL}, who was born in 1950."
    detail = read(one(checked(wrong)))
    assert detail["answer"]["redactions"] == [{"start": 9, "end": 26, "kind": "email"}]
    (span,) = detail["detection"]["spans"]
    assert wrong[span["start"] : span["end"]] == span["text"] == "1950"


def test_a_span_that_is_part_of_what_is_redacted_is_not_kept() -> None:
    wrong = "Her card is 4111 1111 1111 1111, and it was made in 1950."
    found = replace(one(checked(wrong)), explanations=())
    assert found.detection is not None
    start = wrong.index("1111")
    part = Span(
        start=start,
        end=start + 9,
        text=wrong[start : start + 9],
        label=Label.UNSUPPORTED,
        probability=0.9,
        severity=2,
    )
    claim = replace(found.detection.claims[0], spans=(part,))
    found = replace(found, detection=replace(found.detection, claims=(claim,)))
    detail = read(found)
    assert detail["detection"]["spans"][0]["text"] == "[REDACTED:card]"
    (event,) = response_events([found], **OF, keeping=FULL)
    assert event.payload["unsupported_spans"] == ("[REDACTED:card]",)


def test_a_redaction_comes_before_the_cut() -> None:
    wrong = f"It was built in 1950 {'and stands there ' * 4}as {MAIL} wrote."
    assert wrong.index(MAIL) < 100 < wrong.index(MAIL) + len(MAIL)
    (event,) = response_events(checked(wrong), **OF, keeping=CUT)
    assert "alice" not in event.payload["ungrounded_claims"][0]


# Bounds.


def many(n: int, text: str) -> Checked:
    """An answer of so many claims of one text, each with a span and much evidence."""
    answer = one(checked())
    assert answer.detection is not None
    size = len(text) + 1
    evidence = tuple(
        EvidenceRef(source_id="S9", start=0, end=len(text), text=text) for _ in range(9)
    )
    claims = []
    for i in range(n):
        span = Span(
            start=i * size,
            end=i * size + len(text),
            text=text,
            label=Label.UNSUPPORTED,
            probability=0.9,
            severity=2,
            evidence=evidence,
        )
        claims.append(
            Claim(
                start=span.start,
                end=span.end,
                text=text,
                label=Label.UNSUPPORTED,
                probability=0.9,
                citations=tuple(f"S{j}" for j in range(50)),
                spans=(span,),
                evidence=evidence,
            )
        )
    whole = " ".join([text] * n)
    found = replace(answer.detection, answer=whole, claims=tuple(claims))
    said = Answer(index=0, kind=answer.answer.kind, text=whole)
    return replace(answer, answer=said, detection=found, explanations=())


@pytest.mark.nightly
@pytest.mark.merge
def test_of_thousands_the_first_are_kept_and_the_rest_counted() -> None:
    n = MAX_ROWS + 234
    detail = read(many(n, "It is so."), CUT)
    assert len(detail["detection"]["claims"]) == len(detail["detection"]["spans"]) == MAX_ROWS
    assert detail["omitted"]["claims"] == detail["omitted"]["spans"] == 234
    assert detail["omitted"]["evidence"] == 2 * MAX_ROWS * 6
    assert detail["omitted"]["citations"] == MAX_ROWS * 30


@pytest.mark.nightly
@pytest.mark.merge
@pytest.mark.parametrize("keeping", [CUT, HASHED, FULL], ids=lambda each: each.text)
@pytest.mark.parametrize(
    ("n", "text"),
    [(1, "a" * 1_000_000), (3, "\0" * 400_000), (5000, "\ud800 \x1b[2J"), (500, "é" * 5000)],
    ids=["one long claim", "NULs", "thousands", "long ones"],
)
def test_a_record_has_a_size_that_can_be_read(n: int, text: str, keeping: Keeping) -> None:
    answer = many(n, text)
    (event,) = response_events([answer], **OF, keeping=keeping)
    detail = compact(detail_of(answer, keeping))
    assert detail.isascii()
    assert "\0" not in detail
    # A character takes up to six, written as \u0000.
    assert len(compact(event.to_dict()).encode()) < 4_000_000
    assert len(detail) < 8_000_000
    assert event.payload["ungrounded_claim_count"] == n


def test_a_text_that_no_model_reads_has_a_detail() -> None:
    answer = one(checked("It is \ud800.", body=asked(QUESTION, FACTS)))
    assert answer.reason == "InvalidTextError"
    assert read(answer)["answer"]["text"] == "It is \ud800."
