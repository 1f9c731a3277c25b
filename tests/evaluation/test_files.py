"""Tables of labelled answers: whatever is wrong with a row, the others are read."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from groundwire.errors import DatasetError, MissingExtraError
from groundwire.evaluation.datasets.files import (
    AnyRow,
    FailedRow,
    NumberedAnswer,
    read_labelled,
)
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.datasets.lines import count_rows, files_of, fingerprints
from groundwire.evaluation.datasets.mapping import ColumnMapping
from tests.evaluation.datasets.tables import ROW, answers, csv_text, json_lines, problems, write


def numbered(n: int) -> list[dict[str, Any]]:
    return [{**ROW, "id": str(i), "answer": f"It opened in 1950, {i}."} for i in range(1, n + 1)]


def ids(rows: Sequence[AnyRow]) -> list[str]:
    return [row.id if isinstance(row, FailedRow) else row.answer.id for row in rows]


FORMATS = {
    "t.jsonl": json_lines(*numbered(3)),
    "t.jsonl.gz": json_lines(*numbered(3)),
    "t.json": json_lines(*numbered(3)),
    "bom.jsonl": b"\xef\xbb\xbf" + json_lines(*numbered(3)),
    "packed without saying so.jsonl": gzip.compress(json_lines(*numbered(3))),
    "blank lines.jsonl": b"\n" + b"\n \n".join(json_lines(*numbered(3)).splitlines()),
    "array after blank lines.json": b"\n" * 5
    + b"[%s]\n" % b",".join(json_lines(*numbered(3)).splitlines()),
    "no last newline.jsonl": json_lines(*numbered(3)).rstrip(),
    "t.csv": csv_text(numbered(3)),
    "t.csv.gz": csv_text(numbered(3)),
    "t.tsv": csv_text(numbered(3), "\t"),
    "bom.csv": "\ufeff" + csv_text(numbered(3)),
    "dos.csv": csv_text(numbered(3)).replace("\n", "\r\n"),
}


@pytest.mark.parametrize(("name", "content"), FORMATS.items(), ids=FORMATS)
def test_a_table_says_the_same_in_every_format(
    tmp_path: Path, name: str, content: bytes | str
) -> None:
    path = write(tmp_path / name, content)
    found = answers(read_labelled(path))
    assert [row.row for row in found] == [1, 2, 3]
    assert ids(found) == ["1", "2", "3"]
    answer = found[1].answer
    assert (answer.task, answer.example.answer) == ("QA", "It opened in 1950, 2.")
    assert [source.text for source in answer.example.sources] == ["The tower opened in 1889."]
    assert [(mark.start, mark.end) for mark in answer.spans] == [(13, 17)]
    assert count_rows(path) == (6 if "blank" in name else 3)


def test_a_list_of_sources_is_json_where_there_are_no_lists(tmp_path: Path) -> None:
    """A text that happens to be a list, such as what a tool returned, is a text elsewhere."""
    listed = [{**ROW, "context": '["One.", "Two."]'}]
    of_csv, of_tsv, of_json = (
        answers(read_labelled(path, ColumnMapping()))[0].answer.example.sources
        for path in (
            write(tmp_path / "t.csv", csv_text(listed)),
            write(tmp_path / "t.tsv.gz", csv_text(listed, "\t")),
            write(tmp_path / "t.jsonl", json_lines(*listed)),
        )
    )
    assert [source.text for source in of_csv] == ["One.", "Two."]
    assert [source.text for source in of_tsv] == ["One.", "Two."]
    assert [source.text for source in of_json] == ['["One.", "Two."]']


def test_a_failed_row_has_its_task_if_that_can_be_read(tmp_path: Path) -> None:
    wrong = {**ROW, "answer": " "}
    rows = json_lines(wrong, {**wrong, "id": "b", "task": ["QA"]}, b"{bad")
    found = list(read_labelled(write(tmp_path / "t.jsonl", rows)))
    assert [row.task for row in found if isinstance(row, FailedRow)] == ["QA", "", ""]


def test_parquet_is_read_as_well(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    rows = [{**row, "sources": ["One.", "Two."], "label": None} for row in numbered(600)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=100)
    found = answers(read_labelled(path))
    assert ids(found) == [str(i) for i in range(1, 601)]
    assert [source.text for source in found[0].answer.example.sources] == ["One.", "Two."]
    assert [mark.kind for mark in found[0].answer.spans] == ["Evident Conflict"]
    assert count_rows(path) == 600


def test_a_row_of_parquet_that_is_no_text_is_told(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    raw = pyarrow.array([b"Good.", b"B\xe9.", b"Good too."]).view(pyarrow.string())
    table = pyarrow.table({"answer": raw, "context": ["A.", "B.", "C."]})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = list(read_labelled(tmp_path / "t.parquet"))
    assert problems(iter(found)).keys() == {2}
    assert "it is not UTF-8" in problems(iter(found))[2]


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = write(tmp_path / "t.parquet", b"PAR1 not really")
    with pytest.raises(DatasetError, match="it is no Parquet file"):
        list(read_labelled(path))


@pytest.mark.merge
def test_without_pyarrow_a_message_names_the_extra(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", b"PAR1")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path\n"
        "from groundwire.evaluation.datasets.files import read_labelled\n"
        f"try: list(read_labelled(Path({str(tmp_path)!r})))\n"
        "except ImportError as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(MissingExtraError.__name__)
    assert "pip install '.[eval]'" in done.stdout


BAD = {
    "no JSON": (b"{bad", "not JSON: Expecting property name"),
    "no object": ([1], "The row is a JSON array"),
    "NaN": (b'{"id": NaN}', "NaN is not valid JSON. Write null"),
    "latin-1": (b'{"answer": "caf\xe9"}', "not UTF-8"),
    "no answer": ({"context": "A."}, "there is no column 'answer' or 'response' or 'output'"),
    "no sources": (
        {"answer": "A.", "src": "B."},
        "Columns here: 'answer', 'src'. Did you mean 'src'?",
    ),
    "empty answer": ({**ROW, "answer": " "}, "nothing to check"),
    "answer is null": ({**ROW, "answer": None}, "the answer is a JSON null and must be a text"),
    "half a surrogate pair": ({**ROW, "answer": "\ud800"}, "the lone surrogate U+D800"),
    "half a pair in the id": ({**ROW, "id": "\ud800"}, "The id is not valid text"),
    "id is a list": ({**ROW, "id": [1]}, "the id is a JSON array and must be a text or a number"),
    "question is a number": (
        {**ROW, "question": 7},
        "the question is a JSON number and must be a text",
    ),
    "sources is a number": ({**ROW, "context": 7}, "they are a single int"),
    "a source is a number": ({**ROW, "context": [7]}, "its type is int"),
    "span past the end": (
        {**ROW, "spans": [{"start": 0, "end": 99}]},
        "the span 0-99 does not lie in the answer, which has 18 characters",
    ),
    "span of thousands of digits": (
        {**ROW, "spans": [{"start": 0, "end": 10**400}]},
        "the span 0-… does not lie",
    ),
    "empty span": ({**ROW, "spans": [{"start": 3, "end": 3}]}, "the span 3-3"),
    "span of bytes": (
        {**ROW, "spans": [{"start": 0, "end": 2, "text": "Xy"}]},
        "the span 0-2 is 'It' in the answer and not 'Xy': do its offsets count characters?",
    ),
    "span without end": ({**ROW, "spans": [{"start": 3}]}, "no whole numbers"),
    "span is a text": ({**ROW, "spans": ["1950"]}, "a span is neither an object"),
    "spans are an object": ({**ROW, "spans": {"start": 1}}, "the spans are a JSON object"),
    "spans as Python": ({**ROW, "spans": "[{'start': 1}]"}, "a text that is no JSON"),
    "unknown label": (
        {"context": "A.", "answer": "B.", "label": "maybe"},
        "the label 'maybe' is none of",
    ),
}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("t.jsonl", '{"a": 1}'.encode("utf-32"), "it is UTF-32 and must be UTF-8. Convert it"),
        ("t.jsonl", '{"a": 1}'.encode("utf-16-be"), "iconv -f UTF-16BE -t UTF-8"),
        ("t.csv", "answer,label".encode("utf-16-le"), "iconv -f UTF-16LE -t UTF-8"),
        ("t.jsonl", b'{\n  "answer": "A."\n}\n', "one JSON object, and read is an object a line"),
        ("t.xlsx", b"PK\x03\x04\x14\0", "a document or workbook"),
        ("t.csv", b"PK\x03\x04\x14\0", "Save it as text or CSV"),
        ("t.parquet.gz", b"PAR1", "never with gzip. Unpack it first"),
    ],
)
def test_a_file_of_another_kind_says_how_it_becomes_one_of_ours(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    with pytest.raises(DatasetError) as caught:
        list(read_labelled(write(tmp_path / name, content)))
    assert problem in str(caught.value)
    assert "Repair it" not in str(caught.value)


def test_a_pipe_is_refused_for_data_are_read_more_than_once(tmp_path: Path) -> None:
    pipe = tmp_path / "t.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(DatasetError, match="Write what it gives to a file"):
        list(read_labelled(pipe))


@pytest.mark.parametrize(("row", "problem"), BAD.values(), ids=BAD)
def test_a_bad_row_is_told_with_its_place_and_the_others_are_read(
    tmp_path: Path, row: object, problem: str
) -> None:
    path = write(
        tmp_path / "t.jsonl", json_lines({**ROW, "id": "first"}, row, {**ROW, "id": "last"})
    )
    before, failed, after = read_labelled(path)
    assert isinstance(failed, FailedRow)
    assert problem in failed.problem
    assert (failed.row, failed.place) == (2, f"{path}:2")
    assert ids([before, after]) == ["first", "last"]
    assert not isinstance(before, FailedRow)


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
@pytest.mark.parametrize("field", ["task", "id"])
def test_a_named_column_that_no_row_has_fails_each_row(
    tmp_path: Path, name: str, field: str
) -> None:
    table = numbered(2)
    path = write(tmp_path / name, csv_text(table) if name == "t.csv" else json_lines(*table))
    first, second = read_labelled(path, ColumnMapping.of([f"{field}=typo"]))
    assert isinstance(first, FailedRow)
    assert isinstance(second, FailedRow)
    assert f"there is no column 'typo' for the {field}" in first.problem
    assert first.place == f"{path}:{2 if name == 't.csv' else 1}"


def test_an_object_without_a_named_key_that_others_have_has_nothing_there(tmp_path: Path) -> None:
    told = {"context": "A.", "answer": "B.", "verdict": 1, "kind": "law"}
    silent = {"context": "A.", "answer": "C."}
    path = write(tmp_path / "t.jsonl", json_lines(silent, b"{bad", told))
    columns = ColumnMapping.of(["label=verdict", "task=kind"])
    first, _, last = read_labelled(path, columns)
    assert isinstance(first, NumberedAnswer)
    assert isinstance(last, NumberedAnswer)
    assert (first.answer.known, first.answer.task) == (Known.NOTHING, "")
    assert (last.answer.is_hallucinated, last.answer.task) == (True, "law")


def test_an_object_without_a_named_key_for_its_answer_or_sources_fails(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl", json_lines({"doc": "A.", "text": "B."}, {"doc": "A."}, {"text": "B."})
    )
    found = problems(read_labelled(path, ColumnMapping.of(["sources=doc", "answer=text"])))
    assert found.keys() == {2, 3}
    assert "there is no column 'text' for the answer" in found[2]
    assert "there is no column 'doc' for the sources" in found[3]


def test_spans_may_overlap(tmp_path: Path) -> None:
    marks = [{"start": 0, "end": 9}, {"start": 3, "end": 12}]
    path = write(tmp_path / "t.jsonl", json_lines({**ROW, "spans": marks}))
    (row,) = answers(read_labelled(path))
    assert len(row.answer.spans) == 2


def test_an_id_that_comes_twice_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", json_lines(ROW, {**ROW, "id": "b"}, ROW))
    assert problems(read_labelled(path)) == {3: "the id 'a' is there for the second time"}


def test_a_row_that_fails_keeps_its_id(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", json_lines({**ROW, "id": "x", "answer": ""}))
    (failed,) = read_labelled(path)
    assert ids([failed]) == ["x"]


# CSV.


def test_fields_of_a_csv_have_quotes_and_line_ends_in_them(tmp_path: Path) -> None:
    rows = [
        {"context": 'He said "no",\nand left.', "answer": 'A\r\n"b", c', "label": "1"},
        {"context": "B", "answer": "plain", "label": "0"},
    ]
    found = answers(read_labelled(write(tmp_path / "t.csv", csv_text(rows))))
    assert found[0].answer.example.answer == 'A\r\n"b", c'
    assert found[0].answer.example.sources[0].text == 'He said "no",\nand left.'
    assert [row.answer.is_hallucinated for row in found] == [True, False]


def test_a_csv_tells_the_line_where_a_row_begins(tmp_path: Path) -> None:
    text = 'context,answer\n"two\nlines",fine\n"x\ny",\nA,B\n'
    first, second, third = read_labelled(write(tmp_path / "t.csv", text))
    assert isinstance(second, FailedRow)
    assert second.place.endswith("t.csv:4")
    assert not isinstance(first, FailedRow)
    assert not isinstance(third, FailedRow)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"only one", "it has 1 fields, and the first row names 2 columns"),
        (b"a,b,c", "it has 3 fields, and the first row names 2 columns"),
    ],
)
def test_a_bad_row_of_a_csv_is_told_and_the_others_are_read(
    tmp_path: Path, line: bytes, problem: str
) -> None:
    path = write(tmp_path / "t.csv", b"context,answer\nA,B\n" + line + b"\nC,D\n")
    found = problems(read_labelled(path))
    assert found.keys() == {2}
    assert problem in found[2]
    assert len(list(read_labelled(path))) == 3


OPEN = {
    "to the end": ('2,"A,B', "t.csv:3: .*unexpected end of data in line 13"),
    "to the next quote": ('2,"A,B\n3,A,"B, C"', "t.csv:3: .*',' expected after '\"' in line 4"),
    "within a field": ('2,"A"B,C', "t.csv:3: .*in line 3"),
}


@pytest.mark.parametrize(("bad", "problem"), OPEN.values(), ids=OPEN)
def test_a_quote_that_is_not_closed_is_told_before_any_row_is_read(
    tmp_path: Path, bad: str, problem: str
) -> None:
    n_bad = len(bad.splitlines())
    good = "".join(f"{i},A,B\n" for i in range(2 + n_bad, 13))
    path = write(tmp_path / "t.csv", f"id,context,answer\n1,A,B\n{bad}\n{good}")
    with pytest.raises(DatasetError, match=problem):
        next(iter(read_labelled(path)))


def test_a_quote_that_is_closed_further_down_makes_one_row_which_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'context,answer\nA,"B\nC,D",E\nF,G\n')
    found = problems(read_labelled(path))
    assert found.keys() == {1}
    assert "names 2 columns; by its quotes it takes the lines 2 to 3" in found[1]


def test_names_of_columns_with_a_quote_that_is_not_closed_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'context,"answer\nA,B\n')
    with pytest.raises(DatasetError, match=r"t\.csv:1: the row that begins here is no CSV"):
        list(read_labelled(path))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"answer,context,answer\nA,B,C\n", "two columns have the name 'answer'"),
        ("context,answer\nA,B\n".encode("utf-16"), "UTF-16 and must be UTF-8.*-f UTF-16"),
        ("context,réponse\nA,B\n".encode("latin-1"), "header is not UTF-8.*iconv -f WINDOWS-1252"),
        ("context,answer\nA,B\nA,é\n".encode("latin-1"), "row 2 is not UTF-8.*-f WINDOWS-1252"),
    ],
)
def test_a_csv_that_cannot_be_read_right_is_refused(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    with pytest.raises(DatasetError, match=problem):
        list(read_labelled(write(tmp_path / "t.csv", content)))


# Files and folders.


def test_a_file_cut_short_is_told_where_it_breaks_off(tmp_path: Path) -> None:
    lines = json_lines(*numbered(500))
    for name, content in (("t.jsonl.gz", lines), ("t.csv.gz", csv_text(numbered(500)).encode())):
        path = tmp_path / name
        packed = gzip.compress(content)
        path.write_bytes(packed[: len(packed) // 2])
        found = list(read_labelled(path))
        assert 1 < len(found) < 500
        assert not any(isinstance(row, FailedRow) for row in found[:-1])
        (problem,) = problems(iter(found)).values()
        assert "breaks off" in problem


def test_a_folder_is_one_table_in_the_order_of_names(tmp_path: Path) -> None:
    rows = numbered(4)
    write(tmp_path / "b.csv", csv_text(rows[2:]))
    write(tmp_path / "a.jsonl.gz", json_lines(*rows[:2]))
    write(tmp_path / "README.md", "Not a table.")
    assert [path.name for path in files_of(tmp_path)] == ["a.jsonl.gz", "b.csv"]
    found = answers(read_labelled(tmp_path))
    assert [row.row for row in found] == [1, 2, 3, 4]
    assert ids(found) == ["1", "2", "3", "4"]
    assert set(fingerprints(tmp_path)) == {"a.jsonl.gz", "b.csv"}
    assert count_rows(tmp_path) == 4


def test_utf_16_is_refused_as_a_whole_with_the_way_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", json_lines(*numbered(3)).decode().encode("utf-16"))
    with pytest.raises(DatasetError, match=r"it is UTF-16.*iconv -f UTF-16 -t UTF-8"):
        list(read_labelled(path))


BROKEN = {
    "b.parquet": (b"PAR1 not really", "it is no Parquet file"),
    "b.json": (b"[\n{}\n", "a JSON array and is none"),
    "b.csv": (b"answer,answer\nA,B\n", "two columns have the name 'answer'"),
    "b.jsonl": ("{}\n".encode("utf-16"), "it is UTF-16"),
    "b.ndjson": (b"\n", "it has no rows"),
    "b.tsv": (b"answer\tcontext\n", "it has no rows"),
    "b.jsonl.gz": (b"", "it has no rows"),
}


@pytest.mark.parametrize(("name", "content", "problem"), [(n, *b) for n, b in BROKEN.items()])
def test_a_file_of_a_folder_that_cannot_be_read_is_a_failed_row(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    rows = numbered(4)
    write(tmp_path / "a.jsonl", json_lines(*rows[:2]))
    write(tmp_path / name, content)
    write(tmp_path / "c.jsonl", json_lines(*rows[2:]))
    found = list(read_labelled(tmp_path))
    assert ids(found) == ["1", "2", "3", "3", "4"]
    (failed,) = [row for row in found if isinstance(row, FailedRow)]
    assert (failed.row, failed.place) == (3, str(tmp_path / name))
    assert problem in failed.problem


def test_a_folder_of_which_no_file_can_be_read_is_refused(tmp_path: Path) -> None:
    for name in ("b.json", "b.csv", "b.jsonl"):
        write(tmp_path / name, BROKEN[name][0])
    with pytest.raises(DatasetError, match=r"b\.csv:1: two columns"):
        list(read_labelled(tmp_path))


def test_a_folder_of_empty_files_is_refused(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, b"")
    with pytest.raises(DatasetError, match="it has no rows"):
        list(read_labelled(tmp_path))


def test_an_id_that_comes_twice_in_a_folder_is_told(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, json_lines(ROW))
    assert problems(read_labelled(tmp_path)).keys() == {2}


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.jsonl.gz"])
@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_a_table_without_rows_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(DatasetError, match="it has no rows"):
        list(read_labelled(write(tmp_path / name, content)))


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"no file that ends in \.jsonl"):
        list(read_labelled(tmp_path))


def test_a_json_array_is_read_row_by_row(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", json.dumps([ROW, 7, {**ROW, "id": "b"}], indent=1))
    found = list(read_labelled(path))
    assert [row.row for row in found if not isinstance(row, FailedRow)] == [1, 3]
    assert "The row is a JSON number" in problems(iter(found))[2]


def test_a_broken_json_array_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", "[\n{}\n")
    with pytest.raises(DatasetError, match="it begins as a JSON array and is none"):
        list(read_labelled(path))


def test_the_fingerprint_of_a_row_is_that_of_what_is_read_of_it(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", json_lines({"context": "A.", "answer": "B.", "label": 1}))

    def digest(mapping: ColumnMapping) -> str:
        (row,) = read_labelled(path, mapping)
        return row.sha256

    assert digest(ColumnMapping()) == digest(ColumnMapping())
    assert digest(ColumnMapping()) != digest(ColumnMapping(label_means="supported"))
    assert digest(ColumnMapping()) != digest(ColumnMapping(columns={"question": "q"}))
