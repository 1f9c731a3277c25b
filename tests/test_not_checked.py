"""An answer that was not checked is never reported as a pass, whatever prevented the check."""

import os
from collections.abc import Iterator

import pytest

from groundwire import Detector, Example, Label, Outcome, Reason, Source
from groundwire.engine.checkpoints import DeviceWarning
from groundwire.engine.reader import ReaderSession
from groundwire.engine.token_classifier import TokenClassifierSession
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import DetectionError, InputError, SettingError, UnknownModelError

TOWER = ["The tower is 330 meters tall and stands in Paris."]


def test_claims_that_fail_as_they_are_read_make_the_answer_unavailable(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    with detector.stream(sources=TOWER) as stream:
        stream.feed("The tower is 330 meters tall. And")

        def fail(*_: object) -> None:
            raise OSError("out of memory")

        monkeypatch.setattr(ReaderSession, "read", fail)
        stream.feed(" it stands in Paris. It is made of cheese. It")
        detection = stream.finish()
    assert detection.outcome is Outcome.UNAVAILABLE
    assert [claim.label for claim in detection.claims[1:]] == [Label.UNCHECKED] * 3
    assert detection.coverage.reasons[Reason.DETECTOR_FAILED] == 3


def test_an_interrupted_stream_has_no_result(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = detector.stream(sources=TOWER)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ReaderSession, "read", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stream.feed("It is made of cheese. And so on.")
    monkeypatch.undo()
    with pytest.raises(DetectionError, match="interrupted while it judged a claim"):
        stream.finish()


def test_a_closed_stream_takes_no_text_and_has_no_result(detector: Detector) -> None:
    stream = detector.stream(sources=TOWER)
    stream.close()
    with pytest.raises(DetectionError, match="This stream was closed"):
        stream.feed("It is made of cheese.")
    with pytest.raises(DetectionError, match="This stream was closed"):
        stream.finish()


def test_a_word_without_word_pieces_is_not_read(detector: Detector) -> None:
    detection = detector.detect(
        sources=["The old mayor of the large town is called አበበ."],
        answer="The old mayor of the large town is called ከበደ.",
        operating_point=1.0,
    )
    assert detection.outcome is Outcome.PARTIAL
    assert detection.coverage.reasons == {Reason.LANGUAGE: 1}
    visible = len("Theoldmayorofthelargetowniscalledከበደ.")
    assert detection.coverage.answer == pytest.approx((visible - 3) / visible)


def test_an_emoji_beside_words_is_no_gap(detector: Detector) -> None:
    detection = detector.detect(
        sources=TOWER, answer="The tower stands in Paris 🗼.", operating_point=1.0
    )
    assert detection.outcome is Outcome.GROUNDED


def test_special_tokens_in_a_text_are_characters(pieces: WordPieces) -> None:
    ids = pieces.encode("[SEP] [CLS] [MASK] [UNK] [PAD]").ids.tolist()
    assert not {0, 100, 101, 102, 103} & set(ids)


@pytest.mark.parametrize("answer", ["!!! ...", "[1]", "\u200d"])
def test_an_answer_without_a_statement_is_partial_and_says_why(
    detector: Detector, answer: str
) -> None:
    detection = detector.detect(sources=TOWER, answer=answer)
    assert detection.outcome is Outcome.PARTIAL
    assert detection.coverage.reasons == {Reason.NO_CLAIM: 1}


def test_a_checkpoint_reads_all_sources_that_differ() -> None:
    texts = ["Paris is 5 mW big.", "paris is 5 MW big.", "አበበ በሶ", "ከበደ ጩቤ", "አበበ በሶ"]
    sources = [Source(text=text, id=f"S{i}", title="T") for i, text in enumerate(texts)]
    context = TokenClassifierSession.join(sources)
    assert all(text in context for text in texts)
    assert context == TokenClassifierSession.join(sources[::-1])
    assert context.count("አበበ በሶ") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_detector_from_before_a_fork_is_refused_rather_than_hanging(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)  # the child of a fork has another process id
    with pytest.raises(DetectionError, match="loaded before the process was forked"):
        detector.detect(sources=TOWER, answer="It is tall.")


def test_results_before_a_failing_row_are_kept(detector: Detector) -> None:
    def rows() -> Iterator[Example]:
        yield Example.of(sources=TOWER, answer="The tower stands in Paris.")
        raise OSError("the file is gone")

    results = detector.detect_batch(rows())
    assert next(results) == detector.detect(sources=TOWER, answer="The tower stands in Paris.")
    with pytest.raises(OSError, match="the file is gone"):
        next(results)


def test_what_is_no_example_is_an_error_in_its_place(detector: Detector) -> None:
    (result,) = detector.detect_batch([{"answer": "x"}])  # type: ignore[list-item]
    assert isinstance(result, InputError)
    assert "Example.of(" in str(result)


def test_a_wrong_operating_point_is_refused_before_the_first_row(detector: Detector) -> None:
    with pytest.raises(SettingError, match="operating_point = 'strict'"):
        detector.detect_batch([], operating_point="strict")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("revision", "0" * 40),
        ("max_length", 512),
        ("device", "banana"),
        ("threads", 2.0),
        ("cache_mb", "128"),
        ("min_words", 1.5),
        ("min_probability", "low"),
        ("max_answer_chars", 2.5),
        ("operating_point", True),
    ],
)
def test_settings_without_a_meaning_are_refused_by_name(setting: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"^{setting} = "):
        Detector.load(**{setting: value})  # type: ignore[arg-type]


def test_the_embedded_model_on_another_device_is_told() -> None:
    with pytest.warns(DeviceWarning, match="runs on the CPU; device='cuda:0'"):
        Detector.load(device="cuda:0").close()


def test_a_tenant_is_a_text(detector: Detector) -> None:
    with pytest.raises(SettingError, match="tenant"):
        detector.detect(sources=TOWER, answer="It is tall.", tenant=["a"])  # type: ignore[arg-type]


def test_an_empty_name_is_no_model() -> None:
    with pytest.raises(UnknownModelError):
        Detector.load("")
