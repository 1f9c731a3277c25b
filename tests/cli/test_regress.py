"""``groundwire regress``."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.evaluation.made_results import Row, write


@pytest.fixture
def before(tmp_path: Path) -> Path:
    rows = [Row(score=0.9, hallucinated=n < 5, context=str(n)) for n in range(6)]
    return write(tmp_path / "before.jsonl", rows)


@pytest.fixture
def now(tmp_path: Path) -> Path:
    rows = [Row(score=0.9 * (n > 0), hallucinated=n < 5, context=str(n)) for n in range(6)]
    return write(tmp_path / "now.jsonl", rows)


@pytest.fixture(autouse=True)
def no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


def test_within_its_limits_it_passes(run: CommandLine, before: Path, now: Path) -> None:
    result = run("regress", "--baseline", before, "--results", now, "--max-drop", "recall=20")
    assert result.exit_code == 0, result.stderr
    assert "FAILED" not in result.stdout


def test_a_drop_is_exit_status_1_with_what_became_wrong(
    run: CommandLine, before: Path, now: Path
) -> None:
    result = run("regress", "--baseline", before, "--results", now, "--max-drop", "recall=19")
    assert result.exit_code == 1
    assert "recall is 80.0 % and was 100.0 %: 20.00 points worse, and 19 worse are allowed" in (
        result.stdout
    )
    assert "right before and wrong now: 1 (id-1)" in result.stdout


def test_of_two_limits_for_a_score_the_stricter_counts(
    run: CommandLine, before: Path, now: Path
) -> None:
    args = ("regress", "--baseline", before, "--results", now, "--max-drop", "recall=19")
    assert run(*args, "--max-drop", "recall=50").exit_code == 1


def test_what_did_not_change_is_no_minus_zero(run: CommandLine, before: Path) -> None:
    args = ("regress", "--baseline", before, "--results", before, "--max-drop", "recall=0")
    assert "+0.00 (- to -)" in run(*args).stdout
    assert "-0.0" not in run(*args, "--json").stdout


@pytest.mark.parametrize("how", ["--force", "--resume"])
def test_the_baseline_is_never_the_output(run: CommandLine, tmp_path: Path, how: str) -> None:
    data, base = tmp_path / "labelled.jsonl", tmp_path / "base.jsonl"
    row = {"sources": ["Paris"], "answer": "Paris has 9 million.", "label": True}
    data.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert run("evaluate", "--data", data, "--output", base).exit_code == 0
    before = base.read_bytes()
    args = ("--baseline", base, "--data", data, "--max-drop", "f1=0", "--output", base, how)
    result = run("regress", *args)
    assert (result.exit_code, base.read_bytes()) == (2, before)
    assert "would be replaced" in result.stderr


def test_what_evaluate_prints_is_a_baseline(run: CommandLine, tmp_path: Path) -> None:
    data = tmp_path / "labelled.jsonl"
    rows = [
        {"sources": ["Paris"], "answer": f"Paris has {n} million.", "label": n > 5}
        for n in range(12)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    base = tmp_path / "base.json"
    base.write_text(run("evaluate", "--data", data, "--json").stdout, encoding="utf-8")
    result = run("regress", "--baseline", base, "--data", data, "--max-drop", "f1=0")
    assert result.exit_code == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--limit", "4"),
        ("--format", "slots"),
        ("--label-means", "supported"),
    ],
)
def test_what_evaluate_scored_is_compared_by_the_same_options(
    options: tuple[str, ...], run: CommandLine, tmp_path: Path
) -> None:
    answers = [("Paris is large.", False), ("Paris has 9 million.", True)]
    rows: list[dict[str, object]]
    if "slots" in options:
        slots = {"id": "x", "domain": "geo", "context": "Paris"}
        rows = [{**slots, "answer": "It is {{large||9 million||number}}."}]
    else:
        rows = [
            {"sources": [f"Paris {n}"], "answer": answer, "label": label}
            for n in range(3)
            for answer, label in answers
        ]
    data, base = tmp_path / "labelled.jsonl", tmp_path / "base.json"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    base.write_text(run("evaluate", "--data", data, "--json", *options).stdout, encoding="utf-8")
    args = ("--baseline", base, "--data", data, "--max-drop", "f1=0")
    result = run("regress", *args, *options)
    assert result.exit_code == 0, result.stdout + result.stderr
    if options[0] == "--limit":
        assert "of the same data" in run("regress", *args).stderr


def test_the_comparison_as_json(run: CommandLine, before: Path, now: Path) -> None:
    args = ("--baseline", before, "--results", now, "--max-drop", "recall=19", "--json")
    found = json.loads(run("regress", *args, "--max-rate", "1").stdout)
    assert (found["passed"], found["n_newly_wrong"]) == (False, 1)
    assert [check["name"] for check in found["checks"]] == ["recall", "rate", "failed rows"]


def test_annotations_are_printed_on_github(
    run: CommandLine, now: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("regress", "--results", now, "--max-rate", "0.5")
    expected = "::error title=groundwire regress::5 of 6 answers are flagged (83.3 %25)"
    assert "::error" not in run(*args).stdout
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert expected in run(*args).stdout
    as_json = run(*args, "--json")
    assert json.loads(as_json.stdout)["passed"] is False
    assert expected in as_json.stderr


def test_what_cannot_be_compared_is_exit_status_2_and_annotated(
    run: CommandLine, before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    other = write(tmp_path / "other.jsonl", [Row(score=0.9)], data="b" * 64)
    result = run("regress", "--baseline", before, "--results", other, "--max-drop", "f1=100")
    assert result.exit_code == 2
    assert "of other data" in result.stderr
    assert result.stdout.startswith("::error title=groundwire regress::The baseline is of other")


def test_answers_that_nobody_checked_are_told_even_where_they_pass(
    run: CommandLine, tmp_path: Path
) -> None:
    data = tmp_path / "answers.jsonl"
    rows = [{"sources": ["Paris"], "answer": "Paris."}, {"sources": [], "answer": "Rome."}]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    note = "1 of 2 answers were not fully checked"
    passed = run("regress", "--data", data, "--max-rate", "0.5")
    assert (passed.exit_code, note in passed.stdout) == (0, True)
    failed = run("regress", "--data", data, "--max-rate", "0")
    assert (failed.exit_code, note in failed.stdout) == (1, True)


@pytest.mark.parametrize(
    "args",
    [[], ["--max-drop", "f1=1"], ["--max-rate", "2"], ["--max-rate", "0.5", "--data", "now.jsonl"]],
)
def test_a_command_without_meaning_is_refused(args: list[str], run: CommandLine, now: Path) -> None:
    result = run("regress", "--results", now, *args)
    assert result.exit_code == 2
    assert run.choice is None
