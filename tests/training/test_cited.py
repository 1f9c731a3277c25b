"""Cited answers from files: sentences, labels, and what each would be if it were wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundwire.errors import DatasetError
from groundwire_training.cited import read_cited

ROW: dict[str, Any] = {
    "id": "x",
    "spans": [{"sid": "S0", "text": "It is tall."}, {"sid": "S1", "text": "It is old."}],
    "question": "What is it like?",
    "answer": "It is {{tall||small||conflict}} [S0]. It is old{{|| and red||baseless}} [S0, S1].",
    "citations": [
        {"sentence": 0, "cites": ["S0"], "label": "supported", "right": ["S0"]},
        {"sentence": 1, "cites": ["S0", "S1"], "label": "decorative", "right": ["S1"]},
    ],
}


def written(folder: Path, **changes: object) -> Path:
    path = folder / "cited.jsonl"
    path.write_text(json.dumps(ROW | changes), "utf-8")
    return path


def test_each_sentence_has_its_label_and_what_it_would_be_wrong(tmp_path: Path) -> None:
    (answer,) = read_cited(written(tmp_path))
    first, second = answer.citations
    assert (first.claim.text, first.label, first.right) == ("It is tall.", "supported", ("S0",))
    assert first.wrong == (("It is small.", 2),)
    assert second.claim.cites == ("S0", "S1")
    assert second.wrong == (("It is old and red.", 1),)
    assert answer.answer == "It is tall [S0]. It is old [S0, S1]."


def test_an_answer_that_divides_otherwise_than_its_labels_has_none(tmp_path: Path) -> None:
    (answer,) = read_cited(written(tmp_path, citations=ROW["citations"][:1]))
    assert answer.citations == ()


@pytest.mark.parametrize(
    "changes",
    [{"spans": [{"sid": "S0"}]}, {"answer": "It is {{tall||small}}."}, {"citations": [{}, {}]}],
)
def test_a_row_that_is_not_as_described_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(DatasetError, match="form that the module describes"):
        list(read_cited(written(tmp_path, **changes)))
