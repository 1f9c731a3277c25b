"""Questions of known datasets, as the hub has them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundwire.errors import MissingExtraError
from groundwire.evaluation.datasets.files import FailedRow, NumberedQuestion
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.measure.hub import (
    HubError,
    HubTable,
    known_as,
    questions_of,
    read_hub,
)
from tests.evaluation.datasets.tables import json_lines, write

TRIVIA = {
    "question": "Who built it?",
    "question_id": "tc_1",
    "question_source": "http://www.triviacountry.com/",
    "entity_pages": {
        "doc_source": ["TagMe"],
        "filename": ["Tower.txt"],
        "title": ["Tower"],
        "wiki_context": ["Eve built it."],
    },
    "search_results": {
        "description": ["a page", "none"],
        "filename": ["1.txt", "2.txt"],
        "rank": [1, 2],
        "title": ["Towers", ""],
        "url": ["http://a", "http://b"],
        "search_context": ["It was Eve.", ""],
    },
    "answer": {"value": "Eve"},
}
TOKENS = ["<P>", "It", "opened", "in", "1889", ".", "</P>", "Later", "."]
NATURAL: dict[str, Any] = {
    "id": "797803103760793766",
    "document": {
        "title": "Tower",
        "url": "http://a",
        "html": "<P>...",
        "tokens": {
            "token": TOKENS,
            "is_html": [token.startswith("<") for token in TOKENS],
            "start_byte": list(range(9)),
            "end_byte": list(range(1, 10)),
        },
    },
    "question": {"text": "when did it open", "tokens": ["when"]},
    "long_answer_candidates": {},
    "annotations": {
        "id": ["1", "2"],
        "long_answer": [
            {"start_token": -1, "end_token": -1, "candidate_index": -1},
            {"start_token": 0, "end_token": 7, "candidate_index": 0},
        ],
    },
}
HOTPOT = {
    "id": "5a7",
    "question": "Which opened first?",
    "answer": "A",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": {"title": ["A"], "sent_id": [0]},
    "context": {"title": ["A", "B"], "sentences": [["One.", " Two."], ["Three."]]},
}
SQUAD: dict[str, Any] = {
    "id": "56be",
    "title": "Towers",
    "context": "It opened in 1889.",
    "question": "When did it open?",
    "answers": {"text": ["1889"], "answer_start": [13]},
}


def read_as_known(row: dict[str, Any]) -> dict[str, Any]:
    turn = known_as(row)
    assert turn is not None
    (found,) = turn(row, Path(), 1)
    return dict(found)


def test_trivia_qa_has_its_pages_as_sources() -> None:
    assert read_as_known(TRIVIA) == {
        "id": "tc_1",
        "question": "Who built it?",
        "sources": ["Tower\nEve built it.", "Towers\nIt was Eve."],
        "task": "http://www.triviacountry.com/",
    }


def test_natural_questions_has_the_long_answer_that_was_marked() -> None:
    found = read_as_known(NATURAL)
    assert found["question"] == "when did it open"
    assert found["sources"] == ["Tower\nIt opened in 1889 ."]
    assert found["task"] == "long answer"


def test_natural_questions_without_a_long_answer_has_the_page() -> None:
    none = {"id": ["1"], "long_answer": [{"start_token": -1, "end_token": -1}]}
    found = read_as_known(NATURAL | {"annotations": none})
    assert found["sources"] == ["Tower\nIt opened in 1889 . Later ."]
    assert found["task"] == "no long answer"


def test_hotpot_qa_has_a_source_for_each_paragraph() -> None:
    found = read_as_known(HOTPOT)
    assert found["sources"] == ["A\nOne. Two.", "B\nThree."]
    assert (found["task"], found["level"]) == ("comparison", "hard")


def test_lists_of_objects_are_read_as_objects_of_lists_are() -> None:
    context = [
        {"title": "A", "sentences": ["One.", " Two."]},
        {"title": "B", "sentences": ["Three."]},
    ]
    assert read_as_known(HOTPOT | {"context": context}) == read_as_known(HOTPOT)


def test_squad_tells_what_has_an_answer_from_what_has_none() -> None:
    assert read_as_known(SQUAD)["task"] == "answerable"
    none = SQUAD | {"answers": {"text": [], "answer_start": []}}
    assert read_as_known(none)["task"] == "unanswerable"


def test_any_other_dataset_is_read_by_its_columns() -> None:
    assert known_as({"question": "When?", "context": "Now."}) is None


def test_without_the_library_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'groundwire\[datasets\]'"):
        list(read_hub(HubTable(name="squad")))


def table(folder: Path, *rows: object) -> Path:
    folder.mkdir()
    write(folder / "validation.jsonl", json_lines(*rows))
    return folder


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is fetched, and what the library keeps is not the user's."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))


READ = """
import json, sys
from groundwire.evaluation.measure.hub import HubTable, read_hub
from groundwire.evaluation.datasets.mapping import ColumnMapping
table = HubTable(name=sys.argv[1], limit=int(sys.argv[2]) or None)
for row in read_hub(table, ColumnMapping.of(sys.argv[3:])):
    told = row.message if hasattr(row, "problem") else row.question.id
    print(json.dumps(told))
"""


def read(*arguments: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the library reads the environment when it is imported."""
    pytest.importorskip("datasets")
    return subprocess.run(
        [sys.executable, "-c", READ, *map(str, arguments)],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1"},
        timeout=120,
    )


@pytest.mark.nightly
@pytest.mark.parametrize("limit", [0, 2])
def test_a_dataset_in_a_folder_is_read(tmp_path: Path, limit: int) -> None:
    squad = [SQUAD | {"id": f"s{i}"} for i in range(3)]
    done = read(table(tmp_path / "squad", *squad), limit)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == (limit or 3)
    assert set(found) <= {"s0", "s1", "s2"}


@pytest.mark.nightly
def test_a_row_that_is_none_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    rows = [{"q": "When?", "doc": "Now.", "id": "a"}, {"q": "", "doc": "Now.", "id": "b"}]
    folder = table(tmp_path / "own", *rows)
    done = read(folder, 0, "question=q", "sources=doc")
    assert done.returncode == 0, done.stderr
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first == "a"
    assert second.startswith(f"{folder} (validation):2: the question is empty")


@pytest.mark.nightly
def test_without_a_network_the_message_says_what_to_do() -> None:
    done = read("somebody/some-dataset", 0)
    assert "HubError: The dataset somebody/some-dataset cannot be read" in done.stderr
    assert "write the questions to a file and give it with --data" in done.stderr


def test_rows_are_numbered_and_a_row_of_another_shape_is_a_failed_one() -> None:
    rows = [SQUAD, {"id": "x", "question": "Why?", "context": "A.", "answers": None}, SQUAD]
    first, second, third = questions_of(iter(rows), HubTable(name="squad"), ColumnMapping())
    assert isinstance(first, NumberedQuestion)
    assert first.question.columns == {"task": "answerable", "title": "Towers"}
    assert isinstance(second, FailedRow)
    assert second.message.startswith("squad (validation):2: it is not as the others are")
    assert isinstance(third, FailedRow)
    assert "for the second time" in third.message


def test_a_part_without_rows_is_told() -> None:
    with pytest.raises(HubError, match=r"it has no rows. Choose another --split"):
        list(questions_of(iter([]), HubTable(name="squad")))
