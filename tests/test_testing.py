"""``assert_grounded`` fails a test for the right answers, and with the right message."""

import sys
from collections.abc import Iterable
from subprocess import run

import pytest

from groundwire import Detection, Detector, Outcome, testing
from groundwire.detection.example import SourceLike
from groundwire.errors import DetectionError, SettingError
from groundwire.testing import assert_grounded
from tests.fakes import FixedDetector

DETECTOR = FixedDetector(unsupported=["1950"], fails_on="BOOM")


def test_a_grounded_answer_passes_and_comes_back_as_a_detection() -> None:
    found = assert_grounded("Built in 1889.", ["It was built in 1889."], detector=DETECTOR)
    assert found.outcome is Outcome.GROUNDED


def test_a_hallucinated_answer_fails_with_its_words_marked_and_the_evidence() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_grounded("Built in 1950.", ["It was built in 1889."], detector=DETECTOR)
    lines = str(caught.value).splitlines()
    assert lines[:3] == ["the answer is hallucinated, not grounded", "", "  Built in ⟦1950⟧."]
    assert '  against S0 0-21: "It was built in 1889."' in lines
    assert any(line.startswith("outcome   hallucinated") for line in lines)


def test_without_a_source_it_fails_and_says_what_was_not_checked() -> None:
    with pytest.raises(AssertionError, match="the answer is unverified, not grounded") as caught:
        assert_grounded("Built in 1950.", [], detector=DETECTOR)
    assert "no_evidence (1): there was no evidence" in str(caught.value)


def test_an_answer_that_was_not_read_in_full_fails_and_says_what_was_not(
    detector: Detector,
) -> None:
    with pytest.raises(AssertionError, match="the answer is partial") as caught:
        assert_grounded("Она стоит в Париже.", ["It stands in Paris."], detector=detector)
    assert "unchecked    0-19" in str(caught.value)
    assert "language (1)" in str(caught.value)


@pytest.mark.parametrize("allow", ["unverified", ["unverified"], [Outcome.UNVERIFIED]])
def test_an_outcome_that_is_allowed_passes(allow: str | list[str]) -> None:
    found = assert_grounded("Built in 1950.", [], allow=allow, detector=DETECTOR)
    assert found.outcome is Outcome.UNVERIFIED


def test_allowing_one_outcome_allows_no_other() -> None:
    with pytest.raises(AssertionError):
        assert_grounded("Built in 1950.", ["1889"], allow=["unverified"], detector=DETECTOR)


@pytest.mark.parametrize("name", ["hallucinated", "unverifed", ""])
def test_what_a_test_is_there_to_find_cannot_be_allowed(name: str) -> None:
    with pytest.raises(SettingError, match="one of partial, unverified, unavailable"):
        assert_grounded("Built in 1950.", ["1889"], allow=name, detector=DETECTOR)


def test_a_check_that_fails_is_no_pass_whatever_is_allowed() -> None:
    with pytest.raises(DetectionError):
        assert_grounded("BOOM", ["1889"], allow=testing.ALLOWED, detector=DETECTOR)


def test_the_embedded_reader_checks_at_the_operating_point_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points: list[str | float | None] = []

    class Recording:
        def detect(
            self,
            *,
            sources: Iterable[SourceLike],
            answer: str,
            question: str | None = None,
            operating_point: str | float | None = None,
        ) -> Detection:
            points.append(operating_point)
            return DETECTOR.detect(sources=sources, answer=answer, question=question)

    recording = Recording()
    assert_grounded("a", ["a"], detector=recording)
    assert_grounded("a", ["a"], detector=recording, operating_point=0.7)
    monkeypatch.setattr(testing.SHARED, "operating_point", "recall")
    assert_grounded("a", ["a"], detector=recording)
    assert_grounded("a", ["a"], detector=recording, operating_point="precision")
    assert points == [None, 0.7, "recall", "precision"]


def test_the_embedded_reader_is_loaded_once() -> None:
    shared = testing.SharedDetector()
    assert shared.detector is shared.detector


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, groundwire.testing\n"
        "print([name for name in ('numpy', 'onnxruntime', 'rich', 'tokenizers', 'pytest', "
        "'groundwire.detector', 'groundwire.detection.values') if name in sys.modules])"
    )
    found = run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout.strip() == "[]"
