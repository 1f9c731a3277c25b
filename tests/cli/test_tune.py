"""``groundwire tune``."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.evaluation.made_results import Row, write


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rows = [Row(score=0.2, context=f"g{n}", columns={"tenant": "acme"}) for n in range(80)]
    rows += [Row(score=0.9, hallucinated=True, context=f"h{n}") for n in range(40)]
    return write(tmp_path / "results.jsonl", rows)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        {"sources": [f"Paris {n}"], "answer": f"Paris has {n} million.", "label": n == 9}
        for n in range(12)
    ]
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_results_become_a_threshold_with_its_configuration(run: CommandLine, results: Path) -> None:
    result = run("tune", "--results", results, "--target", "fpr=0.05")
    assert result.exit_code == 0, result.stderr
    assert (
        "all: fpr is at most 0.05 for an answer drawn from a context drawn at random, with 95 % "
        "confidence (0 of 80 grounded contexts are flagged)"
    ) in result.stdout
    # These results are of a reader that is not shipped, so nothing but its folder names it.
    named = "detector:\n  name: FOLDER-OF-THE-TUNED-READER\n  operating_point: 0.201\n"
    assert result.stdout.endswith(named)
    assert run.choice is None  # nothing was judged


def test_not_enough_data_is_exit_status_1_and_says_what_it_takes(
    run: CommandLine, results: Path
) -> None:
    result = run("tune", "--results", results, "--target", "fpr=0.01", "--by", "tenant")
    assert result.exit_code == 1
    assert (
        "all: not enough data: needs at least 299 grounded contexts for fpr=0.01 at 95 %, there "
        "are 80; the best that can be promised is fpr=0.037"
    ) in result.stdout
    assert "detector:" not in result.stdout


def test_json_has_the_curve_the_promise_and_the_configuration(
    run: CommandLine, results: Path
) -> None:
    result = run("tune", "--results", results, "--target", "recall=0.8", "--json")
    found = json.loads(result.stdout)
    assert (found["target"], found["threshold"]) == ("recall=0.8", 0.9)
    assert found["guarantee"]["holds"] is True
    assert "fixed before looking" in found["proviso"]
    low, high = found["at_threshold"]["ci95"]["recall"]
    assert 0.5 < low < high == 1
    assert {point["threshold"] for point in found["curve"]} == {1, 0.9, 0.2}
    assert found["configuration"].endswith("\n  operating_point: 0.9\n")
    assert found["at_threshold"]["prevalence"][0] == {"prevalence": 0.01, "precision": 1}


def test_data_are_judged_at_a_low_operating_point(
    run: CommandLine, data: Path, tmp_path: Path
) -> None:
    output = tmp_path / "kept.jsonl"
    result = run("tune", "--data", data, "--target", "f1", "--output", output)
    assert result.exit_code == 0, result.stderr
    assert run.choice is not None
    assert run.choice.operating_point == 0.05
    again = run("tune", "--results", output, "--target", "f1")
    assert again.stdout == result.stdout


def test_rows_that_fail_are_told_and_are_exit_status_1(run: CommandLine, data: Path) -> None:
    with data.open("a", encoding="utf-8") as stream:
        stream.write('{bad\n{"sources": ["A."], "answer": "BOOM", "label": true}\n')
    result = run("tune", "--data", data, "--target", "f1")
    assert result.exit_code == 1
    assert "1 row could not be read" in result.stdout
    assert "1 check failed" in result.stdout
    assert f"row 13, id 13: {data}:13: The row is not JSON" in result.stdout
    found = json.loads(run("tune", "--data", data, "--target", "f1", "--json").stdout)
    assert (found["n"], found["n_failed"], found["n_answers"]) == (14, 2, 13)
    assert [each["row"] for each in found["failures"]] == [13, 14]


def test_data_of_which_no_row_can_be_read_is_an_error_about_the_data(
    run: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "latin1.jsonl"
    path.write_bytes(b'{"answer": "caf\xe9"}\n')
    result = run("tune", "--data", path, "--target", "f1")
    assert result.exit_code == 2
    assert "of 1 row, 1 failed" in result.stderr
    assert f"row 1: {path}:1: The row is not UTF-8" in result.stderr


def test_a_wrong_target_is_refused_before_anything_is_judged(run: CommandLine, data: Path) -> None:
    result = run("tune", "--data", data, "--target", "fpr=1%")
    assert result.exit_code == 2
    assert "such as fpr=0.01" in result.stderr
    assert run.choice is None


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--data", "DATA", "--results", "DATA"],
        ["--results", "DATA", "--output", "x"],
        ["--data", "DATA", "--resume"],
    ],
)
def test_options_that_do_not_go_together_are_refused(
    args: list[str], run: CommandLine, data: Path
) -> None:
    given = [str(data) if each == "DATA" else each for each in args]
    result = run("tune", "--target", "f1", *given)
    assert result.exit_code == 2
    assert "--" in result.stderr


@pytest.mark.parametrize("command", ["tune", "regress"])
@pytest.mark.parametrize(
    "given",
    [
        ("--detector", "similarity"),
        ("--operating-point", "balanced"),
        ("--revision", "a" * 40),
        ("--threads", "1"),
        ("--device", "cpu"),
        ("--column", "answer=output"),
        ("--label-means", "hallucinated"),
        ("--format", "table"),
        ("--limit", "5"),
        ("--output", "kept.jsonl"),
        ("--resume",),
        ("--force",),
    ],
)
def test_what_says_how_to_judge_is_refused_beside_results(
    given: tuple[str, ...], command: str, run: CommandLine, results: Path
) -> None:
    wanted = {"tune": ("--target", "f1"), "regress": ("--max-rate", "1")}[command]
    assert run(command, "--results", results, *wanted).exit_code == 0
    result = run(command, "--results", results, *wanted, *given)
    assert result.exit_code == 2
    assert f"{given[0]} concerns --data" in result.stderr


def test_a_sample_of_rows_is_chosen_from(run: CommandLine, tmp_path: Path) -> None:
    rows = [{"sources": [f"Paris {n}"], "answer": "Paris.", "label": n % 2} for n in range(8)]
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for args, n_answers in (((), 8), (("--limit", "3"), 3)):
        result = run("tune", "--data", path, "--target", "f1", "--json", *args)
        assert json.loads(result.stdout)["n_answers"] == n_answers, result.stderr


def test_a_file_that_is_none_of_results_is_an_error(run: CommandLine, data: Path) -> None:
    result = run("tune", "--results", data, "--target", "f1")
    assert result.exit_code == 2
    assert "this is no file of results" in result.stderr
