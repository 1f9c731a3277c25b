"""Whether scores fell: what cannot be compared never passes."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundwire.errors import SettingError
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.regress import METRICS, AllowedChanges, Baseline, RegressError, compare
from tests.evaluation.made_results import READER, Row, write

#: Two of four found, one of four flagged in vain.
BEFORE = [Row(score=s, hallucinated=True, context=str(i)) for i, s in enumerate((0.9, 0.9, 0, 0))]
BEFORE += [Row(score=s, context=str(i)) for i, s in enumerate((0.9, 0, 0, 0), 4)]
#: One of four found, two flagged in vain.
NOW = [Row(score=s, hallucinated=True, context=str(i)) for i, s in enumerate((0.9, 0, 0, 0))]
NOW += [Row(score=s, context=str(i)) for i, s in enumerate((0.9, 0.9, 0, 0), 4)]


#: What a file of results scores; resampling takes a second, and few files differ.
SCORES: dict[bytes, str] = {}


def scores_file(
    path: Path, rows: list[Row], change: Callable[[Any], Any] = lambda data: data
) -> Path:
    results = write(path.with_suffix(".jsonl"), rows)
    content = results.read_bytes()
    if content not in SCORES:
        SCORES[content] = json.dumps(Evaluation.read(results).to_dict())
    data = json.loads(SCORES[content])
    path.write_text(json.dumps(change(data) or data, indent=2), encoding="utf-8")
    return path


def limits(*drops: str, rate: float | None = None) -> AllowedChanges:
    return AllowedChanges.of(drops, rate)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return scores_file(tmp_path / "base.json", BEFORE)


@pytest.fixture
def now(tmp_path: Path) -> Path:
    return write(tmp_path / "now.jsonl", NOW)


@pytest.mark.parametrize(
    ("drop", "worse", "is_passed"),
    [
        ("recall=25", 25, True),  # exactly what is allowed
        ("recall=24.9", 25, False),
        ("fpr=24.9", 25, False),  # of false alarms, more is worse
        ("fpr=25", 25, True),
        ("precision=30", 100 / 3, False),
    ],
)
def test_a_score_may_be_worse_by_what_is_allowed(
    drop: str, worse: float, is_passed: bool, before: Path, now: Path
) -> None:
    check, _ = compare(now, Baseline.read(before), limits(drop)).checks
    assert check.is_passed is is_passed
    assert check.worse == pytest.approx(worse)


def test_a_score_that_rose_passes(before: Path, now: Path, tmp_path: Path) -> None:
    worse = scores_file(tmp_path / "worse.json", NOW)
    better = write(tmp_path / "better.jsonl", BEFORE)
    found = compare(better, Baseline.read(worse), limits("recall=0", "fpr=0", "f1=0"))
    assert found.is_passed
    assert [check.worse < 0 for check in found.checks[:3] if check.worse is not None] == [True] * 3


@pytest.mark.parametrize("name", [name for name in METRICS if not name.startswith("span.")])
def test_every_score_of_answers_can_be_compared(name: str, before: Path, now: Path) -> None:
    found = compare(now, Baseline.read(before), limits(f"{name}=100"))
    assert (found.is_passed, found.checks[0].name) == (True, name)


def test_a_score_that_is_missing_on_a_side_is_an_error(now: Path, tmp_path: Path) -> None:
    def without(data: dict[str, Any]) -> None:
        del data["example"]["f1"]

    baseline = Baseline.read(scores_file(tmp_path / "b.json", BEFORE, without))
    with pytest.raises(RegressError, match="There is no f1 in the baseline"):
        compare(now, baseline, limits("f1=1"))


def test_a_score_that_is_undefined_is_an_error(before: Path, now: Path) -> None:
    with pytest.raises(RegressError, match=r"There is no span\.f1"):
        compare(now, Baseline.read(before), limits("span.f1=1"))


def test_other_data_is_an_error(before: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.jsonl", NOW, data="b" * 64)
    with pytest.raises(RegressError, match="of other data"):
        compare(other, Baseline.read(before), limits("f1=100"))


def test_the_same_data_under_another_name_is_the_same(now: Path, tmp_path: Path) -> None:
    def renamed(data: dict[str, Any]) -> None:
        data["data"] = {"moved.jsonl": "a" * 64}

    baseline = Baseline.read(scores_file(tmp_path / "b.json", BEFORE, renamed))
    assert compare(now, baseline, limits("f1=100")).is_passed


def test_labels_that_were_read_otherwise_are_an_error(before: Path, tmp_path: Path) -> None:
    rows = [*NOW[:-1], Row(score=0, hallucinated=True, context="7")]
    with pytest.raises(RegressError, match="4 hallucinated answers and this run has 5"):
        compare(write(tmp_path / "n.jsonl", rows), Baseline.read(before), limits("f1=100"))


def test_as_many_other_rows_of_the_same_data_are_an_error(now: Path, tmp_path: Path) -> None:
    of_a = [replace(row, task="A", sha256=f"{i}a") for i, row in enumerate(BEFORE)]
    baseline = Baseline.read(scores_file(tmp_path / "a.json", of_a))
    with pytest.raises(RegressError, match=r"but other ones.*--limit"):
        compare(now, baseline, limits("f1=100"))


def test_labels_that_were_turned_round_are_an_error(now: Path, tmp_path: Path) -> None:
    turned = [replace(row, hallucinated=not row.hallucinated) for row in BEFORE]
    baseline = Baseline.read(scores_file(tmp_path / "t.json", turned))
    with pytest.raises(RegressError, match=r"labels were read otherwise.*--label-means"):
        compare(now, baseline, limits("f1=100"))


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", '{"n": 1}', "\ud800"])
def test_what_is_no_baseline_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(RegressError, match="is no baseline"):
        Baseline.read(path)


@pytest.mark.parametrize("drop", ["f1", "f1=", "f1=-1", "f1=nan", "f1=inf", "speed=1", ""])
def test_what_is_no_limit_is_refused(drop: str) -> None:
    with pytest.raises(SettingError, match="max-drop"):
        limits(drop)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_what_is_no_rate_is_refused(rate: float) -> None:
    with pytest.raises(SettingError, match="max-rate"):
        limits(rate=rate)


# The rate.


@pytest.mark.parametrize(("allowed", "is_passed"), [(0.375, True), (0.37, False), (0, False)])
def test_the_rate_is_that_of_hallucinated_outcomes(
    allowed: float, is_passed: bool, now: Path
) -> None:
    check, _ = compare(now, None, limits(rate=allowed)).checks
    assert (check.now, check.is_passed) == (0.375, is_passed)


def test_the_rate_needs_no_labels(tmp_path: Path) -> None:
    rows = [Row(score=0.9, hallucinated=None), Row(score=0, hallucinated=None)]
    found = compare(write(tmp_path / "n.jsonl", rows), None, limits(rate=0.5))
    assert (found.is_passed, found.checks[0].now) == (True, 0.5)


def test_where_nothing_could_be_checked_there_is_no_rate(tmp_path: Path) -> None:
    path = write(tmp_path / "n.jsonl", [Row(score=None, hallucinated=None)])
    with pytest.raises(RegressError, match="No answer could be checked"):
        compare(path, None, limits(rate=1.0))


@pytest.mark.parametrize("outcome", ["partial", "unverified", "unavailable", None])
def test_what_nobody_checked_in_full_does_not_pass_for_grounded(
    outcome: str | None, tmp_path: Path
) -> None:
    unread = Row(score=None if outcome is None else 0.0, hallucinated=None, outcome=outcome)
    rows = [Row(score=0.0, hallucinated=None)] * 6 + [Row(score=0.9, hallucinated=None)] * 2
    path = write(tmp_path / "n.jsonl", [*rows, unread, unread])
    note = "2 of 10 answers were not fully checked; if all of them are hallucinated, 40.0 % are"
    for allowed, is_passed in ((0.4, True), (0.39, False)):
        check, _ = compare(path, None, limits(rate=allowed)).checks
        assert (check.is_passed, check.now, check.note) == (is_passed, 0.25, note)
        assert check.sentence.startswith("2 of 8 answers are flagged (25.0 %)")
        assert check.sentence.endswith(note)


def test_answers_without_a_source_have_no_rate(tmp_path: Path) -> None:
    rows = [Row(score=0.0, hallucinated=None, outcome="unverified")] * 20
    with pytest.raises(RegressError, match="No answer could be checked"):
        compare(write(tmp_path / "n.jsonl", rows), None, limits(rate=0))


def test_an_answer_of_which_nothing_was_checked_might_be_hallucinated(tmp_path: Path) -> None:
    rows = [Row(score=0.0)] * 9 + [Row(score=0.0, outcome="unverified", reason="no_evidence")]
    path = write(tmp_path / "n.jsonl", rows)
    for allowed, is_passed in ((0.1, True), (0.09, False)):
        check, failed = compare(path, None, limits(rate=allowed)).checks
        assert (check.is_passed, check.now) == (is_passed, 0)
        assert check.note.startswith("1 of 10 answers were not fully checked")
        assert (failed.name, failed.now) == ("failed rows", 0)


# Rows without a verdict.


def test_no_more_answers_may_be_unchecked_than_before(tmp_path: Path) -> None:
    """Else a retrieval that finds nothing any more would raise no alarm."""
    bare = Row(score=0.0, outcome="unverified", reason="no_evidence")
    rows = [*BEFORE, bare]
    baseline = Baseline.read(scores_file(tmp_path / "b.json", rows))
    same = compare(write(tmp_path / "n.jsonl", rows), baseline, limits("f1=0"))
    assert same.is_passed
    *_, failed, unchecked = compare(
        write(tmp_path / "m.jsonl", [*BEFORE[:-1], bare, bare]), baseline, limits("f1=0")
    ).checks
    assert (failed.name, failed.is_passed) == ("failed rows", True)
    assert (unchecked.name, unchecked.is_passed) == ("unchecked answers", False)
    assert unchecked.sentence == "2 answers were not checked at all, and 1 are allowed"


def test_an_answer_that_is_not_checked_any_more_is_newly_wrong(tmp_path: Path) -> None:
    bare = Row(score=0.0, outcome="unverified", reason="no_evidence", context="7")
    baseline = Baseline.read(write(tmp_path / "before.jsonl", BEFORE))
    found = compare(write(tmp_path / "n.jsonl", [*BEFORE[:-1], bare]), baseline, limits("f1=100"))
    assert found.newly_wrong == ("id-8",)


def test_a_row_that_failed_fails(tmp_path: Path) -> None:
    rows = [Row(score=0.0), Row(score=None)]
    found = compare(write(tmp_path / "n.jsonl", rows), None, limits(rate=1.0))
    assert [(check.name, check.is_passed) for check in found.checks] == [
        ("rate", True),
        ("failed rows", False),
    ]


def test_no_more_rows_may_fail_than_before(tmp_path: Path) -> None:
    rows = [*BEFORE, Row(score=None)]
    baseline = Baseline.read(scores_file(tmp_path / "b.json", rows))
    assert compare(write(tmp_path / "n.jsonl", rows), baseline, limits("f1=0")).is_passed


# Pairs.


def test_with_results_of_both_sides_the_drop_has_a_paired_interval(tmp_path: Path) -> None:
    wide, was = ([*rows, *_elsewhere(rows)] for rows in (NOW, BEFORE))
    baseline = Baseline.read(write(tmp_path / "before.jsonl", was))
    found = compare(
        write(tmp_path / "n.jsonl", wide), baseline, limits("recall=100", "auroc=100", "fpr=100")
    )
    for check in found.checks[:-1]:
        assert check.ci95 is not None
        low, high = check.ci95
        assert low is not None
        assert high is not None
        assert check.worse is not None
        assert low <= check.worse <= high
    assert (found.n_newly_wrong, found.newly_wrong) == (4, ("id-2", "id-6", "id-10", "id-14"))


def _elsewhere(rows: list[Row]) -> list[Row]:
    """The same answers to other contexts, for an interval takes ten."""
    return [replace(row, context=f"other {row.context}") for row in rows]


def test_a_pair_is_surer_than_two_sides(tmp_path: Path) -> None:
    def rows(n_found: int) -> list[Row]:
        return [
            Row(score=0.9 * (i < n_found), hallucinated=True, context=str(i)) for i in range(200)
        ]

    # 55 % and 50 % found: the intervals of the two overlap, and every change is for the worse.
    before, now = write(tmp_path / "b.jsonl", rows(110)), write(tmp_path / "n.jsonl", rows(100))
    check, _ = compare(now, Baseline.read(before), limits("recall=100")).checks
    assert check.ci95 is not None
    assert check.ci95[0] is not None
    assert check.ci95[0] > 0


def test_other_rows_do_not_pair(now: Path, tmp_path: Path) -> None:
    rows = [Row(score=row.score, hallucinated=row.hallucinated, sha256="0") for row in BEFORE]
    baseline = Baseline.read(write(tmp_path / "before.jsonl", rows, READER))
    with pytest.raises(RegressError, match="but other ones"):
        compare(now, baseline, limits("f1=100"))


def test_a_drop_without_a_baseline_is_an_error(now: Path) -> None:
    with pytest.raises(RegressError, match="Give --baseline"):
        compare(now, None, limits("f1=1"))
