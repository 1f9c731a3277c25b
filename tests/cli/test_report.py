"""``groundwire report``."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import invoke
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
    assert f"RESULTS and {option} are the same file" in done.stderr
    assert copy.read_bytes() == results.read_bytes()


def test_what_is_no_file_of_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"answer": "x"}\n', encoding="utf-8")
    done = invoke("report", path, "--html", tmp_path / "r.html")
    assert done.exit_code == 2
    assert "this is no file of results" in done.stderr
    assert not (tmp_path / "r.html").exists()
