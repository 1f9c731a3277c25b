"""``groundwire report``."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine, invoke
from tests.evaluation.reports.results import ROWS, results_of


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results_of(ROWS, tmp_path_factory.mktemp("results") / "results.jsonl")


def test_all_reports_at_once(results: Path, tmp_path: Path) -> None:
    html, markdown, junit = (tmp_path / name for name in ("r.html", "r.md", "r.xml"))
    html.write_text("an earlier report", encoding="utf-8")
    done = invoke(
        *("report", results, "--html", html, "--markdown", markdown, "--junit", junit),
        *("--examples", 1),
    )
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "6 are left out" in html.read_text(encoding="utf-8")
    assert markdown.read_text(encoding="utf-8").startswith("### Groundwire")
    assert junit.read_text(encoding="utf-8").startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.md", "r.xml"]


def test_without_a_file_markdown_is_printed(results: Path) -> None:
    done = invoke("report", results)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("### Groundwire")


@pytest.mark.parametrize("option", ["--html", "--markdown", "--junit"])
def test_the_results_are_never_overwritten(results: Path, tmp_path: Path, option: str) -> None:
    copy = Path(shutil.copy(results, tmp_path / "copy.jsonl"))
    done = invoke("report", copy, option, copy)
    assert done.exit_code == 2
    assert f"{copy} is named twice, and would be replaced" in done.stderr
    assert copy.read_bytes() == results.read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_gets_the_report_and_stays(results: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text, "utf-8")
        assert invoke("report", results, "--junit", pipe).exit_code == 0
        assert read.result(20).startswith("<?xml")
    assert pipe.is_fifo()


def test_what_is_no_file_of_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"answer": "x"}\n', encoding="utf-8")
    done = invoke("report", path, "--html", tmp_path / "r.html")
    assert done.exit_code == 2
    assert "this is no file of results" in done.stderr
    assert not (tmp_path / "r.html").exists()


def test_the_output_of_a_batch_is_reported_with_what_it_flagged(
    run: CommandLine, tmp_path: Path
) -> None:
    batch, output, junit = (tmp_path / name for name in ("in.jsonl", "out.jsonl", "out.xml"))
    rows = [
        {
            "id": "a",
            "question": "When?",
            "sources": ["Paris."],
            "answer": "Here it is:\n\n- It was in 1950.",
        },
        {"sources": ["Paris."], "answer": "In Paris, in 1950."},
        {"id": "c", "sources": ["Paris."]},
    ]
    batch.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("check", "--batch", batch, "--output", output).exit_code == 2
    pages = ("--markdown", tmp_path / "out.md", "--html", tmp_path / "out.html")
    result = run("report", output, "--junit", junit, *pages)
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "out.html").read_text("utf-8")
    assert "<h1>Answers checked by fixed</h1>" in page
    assert "labelled answers" not in page
    assert "Question: When?" in page
    assert "marked by people" not in page
    text = (tmp_path / "out.md").read_text("utf-8")
    assert "for want of labels: 2 flagged, 0 not flagged; 1 row could not be read" in text
    assert "</b> row 1 <code>a</code></summary>" in text
    assert text.count("Question: <code>When&#63;</code>") == 1
    assert "</b> row 2</summary>" in text  # a row without an id is named once
    assert "Here it is&#58;<br><br>&#45; It was in \u27e6flagged&#58; 1950\u27e7" in text
    assert 'tests="3" failures="2" errors="1" skipped="0"' in junit.read_text("utf-8")


def test_the_output_of_a_batch_of_which_nothing_was_checked_is_no_results(
    run: CommandLine, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    row = {"row": 1, "input_sha256": "ab", "error": {"type": "RowError", "message": "no"}}
    output.write_text(json.dumps(row) + "\n")
    result = run("report", output)
    assert result.exit_code == 2
    assert "none of its rows was checked" in result.stderr
