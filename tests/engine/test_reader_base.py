"""The weights of reader-base: what both models together say, whatever the order and the pieces."""

from collections.abc import Iterator

import pytest

from groundwire import Detector

pytest.importorskip("groundwire_reader_base", reason="pip install ./models/reader-base")

pytestmark = pytest.mark.merge

TOWER = "The Eiffel Tower was built 1887-1889 and is 330 meters tall. It stands in Paris, France."
LEASE = (
    "The supplier delivers the goods within 14 days. The buyer bears the cost of transport. "
    "The buyer may cancel the order before the goods have left the warehouse."
)
ANSWER = "The supplier delivers within 14 days. The supplier bears the cost of transport."


@pytest.fixture(scope="module")
def detector() -> Iterator[Detector]:
    with Detector.load("reader-base", threads=2) as loaded:
        yield loaded


def test_the_example_of_the_readme_is_marked(detector: Detector) -> None:
    found = detector.detect(
        sources=[TOWER],
        question="When was the Eiffel Tower built?",
        answer="It was built in 1950 and stands 500 meters tall in Paris, France.",
    )
    assert found.detector.name == "reader-base"
    marked = " ".join(span.text for span in found.spans)
    assert "1950" in marked
    assert "500" in marked
    assert "Paris" not in marked


def test_a_stream_is_judged_as_the_whole(detector: Detector) -> None:
    whole = detector.detect(sources=[LEASE, TOWER], answer=ANSWER)
    stream = detector.stream(sources=[LEASE, TOWER])
    for start in range(0, len(ANSWER), 7):
        stream.feed(ANSWER[start : start + 7])
    found = stream.finish()
    assert (found.claims, found.probability) == (whole.claims, whole.probability)


def test_the_order_of_the_sources_changes_nothing(detector: Detector) -> None:
    one = detector.detect(sources=[LEASE, TOWER], answer=ANSWER)
    other = detector.detect(sources=[TOWER, LEASE], answer=ANSWER)
    assert [c.probability for c in one.claims] == [c.probability for c in other.claims]


def test_what_was_read_before_changes_nothing(detector: Detector) -> None:
    warm = detector.detect(sources=[LEASE], answer=ANSWER)
    with Detector.load("reader-base", threads=1, cache_mb=0) as cold:
        assert cold.detect(sources=[LEASE], answer=ANSWER).claims == warm.claims


def test_each_claim_is_read_by_both_models_once(detector: Detector) -> None:
    before = detector.work
    detector.detect(sources=[LEASE], answer="The buyer bears the cost of transport.")
    after = detector.work
    assert after["claims_crossed"] - before.get("claims_crossed", 0) == 1
    assert after["sentences_read"] - before.get("sentences_read", 0) == 1
