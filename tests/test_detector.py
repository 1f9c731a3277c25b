"""The detector as a whole: settings, streams, batches, limits, and what it refuses."""

import asyncio
import json
import shutil
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundwire import Detection, Detector, Example
from groundwire.detection.example import Source
from groundwire.detection.rules import Conflict, ConflictKind
from groundwire.detection.values import AsideKind, Claim, Label, Outcome, Reason
from groundwire.engine.reader import Reader
from groundwire.engine.scores import AnswerCalibration
from groundwire.errors import (
    CorruptModelError,
    DetectionError,
    EmptyAnswerError,
    InvalidSourceError,
    InvalidTextError,
    LimitExceededError,
    ModelError,
    SettingError,
    UnknownModelError,
)
from tests.engine.lookup import LookupGraph, looking_up
from tests.fixed_judge import FixedJudge, FixedReading, RecordingJudge

TOWER = "The Eiffel Tower is 330 metres tall. It stands in Paris, France."
ANSWER = "The Eiffel Tower is 500 metres tall. It stands in Paris."


@pytest.fixture
def fixed() -> Detector:
    """A detector with fixed scores for words: tests of the code around the model need no model."""
    return Detector(FixedJudge(doubtful={"red": 0.9, "maybe": 0.6, "perhaps": 0.5}))


def found(detection: Detection) -> list[str]:
    return [span.text for span in detection.spans]


# The embedded model.


def test_the_embedded_reader_tells_a_wrong_number_from_a_right_one(detector: Detector) -> None:
    question = "How tall is the Eiffel Tower?"
    right = detector.detect(
        sources=[TOWER], question=question, answer="The Eiffel Tower is 330 metres tall."
    )
    wrong = detector.detect(
        sources=[TOWER], question=question, answer="The Eiffel Tower is 500 metres tall."
    )
    assert right.claims[0].probability is not None
    assert wrong.claims[0].probability is not None
    assert right.claims[0].probability < wrong.claims[0].probability


def test_a_result_says_what_judged_and_how_long_it_took(detector: Detector) -> None:
    result = detector.detect(sources=[TOWER], answer=ANSWER, operating_point=0.25)
    assert result.detector.name == "reader"
    assert (result.detector.operating_point, result.detector.threshold) == ("custom", 0.25)
    assert result.answer == ANSWER
    assert set(result.timings_ms) == {"index", "read", "total"}
    assert result.timings_ms["total"] >= result.timings_ms["read"] > 0
    json.dumps(result.to_dict(), allow_nan=False)


def test_another_operating_point_gives_a_new_detection(detector: Detector) -> None:
    everything = detector.detect(sources=[TOWER], answer=ANSWER, operating_point=1e-9)
    nothing = detector.detect(sources=[TOWER], answer=ANSWER, operating_point=1.0)
    assert found(everything) == ["The Eiffel Tower is 500 metres tall.", "It stands in Paris."]
    assert everything.outcome is Outcome.HALLUCINATED
    assert len(found(nothing)) <= len(found(everything))
    assert detector.info.operating_point == "balanced"  # the detector keeps its own


# Settings.


@pytest.mark.parametrize(
    "value", [0, -1, 1.5, float("nan"), float("inf"), "high", [0.5], b"x", 10**400]
)
def test_an_impossible_operating_point_is_refused_when_loading_and_when_checking(
    fixed: Detector, value: float
) -> None:
    with pytest.raises(SettingError, match=r"operating_point = .* a threshold in \(0, 1\]"):
        fixed.detect(sources=[TOWER], answer=ANSWER, operating_point=value)
    with pytest.raises(SettingError, match=r"operating_point = .* a threshold in \(0, 1\]"):
        Detector(FixedJudge(doubtful={}), operating_point=value)


def test_an_unknown_name_gets_the_names_there_are(detector: Detector) -> None:
    with pytest.raises(SettingError, match=r"'high'.*one of precision, balanced, recall, or"):
        detector.detect(sources=[TOWER], answer=ANSWER, operating_point="high")


@pytest.mark.parametrize("value", [1, 1.0, 0.5, np.float32(0.5), np.float64(0.5)])
def test_numbers_of_any_kind_are_thresholds(fixed: Detector, value: float) -> None:
    result = fixed.detect(sources=[TOWER], answer=ANSWER, operating_point=value)
    assert result.detector.threshold == float(value)


@pytest.mark.parametrize(
    ("setting", "value", "valid"),
    [
        ("threads", 0, "1 to 256, or None"),
        ("threads", 100_000, "1 to 256, or None"),
        ("threads", 1.5, "1 to 256, or None"),
        ("threads", "2", "1 to 256, or None"),
        ("cache_mb", -1, "0 or more megabytes"),
        ("cache_mb", float("nan"), "0 or more megabytes"),
        ("cache_mb", float("inf"), "0 or more megabytes"),
        ("cache_ttl_s", 0, "a positive number of seconds"),
        ("min_words", -1, "0 or more"),
        ("min_pieces", 0, "1 or more"),
        ("min_probability", 2, "between 0 and 1"),
        ("max_answer_chars", 0, "1 or more"),
        ("operating_point", "high", "one of precision, balanced, recall"),
    ],
)
def test_an_impossible_setting_is_named_with_what_it_may_be(
    setting: str, value: object, valid: str
) -> None:
    with pytest.raises(SettingError) as raised:
        Detector.load(**{setting: value})  # type: ignore[arg-type]
    assert str(raised.value).startswith(
        f"{setting} = {value!r} is not possible. It must be {valid}"
    )


def test_the_threshold_is_inclusive(fixed: Detector) -> None:
    assert found(fixed.detect(sources=[TOWER], answer="It is perhaps maybe red.")) == [
        "perhaps maybe red"
    ]
    assert found(
        fixed.detect(sources=[TOWER], answer="It is perhaps maybe red.", operating_point=0.6)
    ) == ["maybe red"]


def test_short_and_doubtful_spans_are_left_out_on_request() -> None:
    judge = FixedJudge(doubtful={"red": 0.9, "maybe": 0.6})
    answer = "Red or maybe red red, or maybe."
    assert found(Detector(judge).detect(sources=[TOWER], answer=answer)) == [
        "maybe red red",
        "maybe",
    ]
    for settings, spans in (
        ({"min_words": 2}, ["maybe red red"]),
        ({"min_probability": 0.7}, ["maybe red red"]),
        ({"min_words": 4}, []),
    ):
        detector = Detector(judge, **settings)
        assert found(detector.detect(sources=[TOWER], answer=answer)) == spans


@pytest.mark.parametrize(
    ("min_pieces", "spans"), [(1, ["red", "maybe red"]), (3, ["red", "maybe red"]), (4, [])]
)
def test_with_too_few_flagged_word_pieces_in_the_whole_answer_nothing_is_marked(
    min_pieces: int, spans: list[str]
) -> None:
    judge = FixedJudge(doubtful={"red": 0.9, "maybe": 0.6})
    detector = Detector(judge, min_pieces=min_pieces)
    detection = detector.detect(sources=[TOWER], answer="It is red. It is maybe red.")
    assert found(detection) == spans
    assert detection.outcome is (Outcome.HALLUCINATED if spans else Outcome.GROUNDED)
    assert {claim.label for claim in detection.claims} == {
        Label.UNSUPPORTED if spans else Label.SUPPORTED
    }


def test_a_stream_takes_back_what_were_too_few() -> None:
    detector = Detector(FixedJudge(doubtful={"red": 0.9}), min_pieces=2)
    with detector.stream(sources=[TOWER]) as stream:
        (claim,) = stream.feed("It is red. And")
        assert claim.spans
        assert stream.finish() == detector.detect(sources=[TOWER], answer="It is red. And")
        assert not stream.finish().spans


# What rules find.

NUMBER = Conflict(0, 1, ConflictKind.NUMBER, Label.CONTRADICTED, 0.96, floor=0.05)
ADDRESS = Conflict(0, 1, ConflictKind.REFERENCE, Label.UNSUPPORTED, 0.9, floor=0.2)


def ruled(*, settled: Sequence[str] = (), **conflicts: Conflict) -> Detector:
    judge = FixedJudge(doubtful={"red": 0.9}, conflicts=conflicts, settled=settled)
    return Detector(judge, min_probability=0.5)


def test_what_a_rule_finds_is_a_span_that_says_so() -> None:
    result = ruled(tall=NUMBER).detect(sources=[TOWER], answer="It is tall.")
    (span,) = result.spans
    assert (span.text, span.label, span.severity) == ("tall", Label.CONTRADICTED, 4)
    assert (span.conflict, span.probability) == ("number", 0.96)
    (claim,) = result.claims
    assert (claim.label, claim.probability) == (Label.CONTRADICTED, 0.96)
    assert result.outcome is Outcome.HALLUCINATED


def test_what_the_model_finds_alone_has_no_conflict() -> None:
    result = ruled(tall=NUMBER).detect(sources=[TOWER], answer="It is tall, and it is red.")
    assert [(span.text, span.conflict) for span in result.spans] == [
        ("tall", "number"),
        ("red", None),
    ]


def test_a_span_has_the_kind_and_the_label_of_the_first_conflict_in_it() -> None:
    detector = ruled(tall=replace(ADDRESS, floor=0.0), wide=NUMBER)
    (span,) = detector.detect(sources=[TOWER], answer="It is red tall wide.").spans
    assert (span.text, span.conflict, span.label) == (
        "red tall wide",
        "reference",
        Label.UNSUPPORTED,
    )


def test_words_that_the_model_marks_too_have_the_label_of_the_conflict() -> None:
    detector = ruled(red=replace(NUMBER, probability=0.6))
    (span,) = detector.detect(sources=[TOWER], answer="It is red.").spans
    assert (span.conflict, span.label) == ("number", Label.CONTRADICTED)
    # The rule and the model agree, so the probability is higher than the model's 0.9.
    assert span.probability == pytest.approx(0.938, abs=1e-3)


def test_a_conflict_of_which_the_model_is_too_sure_does_not_count() -> None:
    result = ruled(tall=ADDRESS).detect(sources=[TOWER], answer="It is tall.")
    assert (result.spans, result.claims[0].probability) == ((), 0.1)


def test_what_is_settled_is_no_span() -> None:
    judge = FixedJudge(doubtful={"red": 0.6}, settled=["red"])
    result = Detector(judge).detect(sources=[TOWER], answer="It is red.")
    assert (result.spans, result.claims[0].probability) == ((), 0.1)
    assert result.outcome is Outcome.GROUNDED


def test_filters_hold_for_what_rules_find() -> None:
    judge = FixedJudge(doubtful={}, conflicts={"tall": NUMBER})
    for settings in ({"min_words": 2}, {"min_probability": 0.97}, {"min_pieces": 2}):
        detector = Detector(judge, **settings)
        assert detector.detect(sources=[TOWER], answer="It is tall.").spans == ()


def test_a_doubted_part_in_which_the_model_finds_no_claim_is_an_aside() -> None:
    judge = FixedJudge(doubtful={"red": 0.9}, remarks=("Please stay red and happy!",))
    answer = "Please stay red and happy! It has 3 red lifts."
    with Detector(judge).stream(sources=[TOWER]) as stream:
        for character in answer:
            stream.feed(character)
        detection = stream.finish()
    assert detection == Detector(judge).detect(sources=[TOWER], answer=answer)
    assert [(aside.text, aside.kind) for aside in detection.asides] == [
        ("Please stay red and happy!", AsideKind.REMARK)
    ]
    assert [(span.start, span.text) for span in detection.spans] == [(36, "red")]


def test_a_doubted_part_that_says_what_the_sources_lack_is_an_aside() -> None:
    judge = FixedJudge(doubtful={"lifts": 0.9, "tower": 0.9})
    lacking, named = "The sources do not mention lifts.", "The sources do not mention the tower."
    detection = Detector(judge).detect(sources=[TOWER], answer=f"{lacking} {named}")
    assert [(aside.text, aside.kind) for aside in detection.asides] == [(lacking, AsideKind.REMARK)]
    assert found(detection) == ["tower"]


def test_a_conflict_with_the_evidence_is_no_remark() -> None:
    conflict = Conflict(0, 1, ConflictKind.NEGATION, Label.CONTRADICTED, 0.6)
    text = "Please stay red and happy!"
    judge = FixedJudge(doubtful={}, conflicts={"red": conflict}, remarks=(text,))
    assert found(Detector(judge).detect(sources=[TOWER], answer=text)) == ["red"]


def test_a_stream_finds_the_conflicts_of_the_text_at_rest() -> None:
    detector, answer = ruled(tall=NUMBER, settled=["red"]), "It is red. It is tall. It is so."
    with detector.stream(sources=[TOWER]) as stream:
        for character in answer:
            stream.feed(character)
        assert stream.finish() == detector.detect(sources=[TOWER], answer=answer)


# The answer's probability.

DOUBTFUL = {"red": 0.75, "maybe": 0.6}
MIXED = "It is tall. It is maybe so. It is red. It is unreadable."


def calibrated(scale: float = 2.0, offset: float = 0.0, *, cannot_read: str = "\0") -> Detector:
    answers = AnswerCalibration(scale, offset)
    return Detector(FixedJudge(doubtful=DOUBTFUL, cannot_read=cannot_read, answers=answers))


def test_the_answer_is_as_doubtful_as_its_worst_claim_calibrated() -> None:
    result = calibrated().detect(sources=[TOWER], answer=MIXED)
    assert max(claim.probability or 0 for claim in result.claims) == 0.75
    assert result.probability == 0.9  # odds of 3, squared
    assert calibrated(1.0).detect(sources=[TOWER], answer=MIXED).probability == 0.75


def test_claims_that_were_not_read_say_nothing_about_the_answer() -> None:
    result = calibrated(cannot_read="red").detect(sources=[TOWER], answer=MIXED)
    reasons = [claim.reason for claim in result.claims]
    assert reasons == [None, None, Reason.LANGUAGE, Reason.UNRELATED]
    assert result.probability == round(AnswerCalibration(2.0, 0.0).probability(0.6), 6)


def test_an_answer_that_nobody_judged_has_no_probability() -> None:
    unread = calibrated(cannot_read="It").detect(sources=[TOWER], answer=MIXED)
    without_sources = calibrated().detect(sources=[], answer=MIXED)
    says_nothing = calibrated().detect(sources=[TOWER], answer="😀")
    for result in (unread, without_sources, says_nothing):
        assert result.probability is None


def test_a_detector_that_is_not_calibrated_for_answers_gives_none(fixed: Detector) -> None:
    result = fixed.detect(sources=[TOWER], answer=MIXED)
    assert result.claims[0].probability is not None
    assert result.probability is None


@pytest.mark.parametrize("threshold", [0.01, 0.7, 1.0])
def test_no_threshold_changes_the_probability_of_the_answer(threshold: float) -> None:
    result = calibrated().detect(sources=[TOWER], answer=MIXED, operating_point=threshold)
    assert result.probability == 0.9


@pytest.mark.parametrize("size", [1, 7])
def test_a_stream_ends_with_the_probability_of_the_text_at_rest(size: int) -> None:
    detector = calibrated(1.5, -0.5)
    stream = detector.stream(sources=[TOWER])
    for i in range(0, len(MIXED), size):
        stream.feed(MIXED[i : i + size])
    whole = detector.detect(sources=[TOWER], answer=MIXED)
    assert whole.probability is not None
    assert stream.finish().probability == whole.probability
    (batched,) = detector.detect_batch([Example.of(sources=[TOWER], answer=MIXED)])
    assert isinstance(batched, Detection)
    assert batched.probability == whole.probability


# Models.


def copy_of_the_model(folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy a model folder, and make the package use the copy as its embedded model."""
    shutil.copytree(folder, root / "reader")
    monkeypatch.setattr("groundwire.engine.models._ROOT", root)
    return root / "reader"


@pytest.mark.parametrize("name", ["reader.onnx", "tokenizer.json", "words.npz"])
def test_a_changed_byte_is_found_before_the_model_is_used(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = copy_of_the_model(model_folder, tmp_path, monkeypatch) / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptModelError) as raised:
        Detector.load()
    message = str(raised.value)
    assert message.startswith(f"{path} is not the file its manifest describes: SHA-256 ")
    assert "Install the package again" in message


def test_a_missing_file_is_found_too(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copy_of_the_model(model_folder, tmp_path, monkeypatch) / "words.npz").unlink()
    with pytest.raises(CorruptModelError, match=r"words\.npz .*No such file"):
        Detector.load()


def test_an_intact_copy_judges_alike(
    detector: Detector, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of_the_model(model_folder, tmp_path, monkeypatch)
    with Detector.load(threads=1) as copy:
        assert copy.detect(sources=[TOWER], answer=ANSWER) == detector.detect(
            sources=[TOWER], answer=ANSWER
        )


def test_a_folder_with_a_reader_is_opened_as_the_embedded_one_is(
    detector: Detector, model_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(model_folder, tmp_path / "mine")
    with Detector.load(folder, threads=1) as mine:
        assert mine.info == detector.info
        assert isinstance(mine.backend, Reader)
        assert mine.detect(sources=[TOWER], answer=ANSWER) == detector.detect(
            sources=[TOWER], answer=ANSWER
        )
    with Detector.load(str(folder), threads=1, operating_point=0.125) as mine:
        assert mine.info.threshold == 0.125


def test_a_folder_with_a_reader_is_verified_first(model_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(model_folder, tmp_path / "mine")
    (folder / "words.npz").write_bytes(b"other")
    with pytest.raises(CorruptModelError, match=r"words\.npz is not the file its manifest"):
        Detector.load(folder)


def test_an_unknown_model_gets_the_names_there_are() -> None:
    with pytest.raises(UnknownModelError, match=r"no model 'nope'. Embedded models: .*reader"):
        Detector.load("nope")


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        Detector.load(tmp_path)


# What is given.


def test_without_sources_an_answer_is_unverified(detector: Detector) -> None:
    result = detector.detect(sources=[], answer=ANSWER)
    assert result.outcome is Outcome.UNVERIFIED
    assert {claim.reason for claim in result.claims} == {Reason.NO_EVIDENCE}
    assert {claim.label for claim in result.claims} == {Label.UNCHECKED}
    assert result.coverage.reasons == {Reason.NO_EVIDENCE: 2}
    assert result.spans == ()


@pytest.mark.parametrize("source", ["", "   ", "...", "😀"])
def test_sources_without_words_are_no_sources(detector: Detector, source: str) -> None:
    assert detector.detect(sources=[source], answer=ANSWER).outcome is Outcome.UNVERIFIED


def test_sources_in_another_script_leave_the_answer_unread(detector: Detector) -> None:
    result = detector.detect(sources=["北京是中国的首都。"], answer="Beijing is the capital.")
    assert result.outcome is Outcome.PARTIAL
    assert result.coverage.indexed == 0.0
    assert result.coverage.reasons == {Reason.LANGUAGE: 1, Reason.NO_EVIDENCE: 1}


def test_a_source_in_another_script_beside_others_keeps_the_answer_from_being_grounded(
    fixed: Detector,
) -> None:
    result = fixed.detect(sources=[TOWER, "北京是中国的首都。"], answer="It stands in Paris.")
    assert result.outcome is Outcome.PARTIAL
    assert 0 < result.coverage.indexed < 1
    assert result.coverage.reasons == {Reason.LANGUAGE: 1}


@pytest.mark.parametrize(
    "answer", ["😀", "...", "\0", "—", "\u200b", "* * *", "[1]", "[S0], [2-4]"]
)
def test_an_answer_that_says_nothing_is_not_grounded(fixed: Detector, answer: str) -> None:
    result = fixed.detect(sources=[TOWER], answer=answer)
    assert result.claims == ()
    assert result.outcome is Outcome.PARTIAL
    assert result.coverage.answer == 0.0


def test_a_citation_on_a_line_of_its_own_is_no_claim(fixed: Detector) -> None:
    result = fixed.detect(sources=[TOWER], answer="It stands in Paris.\n\n[S0]\n[1, 2]")
    assert [claim.text for claim in result.claims] == ["It stands in Paris."]
    assert result.outcome is Outcome.GROUNDED
    assert result.coverage.answer == 1.0


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"answer": ""}, EmptyAnswerError, "The answer is empty"),
        ({"answer": " \n"}, EmptyAnswerError, "The answer is empty"),
        ({"answer": None}, InvalidTextError, "The answer is not valid text: its type is None"),
        ({"answer": b"text"}, InvalidTextError, "The answer is not valid text: its type is bytes"),
        ({"answer": "a\ud800"}, InvalidTextError, "lone surrogate U.D800 at position 1"),
        ({"question": "\udc00"}, InvalidTextError, "The question is not valid text"),
        ({"question": 3}, InvalidTextError, "The question is not valid text: its type is int"),
        ({"sources": None}, InvalidSourceError, "sources cannot be read: they are None"),
        ({"sources": [b"text"]}, InvalidSourceError, "Source 0 cannot be read: its type is bytes"),
        ({"sources": ["\ud800"]}, InvalidTextError, "The text of source 0 is not valid"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    fixed: Detector, arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    given: dict[str, Any] = {"sources": [TOWER], "answer": ANSWER} | arguments
    with pytest.raises(kind, match=message):
        fixed.detect(**given)
    with pytest.raises(kind, match=message):
        asyncio.run(fixed.adetect(**given))
    with pytest.raises(kind, match=message):
        stream_all(fixed, **given)


def stream_all(detector: Detector, *, answer: str, **given: Any) -> Detection:  # noqa: ANN401
    stream = detector.stream(**given)
    stream.feed(answer)
    return stream.finish()


# Limits.


def test_an_answer_over_the_limit_is_refused_and_never_cut() -> None:
    detector = Detector(FixedJudge(doubtful={}), max_answer_chars=40)
    exact = "It stands in Paris, and it is very tall."
    assert len(exact) == 40
    assert detector.detect(sources=[TOWER], answer=exact).coverage.answer == 1.0
    with pytest.raises(LimitExceededError) as raised:
        detector.detect(sources=[TOWER], answer=exact + " ")
    assert "is 41, and at most 40 is allowed" in str(raised.value)
    assert "'max_answer_chars'" in str(raised.value)


def test_a_stream_over_the_limit_has_no_result() -> None:
    detector = Detector(FixedJudge(doubtful={}), max_answer_chars=30)
    stream = detector.stream(sources=[TOWER])
    stream.feed("It stands in Paris. ")
    with pytest.raises(LimitExceededError, match="is 36, and at most 30"):
        stream.feed("It is very tall.")
    with pytest.raises(LimitExceededError, match="is 36, and at most 30"):
        stream.finish()


@pytest.mark.merge
def test_an_answer_of_5000_words_is_read_in_full(reader: Reader) -> None:
    graph = LookupGraph()
    detector = looking_up(reader, graph)
    answer = " ".join(f"The tower has {i} rooms." for i in range(1000))
    result = detector.detect(sources=["The tower has 7 rooms."], answer=answer)
    assert len(answer.split()) == 5000
    assert result.coverage.answer == 1.0
    assert len(result.claims) == 1000
    assert found(result)[:3] == ["0", "1", "2"]
    assert "7" not in found(result)
    assert result.outcome is Outcome.HALLUCINATED


@pytest.mark.merge
def test_ten_thousand_sources_are_all_within_reach(reader: Reader) -> None:
    detector = looking_up(reader, LookupGraph())
    sources = [f"Hall {i} holds {7 * i} boxes of tea." for i in range(10_000)]
    facts = {0: "The zebra weighed 412 kg.", 4711: "An owl flew by.", 9999: "Violins broke."}
    for i, fact in facts.items():
        sources[i] = fact
    for i, fact in facts.items():
        result = detector.detect(sources=sources, answer=fact)
        assert result.outcome is Outcome.GROUNDED
        assert result.coverage.indexed == 1.0
        reference = result.claims[0].evidence[0]
        assert (reference.source_id, reference.text) == (f"S{i}", fact)


@pytest.mark.nightly
def test_a_source_of_5_megabytes_is_within_reach_from_end_to_end(reader: Reader) -> None:
    detector = looking_up(reader, LookupGraph())
    line = "Some copper harvest was sold to the violin maker of the town in autumn.\n"
    n_lines = 5_000_000 // len(line) // 2
    text = f"{line * n_lines}The zebra weighed 412 kg.\n{line * n_lines}The owl weighed 3 kg."
    result = detector.detect(
        sources=[text], answer="The zebra weighed 412 kg. The owl weighed 3 kg."
    )
    assert result.outcome is Outcome.GROUNDED
    assert result.coverage.indexed == 1.0
    reference = result.claims[0].evidence[0]
    assert reference.text == "The zebra weighed 412 kg."
    assert text[reference.start : reference.end] == reference.text


# Streams.


def test_claims_come_out_as_their_sentences_end(fixed: Detector) -> None:
    stream = fixed.stream(sources=[TOWER])
    assert stream.feed("It stands in Par") == []
    assert stream.feed("is.") == []  # an initial or a figure may follow
    (first,) = stream.feed(" It is red. ")[:1]
    assert (first.text, first.label) == ("It stands in Paris.", Label.SUPPORTED)
    assert stream.claims[0] == first
    result = stream.finish()
    assert [claim.label for claim in result.claims] == [Label.SUPPORTED, Label.UNSUPPORTED]
    assert result == fixed.detect(sources=[TOWER], answer="It stands in Paris. It is red. ")


def test_all_claims_of_a_whole_answer_are_read_at_once() -> None:
    """Threads then share them; a call for the last claim alone would wait for the others."""
    judge = RecordingJudge(doubtful={"red": 0.9})
    answer = "The tower is tall. It is red. It stands in Paris"
    whole = Detector(judge).detect(sources=[TOWER], answer=answer)
    assert judge.n_together == [3]
    stream = Detector(judge).stream(sources=[TOWER])
    stream.feed("The tower is tall. It")
    assert stream.finish(" is red. It stands in Paris").claims == whole.claims
    assert judge.n_together == [3, 1, 2]


def test_a_finished_stream_gives_the_same_again_and_takes_no_more(fixed: Detector) -> None:
    stream = fixed.stream(sources=[TOWER])
    stream.feed("It is red.")
    assert stream.finish() is stream.finish()
    with pytest.raises(RuntimeError, match=r"The stream is finished\. Open a new one"):
        stream.feed("More.")


def test_a_stream_without_text_has_nothing_to_check(fixed: Detector) -> None:
    with fixed.stream(sources=[TOWER]) as stream:
        stream.feed("")
        stream.feed(" \n")
        with pytest.raises(EmptyAnswerError):
            stream.finish()


def test_a_source_of_a_stream_is_refused_before_the_first_word(fixed: Detector) -> None:
    with pytest.raises(InvalidSourceError):
        fixed.stream(sources=[3])  # type: ignore[list-item]


async def letters(text: str) -> AsyncIterator[str]:
    for letter in text:
        yield letter


def test_an_asynchronous_stream_gives_the_claims_and_then_the_result(fixed: Detector) -> None:
    answer = "It stands in Paris. It is red. And so on"

    async def run() -> list[Claim | Detection]:
        return [item async for item in fixed.astream(letters(answer), sources=[TOWER])]

    *claims, result = asyncio.run(run())
    assert isinstance(result, Detection)
    assert tuple(claims) == result.claims
    assert result == fixed.detect(sources=[TOWER], answer=answer)


def test_a_single_check_can_be_awaited(fixed: Detector) -> None:
    result = asyncio.run(fixed.adetect(sources=[TOWER], answer=ANSWER, operating_point=0.7))
    assert result == fixed.detect(sources=[TOWER], answer=ANSWER, operating_point=0.7)


# Batches.


def examples(n: int) -> Iterator[Example]:
    for i in range(n):
        yield Example.of(sources=[TOWER], answer=f"It is {'red' if i % 2 else 'tall'}, no. {i}.")


def test_a_batch_keeps_the_order(fixed: Detector) -> None:
    results = list(fixed.detect_batch(examples(40)))
    assert results == [
        fixed.detect(sources=[TOWER], answer=example.answer) for example in examples(40)
    ]


def test_one_bad_example_does_not_end_a_batch(fixed: Detector) -> None:
    bad = Example(sources=(Source(text="a\ud800", id="x"),), answer="b")
    empty = Example(sources=(), answer=" ")
    results = list(fixed.detect_batch([*examples(1), bad, empty, *examples(1)]))
    assert [type(result) for result in results] == [
        Detection,
        InvalidTextError,
        EmptyAnswerError,
        Detection,
    ]


def test_a_batch_is_read_as_it_is_needed(fixed: Detector) -> None:
    taken = []

    def endless() -> Iterator[Example]:
        for example in examples(1_000_000):
            taken.append(example)
            yield example

    batch = fixed.detect_batch(endless())
    next(batch)
    batch.close()  # type: ignore[attr-defined]
    assert len(taken) < 1000


def test_what_fails_unforeseen_is_an_error_of_its_own_row() -> None:
    class Broken(FixedJudge):
        def open(
            self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
        ) -> FixedReading:
            raise ZeroDivisionError("oh")

    (result,) = Detector(Broken(doubtful={})).detect_batch(examples(1))
    assert isinstance(result, DetectionError)
    assert "ZeroDivisionError: oh" in str(result)


def test_a_detector_lets_go_of_its_threads_at_the_end_of_its_block() -> None:
    before = set(threading.enumerate())
    with Detector.load(threads=2) as detector:
        detector.stream(sources=[TOWER]).close()
        assert set(threading.enumerate()) > before
    assert set(threading.enumerate()) <= before
    detector.close()  # closing it twice is harmless


def test_a_closed_detector_says_that_it_is_closed() -> None:
    detector = Detector.load(threads=1)
    detector.close()
    with pytest.raises(DetectionError, match=r"This detector is closed\. Load another"):
        detector.detect(sources=["Paris is in France."], answer="Paris is in France.")


# Other languages, and claims without a word of the evidence.

GERMAN = "Die Probezeit beträgt sechs Monate. Die Frist ist vier Wochen."


@pytest.mark.parametrize(
    "answer", ["Nach der Probezeit von 6 Monaten gilt eine Frist.", GERMAN, "It is 6 Monate."]
)
def test_a_claim_or_evidence_in_another_language_is_partial(
    detector: Detector, answer: str
) -> None:
    result = detector.detect(sources=[GERMAN], answer=answer)
    assert (result.outcome, set(result.coverage.reasons)) == (Outcome.PARTIAL, {Reason.LANGUAGE})
    assert {(c.label, c.probability) for c in result.claims} == {(Label.UNCHECKED, None)}


@pytest.mark.parametrize(("figure", "found"), [("7", ["7"]), ("6", [])])
def test_a_figure_that_differs_is_found_in_any_language(figure: str, found: list[str]) -> None:
    number = Conflict(0, 1, ConflictKind.NUMBER, Label.CONTRADICTED, 0.6, 0.0)
    judge = FixedJudge(doubtful={"Probezeit": 0.9}, conflicts={figure: number}, name="similarity")
    answer = f"Die Probezeit ist {figure} Monate und nicht mehr."
    result = Detector(judge).detect(sources=[GERMAN], answer=answer)
    assert [span.text for span in result.spans] == found  # the evidence has 6 as the word "sechs"


def test_a_loaded_checkpoint_reads_any_language() -> None:
    result = Detector(FixedJudge(doubtful={})).detect(sources=[GERMAN], answer=GERMAN)
    assert result.outcome is Outcome.GROUNDED


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Bananas grow.", Outcome.PARTIAL),
        ("The towers stand.", Outcome.GROUNDED),
        ("I do not know the price.", Outcome.GROUNDED),
        ("Yes.", Outcome.GROUNDED),
        ("You're welcome!", Outcome.SKIPPED),
    ],
)
def test_a_claim_without_a_word_of_the_evidence_is_not_grounded(
    answer: str, outcome: Outcome
) -> None:
    result = Detector(FixedJudge(doubtful={})).detect(sources=[TOWER], answer=answer)
    assert result.outcome is outcome
    assert (Reason.UNRELATED in result.coverage.reasons) == (outcome is Outcome.PARTIAL)


@pytest.mark.parametrize("step", [1, 5])
def test_a_stream_sets_the_same_asides_apart(step: int) -> None:
    judge = FixedJudge(doubtful={"red": 0.9})
    answer = "Hi Anna,\n\n## Tower\n\n| Tower | Height |\n|---|---|\n| A | red |\n\nCheers!"
    stream = Detector(judge).stream(sources=[TOWER])
    for at in range(0, len(answer), step):
        stream.feed(answer[at : at + step])
    found = stream.finish()
    assert found == Detector(judge).detect(sources=[TOWER], answer=answer)
    assert [aside.kind for aside in found.asides] == [
        "greeting",
        "heading",
        "table_header",
        "closing",
    ]
