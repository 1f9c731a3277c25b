"""Which rows of a table are judged."""

from functools import partial
from pathlib import Path

import pytest

from groundwire.evaluation.datasets.choosing import Read, choose
from groundwire.evaluation.datasets.files import read_labelled
from tests.evaluation.datasets.tables import ROW, json_lines, write

#: The third has a span that does not lie in its answer, the last is no JSON.
ROWS = (
    {**ROW, "id": "a", "task": "QA"},
    {**ROW, "id": "b", "task": "Summary"},
    {**ROW, "id": "c", "task": "Summary", "spans": [{"start": 3, "end": 99}]},
    {**ROW, "id": "d", "task": ""},
    b"{bad",
)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return partial(read_labelled, write(tmp_path / "t.jsonl", json_lines(*ROWS)))


def numbers(read: Read) -> list[int]:
    return [row.row for row in read()]


def test_all_rows_are_judged_or_a_sample_of_contexts(read: Read) -> None:
    assert numbers(choose(read)) == [1, 2, 3, 4, 5]
    drawn = numbers(choose(read, limit=3))
    assert len(drawn) == 3
    assert drawn == sorted(drawn) == numbers(choose(read, limit=3))
