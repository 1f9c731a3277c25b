"""The command line with the embedded model: the main job, for real."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator

from groundwire.cli.doctor import EXAMPLE_ANSWER, EXAMPLE_QUESTION, EXAMPLE_SOURCE
from tests.cli.conftest import invoke

TRUE = "It was built in 1887-1889 and stands 330 meters tall in Paris, France."


def check(answer: str, *options: object) -> Result:
    return invoke(
        *("check", "--source", EXAMPLE_SOURCE, "--question", EXAMPLE_QUESTION),
        *("--answer", answer, *options),
    )


def without_timings(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(text)
    for key in ("timings_ms", "row", "id", "input_sha256"):
        data.pop(key, None)
    return data


def test_wrong_words_are_marked_and_right_ones_are_not() -> None:
    result = check(EXAMPLE_ANSWER)
    assert result.exit_code == 1, result.output
    answer = result.stdout.splitlines()[0]
    assert "1950" in answer[answer.index("⟦") : answer.index("⟧")]
    assert answer.endswith("in Paris, France.")
    assert "\noutcome   hallucinated: " in result.stdout


@pytest.mark.merge
def test_a_supported_answer_passes() -> None:
    result = check(TRUE)
    assert result.exit_code == 0, result.output
    assert "⟦" not in result.stdout
    assert "\noutcome   grounded: " in result.stdout


def test_json_fits_the_schema_and_its_offsets_fit_the_texts() -> None:
    data = json.loads(check(EXAMPLE_ANSWER, "--json").stdout)
    path = resources.files("groundwire").joinpath("detection/schemas/detection.schema.json")
    Draft202012Validator(json.loads(path.read_text("utf-8"))).validate(data)
    assert data["detector"]["name"] == "reader"
    for span in data["spans"]:
        assert EXAMPLE_ANSWER[span["start"] : span["end"]] == span["text"]
        for each in span["evidence"]:
            assert EXAMPLE_SOURCE[each["start"] : each["end"]] == each["text"]


@pytest.mark.merge
def test_a_batch_says_what_single_checks_say(tmp_path: Path) -> None:
    batch = tmp_path / "in.jsonl"
    answers = [EXAMPLE_ANSWER, TRUE, "Это в Париже.", "It is 330 m tall.\x00\x1b[2J"]
    batch.write_text(
        "".join(
            json.dumps(
                {"sources": [EXAMPLE_SOURCE], "question": EXAMPLE_QUESTION, "answer": answer}
            )
            + "\n"
            for answer in answers
        )
    )
    rows = invoke("check", "--batch", batch).stdout.splitlines()
    assert len(rows) == len(answers)
    for row, answer in zip(rows, answers, strict=True):
        found = without_timings(row)
        assert (found.pop("question"), found.pop("answer")) == (EXAMPLE_QUESTION, answer)
        assert found == without_timings(check(answer, "--json").stdout)


@pytest.mark.merge
def test_a_script_that_the_model_cannot_read_is_no_pass() -> None:
    result = check("Башня стоит в Париже.")
    assert result.exit_code == 1
    assert "\noutcome   partial: " in result.stdout
    assert "language (1): " in result.stdout


@pytest.mark.merge
def test_the_similarity_detector_marks_sentences_and_says_what_its_number_is() -> None:
    answer = f"{EXAMPLE_SOURCE.split('.')[0]}. Nobody knows where the old captain lived."
    for name in ("similarity", "similarity:hash"):
        result = check(answer, "--detector", name)
        assert result.exit_code == 1, result.output
        assert "⟦Nobody knows where the old captain lived.⟧" in result.stdout
        assert "  similarity 0." in result.stdout
        assert "probability" not in result.stdout
        assert f"\ndetector  {name} " in result.stdout
        data = json.loads(check(answer, "--detector", name, "--json").stdout)
        path = resources.files("groundwire").joinpath("detection/schemas/detection.schema.json")
        Draft202012Validator(json.loads(path.read_text("utf-8"))).validate(data)
        assert data["detector"]["score"] == "similarity"


@pytest.mark.merge
def test_the_page_names_the_score(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    check("Nobody knows where he lived.", "--detector", "similarity:hash", "--html", page)
    assert "· similarity 0." in page.read_text(encoding="utf-8")


@pytest.mark.merge
def test_without_sources_the_answer_is_unverified() -> None:
    result = invoke("check", "--answer", TRUE)
    assert result.exit_code == 1
    assert "\noutcome   unverified: " in result.stdout


@pytest.mark.merge
def test_a_threshold_of_1_marks_nothing_and_is_named() -> None:
    result = check(EXAMPLE_ANSWER, "--operating-point", "1")
    assert result.exit_code == 0, result.output
    assert "custom (threshold 1)" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--detector", "no-such-model"], "error: There is no model 'no-such-model'."),
        (["--detector", "org/model"], "error: 'org/model' names a model on a hub, and its"),
    ],
)
def test_a_detector_that_there_is_not_is_an_error(options: list[str], message: str) -> None:
    result = check(TRUE, *options)
    assert result.exit_code == 2
    assert result.stderr.startswith(message)


def test_the_doctor_finds_the_main_job_working() -> None:
    result = invoke("doctor", "--json")
    assert result.exit_code == 0, result.stdout
    assert json.loads(result.stdout)["ok"] is True
