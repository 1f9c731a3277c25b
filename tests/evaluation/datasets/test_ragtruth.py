"""RAGTruth: rows that hold all of an answer, and the two files of the release."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from groundwire.detection.example import Example
from groundwire.detection.values import Label
from groundwire.errors import DatasetError
from groundwire.evaluation.datasets.labelled import GoldSpan, LabelledAnswer
from groundwire.evaluation.datasets.ragtruth import ReleaseSources, read_ragtruth
from groundwire.evaluation.datasets.rows import read_rows

ROW = {
    "id": "7",
    "task": "QA",
    "model": "gpt-4-0613",
    "quality": "truncated",
    "question": "When?",
    "context": "It opened in 1889.",
    "context_id": "c",
    "answer": "It opened in 1989, in May.",
    "spans": [
        {"start": 13, "end": 17, "label": "Evident Conflict"},
        {"start": 19, "end": 25, "label": "Subtle Baseless Info", "implicit_true": True},
    ],
}
RECORD = {"name": "Rose", "WiFi": None, "stars": 3.5}
RESPONSE = {
    "id": "0",
    "source_id": "s",
    "model": "llama-2-7b-chat",
    "temperature": 0.7,
    "labels": [],
    "split": "test",
    "quality": "good",
    "response": "It opened in 1989.",
}
LABEL = {
    "start": 13,
    "end": 17,
    "text": "1989",
    "meta": "",
    "label_type": "Evident Conflict",
    "implicit_true": False,
    "due_to_null": True,
}
SOURCE = {
    "source_id": "s",
    "task_type": "Summary",
    "source": "CNN/DM",
    "source_info": "It opened in 1889.",
    "prompt": "Summarize the following news within 9 words:\nIt opened in 1889.\noutput:",
}


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def release(
    folder: Path, response: Mapping[str, Any] | None = None, source: Mapping[str, Any] | None = None
) -> list[LabelledAnswer]:
    """Read a release of one answer and one source, with some keys replaced."""
    write(folder / "response.jsonl", [{**RESPONSE, **(response or {})}])
    write(folder / "source_info.jsonl", [{**SOURCE, **(source or {})}])
    sources = ReleaseSources.read(folder)
    return [sources.answer(row) for row in read_rows(folder / "response.jsonl")]


# Rows.


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_a_row_becomes_a_labelled_answer(tmp_path: Path, name: str) -> None:
    (answer,) = read_ragtruth(write(tmp_path / name, [ROW]))
    assert answer == LabelledAnswer(
        id="7",
        task="QA",
        context_id="c",
        example=Example.of(
            sources=["It opened in 1889."], question="When?", answer="It opened in 1989, in May."
        ),
        spans=(
            GoldSpan(start=13, end=17, label=Label.CONTRADICTED, kind="Evident Conflict"),
            GoldSpan(
                start=19,
                end=25,
                label=Label.UNSUPPORTED,
                kind="Subtle Baseless Info",
                implicit_true=True,
            ),
        ),
        quality="truncated",
        model="gpt-4-0613",
    )
    assert answer.is_hallucinated


def test_what_may_be_missing(tmp_path: Path) -> None:
    needed = ("task", "context", "context_id", "answer")
    row = {key: ROW[key] for key in needed} | {"spans": []}
    path = tmp_path / "rows.jsonl"
    path.write_text("\n" + json.dumps(row), encoding="utf-8")
    (answer,) = read_ragtruth(path)
    assert (answer.id, answer.quality, answer.model) == ("2", "good", "")
    assert answer.example.question is None
    assert not answer.is_hallucinated


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer": None}, "'answer' is a NoneType and must be a str"),
        ({"answer": " "}, "answer is empty"),
        ({"answer": "\ud800"}, "lone surrogate U+D800"),
        ({"spans": {}}, "'spans' is a dict and must be a list"),
        ({"spans": [1]}, "'spans' must hold objects only"),
        ({"spans": [{"start": 0, "label": "x"}]}, "there is no key 'end'; the keys are start"),
        ({"spans": [{"start": True, "end": 3, "label": "x"}]}, "'start' is a bool"),
        ({"spans": [{"start": 3, "end": 3, "label": "x"}]}, "the span 3-3 does not lie in"),
        ({"spans": [{"start": 3, "end": 27, "label": "x"}]}, "which has 26 characters"),
        ({"spans": [{"start": -3, "end": 3, "label": "x"}]}, "the span -3-3 does not lie in"),
        ({"id": "7"}, "the id '7' is there for the second time"),
        ({"context": "Other."}, "context_id 'c' stood for another context before"),
    ],
)
def test_a_problem_names_its_line(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "rows.jsonl", [ROW, {**ROW, "id": "8", **change}])
    with pytest.raises(DatasetError) as caught:
        list(read_ragtruth(path))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a": 1', ":1: The row is not JSON"),
        (b'{"a": "\xff"}', ":1: The row is not UTF-8 text"),
        (b"[]", ": it is one JSON array"),
        (b" \n", ": it has no rows"),
        (gzip.compress(json.dumps(ROW).encode(), mtime=0)[:-12], "the file breaks off here"),
    ],
)
def test_a_file_that_is_no_json_lines_is_refused(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        list(read_ragtruth(path))
    assert problem in str(caught.value)
    advice = "jq -c" if content == b"[]" else "Repair it, or fetch the file again."
    assert advice in str(caught.value)


# The release.


def test_a_summary_is_held_against_its_article(tmp_path: Path) -> None:
    (answer,) = release(tmp_path, {"labels": [LABEL]})
    assert (answer.id, answer.task, answer.context_id) == ("0", "Summary", "s")
    assert answer.model == "llama-2-7b-chat"
    assert answer.example == Example.of(
        sources=["It opened in 1889."],
        question="Summarize the following news within 9 words:",
        answer="It opened in 1989.",
    )
    assert answer.spans == (
        GoldSpan(
            start=13, end=17, label=Label.CONTRADICTED, kind="Evident Conflict", due_to_null=True
        ),
    )


def test_an_answer_is_held_against_its_passages(tmp_path: Path) -> None:
    info = {"question": "When?", "passages": "passage 1:It opened in 1889.\n\n"}
    (answer,) = release(tmp_path, source={"task_type": "QA", "source_info": info, "prompt": "..."})
    assert answer.example.question == "When?"
    assert answer.example.sources[0].text == "passage 1:It opened in 1889."


def test_a_description_is_held_against_its_record_as_the_prompt_has_it(tmp_path: Path) -> None:
    prompt = f"Instruction:\nDescribe it. Structured data:\n{RECORD}\nOverview:"
    (answer,) = release(tmp_path, source={"source_info": RECORD, "prompt": prompt})
    assert answer.example.question == "Instruction:\nDescribe it."
    assert answer.example.sources[0].text == "{'name': 'Rose', 'WiFi': None, 'stars': 3.5}"


def test_a_prompt_without_its_context_gives_no_question(tmp_path: Path) -> None:
    (answer,) = release(tmp_path, source={"prompt": "Do it."})
    assert answer.example.question is None


@pytest.mark.parametrize(
    ("response", "source", "problem"),
    [
        ({"source_id": "t"}, {}, "response.jsonl:1: source_id 't' is not in source_info.jsonl"),
        ({"labels": [{**LABEL, "text": "1889"}]}, {}, "13-17 is '1989' and not '1889'"),
        ({"labels": [{**LABEL, "end": 99}]}, {}, "which has 18 characters"),
        ({}, {"source_info": 3}, "source_info.jsonl:1: 'source_info' must be a text, a record"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    tmp_path: Path, response: dict[str, Any], source: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DatasetError) as caught:
        release(tmp_path, response, source)
    assert problem in str(caught.value)


def test_a_source_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "source_info.jsonl", [SOURCE, SOURCE])
    with pytest.raises(DatasetError, match=r"jsonl:2: source_id 's' is there for the second time"):
        ReleaseSources.read(tmp_path)
