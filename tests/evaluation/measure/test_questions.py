from pathlib import Path
from typing import Any

import pytest

from groundwire.evaluation.datasets.files import FailedRow, NumberedQuestion, read_questions
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.measure.questions import drawn
from tests.evaluation.datasets.tables import csv_text, json_lines, write


def row(i: int, **more: object) -> dict[str, Any]:
    return {"id": f"q{i}", "question": f"When was {i}?", "context": f"It was {i}.", **more}


def problems(path: Path) -> dict[int, str]:
    return {each.row: each.message for each in read_questions(path) if isinstance(each, FailedRow)}


def asked(path: Path, *columns: str) -> list[NumberedQuestion]:
    found = list(read_questions(path, ColumnMapping.of(columns)))
    assert all(isinstance(each, NumberedQuestion) for each in found), found
    return [each for each in found if isinstance(each, NumberedQuestion)]


def test_a_question_has_its_sources_category_and_columns(tmp_path: Path) -> None:
    table = json_lines(row(1, category="dates", tenant="acme", answer="a gold answer"))
    (found,) = asked(write(tmp_path / "q.jsonl", table))
    question = found.question
    assert (question.id, question.text, question.task) == ("q1", "When was 1?", "dates")
    assert [source.text for source in question.sources] == ["It was 1."]
    assert question.columns == {"category": "dates", "tenant": "acme"}


def test_a_csv_and_parquet_give_what_json_lines_give(tmp_path: Path) -> None:
    table = [row(i, sources=["One.", "Two."]) for i in range(3)]
    for each in table:
        del each["context"]
    expected = [each.question for each in asked(write(tmp_path / "q.jsonl", json_lines(*table)))]
    found = asked(write(tmp_path / "q.csv", csv_text(table)))
    assert [each.question for each in found] == expected
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(table), tmp_path / "q.parquet")
    assert [each.question for each in asked(tmp_path / "q.parquet")] == expected


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", json_lines({"q": "When?", "doc": "Now.", "kind": "x"}))
    (found,) = asked(path, "question=q", "sources=doc", "task=kind")
    assert (found.question.text, found.question.task) == ("When?", "x")


def test_questions_about_the_same_sources_have_one_context(tmp_path: Path) -> None:
    table = json_lines(row(1, context="A."), row(2, context="A."), row(3, context="B."))
    contexts = [each.question.context_id for each in asked(write(tmp_path / "q.jsonl", table))]
    assert contexts[0] == contexts[1] != contexts[2]


def test_what_is_wrong_with_a_row_is_told_of_that_row(tmp_path: Path) -> None:
    content = json_lines(
        row(1),
        b"{bad",
        {"context": "A."},
        row(4, question=" "),
        row(1),
        {"question": "Why?"},
        b'{"question": "\\ud800", "context": "A."}',
        b'{"question": "caf\xe9"}',
        row(9),
    )
    path = write(tmp_path / "q.jsonl", content)
    found = problems(path)
    assert list(found) == [2, 3, 4, 5, 6, 7, 8]
    assert found[2].startswith(f"{path}:2: The row is not JSON")
    assert "no column 'question' or 'query' or 'user_input' for the question" in found[3]
    assert found[4].endswith("the question is empty")
    assert "'q1' is there for the second time" in found[5]
    assert "no column 'sources' or 'context'" in found[6]
    assert "lone surrogate" in found[7]
    assert "not UTF-8" in found[8]


def test_a_limit_draws_the_same_each_time_in_their_order(tmp_path: Path) -> None:
    rows = asked(write(tmp_path / "q.jsonl", json_lines(*map(row, range(100)))))
    found = [each.row for each in drawn(rows, 10)]
    assert len(found) == 10
    assert found == sorted(found) != list(range(1, 11))
    assert found == [each.row for each in drawn(rows, 10)]
    assert [each.row for each in drawn(rows, 1000)] == list(range(1, 101))
    # Whatever is drawn of many is drawn of fewer, too: rows come and go one by one.
    assert {each.row for each in drawn(rows, 5)} < set(found)
