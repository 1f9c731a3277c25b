"""From a file of results to what a detector is worth."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import Detector
from groundwire.detection.example import Example
from groundwire.evaluation.columns import Columns
from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.datasets.labelled import Known, LabelledAnswer
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.intervals import wilson
from groundwire.evaluation.judged_row import JudgedRow, ResultsError
from groundwire.evaluation.judging import failed_row, judge_block
from groundwire.evaluation.no_verdict import MAX_FAILURES
from groundwire.evaluation.results_file import RowWriter
from groundwire.evaluation.scores import scores_of
from groundwire.evaluation.table import to_text
from tests.evaluation import reference
from tests.evaluation.labelled import labelled
from tests.evaluation.results import (
    DETECTOR,
    compared,
    evaluated,
    failed,
    header,
    judged,
    rows_of,
    some_answers,
    unchecked,
    without_times,
)
from tests.fixed_judge import FixedJudge
from tests.test_package import modules_after
from tests.tiers import costly

#: Two tasks; in one a hallucination is missed, in the other a check fails.
ANSWERS = [
    labelled("It is wrong.", "wrong", context="a", id_="1"),
    labelled("It is odd.", "odd", context="b", id_="2"),
    labelled("It is fine.", context="b", id_="3"),
    labelled("It is bad.", "bad", context="c", task="Summary", id_="4"),
    labelled("It is so wrong.", context="d", task="Summary", id_="5"),
]


def test_the_keys_of_the_json_are_these() -> None:
    data = evaluated(ANSWERS)
    for key in ("n", "n_failed", "threshold", "detector", "seconds", "examples_per_s"):
        assert key in data
    names = {"precision", "recall", "f1", "balanced_accuracy", "auroc", "auprc", "fpr"}
    for group in (data, *data["tasks"].values()):
        assert set(group["example"]) == names | {"ci95"}
        assert set(group["example"]["ci95"]) == names
        assert set(group["span"]) >= {"precision", "recall", "f1", "ci95", "iou"}
        assert set(group["span_lettucedetect"]) >= {"precision", "recall", "f1"}
        assert set(group["baseline_flag_all"]) == {"f1"}


def test_a_score_lies_within_its_interval() -> None:
    example = evaluated(some_answers(90, n_contexts=30))["example"]
    for name, (low, high) in example["ci95"].items():
        if low is not None:
            assert low <= example[name] <= high
    assert None not in example["ci95"]["f1"]


def test_scores_are_those_of_the_answers() -> None:
    data = evaluated(ANSWERS)
    assert (data["n"], data["n_failed"], data["n_answers"], data["n_contexts"]) == (5, 1, 5, 4)
    qa = data["tasks"]["QA"]
    assert (qa["n_answers"], qa["n_hallucinated"], qa["n_flagged"]) == (3, 2, 1)
    example = qa["example"]
    assert (example["precision"], example["recall"], example["fpr"]) == (1, 0.5, 0)
    assert example["f1"] == pytest.approx(2 / 3)
    assert example["balanced_accuracy"] == 0.75
    assert example["auroc"] == 0.75  # 0.97 above 0.02, and 0.02 against 0.02
    assert qa["span"]["f1"] == qa["span_lettucedetect"]["f1"] == pytest.approx(10 / 13)
    assert qa["span"]["iou"] == pytest.approx(5 / 8)
    assert qa["span"]["mean_iou"] == pytest.approx(2 / 3)
    assert qa["baseline_flag_all"]["f1"] == 0.8
    assert (qa["claims"]["n_unmarked"], qa["claims"]["passed"]) == (1, 1)


def test_scores_that_nothing_speaks_against_are_not_certain() -> None:
    words = ("wrong", "fine")
    answers = [
        labelled(f"It is {words[i % 2]}.", *(["wrong"] if i % 2 == 0 else []), context=f"c{i}")
        for i in range(40)
    ]
    example = evaluated(answers)["example"]
    few, none = wilson(20, 20), wilson(0, 20)  # of the contexts, 20 are hallucinated
    assert (example["recall"], example["fpr"], example["f1"], example["auroc"]) == (1, 0, 1, 1)
    assert example["ci95"]["recall"] == example["ci95"]["precision"] == [few.low, 1]
    assert example["ci95"]["fpr"] == [0, none.high]
    for name in ("f1", "balanced_accuracy", "auroc", "auprc"):
        assert example["ci95"][name] == [None, None]


def test_a_failed_check_is_missed_and_told() -> None:
    data = evaluated(ANSWERS)
    assert data["tasks"]["Summary"]["example"]["recall"] == 0
    assert data["tasks"]["Summary"]["example"]["auroc"] is None  # only one has a place in an order
    assert data["failures"] == [
        {
            "row": 4,
            "id": "4",
            "type": "DetectionError",
            "message": "The detector failed on 'bad'.",
        }
    ]
    assert data["coverage"]["n_incomplete"] == 1


def test_a_failed_check_of_a_grounded_answer_counts_for_nothing() -> None:
    grounded = [labelled("It is bad.", context=f"x{i}", id_=f"x{i}") for i in range(9)]
    without, data = evaluated(ANSWERS), evaluated([*ANSWERS, *grounded])
    for part in ("example", "span", "span_lettucedetect"):
        assert _without_ends(data[part]) == _without_ends(without[part])
    assert data["baseline_flag_all"] == without["baseline_flag_all"]
    assert data["prevalence"] == without["prevalence"]
    assert (data["n_answers"], data["n_failed"]) == (14, 10)


@pytest.mark.parametrize("made", [unchecked, lambda text, *marks, id_: labelled(text, *marks)])
def test_a_grounded_answer_that_was_not_checked_has_not_passed(
    made: Callable[..., LabelledAnswer],
) -> None:
    """Without a source or by a check that failed: who does nothing raises no false alarm."""
    grounded = [made("It is bad.", id_=f"x{i}") for i in range(9)]
    data = evaluated([*grounded, *ANSWERS])
    assert (data["n_answers"], data["n_scored"]) == (14, 5)
    assert _without_ends(data["example"]) == _without_ends(evaluated(ANSWERS)["example"])


def test_a_hallucinated_answer_that_was_not_checked_is_missed() -> None:
    checked = evaluated(ANSWERS[:1])
    assert checked["example"]["recall"] == 1
    data = evaluated([*ANSWERS[:1], unchecked("It is wrong.", "wrong")])
    assert data["example"]["recall"] == data["span"]["recall"] == 0.5
    assert data["n_scored"] == 2


def test_an_answer_that_was_not_checked_has_no_place_in_an_order_and_no_time() -> None:
    data = evaluated([*ANSWERS[:3], *(unchecked("It is fine.", id_=f"u{i}") for i in range(9))])
    assert data["example"]["auroc"] == 0.75  # as without them
    times = evaluated(ANSWERS[:3])
    assert data["latency_ms"] == times["latency_ms"]
    assert Evaluation.of(header(), judged([unchecked("It is.")])).to_dict()["latency_ms"] is None


def test_an_answer_of_which_a_part_was_judged_counts() -> None:
    with Detector(FixedJudge(doubtful={"wrong": 0.9}, cannot_read="Unlesbar")) as detector:
        answers = [
            labelled("It is good. Unlesbar ist das.", id_="partly"),
            labelled("Unlesbar ist das.", id_="not"),
            labelled("It is wrong.", "wrong", id_="found"),
        ]
        data = Evaluation.of(header(), judge_block(detector, rows_of(answers))).to_dict()
    assert (data["n_scored"], data["n_unchecked"], data["example"]["fpr"]) == (2, 1, 0)
    assert data["coverage"]["n_incomplete"] == 2


def test_rows_without_a_verdict_are_told_apart() -> None:
    rows = judged([*ANSWERS, unchecked("It is fine."), unlabelled(unchecked("So.", id_="v"))])
    rows += [failed_row(failed(row)) for row in (8, 9, 10)]
    data = Evaluation.of(header(), rows).to_dict()
    names = ("n", "n_failed", "n_unreadable", "n_failed_checks", "n_unchecked", "n_unlabelled")
    assert {name: data[name] for name in names} == {
        "n": 10,
        "n_failed": 4,
        "n_unreadable": 3,
        "n_failed_checks": 1,
        "n_unchecked": 2,
        "n_unlabelled": 1,
    }


def test_where_every_check_failed_no_score_is_defined() -> None:
    data = evaluated([labelled("It is bad.", id_="1"), labelled("It is bad.", "bad", id_="2")])
    assert {value for name, value in data["example"].items() if name != "ci95"} == {None}
    assert data["example"]["ci95"] == {name: [None, None] for name in data["example"]["ci95"]}
    assert data["span"] is data["calibration"] is data["baseline_flag_all"]["f1"] is None
    assert (data["n_answers"], data["n_hallucinated"], data["n_failed"]) == (2, 1, 2)


def test_a_row_that_could_not_be_read_counts_as_failed_and_for_no_score() -> None:
    rows = [*judged(ANSWERS), failed_row(failed(6))]
    data = Evaluation.of(header(), rows).to_dict()
    assert (data["n"], data["n_failed"], data["n_answers"]) == (6, 2, 5)
    assert data["failures"][1] == {
        "row": 6,
        "id": "6",
        "type": "RowError",
        "message": "t.jsonl:6: bad",
    }


def test_answers_without_a_task_are_a_group_that_no_name_of_a_task_is_mixed_with() -> None:
    answers = [
        labelled("It is wrong.", "wrong", task="", id_="1"),
        labelled("It is odd.", "odd", task="all", id_="2"),
    ]
    tasks = evaluated(answers)["tasks"]
    assert {name: group["example"]["recall"] for name, group in tasks.items()} == {"": 1, "all": 0}


def test_an_answer_of_which_nothing_is_known_counts_for_no_score() -> None:
    data = evaluated([*ANSWERS, unlabelled(labelled("It is wrong.", id_="u"))])
    assert (data["n"], data["n_unlabelled"], data["n_answers"]) == (6, 1, 5)


def test_an_answer_with_a_label_alone_counts_for_no_score_of_characters() -> None:
    as_whole = replace(labelled("It is wrong.", id_="w"), known=Known.ANSWER, label=True)
    data = evaluated([*ANSWERS, as_whole])
    assert data["n_answers"] == 6
    assert data["span"]["n_answers"] == 5
    assert data["span"] == evaluated(ANSWERS)["span"]
    alone = evaluated([as_whole])
    assert alone["span"] is alone["span_lettucedetect"] is None


def test_what_is_undefined_is_null() -> None:
    data = evaluated([labelled("It is fine.")])
    example = data["example"]
    assert example["precision"] is example["recall"] is example["auroc"] is None
    assert example["ci95"]["f1"] == [None, None]
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_without_answers_there_are_no_scores() -> None:
    data = Evaluation.of(header(), []).to_dict()
    assert (data["n"], data["n_answers"]) == (0, 0)
    assert data["example"] is data["span"] is data["calibration"] is data["latency_ms"] is None


def test_how_much_was_found_is_told_by_label_and_by_the_words_of_the_data() -> None:
    first, second, *_ = ANSWERS
    kinds = [
        replace(answer, spans=tuple(replace(span, kind="Subtle") for span in answer.spans))
        for answer in (first, second)
    ]
    assert evaluated(kinds)["labels"] == {
        "Subtle": {"n": 2, "n_touched": 1, "recall": 0.5},
        "unsupported": {"n": 2, "n_touched": 1, "recall": 0.5},
    }


def test_precision_is_told_for_the_prevalences_that_are_chosen() -> None:
    answers = [labelled("It is wrong.", *["wrong"] * (i < 3), id_=str(i)) for i in range(4)]
    found = Evaluation.of(header(), judged(answers), prevalences=[0, 0.25, 1])
    assert found.to_dict()["prevalence"] == [
        {"prevalence": 0, "precision": 0},
        {"prevalence": 0.25, "precision": 0.25},
        {"prevalence": 1, "precision": 1},
    ]


def test_calibration_is_that_of_the_probabilities_of_answers() -> None:
    rows = []
    for row in judged(some_answers(4)):
        assert row.detection is not None
        said = 0.95 if row.row <= 2 else 0.25
        rows.append(
            replace(row, detection={**row.detection, "probability": said}, hallucinated=row.row < 4)
        )
    calibration = Evaluation.of(header(), rows).to_dict()["calibration"]
    assert calibration["n"] == 4
    assert calibration["ece"] == pytest.approx((2 * 0.05 + 2 * 0.25) / 4)
    assert calibration["brier"] == pytest.approx((2 * 0.05**2 + 0.75**2 + 0.25**2) / 4)
    assert [each["n"] for each in calibration["bins"]] == [0, 0, 2, 0, 0, 0, 0, 0, 0, 2]
    assert evaluated(ANSWERS)["calibration"] is None  # this detector says none


def test_what_was_not_checked_is_told_with_its_reasons() -> None:
    bare = replace(labelled("x"), example=Example.of(sources=[], answer="It is wrong."))
    data = evaluated([bare, *ANSWERS[:1]])
    assert data["coverage"] == {"n_incomplete": 1, "reasons": {"no_evidence": 1}}


def test_times_are_those_of_the_checks_or_of_the_run() -> None:
    found = Evaluation.of(header(), judged(ANSWERS[:3]))
    data = found.to_dict()
    assert data["latency_ms"] == {"p50": 1.5, "p95": 1.5, "p99": 1.5}
    assert (data["seconds"], data["examples_per_s"]) == (0.0045, 666.667)
    assert found.to_dict(wall_s=2)["examples_per_s"] == 1.5


def test_what_was_not_checked_makes_nothing_faster() -> None:
    rows = [*judged(ANSWERS[:3]), *(failed_row(failed(row)) for row in range(4, 10))]
    assert Evaluation.of(header(), rows).to_dict(wall_s=2)["examples_per_s"] == 1.5
    none = Evaluation.of(header(), rows[3:])
    assert none.to_dict(wall_s=2)["examples_per_s"] is None
    assert "speed" not in to_text(none.to_dict(wall_s=2))


def test_the_order_of_the_rows_changes_nothing() -> None:
    rows = [*judged(some_answers(60)), *(failed_row(failed(row)) for row in range(61, 300))]
    whole = without_times(Evaluation.of(header(), rows).to_dict())
    assert len(json.loads(whole)["failures"]) == MAX_FAILURES
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        assert without_times(Evaluation.of(header(), rows).to_dict()) == whole


def test_a_row_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    rows = judged(ANSWERS)
    with pytest.raises(ResultsError, match="row 2 is there twice"):
        Evaluation.read(_written(tmp_path, [*rows, rows[1]]))


def test_a_row_whose_detection_is_none_is_told(tmp_path: Path) -> None:
    (row,) = judged(ANSWERS[:1])
    for detection in ({}, {"spans": None}, {"spans": [], "claims": 7}):
        with pytest.raises(ResultsError, match="a row of it is not as results are"):
            Evaluation.read(_written(tmp_path, [replace(row, detection=detection)]))


def test_what_was_printed_is_read_back() -> None:
    data = evaluated(ANSWERS)
    assert Evaluation.from_dict(json.loads(json.dumps(data))).to_dict() == data
    with pytest.raises(KeyError):
        Evaluation.from_dict({})


@pytest.mark.merge
def test_scoring_needs_neither_torch_nor_scikit_learn_nor_pyarrow() -> None:
    modules = modules_after("import groundwire.evaluation.evaluation, groundwire.cli.evaluate")
    assert modules.isdisjoint({"torch", "transformers", "sklearn", "scipy", "pyarrow"})


def unlabelled(answer: LabelledAnswer) -> LabelledAnswer:
    """An answer of which nothing is known."""
    return replace(answer, spans=(), known=Known.NOTHING)


def _without_ends(scores: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in scores.items() if name != "ci95"}


def _written(folder: Path, rows: list[JudgedRow]) -> Path:
    path = folder / "results.jsonl"
    with path.open("wb") as stream:
        writer = RowWriter(stream, header())
        for row in rows:
            writer.write(row)
    return path


# Against the reference.

_TEXT = "ab cd  ef\ngh ij kl "
_range = st.tuples(st.integers(0, len(_TEXT)), st.integers(0, len(_TEXT))).map(
    lambda ends: (min(ends), max(ends) + (ends[0] == ends[1]))
)
_ranges = st.lists(_range.filter(lambda ends: ends[1] <= len(_TEXT)), max_size=4)


@costly(0.6)
@given(st.lists(st.tuples(_ranges, _ranges), min_size=1, max_size=5))
def test_scores_of_characters_are_those_of_the_slow_reference(
    marks: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]],
) -> None:
    found = scores_of(Columns.of(map(_held, range(len(marks)), marks)), n_resamples=2)
    answers = [(_TEXT, said, so) for said, so in marks]
    _require_equal(found["span"], reference.corrected(answers))
    _require_equal(found["span_lettucedetect"], reference.lettucedetect(answers))


_decision = st.tuples(st.booleans(), st.booleans(), st.booleans()).map(
    lambda each: (each[0] and not each[2], each[1], each[2])  # a failed check flags nothing
)


@costly(0.6)
@given(st.lists(st.tuples(_decision, st.sampled_from([0.1, 0.5, 0.9])), min_size=1, max_size=9))
def test_scores_of_answers_are_those_of_the_slow_reference(
    rows: list[tuple[reference.Answer, float]],
) -> None:
    answers, scores = [answer for answer, _ in rows], [score for _, score in rows]
    judged = [
        replace(
            _held(i, ([], [])),
            is_flagged=flagged,
            is_hallucinated=so,
            probability=score,
            error="it failed" if failed else "",
        )
        for i, ((flagged, so, failed), score) in enumerate(rows)
    ]
    found = scores_of(Columns.of(judged), n_resamples=2)["example"]
    _require_equal(found, reference.decisions(answers))
    _require_equal(found, {"auroc": reference.auroc(scores, answers)})


def test_overlapping_gold_counts_once_and_twice_as_lettucedetect_has_it() -> None:
    marked = ("abcdefghij", [(0, 10)], [(0, 6), (4, 10)])
    found = scores_of(Columns.of([_held(0, marked[1:], marked[0])]), n_resamples=2)
    assert found["span"]["precision"] == found["span"]["recall"] == 1
    assert found["span_lettucedetect"]["precision"] == 1.2


def _held(
    i: int, marks: tuple[list[tuple[int, int]], list[tuple[int, int]]], text: str = _TEXT
) -> ComparedAnswer:
    from groundwire.evaluation.metrics import count_characters, count_pairs

    said, so = marks
    return ComparedAnswer(
        row=i,
        id=str(i),
        task="T",
        context_id=str(i // 2),
        is_hallucinated=bool(so),
        is_flagged=bool(said),
        probability=0.5,
        characters=count_characters(said, so, text),
        pairs=count_pairs(said, so),
        n_clean_claims=0,
        n_clean_passed=0,
        is_complete=True,
    )


def _require_equal(found: dict[str, Any], expected: dict[str, float]) -> None:
    for name, value in expected.items():
        assert found[name] is None if isnan(value) else found[name] == pytest.approx(value)


def test_columns_are_those_of_the_answers() -> None:
    columns = Columns.of(compared(DETECTOR, ANSWERS))
    assert columns.flagged.tolist() == [True, False, False, False, True]
    assert columns.hallucinated.tolist() == [True, True, False, True, False]
    assert columns.complete.tolist() == [True, True, True, False, True]
    assert len(set(columns.contexts.tolist())) == 4
    assert columns.characters[0].tolist() == [5, 5, 5]
    assert columns.take(columns.flagged).probability.tolist() == [0.97, 0.97]
