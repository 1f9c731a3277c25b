"""N-gram overlap as a detector."""

import json
from pathlib import Path

from groundwire import Detection
from groundwire.detection.values import Outcome
from groundwire.evaluation.adapters.adapter import adapter
from tests.cli.conftest import invoke
from tests.evaluation.datasets.tables import json_lines, write

SOURCES = ["The bridge was opened in 1932.", "It is 503 metres long, and made of steel."]


def check(answer: str, *, operating_point: str | float = "balanced") -> Detection:
    with adapter("ngram", operating_point=operating_point) as detector:
        return detector.detect(sources=SOURCES, answer=answer)


def test_a_sentence_whose_word_pairs_are_in_the_sources_passes() -> None:
    found = check("The bridge was opened in 1932. It is made of steel.")
    assert found.outcome is Outcome.GROUNDED
    assert [claim.similarity for claim in found.claims] == [1.0, 0.75]
    assert found.coverage.is_complete


def test_a_sentence_of_which_less_than_half_is_there_is_marked_as_a_whole() -> None:
    answer = "The bridge was opened in 1932. Its towers are made of granite."
    found = check(answer)
    assert [span.text for span in found.spans] == ["Its towers are made of granite."]
    assert found.spans[0].similarity == 0.2
    assert found.spans[0].probability is None
    assert found.spans[0].evidence


def test_the_threshold_can_be_chosen() -> None:
    answer = "The bridge was opened in 1950."
    assert check(answer).outcome is Outcome.GROUNDED  # what such a measure cannot see
    assert check(answer, operating_point=0.9).outcome is Outcome.HALLUCINATED


def test_citations_and_emphasis_are_no_words() -> None:
    assert check("The bridge was **opened** in 1932 [1].").claims[0].similarity == 1.0


def test_without_sources_nothing_is_said() -> None:
    with adapter("ngram") as detector:
        found = detector.detect(sources=[], answer="It is long.")
    assert found.outcome is Outcome.UNVERIFIED


def test_no_configuration_runs_a_detector_of_others(tmp_path: Path) -> None:
    rows = [
        {"context": SOURCES[0], "answer": answer, "label": label}
        for answer, label in ((SOURCES[0], 0), ("Its towers are made of granite.", 1))
    ]
    data = write(tmp_path / "t.jsonl", json_lines(*rows))
    printed = invoke("tune", "--data", data, "--detector", "ngram", "--target", "f1", "--json")
    assert printed.exit_code in (0, 1), printed.stderr
    assert json.loads(printed.stdout)["configuration"] == ""
