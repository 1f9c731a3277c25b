"""When answers begin to be flagged, and what is kept of results."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from groundwire import Detector
from groundwire.detection.values import DetectorInfo, Score
from groundwire.evaluation.judged_row import Header, JudgedRow, ResultsError
from groundwire.evaluation.results_file import RowWriter
from groundwire.evaluation.tuning.sample import (
    LabelledSample,
    SampleError,
    ThresholdCandidates,
    read_sample,
    sample_of,
)
from tests.evaluation.made_results import READER, SIMILARITY, Row, judged, write


@pytest.mark.parametrize("threshold", [0.05, 0.34, 0.95, 1.0])
def test_an_answer_is_flagged_from_the_threshold_on_that_its_score_reaches(
    threshold: float,
) -> None:
    thresholds = ThresholdCandidates.of(READER)
    index = thresholds.values.tolist().index(threshold)
    scores = np.array([threshold, threshold - 1e-4, float(np.float32(threshold)), np.nan])
    assert (thresholds.entries(scores) <= index).tolist() == [True, False, True, False]


def test_a_similarity_is_flagged_strictly_below_the_threshold() -> None:
    thresholds = ThresholdCandidates.of(SIMILARITY)
    index = thresholds.values.tolist().index(0.58)
    scores = np.array([0.58, 0.5799, -1.0, np.nan])
    assert (thresholds.entries(scores) <= index).tolist() == [False, True, True, False]


@pytest.mark.parametrize("info", [READER, SIMILARITY])
def test_thresholds_go_from_the_one_that_flags_least_to_the_one_that_flags_most(
    info: DetectorInfo,
) -> None:
    thresholds = ThresholdCandidates.of(info)
    entries = thresholds.entries(np.linspace(-1, 1, 2001))
    assert (np.diff(entries) >= 0).all() or (np.diff(entries) <= 0).all()
    is_rising = thresholds.values[0] < thresholds.values[-1]
    assert bool(is_rising) is (info.score is Score.SIMILARITY)


def test_below_the_threshold_of_the_run_there_is_none_to_choose() -> None:
    assert ThresholdCandidates.of(replace(READER, threshold=0.34)).values.min() == 0.34
    assert ThresholdCandidates.of(SIMILARITY).values.min() == 0.001


@pytest.mark.merge
def test_a_run_decides_as_another_would_at_any_threshold_from_its_own_on(
    detector: Detector,
) -> None:
    sources = [
        f"Station {n} of the line has {n} platforms and a kiosk. It opened in {1900 + n % 90} and "
        f"has {n % 7} lifts, a shop that sells papers, and a bench for those who wait."
        for n in range(150)
    ]
    answer = "There is a shop at station 7, which has 99 platforms."

    def probability(point: float) -> float:
        (claim,) = detector.detect(sources=sources, answer=answer, operating_point=point).claims
        assert claim.probability is not None
        return claim.probability

    low, high = probability(0.05), probability(0.82)
    assert low < high  # the second look found better evidence, and at 0.82 there was none
    between = (low + high) / 2
    found = detector.detect(sources=sources, answer=answer, operating_point=between)
    assert found.spans == ()  # as the scores of the low run say, and those of the high one do not


def test_rows_without_a_label_do_not_count() -> None:
    rows = judged([Row(score=0.4), Row(score=0.5, hallucinated=None)])
    assert len(sampled(rows)) == 1


def test_what_is_drawn_does_not_depend_on_the_order_in_which_rows_were_judged() -> None:
    rows = judged([Row(score=n / 10, context=str(n % 3)) for n in range(9)])
    forth, back = (sampled(each) for each in (rows, rows[::-1]))
    assert forth.scores.tolist() == back.scores.tolist()
    assert forth.contexts.tolist() == back.contexts.tolist() == [0, 1, 2] * 3


def test_a_failed_check_has_no_score() -> None:
    sample = sampled(judged([Row(score=None, hallucinated=True)]))
    assert np.isnan(sample.scores).all()
    assert sample.failed.all()


@pytest.mark.parametrize("info", [READER, SIMILARITY])
@pytest.mark.parametrize("reason", ["no_evidence", "language", "too_short"])
def test_a_check_that_judged_nothing_is_a_failed_one(info: DetectorInfo, reason: str) -> None:
    rows = judged([Row(score=0.0, reason=reason), Row(score=0.7)], info)
    sample = sampled(rows, info)
    assert sample.failed.tolist() == [True, False]
    assert np.isnan(sample.scores).tolist() == [True, False]


def test_a_claim_that_was_judged_without_a_number_is_no_failed_check() -> None:
    """As of a judge, which says no probability."""
    (row,) = judged([Row(score=0.0)])
    assert row.detection is not None
    claims = [{**claim, "probability": None} for claim in row.detection["claims"]]
    judge = replace(row, detection={**row.detection, "claims": claims})
    assert not sampled([judge]).failed.any()


def test_a_column_that_is_not_there_is_an_error_with_those_that_are(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", [Row(score=0.1, columns={"tenant": "acme"})])
    with pytest.raises(SampleError, match=r"'team'. Columns here: task, tenant\."):
        read_sample(path, by="team")


def test_a_column_of_ids_tells_no_groups_apart(tmp_path: Path) -> None:
    rows = [Row(score=0.1, columns={"uuid": str(n)}) for n in range(1001)]
    with pytest.raises(SampleError, match="more than 1,000 values"):
        read_sample(write(tmp_path / "r.jsonl", rows), by="uuid")


def test_results_without_labels_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", [Row(score=0.1, hallucinated=None)])
    with pytest.raises(SampleError, match="of 1 row, 0 failed and 1 have neither spans nor a"):
        read_sample(path)


def test_results_of_rows_that_could_not_be_read_say_what_is_wrong_with_the_first(
    tmp_path: Path,
) -> None:
    path = kept(tmp_path, [unreadable(row) for row in judged([Row(score=None)] * 3)])
    with pytest.raises(SampleError) as raised:
        read_sample(path)
    assert str(raised.value) == (
        "There is nothing to choose a threshold by: of 3 rows, 3 failed and 0 have neither spans "
        "nor a label. The first that failed is row 1: d.jsonl:1: it is not UTF-8"
    )


def test_rows_that_tell_of_no_threshold_are_counted_by_why(tmp_path: Path) -> None:
    given = [Row(score=0.4), Row(score=None), Row(score=0.3, hallucinated=None)]
    good, failed, unlabelled, unread, unchecked = judged([*given, Row(score=None), Row(score=0.2)])
    rows = [unreadable(unread), nothing_judged(unchecked), failed, good, unlabelled]
    read = read_sample(kept(tmp_path, rows))
    assert len(read.sample) == 3
    assert read.sample.failed.tolist() == [False, True, True]
    assert not read.rows.is_complete
    assert read.rows.to_dict() == {
        "n": 5,
        "n_failed": 2,
        "n_unreadable": 1,
        "n_failed_checks": 1,
        "n_unchecked": 1,
        "n_unlabelled": 1,
        "failures": [
            {"row": 2, "id": "id-2", "type": "DetectionError", "message": "it failed"},
            {"row": 4, "id": "id-4", "type": "RowError", "message": "d.jsonl:4: it is not UTF-8"},
        ],
    }


def test_of_many_failures_the_first_are_kept(tmp_path: Path) -> None:
    rows = judged([*[Row(score=None)] * 250, Row(score=0.4)])
    read = read_sample(kept(tmp_path, rows[::-1]))
    assert read.rows.n_failed == 250
    assert [each["row"] for each in read.rows.failures] == [*range(1, 101)]


def test_a_row_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    rows = judged([Row(score=0.1), Row(score=0.2)])
    with pytest.raises(SampleError, match="row 2 twice"):
        read_sample(kept(tmp_path, [*rows, rows[1]]))


def test_a_row_of_another_shape_is_told_with_its_file(tmp_path: Path) -> None:
    (row,) = judged([Row(score=0.1)])
    path = kept(tmp_path, [replace(row, detection={"claims": 1})])
    with pytest.raises(ResultsError, match=f"{path.name}: a row of it is not as results are"):
        read_sample(path)


def sampled(rows: Sequence[JudgedRow], info: DetectorInfo = READER) -> LabelledSample:
    return sample_of(Header(detector=info, data={}), rows).sample


def kept(folder: Path, rows: Sequence[JudgedRow]) -> Path:
    """A file of results."""
    path = folder / "kept.jsonl"
    with path.open("wb") as stream:
        writer = RowWriter(stream, Header(detector=READER, data={"d.jsonl": "a" * 64}))
        for row in rows:
            writer.write(row)
    return path


def unreadable(row: JudgedRow) -> JudgedRow:
    error = {"type": "RowError", "message": f"d.jsonl:{row.row}: it is not UTF-8"}
    return replace(row, answer="", context_id="", hallucinated=None, detection=None, error=error)


def nothing_judged(row: JudgedRow) -> JudgedRow:
    assert row.detection is not None
    claims = [{**each, "label": "unchecked"} for each in row.detection["claims"]]
    return replace(row, detection={**row.detection, "claims": claims})
