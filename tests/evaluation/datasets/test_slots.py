"""Slot-annotated answers: each slot alone in one variant, and the faithful answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundwire.detection.values import Label
from groundwire.evaluation.datasets.files import FailedRow, NumberedAnswer
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.slots import each_slot
from tests.evaluation.datasets.tables import answers as answers_of

ROW = {
    "id": "x",
    "domain": "law",
    "context": ["One.", "Two."],
    "question": None,
    "answer": "It opened in {{1889||1989||conflict}}{{||, in May||baseless}}.{{ Now.||||omission}}",
}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_slots(path: Path) -> list[LabelledAnswer]:
    return [row.answer for row in answers_of(each_slot(path))]


def test_variants_differ_from_the_faithful_answer_in_one_stretch_each(tmp_path: Path) -> None:
    faithful, year, month = read_slots(write(tmp_path / "rows.jsonl", ROW))
    assert faithful.example.answer == "It opened in 1889. Now."
    assert not faithful.is_hallucinated
    assert year.example.answer == "It opened in 1989. Now."
    assert month.example.answer == "It opened in 1889, in May. Now."
    assert [answer.id for answer in (faithful, year, month)] == ["x", "x.1", "x.2"]
    marked = [
        (answer.example.answer[span.start : span.end], span.label)
        for answer in (year, month)
        for span in answer.spans
    ]
    assert marked == [("1989", Label.CONTRADICTED), (", in May", Label.UNSUPPORTED)]


def test_the_domain_is_the_task_and_the_row_the_context(tmp_path: Path) -> None:
    answers = read_slots(write(tmp_path / "rows.jsonl", ROW))
    assert {answer.task for answer in answers} == {"law"}
    assert {answer.context_id for answer in answers} == {"x"}
    assert [source.text for source in answers[0].example.sources] == ["One.", "Two."]


def test_rows_that_share_a_context_say_so(tmp_path: Path) -> None:
    row = {**ROW, "context": "One.", "context_id": "c"}
    answers = read_slots(write(tmp_path / "rows.jsonl", row))
    assert {answer.context_id for answer in answers} == {"c"}
    assert [source.text for source in answers[0].example.sources] == ["One."]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer": "It {{is||is not}}."}, "a slot is not of the form {{supported||"),
        ({"context": 3}, "The sources cannot be read: they are a single int"),
        ({"context": [3]}, "Source 0 cannot be read"),
        ({"id": "x"}, "the id 'x' is there for the second time"),
    ],
)
def test_a_problem_names_its_line(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "rows.jsonl", ROW, {**ROW, "id": "y", **change})
    failed = next(row for row in each_slot(path) if isinstance(row, FailedRow))
    assert failed.place == f"{path}:2"
    assert problem in failed.problem


def test_a_row_that_cannot_be_read_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    broken = {**ROW, "id": "z", "answer": "It {{is||is not}}."}
    lines = [json.dumps(ROW), "{bad", json.dumps(broken), json.dumps({**ROW, "id": "y"})]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = list(each_slot(path))
    assert [row.row for row in found] == list(range(1, 9))
    failed = {row.place: row.problem for row in found if isinstance(row, FailedRow)}
    assert failed.keys() == {f"{path}:2", f"{path}:3"}
    assert failed[f"{path}:2"].startswith("The row is not JSON")
    assert failed[f"{path}:3"].startswith("a slot is not of the form")
    read = [row.answer.id for row in found if isinstance(row, NumberedAnswer)]
    assert read == ["x", "x.1", "x.2", "y", "y.1", "y.2"]
