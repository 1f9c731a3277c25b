"""The results file: written row by row, continued wherever it was cut."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from groundwire.evaluation.judged_row import JudgedRow, ResultsError
from groundwire.evaluation.loading import DifferentDetectorError
from groundwire.evaluation.results_file import RowWriter, read_header, read_judged, resume
from tests.evaluation.labelled import labelled
from tests.evaluation.results import header, judged, some_answers
from tests.fakes import FIXED


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Results of five answers."""
    path = tmp_path / "results.jsonl"
    with path.open("ab") as stream:
        writer = RowWriter(stream, header())
        for row in judged(some_answers(5)):
            writer.write(row)
    return path


def test_what_is_written_is_read_back(results: Path) -> None:
    assert read_header(results) == header()
    assert list(read_judged(results)) == judged(some_answers(5))


def test_a_row_says_what_was_judged_and_what_is_known(results: Path) -> None:
    answer = labelled("It is wrong.", "wrong", context="c9", id_="x")
    (row,) = judged([answer])
    data = row.to_dict()
    assert list(data) == [
        *("row", "id", "task", "context_id", "columns", "question", "answer", "sources", "known"),
        *("hallucinated", "gold", "detection", "error", "seconds", "sha256"),
    ]
    assert (data["row"], data["id"], data["context_id"]) == (1, "x", "c9")
    assert (data["known"], data["hallucinated"]) == ("spans", True)
    assert data["gold"] == [{"start": 6, "end": 11, "label": "unsupported", "kind": ""}]
    assert data["detection"]["outcome"] == "hallucinated"
    assert data["seconds"] == 0.0015
    (source,) = data["sources"]
    assert (source["chars"], len(source["sha256"])) == (len(answer.example.sources[0].text), 64)
    assert JudgedRow.from_dict(json.loads(json.dumps(data))) == row


def test_the_first_line_says_what_judged_which_data(results: Path) -> None:
    first = json.loads(results.read_bytes().splitlines()[0])
    assert first["schema"] == 1
    assert first["detector"] == FIXED.to_dict()
    assert first["data"] == {"rows": "0" * 64}
    assert first["command"] == "groundwire evaluate"
    assert first["groundwire"]


def test_wherever_a_file_is_cut_its_complete_rows_are_kept(results: Path) -> None:
    whole = results.read_bytes()
    rows = judged(some_answers(5))
    for n_bytes in range(0, len(whole), 97):
        results.write_bytes(whole[:n_bytes])
        n_lines = whole[:n_bytes].count(b"\n")
        done = resume(results, header())
        assert done == {row.row: row.sha256 for row in rows[: max(0, n_lines - 1)]}
        assert results.read_bytes() == b"".join(whole.splitlines(keepends=True)[:n_lines])


def test_a_file_that_breaks_off_is_not_read_as_if_it_were_whole(results: Path) -> None:
    whole = results.read_bytes()
    results.write_bytes(whole[:-5])
    with pytest.raises(ResultsError, match="line 6: this is no row of results"):
        list(read_judged(results))
    packed = gzip.compress(whole)
    results.write_bytes(packed[: len(packed) * 3 // 4])
    with pytest.raises(ResultsError, match="it is damaged, and rows are missing"):
        list(read_judged(results))


def test_a_last_line_needs_no_line_end(results: Path) -> None:
    results.write_bytes(results.read_bytes().rstrip(b"\n"))
    assert list(read_judged(results)) == judged(some_answers(5))


def test_a_file_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert not resume(tmp_path / "none.jsonl", header())


def test_results_of_another_detector_are_not_continued(results: Path) -> None:
    other = replace(FIXED, threshold=0.6)
    with pytest.raises(DifferentDetectorError, match=r"threshold 0\.5.*is now.*threshold 0\.6"):
        resume(results, header(other))


def test_results_of_other_data_are_not_continued(results: Path) -> None:
    with pytest.raises(ResultsError, match=r"it was made from other data .*--force"):
        resume(results, header(rows="1" * 64))


def test_a_row_that_is_there_twice_is_refused(results: Path) -> None:
    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(b"".join([*lines, lines[2]]))
    with pytest.raises(ResultsError, match=r"row .* is there twice"):
        resume(results, header())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{bad\n", "line 2: this is no row of results"),
        (b"[]\n", "line 2: this is no row of results"),
        (b"{}\n", "line 2: this is no row of results"),
    ],
)
def test_a_line_that_is_no_row_is_told(results: Path, line: bytes, problem: str) -> None:
    first = results.read_bytes().splitlines(keepends=True)[0]
    results.write_bytes(first + line)
    with pytest.raises(ResultsError, match=problem):
        resume(results, header())
    with pytest.raises(ResultsError, match=problem):
        list(read_judged(results))


@pytest.mark.parametrize("value", ["x", -1, 2**64, None, 1.5])
def test_a_row_without_a_number_is_told(results: Path, value: object) -> None:
    first, second, *_ = results.read_bytes().splitlines()
    row = {**json.loads(second), "row": value}
    results.write_bytes(first + b"\n" + json.dumps(row).encode() + b"\n")
    with pytest.raises(ResultsError, match="no row of results"):
        resume(results, header())


@pytest.mark.parametrize("text", ['{"answer": "a"}\n', "text\n", "[1]\n", '{"schema": 2}\n'])
def test_a_file_of_something_else_is_refused(results: Path, text: str) -> None:
    results.write_text(text, encoding="utf-8")
    for read in (read_header, lambda path: resume(path, header())):
        with pytest.raises(ResultsError, match="this is no file of results"):
            read(results)
    assert results.read_text(encoding="utf-8") == text
