"""Judging an Arrow table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pa: Any = pytest.importorskip("pyarrow", reason="needs the eval extra")
from pyarrow import parquet  # noqa: E402

from groundwire.errors import InputError  # noqa: E402
from groundwire.evaluation.datasets.files import read_labelled  # noqa: E402
from groundwire.evaluation.datasets.mapping import ColumnMapping  # noqa: E402
from groundwire.evaluation.judged_row import JudgedRow  # noqa: E402
from groundwire.evaluation.judging import judge_block  # noqa: E402
from groundwire.evaluation.scale.tables import (  # noqa: E402
    RESULTS,
    judge_batch,
    judged_rows,
    judged_table,
)
from tests.evaluation.results import DETECTOR  # noqa: E402
from tests.evaluation.scale.data import rows_in  # noqa: E402

ROWS: list[Mapping[str, Any]] = [
    {
        "row": 41 + i,
        "id": f"r{i}",
        "context_id": "c",
        "sources": ["A source."],
        "answer": "It is wrong." if i else "It is fine.",
        "spans": [{"start": 6, "end": 11, "label": "x"}] if i else [],
    }
    for i in range(3)
]


def test_judged_rows_come_back_from_a_table_as_they_were(tmp_path: Path) -> None:
    judged = list(judge_block(DETECTOR, rows_in(tmp_path, 12)))
    assert any(row.error for row in judged)
    assert list(judged_rows(judged_table(judged).to_pylist())) == judged


def test_any_table_of_labelled_answers_gives_what_its_file_gives(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    found = list(judged_rows(judge_batch(DETECTOR, table).to_pylist()))
    assert [row.row for row in found] == [41, 42, 43]
    assert [row.hallucinated for row in found] == [False, True, True]
    parquet.write_table(table, tmp_path / "t.parquet")
    read = judge_block(DETECTOR, list(read_labelled(tmp_path / "t.parquet")))
    assert [row.sha256 for row in read] == [row.sha256 for row in found]


def test_columns_can_have_other_names_and_rows_no_number() -> None:
    table = pa.Table.from_pylist([{"facts": "A source.", "said": "It is.", "label": "fail"}] * 2)
    mapping = ColumnMapping(columns={"sources": "facts", "answer": "said"})
    found = list(judged_rows(judge_batch(DETECTOR, table, mapping).to_pylist()))
    assert [(row.row, row.answer, row.hallucinated) for row in found] == [
        (1, "It is.", True),
        (2, "It is.", True),
    ]


def test_a_row_that_cannot_be_read_is_a_row_with_an_error() -> None:
    found = judge_batch(DETECTOR, pa.Table.from_pylist([{"row": 9, "answer": "It is."}]))
    (row,) = judged_rows(found.to_pylist())
    assert row.error is not None
    assert row.error["message"].startswith("row 9: there is no column 'sources'")
    assert found["outcome"].to_pylist() == [None]


def test_a_row_has_a_whole_number() -> None:
    table = pa.Table.from_pylist([{**ROWS[0], "row": "first"}])
    with pytest.raises(InputError, match="The row of a table is 'first'"):
        judge_batch(DETECTOR, table)


def test_no_rows_are_a_table_without_rows() -> None:
    nothing: list[JudgedRow] = []
    assert judged_table(nothing).schema == RESULTS
