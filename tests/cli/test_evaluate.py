"""``groundwire evaluate``: scores of labelled data, however often it is interrupted."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundwire.detection.any_detector import AnyDetector
from groundwire.evaluation.results_file import read_judged
from tests.cli.conftest import CommandLine
from tests.evaluation.datasets.tables import csv_text, json_lines, write
from tests.evaluation.results import lines_of, without_times
from tests.fakes import FIXED, FixedDetector

#: A bound on how long a process may take here; none comes near it.
PATIENCE_S = 120


def row(i: int, answer: str = "In 1950.", **more: object) -> dict[str, Any]:
    """A row; ``1950`` in its answer is flagged."""
    spans = [{"start": 3, "end": 7, "label": "Conflict"}] if "1950" in answer else []
    base = {"id": f"r{i}", "task": "QA", "context_id": f"c{i // 2}", "context": f"Text {i // 2}."}
    return {**base, "question": "When?", "answer": answer, "spans": spans, **more}


def rows(n: int) -> list[dict[str, Any]]:
    """As many right as wrong answers, two to a context."""
    return [row(i, "In 1950." if i % 2 else "In 1889.") for i in range(n)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", json_lines(*rows(8)))


def scores(run: CommandLine, *args: object) -> dict[str, Any]:
    result = run("evaluate", *args, "--json")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_table_is_printed_with_scores_per_task(run: CommandLine, tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", json_lines(*rows(4), *(row(9, task="Summary"),)))
    result = run("evaluate", "--data", path)
    assert result.exit_code == 0, result.stderr
    said, _, rest = result.stdout.partition("\n\n")
    assert said.startswith("Of 5 labelled answers ")
    lines = [line.split() for line in rest.splitlines()]
    assert lines[0] == ["fixed", "000000000000,", "balanced", "(0.5)"]
    assert [line[:2] for line in lines[3:6]] == [["QA", "4"], ["Summary", "1"], ["all", "5"]]


def test_json_has_all_scores(run: CommandLine, data: Path) -> None:
    found = scores(run, "--data", data)
    assert (found["n"], found["n_failed"], found["threshold"]) == (8, 0, 0.5)
    assert found["detector"]["name"] == "fixed"
    assert found["example"]["f1"] == found["span"]["f1"] == 1
    assert found["tasks"].keys() == {"QA"}
    assert found["data"].keys() == {"data.jsonl"}
    assert found["seconds"] > 0
    assert found["examples_per_s"] > 0


def test_a_csv_and_parquet_give_what_json_lines_give(
    run: CommandLine, data: Path, tmp_path: Path
) -> None:
    expected = scores(run, "--data", data)["example"]
    path = write(tmp_path / "t.csv", csv_text(rows(8)))
    assert scores(run, "--data", path)["example"] == expected
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows(8)), tmp_path / "t.parquet")
    assert scores(run, "--data", tmp_path / "t.parquet")["example"] == expected


def test_columns_are_named_by_options(run: CommandLine, tmp_path: Path) -> None:
    table = [
        {"doc": "A.", "text": "In 1950.", "is_right": "0"},
        {"doc": "A.", "text": "In 1889.", "is_right": "1"},
    ]
    path = write(tmp_path / "t.csv", csv_text(table))
    columns = ("--column", "sources=doc", "--column", "answer=text", "--column", "label=is_right")
    found = scores(run, "--data", path, *columns, "--label-means", "supported")
    assert (found["example"]["f1"], found["span"]) == (1, None)
    turned = scores(run, "--data", path, *columns, "--label-means", "hallucinated")
    assert turned["example"]["f1"] == 0
    assert scores(run, "--data", path)["n_failed"] == 2


def test_rows_that_fail_are_told_and_the_others_are_scored(
    run: CommandLine, tmp_path: Path
) -> None:
    content = json_lines(*rows(4), b"{bad", row(8, "BOOM"), b'{"answer": "caf\xe9"}')
    path = write(tmp_path / "t.jsonl", content)
    result = run("evaluate", "--data", path, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (found["n"], found["n_failed"], found["n_answers"]) == (7, 3, 5)
    assert [(each["row"], each["type"]) for each in found["failures"]] == [
        (5, "RowError"),
        (6, "DetectionError"),
        (7, "RowError"),
    ]
    assert found["failures"][0]["message"].startswith(f"{path}:5: The row is not JSON")
    table = run("evaluate", "--data", path)
    assert "2 rows could not be read (in no score)" in table.stdout
    assert "1 check failed (missed if hallucinated, else in no score)" in table.stdout
    assert f"{path}:7: The row is not UTF-8" in table.stdout


def test_answers_that_could_not_be_checked_are_told_and_no_success(
    run: CommandLine, tmp_path: Path
) -> None:
    bare = {**row(8, "It is fine."), "sources": []}
    path = write(tmp_path / "t.jsonl", json_lines(*rows(4), bare))
    result = run("evaluate", "--data", path, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (found["n"], found["n_failed"], found["n_unchecked"], found["n_scored"]) == (5, 0, 1, 4)
    assert "1 answer was not checked at all" in run("evaluate", "--data", path).stdout


@pytest.mark.parametrize("content", [b"", b"\n"])
def test_an_empty_file_is_an_error(run: CommandLine, tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "t.jsonl", content)
    result = run("evaluate", "--data", path, "--output", tmp_path / "r.jsonl")
    assert result.exit_code == 2
    assert "it has no rows" in result.stderr
    assert not (tmp_path / "r.jsonl").exists()


def test_data_without_any_label_is_an_error(run: CommandLine, tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", json_lines({"context": "A.", "answer": "B."}))
    result = run("evaluate", "--data", path)
    assert result.exit_code == 2
    assert "without a label    1" in result.stdout
    assert "error: There is nothing to score: of 1 row, 0 failed and 1 have" in result.stderr


@pytest.mark.parametrize("field", ["context_id", "task", "spans", "label"])
def test_a_column_that_is_not_there_is_an_error(run: CommandLine, data: Path, field: str) -> None:
    result = run("evaluate", "--data", data, "--column", f"{field}=typo")
    assert result.exit_code == 2
    assert f"{data}:1: there is no column 'typo' for the {field}." in result.stdout
    assert "error: There is nothing to score: of 8 rows, 8 failed" in result.stderr


def test_a_limit_draws_whole_contexts_the_same_each_time(run: CommandLine, tmp_path: Path) -> None:
    table = [row(i, context_id=f"c{i % 5}") for i in range(30)]
    path = write(tmp_path / "t.jsonl", json_lines(*table, b"{bad"))
    output = tmp_path / "r.jsonl"

    def drawn(limit: int) -> list[str]:
        run("evaluate", "--data", path, "--limit", limit, "--output", output, "--force")
        return [each.context_id for each in read_judged(output)]

    contexts = drawn(12)
    assert len(contexts) == 12
    assert len(set(contexts)) <= 3
    assert contexts == drawn(12)
    assert len(drawn(100)) == 31


def test_slots_give_a_variant_each(run: CommandLine, tmp_path: Path) -> None:
    answer = "In {{1889||1950||conflict}}."
    slots = {"id": "x", "domain": "law", "context": "In 1889.", "answer": answer}
    path = write(tmp_path / "t.jsonl", json_lines(slots))
    found = scores(run, "--data", path, "--format", "slots")
    assert (found["n"], found["example"]["f1"], list(found["tasks"])) == (2, 1, ["law"])


def test_precision_is_told_at_the_prevalence_that_is_chosen(run: CommandLine, data: Path) -> None:
    found = scores(run, "--data", data, "--prevalence", 0.03)
    assert found["prevalence"] == [{"prevalence": 0.03, "precision": 1}]


# Results.


def test_results_are_kept_and_not_overwritten(run: CommandLine, data: Path, tmp_path: Path) -> None:
    output = tmp_path / "r.jsonl"
    assert run("evaluate", "--data", data, "--output", output).exit_code == 0
    assert len(lines_of(output)) == 9
    result = run("evaluate", "--data", data, "--output", output)
    assert result.exit_code == 2
    assert "exists. Continue it with --resume, replace it with --force" in result.stderr
    assert run("evaluate", "--data", data, "--output", output, "--force").exit_code == 0
    assert len(lines_of(output)) == 9


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--resume"], "name it"),
        (["--force"], "name it"),
        (["--output", "r.jsonl", "--resume", "--force"], "choose"),
        (["--output", "data.jsonl", "--force"], "are the same file"),
        (["--limit", "0"], "0 is not in the range"),
        (["--prevalence", "2"], "2.0 is not in the range"),
        (["--prevalence", "nan"], "'nan' is no finite number"),
        (["--output", "r.jsonl", "--prevalence", "nan"], "'nan' is no finite number"),
        (["--column", "nothing"], "field=column"),
        (["--column", "response=answer"], "answer=response"),
        (["--output", "r.jsonl.gz"], "not packed"),
    ],
)
def test_a_wrong_command_is_refused_and_does_no_harm(
    run: CommandLine,
    data: Path,
    options: list[str],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(data.parent)
    before = data.read_bytes()
    result = run("evaluate", "--data", "data.jsonl", *options)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert data.read_bytes() == before
    assert [path.name for path in data.parent.iterdir()] == ["data.jsonl"]


def test_results_do_not_go_among_the_data(run: CommandLine, data: Path) -> None:
    folder = data.parent
    result = run("evaluate", "--data", folder, "--output", folder / "r.jsonl")
    assert result.exit_code == 2
    assert "--output is in the folder of --data" in result.stderr


def test_results_of_other_data_another_detector_or_other_columns_are_refused(
    run: CommandLine,
    run_with: Callable[[AnyDetector], CommandLine],
    data: Path,
    tmp_path: Path,
) -> None:
    output = tmp_path / "r.jsonl"
    run("evaluate", "--data", data, "--output", output)
    before = output.read_bytes()

    def refused(run: CommandLine, *options: object) -> str:
        result = run("evaluate", "--data", data, "--output", output, "--resume", *options)
        assert result.exit_code == 2
        assert output.read_bytes() == before
        return result.stderr

    other = run_with(FixedDetector(info=replace(FIXED, threshold=0.7)))
    assert "the detector is now fixed" in refused(other)
    assert "its columns are read otherwise" in refused(run, "--label-means", "supported")
    write(data, json_lines(*rows(9)))
    assert "it was made from other data" in refused(run)


def test_a_complete_file_is_scored_without_judging(
    run: CommandLine, data: Path, tmp_path: Path
) -> None:
    output = tmp_path / "r.jsonl"
    first = scores(run, "--data", data, "--output", output)
    assert without_times(scores(run, "--data", data, "--output", output, "--resume")) == (
        without_times(first)
    )


# Processes.


def words(seed: int, n: int) -> str:
    draw = random.Random(seed)
    names = [f"word{draw.randrange(400)}" for _ in range(n)]
    sentences = [names[i : i + 9] for i in range(0, n, 9)]
    return " ".join(" ".join(each).capitalize() + "." for each in sentences)


def generated(n: int) -> list[dict[str, Any]]:
    """Rows that are told apart by what their words are."""
    return [
        {
            "id": f"g{i}",
            "task": f"T{i % 2}",
            "context_id": f"c{i // 3}",
            "context": words(i // 3, 300),
            "answer": words(i // 3 if i % 2 else -i, 27),
            "label": "grounded" if i % 2 else "hallucinated",
        }
        for i in range(n)
    ]


def command(folder: Path, *options: str) -> Sequence[str]:
    """The command as a process; the same words whatever the folder."""
    code = "from groundwire.cli import main; main()"
    return [
        *(sys.executable, "-c", code, "evaluate", "--data", "data.jsonl", "--output", "r.jsonl"),
        *("--detector", "similarity:hash", "--threads", "1", "--resume", "--json", *options),
    ]


@pytest.mark.nightly
def test_killed_in_the_middle_the_same_command_ends_with_the_same_result(tmp_path: Path) -> None:
    n_rows = 300
    data = json_lines(*generated(n_rows))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
        write(folder / "data.jsonl", data)
    for n_lines in (20, 120):
        process = subprocess.Popen(
            command(cut), cwd=cut, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _wait_for_lines(cut / "r.jsonl", n_lines, process)
        process.kill()
        assert process.wait(PATIENCE_S) == -9
        assert n_lines <= len((cut / "r.jsonl").read_bytes().splitlines()) < n_rows + 1
    results = [
        subprocess.run(
            command(folder), cwd=folder, capture_output=True, check=True, timeout=PATIENCE_S
        ).stdout
        for folder in (whole, cut)
    ]
    first, second = (without_times(json.loads(result)) for result in results)
    assert first == second
    assert json.loads(first)["n"] == n_rows
    assert json.loads(first)["example"]["auroc"] > 0.9


def _wait_for_lines(path: Path, n_lines: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE_S
    while not path.exists() or path.read_bytes().count(b"\n") < n_lines:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < until
        time.sleep(0.005)


def test_stopped_by_hand_it_says_how_to_go_on(
    run_with: Callable[[AnyDetector], CommandLine], data: Path, tmp_path: Path
) -> None:
    class Stopped(FixedDetector):
        def detect_batch(self, examples: Any) -> Any:  # noqa: ANN401
            yield from super().detect_batch([next(iter(examples))])
            raise KeyboardInterrupt

    output = tmp_path / "r.jsonl"
    result = run_with(Stopped())("evaluate", "--data", data, "--output", output)
    assert result.exit_code == 130
    assert "Stopped after 1 row. --resume continues." in result.stderr


@pytest.mark.merge
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal of this system")
def test_a_terminal_sees_a_bar(tmp_path: Path) -> None:
    write(tmp_path / "data.jsonl", json_lines(*generated(60)))
    outside, inside = os.openpty()
    process = subprocess.Popen(
        command(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE, stderr=inside
    )
    os.close(inside)
    shown = b""
    try:
        while piece := os.read(outside, 4096):
            shown += piece
    except OSError:  # as Linux tells that the other end is closed
        pass
    finally:
        os.close(outside)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert json.loads(output)["n"] == 60
    assert b"100%" in shown
    assert b"60 rows" in shown


@pytest.mark.parametrize(
    ("column", "is_asked"), [("is_correct", True), ("Supported", True), ("incorrect", False)]
)
def test_a_column_that_seems_to_say_right_needs_the_meaning_of_true(
    run: CommandLine, tmp_path: Path, column: str, *, is_asked: bool
) -> None:
    data = tmp_path / "rows.csv"
    data.write_text(f"answer,sources,{column}\nA.,A.,true\n")
    options = ("--data", data, "--column", f"label={column}")
    asked = run("evaluate", *options)
    assert ("--label-means supported" in asked.stderr) is is_asked
    assert "does true mean" not in run("evaluate", *options, "--label-means", "supported").stderr
