"""Another threshold gives what the detector gives at it, and reads nothing again."""

import pytest

from groundwire import Detector
from groundwire.detection.example import Example
from groundwire.gateway.playground.kept_scores import LOWEST_THRESHOLD, KeptScores

FACTS = "The Eiffel Tower was built from 1887 to 1889. It is 330 meters tall and stands in Paris."
#: So much text that a doubted claim gets a second look at other passages.
LONG = [
    f"Report {number}. The tower of town {number} was built in {1800 + number}. "
    + f"It is {200 + number} meters tall, and visitors of town {number} like it. " * 12
    for number in range(12)
]
ANSWER = (
    "The tower of town 3 was built in 1803. It is 203 meters tall. The tower of town 7 was built "
    "in 1950 by Gustave Eiffel. Visitors of town 9 like it. Это так. It is closed on Mondays."
)
THRESHOLDS = (LOWEST_THRESHOLD, 0.1, 0.25, 0.4, 0.5, 0.62, 0.75, 0.9, 0.98, 1.0, "precision")


@pytest.mark.parametrize("sources", [LONG, [FACTS], []], ids=["long", "short", "none"])
def test_each_threshold_gives_what_the_detector_gives(
    detector: Detector, sources: list[str]
) -> None:
    example = Example.of(sources=sources, question="What about the towers?", answer=ANSWER)
    kept = KeptScores(detector.backend, example)
    kept.detect("balanced")
    read = detector.work
    found = [kept.detect(threshold) for threshold in THRESHOLDS]
    assert detector.work == read
    wanted = [
        detector.detect(
            sources=sources, question=example.question, answer=ANSWER, operating_point=threshold
        )
        for threshold in THRESHOLDS
    ]
    assert found == wanted
    assert len({each.spans for each in wanted}) > 3 or not sources
    if sources is LONG:  # else nothing here says that second looks are kept
        assert detector.work["second_looks"] > read["second_looks"]


@pytest.mark.parametrize(
    ("answer", "threshold"),
    [(ANSWER, LOWEST_THRESHOLD / 2), (f"It is {'very ' * 300}tall.", 0.3)],
    ids=["below the lowest", "a claim in parts"],
)
def test_what_cannot_be_kept_is_read_anew(
    detector: Detector, answer: str, threshold: float
) -> None:
    kept = KeptScores(detector.backend, Example.of(sources=[FACTS], answer=answer))
    wanted = detector.detect(sources=[FACTS], answer=answer, operating_point=threshold)
    assert kept.detect(threshold) == wanted
