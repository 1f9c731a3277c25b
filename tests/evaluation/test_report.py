"""From judged answers to scores, the table and the JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from groundwire.errors import DatasetError
from groundwire.evaluation.metrics import AnswerCounts, Overlap
from groundwire.evaluation.report import main, read_answers, sample, table
from groundwire.evaluation.runner import Judged, judge
from groundwire.evaluation.scores import Scores, score, score_by_task
from tests.evaluation.labelled import labelled
from tests.fakes import FixedDetector
from tests.test_package import modules_after

ROWS = [
    {
        "id": str(i),
        "task": task,
        "context_id": context,
        "context": f"The tower {context} opened in 1889. It is 330 metres tall.",
        "question": "When?",
        "answer": answer,
        "quality": quality,
        "spans": spans,
    }
    for i, (task, context, answer, quality, spans) in enumerate(
        [
            ("QA", "a", "It opened in 1889.", "good", []),
            ("QA", "a", "It opened in 1950.", "good", [{"start": 13, "end": 17, "label": "x"}]),
            ("QA", "b", "It is 330 metres tall.", "good", []),
            ("Summary", "c", "It opened in 1889.", "truncated", []),
        ]
    )
]


def judged_answers() -> list[Judged]:
    """Two tasks; in one a hallucination is missed, in the other a check fails."""
    return list(
        judge(
            FixedDetector(unsupported=["wrong"], fails_on="bad"),
            [
                labelled("It is wrong.", "wrong", context="a"),
                labelled("It is odd.", "odd", context="b"),
                labelled("It is fine.", context="b"),
                labelled("It is bad.", "bad", context="c", task="Summary"),
                labelled("It is so wrong.", context="d", task="Summary"),
            ],
        )
    )


def scores_of(name: str) -> Scores:
    """Scores of a task."""
    groups = score_by_task(judged_answers(), n_resamples=200, seed=0)
    return next(group for group in groups if group.name == name)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A file of four answers."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def test_each_task_is_told_apart_and_all_come_last() -> None:
    groups = score_by_task(judged_answers(), n_resamples=10, seed=0)
    assert [(group.name, group.answers.n, group.n_contexts) for group in groups] == [
        ("QA", 3, 2),
        ("Summary", 2, 2),
        ("all", 5, 4),
    ]


def test_scores_are_those_of_the_answers() -> None:
    scores = scores_of("QA")
    assert scores.answers == AnswerCounts(n=3, n_both=1, n_flagged=1, n_hallucinated=2)
    assert scores.f1.value == scores.answers.f1 == pytest.approx(2 / 3)
    assert scores.f1.low <= scores.f1.value <= scores.f1.high
    assert scores.auroc.value == 0.75  # 0.97 above 0.02, and 0.02 against 0.02
    assert scores.characters == scores.pairs == Overlap(both=5, predicted=5, gold=8)
    assert scores.character_f1.value == pytest.approx(10 / 13)
    assert scores.mean_iou == pytest.approx(2 / 3)


def test_a_failed_check_is_missed_and_counted() -> None:
    scores = scores_of("Summary")
    assert scores.answers.recall == 0
    assert (scores.n_failed, scores.n_incomplete) == (1, 1)
    assert scores.auroc.value == 0


def test_what_is_undefined_is_null_in_json_and_a_dash_in_the_table() -> None:
    quiet = [row for row in judged_answers() if not row.is_flagged and not row.is_hallucinated]
    scores = score("quiet", quiet, n_resamples=10, seed=0)
    data = scores.to_dict()
    assert data["precision"] is data["recall"] is data["auroc"]["value"] is None
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert " - (- to -) " in table([scores])


def test_the_table_says_what_the_columns_are() -> None:
    head, row = table([scores_of("QA")]).splitlines()
    assert head.split("  ")[0] == "task"
    assert row.split("  ")[0] == "QA"
    assert [cell.strip() for cell in row.split("  ")[1:] if cell] == [
        "3",
        "2",
        "100.0",
        "50.0",
        "66.7 (0.0 to 100.0)",
        "80.0",
        "75.0 (50.0 to 75.0)",  # without the context that is only hallucinated: undefined
        "0.0",
        "76.9 (0.0 to 100.0)",
        "76.9",
        "100.0",
        "0",
    ]


def test_a_sample_is_the_same_each_time_and_in_order() -> None:
    answers = [labelled(f"Answer {i}.", id_=f"{i:02}") for i in range(50)]
    drawn = [answer.id for answer in sample(answers, 10)]
    assert len(drawn) == 10
    assert drawn == sorted(drawn)
    assert drawn == [answer.id for answer in sample(answers, 10)]
    assert sample(answers, 50) == sample(answers, None) == answers


def test_the_first_row_tells_the_format(tmp_path: Path, rows: Path) -> None:
    assert [answer.id for answer in read_answers(rows)] == ["0", "1", "2", "3"]
    slots = {"id": "x", "domain": "law", "context": "One.", "answer": "{{1||2||conflict}}"}
    path = tmp_path / "slots.jsonl"
    path.write_text(json.dumps(slots), encoding="utf-8")
    assert [answer.id for answer in read_answers(path)] == ["x", "x.1"]
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"neither 'spans' .* nor a 'domain'"):
        read_answers(path)


def test_a_report_has_a_table_and_json(tmp_path: Path, rows: Path) -> None:
    output = tmp_path / "report.json"
    done = CliRunner().invoke(
        main, ["--data", str(rows), "--good-only", "--threads", "1", "--json", str(output)]
    )
    assert done.exit_code == 0, done.output
    assert "3 of 4 answers" in done.output
    assert [line.split()[0] for line in done.output.splitlines()[-4:]] == [
        "reader",
        "task",
        "QA",
        "all",
    ]
    report: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    assert report["detector"]["operating_point"] == "balanced"
    assert list(report["data"]) == ["rows.jsonl"]
    assert [row["id"] for row in report["answers"]] == ["0", "1", "2"]
    assert [group["n"] for group in report["scores"]] == [3, 3]


def test_a_file_that_cannot_be_read_ends_with_a_message(rows: Path) -> None:
    rows.write_text('{"spans": []}', encoding="utf-8")
    done = CliRunner().invoke(main, ["--data", str(rows)])
    assert done.exit_code == 2
    assert f"error: {rows}:1: there is no key 'context_id'" in done.output


def test_measuring_needs_neither_torch_nor_scikit_learn() -> None:
    modules = modules_after("import groundwire.evaluation.report")
    assert modules.isdisjoint({"torch", "transformers", "sklearn", "scipy"})
