"""Each embedded detector finds what it found: outcome, spans and labels exactly."""

from collections.abc import Iterator
from itertools import product

import pytest

from groundwire import Detector
from tests.golden.detections import DETECTORS, load, streamed, texts, told
from tests.golden.golden import differences, read

CASES = list(product(DETECTORS, texts()))


@pytest.fixture(scope="module")
def loaded() -> Iterator[dict[str, Detector]]:
    detectors = {name: load(name) for name in DETECTORS}
    yield detectors
    for detector in detectors.values():
        detector.close()


@pytest.mark.parametrize(("name", "id_"), CASES)
def test_a_detection_is_what_it_was(loaded: dict[str, Detector], name: str, id_: str) -> None:
    found = told(loaded[name].detect(**texts()[id_]))
    assert differences(read(f"detections/{name}")[id_], found) == []


@pytest.mark.parametrize(("name", "id_"), CASES)
def test_a_streamed_detection_is_what_it_was(
    loaded: dict[str, Detector], name: str, id_: str
) -> None:
    found = told(streamed(loaded[name], texts()[id_]))
    assert differences(read(f"detections/{name}")[id_], found) == []


def test_the_texts_have_every_outcome_that_a_detector_has_by_itself() -> None:
    outcomes = {each["outcome"] for each in read("detections/reader").values()}
    assert outcomes == {"grounded", "hallucinated", "partial", "unverified"}
