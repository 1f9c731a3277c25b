"""Which rows of a table are judged."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from groundwire.evaluation.datasets.choosing import NoSuchTaskError, Read, choose
from groundwire.evaluation.datasets.files import AnyRow, read_labelled
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


def test_rows_of_a_task_are_kept_and_those_whose_task_nobody_can_read(read: Read) -> None:
    assert numbers(choose(read, tasks=["QA"])) == [1, 5]
    assert numbers(choose(read, tasks=["Summary"])) == [2, 3, 5]
    assert numbers(choose(read)) == [1, 2, 3, 4, 5]


def test_each_task_that_is_asked_for_must_be_there(read: Read) -> None:
    with pytest.raises(NoSuchTaskError, match="No row has the task 'Sumary'"):
        choose(read, tasks=["QA", "Sumary"])


def test_a_task_that_is_there_is_not_looked_for_any_further(read: Read) -> None:
    n_read = 0

    def watched() -> Iterator[AnyRow]:
        nonlocal n_read
        for row in read():
            n_read += 1
            yield row

    choose(watched, tasks=["QA", "Summary"])
    assert n_read == 2


def test_a_task_all_of_whose_rows_fail_is_there(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", json_lines(ROWS[0], {**ROWS[2], "task": "Law"}))
    assert numbers(choose(partial(read_labelled, path), tasks=["Law"])) == [2]
