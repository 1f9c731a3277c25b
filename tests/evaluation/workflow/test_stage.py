import json
from pathlib import Path

import pytest

from groundwire.evaluation.workflow.stage import (
    Stage,
    StageError,
    append,
    change,
    count_done,
    is_begun,
    read_rows,
    write_whole,
)

STAGE = Stage(step="generate", data={"q.jsonl": "a" * 64}, settings={"models": ["m"], "seed": 1})


def written(path: Path, n: int) -> Path:
    write_whole(path, STAGE, ({"row": i} for i in range(1, n + 1)))
    return path


def rows(path: Path) -> list[int]:
    return [row["row"] for _, row in read_rows(path, "generate")]


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 3)
    assert rows(path) == [1, 2, 3]
    assert json.loads(path.read_bytes().splitlines()[0])["settings"] == STAGE.settings


def test_a_line_that_was_cut_is_dropped_and_the_file_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 3)
    path.write_bytes(path.read_bytes()[:-4])
    assert rows(path) == [1, 2]
    assert count_done(path, STAGE) == 2
    assert list(append(path, STAGE, [{"row": 3}], replace=False)) == [{"row": 3}]
    assert path.read_bytes() == written(tmp_path / "b.jsonl", 3).read_bytes()


@pytest.mark.parametrize("n_bytes", [0, 1, 20])
def test_a_first_line_that_was_cut_is_as_none(tmp_path: Path, n_bytes: int) -> None:
    path = written(tmp_path / "a.jsonl", 1)
    path.write_bytes(path.read_bytes()[:n_bytes])
    assert not is_begun(path)
    assert change(path, STAGE) == ""
    assert count_done(path, STAGE) == 0
    list(append(path, STAGE, [{"row": 1}], replace=False))
    assert rows(path) == [1]


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (Stage(step="generate", data={"q.jsonl": "b" * 64}, settings=STAGE.settings), "other data"),
        (
            Stage(step="generate", data=STAGE.data, settings={"models": ["m"], "seed": 2}),
            "made with another seed",
        ),
    ],
)
def test_a_file_of_other_data_or_settings_is_not_continued(
    tmp_path: Path, other: Stage, problem: str
) -> None:
    path = written(tmp_path / "a.jsonl", 1)
    before = path.read_bytes()
    with pytest.raises(StageError, match=problem):
        count_done(path, other)
    assert path.read_bytes() == before
    assert problem in change(path, other)


def test_what_differs_is_named() -> None:
    def difference(**settings: object) -> str:
        other = Stage(step="generate", data=STAGE.data, settings=settings)
        return STAGE.difference(other)

    assert difference(models=["m"], seed=2) == "it was made with another seed"
    assert difference(models=["n"], seed=1) == "it was made with other models"
    assert difference(models=["n"], seed=2) == "it was made with other models, seed"


def test_a_file_is_what_is_in_it_not_what_it_is_called() -> None:
    def of(**data: str) -> Stage:
        return Stage(step="load", data=data)

    assert of(**{"a.csv": "1"}).difference(of(**{"b.csv": "1"})) == ""
    assert of(a="1", b="2").difference(of(c="1", d="2")) == ""
    # Read in another order, other rows come first.
    assert "other data" in of(a="1", b="2").difference(of(b="2", c="1"))
    assert "other data" in of(a="1").difference(of(a="2"))
    # The same bytes are other rows in a table of another kind.
    assert "other data" in of(**{"a.csv": "1"}).difference(of(**{"a.tsv": "1"}))


def test_settings_are_compared_as_json_has_them(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 1)
    same = Stage(step="generate", data=STAGE.data, settings={"models": ("m",), "seed": 1})
    assert change(path, same) == ""


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{}\n", "line 1: groundwire measure did not write this"),
        (b"hello\n", "line 1: groundwire measure did not write this"),
        (b"[1]\n", "line 1: groundwire measure did not write this"),
    ],
)
def test_any_other_file_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(StageError, match=problem):
        rows(path)
    with pytest.raises(StageError, match=problem):
        count_done(path, STAGE)
    assert path.read_bytes() == content


def test_a_file_of_another_step_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 1)
    with pytest.raises(StageError, match="it is of the step generate, and classify is what"):
        list(read_rows(path, "classify"))


def test_a_line_that_is_no_row_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 2)
    with path.open("ab") as stream:
        stream.write(b"[]\n")
    with pytest.raises(StageError, match="line 4: this is JSON, but no object"):
        rows(path)


def test_what_fails_while_it_is_written_leaves_the_file_of_before(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 2)
    with pytest.raises(ZeroDivisionError):
        write_whole(path, STAGE, ({"row": 1 // (1 - i)} for i in range(2)))
    assert rows(path) == [1, 2]
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]
