"""What reports are made of: kinds of rows, the worst first, curves, and what moved."""

import json
from pathlib import Path

import pytest

from groundwire.evaluation.judged_row import ResultsError
from groundwire.evaluation.reports.curves import curves_of
from groundwire.evaluation.reports.kinds import RowKind
from groundwire.evaluation.reports.summary import Summary, summarize
from tests.evaluation.reports.results import ROWS, results_of, row, summary_of


def test_each_row_is_of_one_kind(summary: Summary) -> None:
    assert {each.row.id: each.kind for each in summary.examples} == {
        "found": RowKind.TRUE_POSITIVE,
        "missed": RowKind.FALSE_NEGATIVE,
        "alarm": RowKind.FALSE_POSITIVE,
        "passed": RowKind.TRUE_NEGATIVE,
        "failed": RowKind.FAILED,
        "unchecked": RowKind.UNCHECKED,
        "unlabelled": RowKind.NOT_FLAGGED,
    }
    assert sum(summary.counts.values()) == len(ROWS)


def test_errors_come_first_then_failures_then_words_that_differ(summary: Summary) -> None:
    # Doubt 0.02 is further below 0.5 than 0.97 is above it.
    ids = [each.row.id for each in summary.examples]
    assert ids == [*("missed", "alarm", "failed", "unchecked", "found", "unlabelled", "passed")]


@pytest.mark.parametrize("n", [0, 2])
def test_the_examples_that_are_kept_are_the_worst(n: int, results: Path, summary: Summary) -> None:
    few = summarize(results, n_examples=n)
    assert few.examples == summary.examples[:n]
    assert few.n_left_out == len(ROWS) - n


def test_a_row_that_is_there_twice_is_told_and_does_not_hide_the_first(tmp_path: Path) -> None:
    summary = summary_of([ROWS[0], ROWS[0], ROWS[3]], tmp_path)
    assert summary.counts[RowKind.TRUE_POSITIVE] == 1
    assert summary.curves


def test_a_file_that_holds_no_results_is_refused(tmp_path: Path) -> None:
    path = results_of(ROWS, tmp_path / "results.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    damaged = json.loads(lines[1]) | {"gold": [{"start": 0, "end": 9999, "label": "", "kind": ""}]}
    path.write_text(f"{lines[0]}\n{json.dumps(damaged)}\n", encoding="utf-8")
    with pytest.raises(ResultsError, match=r"results\.jsonl.*a row of it is not as results are"):
        summarize(path)


def test_curves_by_hand(tmp_path: Path) -> None:
    # By doubt: 0.97 hallucinated, 0.97 grounded; 0.02 hallucinated, 0.02 grounded.
    rows = [row("In 1950.", "1950"), row("Not 1950."), row("By Eve.", "Eve"), row("Yes.")]
    judged = [each.judged for each in summary_of(rows, tmp_path).examples]
    precision, roc, risk = curves_of([each for each in judged if each is not None])
    assert precision.points == ((0.5, 0.5), (1.0, 0.5))
    assert roc.points == ((0.0, 0.0), (0.5, 0.5), (1.0, 1.0))
    assert risk.points == ((0.5, 0.5), (1.0, 0.5))
    assert precision.at == (0.5, 0.5)
    assert risk.at == (0.5, 0.5)


def test_there_are_no_curves_of_one_kind_of_answers(tmp_path: Path) -> None:
    assert summary_of([row("Yes.")], tmp_path).curves == ()
