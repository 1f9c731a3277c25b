"""The values of a result, and how claims make an outcome."""

import copy
import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.detection_json import detection_of
from groundwire.detection.values import (
    SEVERITY,
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    EvidenceRef,
    Label,
    Outcome,
    Reason,
    Span,
    decide_outcome,
)

INFO = DetectorInfo(name="reader", revision="1", operating_point="balanced", threshold=0.5)
FOUND = Span(start=0, end=2, text="ab", label=Label.UNSUPPORTED, probability=0.9, severity=2)


def claim(*spans: Span, reason: Reason | None = None) -> Claim:
    return Claim(
        start=0,
        end=2,
        text="ab",
        label=Label.UNCHECKED if reason else Label.UNSUPPORTED if spans else Label.SUPPORTED,
        probability=None if reason else 0.9 if spans else 0.1,
        spans=spans,
        reason=reason,
    )


def coverage(
    *,
    offered: int = 10,
    indexed: int = 10,
    attended: int = 10,
    answer: int = 2,
    read: int = 2,
    reasons: Mapping[Reason, int] | None = None,
) -> Coverage:
    return Coverage(
        offered_chars=offered,
        indexed_chars=indexed,
        attended_chars=attended,
        answer_chars=answer,
        read_chars=read,
        reasons=reasons or {},
    )


FAILED = claim(reason=Reason.DETECTOR_FAILED)
NO_EVIDENCE = claim(reason=Reason.NO_EVIDENCE)
UNREADABLE = claim(reason=Reason.LANGUAGE)


@pytest.mark.parametrize(
    ("claims", "read", "outcome"),
    [
        ([claim()], coverage(), Outcome.GROUNDED),
        ([claim(FOUND)], coverage(), Outcome.HALLUCINATED),
        ([claim(), claim(FOUND), FAILED], coverage(read=1), Outcome.HALLUCINATED),
        ([claim(), FAILED], coverage(read=1), Outcome.UNAVAILABLE),
        ([FAILED], coverage(offered=0, indexed=0, read=0), Outcome.UNAVAILABLE),
        ([NO_EVIDENCE], coverage(offered=0, indexed=0, attended=0, read=0), Outcome.UNVERIFIED),
        ([NO_EVIDENCE], coverage(indexed=0, attended=0, read=0), Outcome.PARTIAL),
        ([claim(), UNREADABLE], coverage(read=1), Outcome.PARTIAL),
        ([claim()], coverage(indexed=9), Outcome.PARTIAL),
        ([], coverage(read=0), Outcome.PARTIAL),
        ([claim()], coverage(attended=1), Outcome.GROUNDED),  # not selected is no gap
    ],
)
def test_the_worst_that_holds_is_the_outcome(
    claims: list[Claim], read: Coverage, outcome: Outcome
) -> None:
    assert decide_outcome(tuple(claims), read) is outcome


def test_outcomes_are_listed_in_the_order_in_which_they_win() -> None:
    assert [str(outcome) for outcome in Outcome] == [
        "hallucinated",
        "unavailable",
        "partial",
        "unverified",
        "skipped",
        "grounded",
    ]


def test_only_what_was_read_in_full_and_found_in_order_is_grounded() -> None:
    kinds = [claim(), claim(FOUND), FAILED, UNREADABLE]
    for one, other, indexed in product(kinds, kinds, (9, 10)):
        read = 4 - 2 * (one.reason is not None) - 2 * (other.reason is not None)
        outcome = decide_outcome((one, other), coverage(indexed=indexed, answer=4, read=read))
        is_fine = one == other == claim() and indexed == 10
        assert (outcome is Outcome.GROUNDED) == is_fine


def test_severity_is_two_for_unsupported_and_four_for_contradicted() -> None:
    assert SEVERITY == {Label.SUPPORTED: 0, Label.UNSUPPORTED: 2, Label.CONTRADICTED: 4}


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 2), (-1, 2)])
def test_spans_claims_and_evidence_are_never_empty(start: int, end: int) -> None:
    problem = f"needs 0 <= start < end, got {start} and {end}"
    with pytest.raises(ValueError, match=f"a span {problem}"):
        Span(start=start, end=end, text="", label=Label.UNSUPPORTED, probability=0.9, severity=2)
    with pytest.raises(ValueError, match=f"a claim {problem}"):
        Claim(start=start, end=end, text="", label=Label.SUPPORTED, probability=0.1)
    with pytest.raises(ValueError, match=f"a place of evidence {problem}"):
        EvidenceRef(source_id="S0", start=start, end=end, text="")


def test_shares_are_of_what_was_offered() -> None:
    half = coverage(offered=200, indexed=150, attended=50, answer=40, read=10)
    assert (half.indexed, half.attended, half.answer) == (0.75, 0.25, 0.25)
    assert not half.is_complete


def test_nothing_offered_is_nothing_missed() -> None:
    empty = coverage(offered=0, indexed=0, attended=0, answer=0, read=0)
    assert (empty.indexed, empty.attended, empty.answer) == (1.0, 1.0, 1.0)
    assert empty.is_complete


@given(st.lists(st.integers(0, 10**9), min_size=3, max_size=3), st.integers(0, 10**9))
def test_shares_lie_between_nought_and_one(counts: list[int], answer: int) -> None:
    attended, indexed, offered = sorted(counts)
    whole = coverage(offered=offered, indexed=indexed, attended=attended, answer=answer, read=0)
    assert 0 <= whole.attended <= 1
    assert 0 <= whole.indexed <= 1
    assert 0 <= whole.answer <= 1


def detection(probability: float | None = None, **timings: float) -> Detection:
    reference = EvidenceRef(source_id="S0", start=3, end=6, text="abc")
    span = Span(
        start=0,
        end=2,
        text="ab",
        label=Label.CONTRADICTED,
        probability=0.75,
        severity=4,
        conflict="number",
        evidence=(reference,),
    )
    read = Coverage(
        offered_chars=10,
        indexed_chars=10,
        attended_chars=5,
        answer_chars=2,
        read_chars=2,
        reasons={Reason.QUESTION_SHORTENED: 1, Reason.LANGUAGE: 2},
    )
    one = Claim(
        start=0,
        end=2,
        text="ab",
        label=Label.CONTRADICTED,
        probability=0.75,
        citations=("S0", "2"),
        spans=(span,),
        evidence=(reference,),
    )
    return Detection(
        answer="ab",
        outcome=Outcome.HALLUCINATED,
        probability=probability,
        claims=(one,),
        coverage=read,
        detector=INFO,
        timings_ms=timings,
    )


def test_two_detections_are_equal_if_they_found_the_same_however_long_it_took() -> None:
    assert detection(total=1.0) == detection(total=99.0)


def test_equal_detections_are_one_in_a_set() -> None:
    assert len({detection(total=1.0), detection(total=99.0)}) == 1


def test_another_probability_is_another_detection() -> None:
    assert detection(0.5) != detection(0.6)
    assert detection(0.5) != detection()


def test_the_order_of_reasons_is_no_difference() -> None:
    one = coverage(reasons={Reason.LANGUAGE: 2, Reason.NO_CLAIM: 1})
    other = coverage(reasons={Reason.NO_CLAIM: 1, Reason.LANGUAGE: 2})
    assert one == other
    assert hash(one) == hash(other)
    assert one != coverage(reasons={Reason.LANGUAGE: 2})


def test_what_was_found_cannot_be_changed_afterwards() -> None:
    reasons, timings = {Reason.LANGUAGE: 2}, {"total": 1.0}
    found = detection(**timings)
    read = coverage(reasons=reasons)
    reasons.clear()
    assert read.reasons == {Reason.LANGUAGE: 2}
    with pytest.raises(TypeError, match="does not support item assignment"):
        read.reasons[Reason.LANGUAGE] = 0  # type: ignore[index]
    with pytest.raises(TypeError, match="does not support item assignment"):
        found.timings_ms["total"] = 0.0  # type: ignore[index]
    with pytest.raises(TypeError, match="does not support item deletion"):
        del found.timings_ms["total"]  # type: ignore[attr-defined]
    assert found.timings_ms == timings


def test_reasons_and_timings_read_like_a_dict() -> None:
    found = detection(index=1.0, total=2.0)
    assert found.timings_ms == {"index": 1.0, "total": 2.0}
    assert repr(found.timings_ms) == "{'index': 1.0, 'total': 2.0}"
    assert (len(found.timings_ms), found.timings_ms.get("read")) == (2, None)
    assert json.loads(json.dumps(found.to_dict()))["timings_ms"] == {"index": 1.0, "total": 2.0}


def pickled(protocol: int) -> Callable[[Any], Any]:
    return lambda value: pickle.loads(pickle.dumps(value, protocol))


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, *map(pickled, range(2, pickle.HIGHEST_PROTOCOL + 1))],
)
def test_a_copy_is_equal_and_as_frozen(duplicate: Callable[[Any], Any]) -> None:
    found = detection(total=1.0)
    again = duplicate(found)
    assert again == found
    assert hash(again) == hash(found)
    assert again.to_dict() == found.to_dict()
    with pytest.raises(TypeError):
        again.coverage.reasons[Reason.LANGUAGE] = 0
    with pytest.raises(TypeError):
        again.timings_ms["total"] = 0.0


def test_the_probability_of_the_answer_is_written() -> None:
    assert detection(0.625).to_dict()["probability"] == 0.625


def test_the_similarity_of_an_answer_is_the_mean_of_its_claims() -> None:
    claims = tuple(
        Claim(
            start=i, end=i + 1, text="x", label=Label.SUPPORTED, probability=None, similarity=value
        )
        for i, value in enumerate([0.9, None, 0.4])
    )
    assert detection().similarity is None
    assert replace(detection(), claims=claims).similarity == 0.65
    assert replace(detection(), claims=claims).to_dict()["similarity"] == 0.65


def test_it_is_read_back_from_its_json_data() -> None:
    found = detection(total=1.5)
    written = json.loads(json.dumps(found.to_dict()))
    assert detection_of(written, found.answer) == found
    del written["spans"][0]["conflict"]  # as earlier versions wrote it
    (span,) = detection_of(written, found.answer).spans
    assert span == replace(found.spans[0], conflict=None)


def test_it_is_written_as_json_data() -> None:
    reference = {"source_id": "S0", "start": 3, "end": 6, "text": "abc"}
    assert detection(total=1.5).to_dict() == {
        "outcome": "hallucinated",
        "probability": None,
        "similarity": None,
        "spans": [
            {
                "start": 0,
                "end": 2,
                "text": "ab",
                "label": "contradicted",
                "probability": 0.75,
                "similarity": None,
                "severity": 4,
                "conflict": "number",
                "evidence": [reference],
            }
        ],
        "claims": [
            {
                "start": 0,
                "end": 2,
                "text": "ab",
                "label": "contradicted",
                "probability": 0.75,
                "similarity": None,
                "entailment": None,
                "citations": ["S0", "2"],
                "evidence": [reference],
                "reason": None,
            }
        ],
        "asides": [],
        "coverage": {
            "indexed": 1.0,
            "attended": 0.5,
            "answer": 1.0,
            "offered_chars": 10,
            "indexed_chars": 10,
            "attended_chars": 5,
            "answer_chars": 2,
            "read_chars": 2,
            "no_claim_chars": 0,
            "reasons": {"language": 2, "question_shortened": 1},
        },
        "detector": {
            "name": "reader",
            "revision": "1",
            "operating_point": "balanced",
            "threshold": 0.5,
            "score": "probability",
        },
        "timings_ms": {"total": 1.5},
    }
