"""``groundwire bench``: a benchmark by its name, from its official files."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from groundwire.evaluation.results_file import read_judged
from tests.cli.conftest import CommandLine, invoke
from tests.evaluation.benches import official
from tests.evaluation.datasets.tables import json_lines, write


def result(run: CommandLine, *args: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("bench", *args, "--json").stdout)
    return found


def value(found: dict[str, Any], metric: str) -> float | None:
    score = found["results"][metric]
    return None if score is None else score["value"]


def test_ragtruth_is_one_command(run: CommandLine, tmp_path: Path) -> None:
    path = official.ragtruth_rows(tmp_path / "test_half.jsonl.gz")
    printed = run("bench", "ragtruth", "--data", path)
    assert printed.exit_code == 0, printed.stderr
    lines = printed.stdout.splitlines()
    assert lines[0].startswith("RAGTruth, test: hallucinated if people marked")
    assert f"{sha256(path.read_bytes()).hexdigest()}  test_half.jsonl.gz" in lines
    table = {line.split("  ")[0].strip(): line for line in lines}
    assert "100.0" in table["> fixed"]
    assert table["> fixed"].endswith("this run at 0.5, with 95 % intervals")
    assert "66.7" in table["flag everything"]
    assert "83.9" in table["RAG-HAT, Llama-3-8B"]
    assert "https://arxiv.org/abs/2502.17125" in table["lettucedect-large-v1, 395M"]
    assert "[3] threshold chosen on the test set" in lines
    assert "Do not compare with the numbers of others:" in lines


def test_json_has_the_metric_the_check_and_what_others_reached(
    run: CommandLine, tmp_path: Path
) -> None:
    found = result(run, "ragtruth", "--data", official.ragtruth(tmp_path))
    assert found["bench"]["metric"] == "F1"
    assert (value(found, "F1"), value(found, "F1, QA"), value(found, "F1, Data2txt")) == (
        *(1, 1, None),
    )
    assert found["results"]["characters F1"] == {"value": 1, "ci95": [None, None], "n": 4}
    assert found["variants"]["answers of good quality"]["F1"]["n"] == 3
    assert found["flag_all"]["F1"]["value"] == pytest.approx(2 / 3)
    assert found["flag_all"]["characters F1"] is None
    assert found["check"]["counts"] == "different"
    assert found["is_comparable"] is False
    assert found["scores"]["n"] == 4
    assert found["scores"]["data"].keys() == {"response.jsonl", "source_info.jsonl"}
    published = {each["system"]: each for each in found["published"]}
    assert published["lettucedect-large-v1, 395M"]["scores"]["F1"] == 79.22


def test_the_mean_over_datasets_counts_each_the_same(run: CommandLine, tmp_path: Path) -> None:
    rows = official.aggrefact_rows({"RAGTruth": [1, 0], "Wice": [1] * 8 + [0]})
    rows[-1]["claim"] = official.RIGHT  # a hallucination that the detector cannot see
    path = write(tmp_path / "test.jsonl", json_lines(*rows))
    found = result(run, "aggrefact", "--data", path)
    assert value(found, "mean balanced accuracy") == (1 + 0.5) / 2
    assert value(found, "balanced accuracy, pooled") == (1 / 2 + 1) / 2
    without = found["variants"]["without RAGTruth, as before 2024-08"]
    assert without["mean balanced accuracy"]["value"] == 0.5


@pytest.mark.parametrize(
    ("name", "make", "metric", "expected"),
    [
        ("halueval", official.halueval, "accuracy", 1),
        ("faithbench", official.faithbench, "balanced accuracy", (1 + 1 / 2) / 2),
        ("wice", official.wice, "balanced accuracy, claim", 1),
    ],
)
def test_each_benchmark_has_its_own_metric(
    run: CommandLine,
    tmp_path: Path,
    name: str,
    make: Callable[[Path], Path],
    metric: str,
    expected: float,
) -> None:
    found = result(run, name, "--data", make(tmp_path / "d"))
    assert found["bench"]["metric"] == metric
    assert value(found, metric) == pytest.approx(expected)


def test_tables_of_the_hub_are_read_from_a_path_too(run: CommandLine, tmp_path: Path) -> None:
    bench = write(tmp_path / "h.jsonl", json_lines(*official.halubench_rows()))
    assert value(result(run, "halubench", "--data", bench), "accuracy") == 1
    bench = write(tmp_path / "p.jsonl", json_lines(*official.psiloqa_rows()))
    assert value(result(run, "psiloqa", "--data", bench), "characters IoU") == 1
    rows = official.ragbench_rows("covidqa", True, False) + official.ragbench_rows("x", True, False)
    bench = write(tmp_path / "r.jsonl", json_lines(*rows))
    found = result(run, "ragbench", "--data", bench)
    assert value(found, "mean AUROC") == 1
    assert found["check"]["counts"] == "unknown"
    assert "nobody here knows how many answers there should be" in found["differences"]


def test_a_sample_is_not_held_against_others(run: CommandLine, tmp_path: Path) -> None:
    folder = official.halueval(tmp_path)
    found = result(run, "halueval", "--data", folder, "--limit", 2)
    assert found["scores"]["n"] == 2
    assert found["differences"] == ["at most 2 answers were drawn"]


def test_a_file_that_says_it_is_of_another_split_is_told(run: CommandLine, tmp_path: Path) -> None:
    path = official.ragtruth_rows(tmp_path / "t.jsonl", split="train")
    (first, *_) = result(run, "ragtruth", "--data", path)["differences"]
    assert first == "row 1 says that it is of the split 'train', not 'test'"


def test_rows_that_fail_are_told(run: CommandLine, tmp_path: Path) -> None:
    rows = official.halubench_rows()
    rows.append({**rows[0], "id": "x", "answer": "BOOM"})
    path = write(tmp_path / "t.jsonl", json_lines(*rows, {"id": "y"}))
    printed = run("bench", "halubench", "--data", path, "--json")
    assert printed.exit_code == 1
    found = json.loads(printed.stdout)
    assert found["scores"]["n_failed"] == 2
    assert [each["row"] for each in found["scores"]["failures"]] == [3, 4]
    assert "1 row could not be read (in no score)" in found["differences"]
    missed = "missed if hallucinated, else in no score"
    assert f"1 check failed ({missed})" in found["differences"]


def test_results_are_kept_and_continued(run: CommandLine, tmp_path: Path) -> None:
    folder, output = official.halueval(tmp_path / "d"), tmp_path / "r.jsonl"
    options = ("halueval", "--data", folder, "--output", output)
    first = result(run, *options)
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:4]) + lines[4][:20])  # as if it was killed
    again = result(run, *options, "--resume")
    assert again["results"] == first["results"]
    assert sorted(each.row for each in read_judged(output)) == list(range(1, 9))
    assert run("bench", *options).exit_code == 2  # it exists
    other = run(
        "bench", "halueval", "--data", folder / "qa_data.json", "--output", output, "--resume"
    )
    assert "it was made from other data" in other.stderr


def test_the_list_says_what_there_is(run: CommandLine) -> None:
    printed = run("bench", "--list").stdout
    for text in ("ragtruth    RAGTruth: F1; test, train", "faithbench", "not for commercial use"):
        assert text in printed


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "Name a benchmark"),
        (["truth"], "There is no benchmark 'truth'. There are ragtruth"),
        (["halueval"], "name the file or folder with --data"),
        (["ragtruth", "--data", ".", "--split", "dev"], "one of test, train for ragtruth"),
        (["ragtruth", "--data", "."], "has none of the files"),
        (["ragtruth", "--data", ".", "--data-revision", "x"], "concerns the hub"),
        (["ragtruth", "--data", ".", "--resume"], "has none of the files"),
    ],
)
def test_a_wrong_command_is_refused(
    run: CommandLine,
    options: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("bench", *options)
    assert refused.exit_code == 2
    assert problem in refused.stderr


def test_another_detector_is_named_like_our_own(tmp_path: Path) -> None:
    path = official.ragtruth_rows(tmp_path / "t.jsonl")
    for command in (["bench", "ragtruth"], ["evaluate"]):
        printed = invoke(*command, "--data", path, "--detector", "similarity:hash", "--json")
        assert printed.exit_code == 0, printed.stderr
        found = json.loads(printed.stdout)
        assert found.get("scores", found)["detector"]["name"] == "similarity:hash"
