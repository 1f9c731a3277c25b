"""``groundwire check --batch``: no row ends the run, no result is lost."""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from groundwire.cli.batch import InputRow, judge_rows
from groundwire.cli.detectors import DetectorChoice
from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.example import Example
from groundwire.detection.values import Detection
from groundwire.errors import GroundwireError, UnknownModelError
from groundwire.text.files.reading import count_lines
from tests.cli.conftest import CommandLine
from tests.fakes import FIXED, FixedDetector

GOOD: dict[str, Any] = {"sources": ["Paris."], "answer": "Paris."}
WRONG = {"sources": ["Paris."], "answer": "In 1950."}
UNVERIFIED: dict[str, Any] = {"sources": [], "answer": "Paris."}
BROKEN = {"sources": ["Paris."], "answer": "BOOM"}


def lines(*items: object) -> bytes:
    return b"".join(
        (item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n" for item in items
    )


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    return tmp_path / "in.jsonl"


def results(text: str | bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def summary(results: Iterable[dict[str, Any]]) -> list[tuple[int, str]]:
    return [
        (each["row"], each["error"]["type"] if "error" in each else each["outcome"])
        for each in results
    ]


# Rows


def test_each_row_gets_one_result_in_order(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines({"id": "a", **GOOD}, {"id": 7, **WRONG}, UNVERIFIED))
    result = run("check", "--batch", batch)
    found = results(result.stdout)
    assert [(each["row"], each.get("id"), each["outcome"]) for each in found] == [
        (1, "a", "grounded"),
        (2, 7, "hallucinated"),
        (3, None, "unverified"),
    ]
    assert "id" not in found[2]


def test_a_result_has_the_question_and_an_id_in_capitals_too(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines({"ID": "a", "question": "Where?", **GOOD}, GOOD))
    found = results(run("check", "--batch", batch).stdout)
    assert [(each.get("id"), each["question"]) for each in found] == [("a", "Where?"), (None, None)]


def test_a_result_is_a_detection_with_the_name_of_its_row(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines({"id": "a", **WRONG}))
    (found,) = results(run("check", "--batch", batch).stdout)
    del found["row"], found["id"], found["input_sha256"], found["question"], found["answer"]
    path = resources.files("groundwire").joinpath("detection/schemas/detection.schema.json")
    Draft202012Validator(json.loads(path.read_text("utf-8"))).validate(found)


@pytest.mark.parametrize(
    ("row", "texts"),
    [
        ({"sources": ["A", {"text": "B", "id": "b"}]}, [("S0", "A"), ("b", "B")]),
        ({"sources": "A"}, [("S0", "A")]),
        ({"source": "A"}, [("S0", "A")]),
        ({"retrieved_contexts": ["A"]}, [("S0", "A")]),
        ({"documents": [{"page_content": "A", "metadata": {"page": 3}}]}, [("S0", "A")]),
        ({"source": {"text": "A", "title": "T"}}, [("S0", "A")]),
        ({"context": "A"}, [("S0", "A")]),
        ({"context": ["A", "B"]}, [("S0", "A"), ("S1", "B")]),
        ({"sources": ["A"], "source": "where it is from"}, [("S0", "A")]),
    ],
)
def test_sources_may_be_given_in_several_ways(
    run: CommandLine, batch: Path, row: dict[str, Any], texts: list[tuple[str, str]]
) -> None:
    batch.write_bytes(lines({**row, "answer": "In 1950.", "unknown key": 1}))
    (found,) = results(run("check", "--batch", batch).stdout)
    assert [(each["source_id"], each["text"]) for each in found["spans"][0]["evidence"]] == texts


BAD = {
    "malformed": (b"{bad", "RowError", "not JSON: Expecting property name"),
    "cut": (b'{"answer": "a', "RowError", "not JSON"),
    "no object": (b"[1]", "RowError", "The row is a JSON array"),
    "null": (b"null", "RowError", "The row is a JSON null"),
    "NaN": (b'{"id": NaN, "sources": [], "answer": "a"}', "RowError", "NaN is not valid JSON"),
    "nested too deep": (b"[" * 100_000, "RowError", "not JSON"),
    "number too long": (b'{"id": ' + b"9" * 5000 + b"}", "RowError", "not JSON"),
    "invalid UTF-8": (b'{"answer": "\xff"}', "RowError", "The row is not UTF-8 text"),
    "no answer": (
        {"sources": [], "anwser": "a"},
        "MissingColumnError",
        "Columns here: 'sources', 'anwser'. Did you mean 'anwser'? Name it with --column answer=",
    ),
    "empty answer": ({"sources": [], "answer": " "}, "EmptyAnswerError", "nothing to check"),
    "answer is a number": ({"sources": [], "answer": 1}, "RowError", "the answer is a JSON number"),
    "answer is null": ({"sources": [], "answer": None}, "RowError", "the answer is a JSON null"),
    "no sources": (
        {"answer": "a", "src": "b"},
        "MissingColumnError",
        "Columns here: 'answer', 'src'.",
    ),
    "a source is a number": (
        {"sources": [1], "answer": "a"},
        "InvalidSourceError",
        "its type is int",
    ),
    "question is a list": (
        {"question": ["q"], "sources": [], "answer": "a"},
        "RowError",
        "the question is a JSON array and must be a text",
    ),
    "id is a list": (
        {"id": [], "sources": [], "answer": "a"},
        "RowError",
        "The id is a JSON array",
    ),
    "half a surrogate pair": (
        b'{"sources": [], "answer": "\\ud800"}',
        "InvalidTextError",
        "the lone surrogate U+D800",
    ),
    "the check fails": (BROKEN, "DetectionError", "The detector failed"),
}


def test_an_id_may_be_above_all_floating_point_numbers(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines({**GOOD, "id": 10**400}))
    assert [each["id"] for each in results(run("check", "--batch", batch).stdout)] == [10**400]


@pytest.mark.parametrize(("row", "kind", "message"), BAD.values(), ids=BAD)
def test_a_bad_row_is_an_error_in_its_place(
    run: CommandLine, batch: Path, row: object, kind: str, message: str
) -> None:
    batch.write_bytes(lines(GOOD, row, WRONG))
    result = run("check", "--batch", batch)
    found = results(result.stdout)
    assert summary(found) == [(1, "grounded"), (2, kind), (3, "hallucinated")]
    assert message in found[1]["error"]["message"]
    assert result.exit_code == 2


def test_an_error_keeps_the_id_of_its_row(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines({"id": "a", "sources": [], "answer": ""}))
    (found,) = results(run("check", "--batch", batch).stdout)
    assert (found["row"], found["id"]) == (1, "a")


def test_blank_lines_count_as_lines_and_are_no_rows(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(b"\n" + lines(GOOD) + b"  \r\n" + lines(WRONG).rstrip())
    found = results(run("check", "--batch", batch).stdout)
    assert [(each["row"], each["line"]) for each in found] == [(1, 2), (2, 4)]


def test_rows_of_csv_are_counted_without_the_header_and_named_with_their_line(
    run: CommandLine, tmp_path: Path
) -> None:
    table = tmp_path / "answers.csv"
    table.write_text('sources,answer\nParis.,"It was\n\nin 1950."\nParis.,Paris.\nParis.,\n')
    result = run("check", "--batch", table)
    found = results(result.stdout)
    assert [(each["row"], each["line"]) for each in found] == [(1, 2), (2, 5), (3, 6)]
    assert found[0]["answer"] == "It was\n\nin 1950."
    assert "First error: row 3 (line 6): " in result.stderr


def test_csv_in_another_encoding_is_refused_before_a_row_is_checked(
    run: CommandLine, tmp_path: Path
) -> None:
    table = tmp_path / "answers.csv"
    table.write_text("sources,answer\nParis.,Paris.\nParis.,Café.\n", "cp1252")
    result = run("check", "--batch", table)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"error: {table}:3: row 2 is not UTF-8" in result.stderr
    assert (
        "Save it as CSV UTF-8. Convert it first, for instance: iconv -f WINDOWS-1252 -t UTF-8"
        in result.stderr
    )


def test_a_byte_order_mark_is_no_part_of_the_first_row(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(b"\xef\xbb\xbf" + lines(GOOD))
    assert summary(results(run("check", "--batch", batch).stdout)) == [(1, "grounded")]


def test_line_separators_inside_texts_end_no_line(run: CommandLine, batch: Path) -> None:
    answer = "In\u2028\x85 1950."
    batch.write_text(
        json.dumps({"sources": ["A"], "answer": answer}, ensure_ascii=False) + "\n", "utf-8"
    )
    result = run("check", "--batch", batch)
    (found,) = results(result.stdout)
    assert found["claims"][0]["text"] == answer


def test_lines_may_be_long(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines({"sources": ["long " * 10**6], "answer": "In 1950."}, GOOD))
    assert summary(results(run("check", "--batch", batch).stdout)) == [
        (1, "hallucinated"),
        (2, "grounded"),
    ]


@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"", mtime=0)])
@pytest.mark.parametrize("option", ["--force", "--resume"])
def test_a_file_without_rows_is_an_error_and_leaves_the_output_alone(
    run: CommandLine, batch: Path, tmp_path: Path, content: bytes, option: str
) -> None:
    batch.write_bytes(content)
    result = run("check", "--batch", batch)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {batch} has no rows.")
    output = tmp_path / "out.jsonl"
    assert run("check", "--batch", batch, "--output", output, option).exit_code == 2
    assert not output.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("in.csv", 'reply,docs\nParis.,"[""Paris."", ""Lyon.""]"\nIn 1950.,Paris.\n'),
        ("in.csv", "reply,docs\nParis.,\"['Paris.', 'Lyon.']\"\nIn 1950.,Paris.\n"),
        ("in.csv", "reply;docs\nParis.;Paris.\nIn 1950.;Paris.\n"),
        ("in.csv", "Answer,Source\nParis.,Paris.\nIn 1950.,Paris.\n"),
        ("in.tsv", "reply\tdocs\nParis.\tParis.\nIn 1950.\tParis.\n"),
        (
            "in.json",
            '[{"reply": "Paris.", "docs": ["Paris."]},\n{"reply": "In 1950.", "docs": []}]',
        ),
    ],
)
def test_a_table_of_any_format_is_a_batch_and_its_columns_can_be_named(
    run: CommandLine, tmp_path: Path, name: str, content: str
) -> None:
    batch, output = tmp_path / name, tmp_path / "out.jsonl"
    batch.write_text(content)
    columns = ("--column", "answer=reply", "--column", "sources=docs") if "reply" in content else ()
    result = run("check", "--batch", batch, *columns, "--output", output)
    assert result.exit_code == 1, result.stderr
    assert [each["claims"][0]["text"] for each in read_output(output)] == ["Paris.", "In 1950."]
    again = run("check", "--batch", batch, *columns, "--output", output, "--resume")
    assert "0 rows after the 2 there were" in again.stderr


def test_a_column_of_a_batch_that_is_no_field_is_told_with_the_closest(
    run: CommandLine, batch: Path
) -> None:
    batch.write_bytes(lines(GOOD))
    result = run("check", "--batch", batch, "--column", "anwser=reply")
    assert result.exit_code == 2
    assert "(answer is closest)" in result.stderr


def test_standard_input_without_rows_is_named(run: CommandLine) -> None:
    assert "error: Standard input has no rows." in run("check", "--batch", "-", stdin="").stderr


# Exit status and summary


@pytest.mark.parametrize(
    ("items", "status"),
    [
        ([GOOD], 0),
        ([GOOD, WRONG], 1),
        ([UNVERIFIED, GOOD], 1),
        ([WRONG, BROKEN, GOOD], 2),
    ],
)
def test_the_exit_status_is_that_of_the_worst_row(
    run: CommandLine, batch: Path, items: list[object], status: int
) -> None:
    batch.write_bytes(lines(*items))
    assert run("check", "--batch", batch).exit_code == status


def test_the_summary_counts_outcomes(run: CommandLine, batch: Path, tmp_path: Path) -> None:
    batch.write_bytes(lines(GOOD, WRONG, WRONG, UNVERIFIED, BROKEN))
    result = run("check", "--batch", batch, "--output", tmp_path / "out.jsonl")
    assert result.stdout == ""
    assert result.stderr.startswith("5 rows in ")
    assert "rows/s): 2 hallucinated, 1 unverified, 1 grounded, 1 with errors\n" in result.stderr
    assert "\nFirst error: row 5: The detector failed" in result.stderr
    assert result.stderr.endswith(f"Results: {tmp_path / 'out.jsonl'}\n")


# Streaming


def test_rows_are_not_all_read_before_the_first_is_checked(
    run_with: Callable[[AnyDetector], CommandLine], tmp_path: Path
) -> None:
    n_read = 0

    def rows() -> Iterator[InputRow]:
        nonlocal n_read
        for n_read in range(1, 1001):
            content = Example.of(sources=["Paris."], answer="Paris.")
            yield InputRow(number=n_read, line=n_read, sha256="", content=content)

    judged = judge_rows(FixedDetector(), rows())
    assert next(judged)[0].number == 1
    assert n_read < 10


@dataclass(frozen=True, kw_only=True)
class Interrupted(FixedDetector):
    """Judges some examples; then the user presses Ctrl-C."""

    after: int

    def detect_batch(self, examples: Iterable[Example]) -> Iterator[Detection | GroundwireError]:
        for number, detection in enumerate(super().detect_batch(examples)):
            if number == self.after:
                raise KeyboardInterrupt
            yield detection


def test_an_interrupted_run_keeps_its_rows_and_goes_on(
    run: CommandLine,
    run_with: Callable[[AnyDetector], CommandLine],
    batch: Path,
    output: Path,
) -> None:
    batch.write_bytes(lines(GOOD, b"{bad", WRONG, GOOD, GOOD))
    result = run_with(Interrupted(after=2, contradicted=["1950"]))(
        "check", "--batch", batch, "--output", output
    )
    assert result.exit_code == 130
    assert "Stopped after 3 rows. --resume continues." in result.stderr
    assert "Traceback" not in result.stderr
    result = run("check", "--batch", batch, "--output", output, "--resume")
    assert "2 rows after the 3 there were in" in result.stderr
    assert "1 hallucinated, 3 grounded, 1 with errors" in result.stderr
    assert result.exit_code == 2  # of all rows, not only of those of the second run
    assert summary(read_output(output)) == [
        (1, "grounded"),
        (2, "RowError"),
        (3, "hallucinated"),
        (4, "grounded"),
        (5, "grounded"),
    ]


# Files


def read_output(path: Path) -> list[dict[str, Any]]:
    return results(path.read_bytes())


@pytest.mark.parametrize("name", ["in.jsonl.gz", "in.jsonl", "in"])
def test_packed_input_is_told_by_its_first_bytes(
    run: CommandLine, tmp_path: Path, name: str
) -> None:
    batch = tmp_path / name
    batch.write_bytes(gzip.compress(lines(GOOD)) + gzip.compress(lines(WRONG)))
    found = results(run("check", "--batch", batch).stdout)
    assert summary(found) == [(1, "grounded"), (2, "hallucinated")]


def test_plain_input_may_be_named_gz(run: CommandLine, tmp_path: Path) -> None:
    batch = tmp_path / "in.gz"
    batch.write_bytes(lines(GOOD))
    assert summary(results(run("check", "--batch", batch).stdout)) == [(1, "grounded")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_batch_may_come_from_standard_input(
    run: CommandLine, pack: Callable[[bytes], bytes]
) -> None:
    result = run("check", "--batch", "-", stdin=pack(lines(GOOD, WRONG)))
    assert summary(results(result.stdout)) == [(1, "grounded"), (2, "hallucinated")]


def test_rows_before_damage_are_checked_and_the_damage_is_told(
    run: CommandLine, batch: Path
) -> None:
    batch.write_bytes(gzip.compress(lines(GOOD, WRONG)) + gzip.compress(lines(GOOD))[:-9])
    result = run("check", "--batch", batch)
    assert summary(results(result.stdout))[:2] == [(1, "grounded"), (2, "hallucinated")]
    assert f"error: {batch} is damaged after line" in result.stderr
    assert result.exit_code == 2


def test_packed_output_is_refused(run: CommandLine, batch: Path, tmp_path: Path) -> None:
    batch.write_bytes(lines(GOOD))
    result = run("check", "--batch", batch, "--output", tmp_path / "out.jsonl.gz")
    assert result.exit_code == 2
    assert "--output is JSON Lines, not packed" in result.stderr


def test_results_are_not_overwritten_unasked(run: CommandLine, batch: Path, tmp_path: Path) -> None:
    batch.write_bytes(lines(GOOD))
    output = tmp_path / "out.jsonl"
    output.write_text("precious")
    result = run("check", "--batch", batch, "--output", output)
    assert result.exit_code == 2
    assert f"error: {output} exists. Continue it with --resume" in result.stderr
    assert output.read_text() == "precious"
    assert run.choice is None
    assert run("check", "--batch", batch, "--output", output, "--force").exit_code == 0
    assert summary(read_output(output)) == [(1, "grounded")]


def test_a_detector_that_cannot_be_loaded_leaves_no_output(
    run: CommandLine, batch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(choice: DetectorChoice) -> AnyDetector:
        raise UnknownModelError(str(choice.model), ["reader"])

    monkeypatch.setattr(run, "_load", refuse)
    batch.write_bytes(lines(GOOD))
    result = run("check", "--batch", batch, "--output", tmp_path / "out", "--detector", "x")
    assert result.exit_code == 2
    assert "There is no model 'x'" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--resume"], "--resume and --force concern the file of --output: name it."),
        (["--output", "x", "--resume", "--force"], "--resume continues the output and --force"),
        (["--answer", "a"], "--answer cannot be used with --batch: rows have texts"),
        (["--source-file", __file__], "--source-file cannot be used with --batch: rows have"),
        (["--html", "x"], "groundwire report makes a page of an --output."),
    ],
)
def test_wrong_usage_is_explained(
    run: CommandLine, batch: Path, args: list[str], message: str
) -> None:
    batch.write_bytes(lines(GOOD))
    result = run("check", "--batch", batch, *args)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_the_input_is_never_the_output(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines(GOOD))
    result = run("check", "--batch", batch, "--output", batch, "--force")
    assert "The input and --output are the same file." in result.stderr
    assert batch.read_bytes() == lines(GOOD)


# Resuming


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_a_cut_output_is_completed_wherever_it_was_cut(
    run: CommandLine, batch: Path, output: Path
) -> None:
    batch.write_bytes(lines(GOOD, b"{bad", WRONG))
    run("check", "--batch", batch, "--output", output)
    whole, wanted = output.read_bytes(), summary(read_output(output))
    for n_bytes in range(0, len(whole) + 1, 31):
        output.write_bytes(whole[:n_bytes])
        result = run("check", "--batch", batch, "--output", output, "--resume")
        assert result.exit_code == 2, result.stderr
        assert summary(read_output(output)) == wanted


def test_resuming_what_is_complete_adds_nothing(
    run: CommandLine, batch: Path, output: Path
) -> None:
    batch.write_bytes(lines(GOOD, WRONG))
    run("check", "--batch", batch, "--output", output)
    before = read_output(output)
    result = run("check", "--batch", batch, "--output", output, "--resume")
    assert (read_output(output), result.exit_code) == (before, 1)


def test_resuming_without_an_output_starts_one(run: CommandLine, batch: Path, output: Path) -> None:
    batch.write_bytes(lines(GOOD))
    assert run("check", "--batch", batch, "--output", output, "--resume").exit_code == 0
    assert summary(read_output(output)) == [(1, "grounded")]


def test_rows_added_to_the_input_are_checked(run: CommandLine, batch: Path, output: Path) -> None:
    batch.write_bytes(lines(GOOD))
    run("check", "--batch", batch, "--output", output)
    batch.write_bytes(lines(GOOD, WRONG))
    run("check", "--batch", batch, "--output", output, "--resume")
    assert summary(read_output(output)) == [(1, "grounded"), (2, "hallucinated")]


@pytest.mark.parametrize(
    "content",
    [
        b"a text",
        b"a text\n",
        b'{"row": "1"}\n',
        b'{"row": 1, "outcome": "fine"}\n',
        b'{"outcome": 1}\n[]\n',
    ],
)
def test_a_file_that_holds_no_results_is_not_continued(
    run: CommandLine, batch: Path, output: Path, content: bytes
) -> None:
    batch.write_bytes(lines(GOOD))
    output.write_bytes(content)
    result = run("check", "--batch", batch, "--output", output, "--resume")
    assert result.exit_code == 2
    assert f"error: {output}, line 1: this is no result" in result.stderr
    assert output.read_bytes() == content


@pytest.mark.parametrize(
    "other",
    [
        [],
        [GOOD, UNVERIFIED],
        [GOOD, UNVERIFIED, WRONG | {"id": "a"}, GOOD],
        [UNVERIFIED, GOOD, WRONG],
    ],
)
def test_results_of_another_input_are_not_continued(
    run: CommandLine, batch: Path, output: Path, other: list[object]
) -> None:
    batch.write_bytes(lines(GOOD, UNVERIFIED, WRONG))
    run("check", "--batch", batch, "--output", output)
    before = output.read_bytes()
    batch.write_bytes(lines(*other))
    result = run("check", "--batch", batch, "--output", output, "--resume")
    assert result.exit_code == 2
    assert "these results belong to another input" in result.stderr
    assert output.read_bytes() == before


def test_results_of_another_column_are_not_continued(
    run: CommandLine, batch: Path, output: Path
) -> None:
    rows = [{**GOOD, "bad": "In 1950."}, {**GOOD, "bad": "In 1951."}]
    batch.write_bytes(lines(rows[0]))
    run("check", "--batch", batch, "--output", output)
    batch.write_bytes(lines(*rows))
    result = run(
        "check", "--batch", batch, "--output", output, "--resume", "--column", "answer=bad"
    )
    assert result.exit_code == 2
    assert "these results belong to another input" in result.stderr


def test_a_column_of_ids_that_is_not_there_is_told(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines({"id": "a", **GOOD}))
    result = run("check", "--batch", batch, "--column", "id=idd")
    assert result.exit_code == 2
    assert "'idd'" in result.stderr


def test_a_result_tells_which_row_it_was_made_from(run: CommandLine, batch: Path) -> None:
    row = b'{"sources": [], "answer": "a"}'
    batch.write_bytes(b"  " + row + b"\r\n{bad")
    found = results(run("check", "--batch", batch).stdout)
    wanted = [hashlib.sha256(each).hexdigest()[:16] for each in (row, b"{bad")]
    assert [each["input_sha256"] for each in found] == wanted


def test_line_ends_and_packing_make_no_other_input(
    run: CommandLine, batch: Path, output: Path
) -> None:
    batch.write_bytes(lines(GOOD, WRONG))
    run("check", "--batch", batch, "--output", output)
    batch.write_bytes(gzip.compress(lines(GOOD, WRONG, GOOD).replace(b"\n", b"\r\n")))
    run("check", "--batch", batch, "--output", output, "--resume")
    assert [each["row"] for each in read_output(output)] == [1, 2, 3]


def test_input_that_breaks_off_among_the_rows_that_are_done_is_damaged_and_no_other(
    run: CommandLine, batch: Path, output: Path
) -> None:
    batch.write_bytes(lines(GOOD, WRONG))
    run("check", "--batch", batch, "--output", output)
    batch.write_bytes(gzip.compress(lines(GOOD)) + gzip.compress(lines(WRONG))[:-20])
    result = run("check", "--batch", batch, "--output", output, "--resume")
    assert result.exit_code == 2
    assert "is damaged after line" in result.stderr


def test_results_that_do_not_tell_their_input_are_not_continued(
    run: CommandLine, batch: Path, output: Path
) -> None:
    batch.write_bytes(lines(GOOD))
    output.write_bytes(lines({"row": 1, "outcome": "grounded"}))
    result = run("check", "--batch", batch, "--output", output, "--resume")
    assert result.exit_code == 2
    assert "without input_sha256 nothing tells which input it belongs to" in result.stderr


@pytest.mark.parametrize(
    ("other", "now"),
    [
        ({"name": "org/model"}, "org/model 000000000000, balanced (threshold 0.5)"),
        ({"revision": "1" * 40}, "fixed 111111111111, balanced (threshold 0.5)"),
        (
            {"operating_point": "recall", "threshold": 0.25},
            "fixed 000000000000, recall (threshold 0.25)",
        ),
    ],
)
def test_one_output_never_mixes_detectors_or_thresholds(
    run: CommandLine,
    run_with: Callable[[AnyDetector], CommandLine],
    batch: Path,
    output: Path,
    other: dict[str, Any],
    now: str,
) -> None:
    batch.write_bytes(lines(GOOD, b"{bad"))
    run("check", "--batch", batch, "--output", output)
    before = output.read_bytes()
    batch.write_bytes(lines(GOOD, b"{bad", GOOD))
    another = run_with(FixedDetector(info=replace(FIXED, **other)))
    result = another("check", "--batch", batch, "--output", output, "--resume")
    assert result.exit_code == 2
    assert (
        f"{output} was made by fixed 000000000000, balanced (threshold 0.5), and the detector is "
        f"now {now}: one file would mix them."
    ) in result.stderr
    assert "start over with --force in place of --resume" in result.stderr
    assert output.read_bytes() == before
    assert another("check", "--batch", batch, "--output", output, "--force").exit_code == 2
    assert len(read_output(output)) == 3


def test_a_packed_file_is_not_continued(run: CommandLine, batch: Path, tmp_path: Path) -> None:
    batch.write_bytes(lines(GOOD, GOOD))
    output = tmp_path / "out.jsonl"
    before = gzip.compress(b"")
    output.write_bytes(before)
    result = run("check", "--batch", batch, "--output", output, "--resume")
    assert "it is packed" in result.stderr
    assert output.read_bytes() == before


# Labels


@pytest.mark.parametrize(
    ("column", "options"), [("label", ()), ("spans", ()), ("is_bad", ("--column", "label=is_bad"))]
)
def test_labels_are_not_used_and_that_is_told_once(
    run: CommandLine, batch: Path, column: str, options: tuple[str, ...]
) -> None:
    batch.write_bytes(lines({**GOOD, column: []}, {**GOOD, column: []}))
    result = run("check", "--batch", batch, *options)
    note = (
        f"Note: check does not use labels ({column}). How often the verdicts agree with them: "
        "groundwire evaluate --data FILE\n"
    )
    assert result.stderr.count(note) == 1
    assert "Columns that are not used" not in result.stderr


def test_without_labels_nothing_is_told_of_them(run: CommandLine, batch: Path) -> None:
    batch.write_bytes(lines(GOOD))
    assert "labels" not in run("check", "--batch", batch).stderr


# Progress


def test_without_a_terminal_a_line_now_and_then_tells_how_far_it_is(
    run: CommandLine, batch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.cli.progress.LINE_EVERY_S", 0.0)
    batch.write_bytes(lines(GOOD, GOOD))
    progress = run("check", "--batch", batch).stderr.splitlines()[:-1]
    assert [line.split(",")[0] for line in progress] == ["1 row", "2 rows"]


def test_a_terminal_shows_a_bar(
    run: CommandLine, batch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.cli.batch._is_interactive", lambda files: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    batch.write_bytes(lines(GOOD, b"{bad", GOOD))
    result = run("check", "--batch", batch, "--output", tmp_path / "out.jsonl")
    assert "100%" in result.stderr
    assert "3 rows" in result.stderr


@pytest.mark.parametrize(("content", "n_lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\n\nb", 3)])
def test_lines_are_counted(tmp_path: Path, content: bytes, n_lines: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert count_lines(path) == n_lines
    path.write_bytes(gzip.compress(content))
    assert count_lines(path) == n_lines


def test_lines_of_a_stream_or_a_damaged_file_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"a")[:-1])
    assert count_lines(path) is None
    assert count_lines(Path("-")) is None


def test_columns_that_the_first_row_lacks_are_told_once(run: CommandLine, tmp_path: Path) -> None:
    batch = tmp_path / "in.csv"
    batch.write_text("id,reply,docs\n1,A.,B.\n2,C.,D.\n")
    result = run("check", "--batch", batch)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("Columns here") == 2  # of the answer, and of the sources
    assert "No row was checked" in result.stderr


def test_a_batch_without_a_question_names_the_columns_that_nothing_reads(
    run: CommandLine, tmp_path: Path
) -> None:
    batch = tmp_path / "in.csv"
    batch.write_text("answer,sources,asked\nA.,A.,What?\n")
    assert "asked. If one has the question: --column" in run("check", "--batch", batch).stderr
    mapped = run("check", "--batch", batch, "--column", "question=asked")
    assert "Note" not in mapped.stderr


def test_names_of_files_are_no_sources_of_a_batch(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "policy.txt").write_text("A.")
    batch = tmp_path / "in.csv"
    batch.write_text("answer,sources\nA.,policy.txt\n")
    result = run("check", "--batch", batch)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'policy.txt' is the name of a file" in result.stderr
