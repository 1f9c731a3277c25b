"""Claims that differ in a few words: which words are wrong, and strangers."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import DOUBTFUL, MarkedAnswer
from groundwire_training.contrasts import contrasts, held_out, with_stranger
from groundwire_training.sets import LabelledContext
from groundwire_training.unlabelled import without_unlabelled
from tests.training.conftest import write

pytestmark = pytest.mark.torch

TABLE = {
    "id": "t1",
    "split": "train",
    "context": "Table: wins\n| team | wins |\n| --- | --- |\n| reds | 4 |",
    "good": "the reds won 4 times",
    "bad": "the reds won 7 times",
    "spans": [{"start": 13, "end": 14}],
}
RECORDS: list[dict[str, Any]] = [
    {
        "id": f"r{i}",
        "source": "e2e",
        "context": f'{{"name": "{name}", "area": "{area}"}}',
        "good": f"{name} is in {area}.",
        "values": [{"start": len(name) + 7, "end": len(name) + 7 + len(area), "field": "area"}],
    }
    for i, (name, area) in enumerate([("Zizzi", "riverside"), ("Aromi", "city centre")] * 3)
]


def caption(hypothesis: str, label: str, *, kind: str = "nli") -> dict[str, Any]:
    return {
        "split": "train",
        "kind": kind,
        "premise": "A man rides a horse.",
        "hypothesis": hypothesis,
        "label": label,
    }


def test_what_is_held_out_is_no_training_text(tmp_path: Path) -> None:
    kept = [
        {**TABLE, "split": "validation", "good": f"the reds won {n} times"} for n in range(2, 6)
    ]
    write(tmp_path / "tabfact.jsonl.gz", [TABLE, *kept])
    shown = [caption("A man is on a horse.", "entailment"), caption("On foot.", "contradiction")]
    write(tmp_path / "cad_nli.jsonl.gz", [shown[0], *({**c, "split": "validation"} for c in shown)])
    records = held_out(tmp_path, 6)
    assert [r.task for r in records] == ["contrasts-tables"] * 3 + ["contrasts-captions"]
    assert all(r.answers[0].text != TABLE["good"] for r in records)
    assert records == held_out(tmp_path, 6)


def found(tmp_path: Path, *, seed: int = 0) -> dict[str, list[LabelledContext]]:
    write(tmp_path / "tabfact.jsonl.gz", [TABLE, {**TABLE, "split": "test"}])
    captions = [
        caption("A man is on a horse.", "entailment"),
        caption("A man is on a train.", "contradiction"),
        caption("Left out.", "entailment", kind="pair"),
    ]
    write(tmp_path / "cad_nli.jsonl.gz", captions)
    write(tmp_path / "records.jsonl.gz", RECORDS)
    return contrasts(tmp_path, seed=seed)


def wrong_words(record: LabelledContext) -> list[list[str]]:
    return [[a.text[s:e] for s, e, _ in a.spans] for a in record.answers]


def test_training_parts_come_with_the_words_that_differ(tmp_path: Path) -> None:
    sets = found(tmp_path)
    assert [wrong_words(record) for record in sets["tables"]] == [[[], ["7"]]]
    assert [wrong_words(record) for record in sets["captions"]] == [[[], ["train"]]]
    assert all(len(record.sources) == 1 for records in sets.values() for record in records)


def test_a_value_of_another_record_is_put_in(tmp_path: Path) -> None:
    records = found(tmp_path)["records"]
    assert records
    for record in records:
        (right, wrong), context = record.answers, record.sources[0].text
        ((start, end, label),) = wrong.spans
        assert (right.spans, label) == ((), 2)
        assert wrong.text[start:end] not in context
        assert wrong.text[start:end] in {"riverside", "city centre"}


def test_a_strangers_claim_is_wrong_in_every_word() -> None:
    mine = LabelledContext(
        "1", "x", read_sources(["A."]), None, (MarkedAnswer("A.", ()), MarkedAnswer("B.", ()))
    )
    other = LabelledContext("2", "x", read_sources(["C."]), None, (MarkedAnswer("C it is.", ()),))
    drawn = with_stranger(mine, [mine, other])
    assert drawn.answers == (MarkedAnswer("A.", ()), MarkedAnswer("C it is.", ((0, 8, 1),)))
    assert with_stranger(mine, [mine]) == mine


def test_unmarked_sentences_with_an_absent_number_or_name_are_doubtful() -> None:
    article = "The mayor, Ann Lee, opened 1,200 flats in Bristol."
    answer = (
        "In Bristol, Ann Lee opened 1200 flats. She met Carl Maier. It cost 40 million. So be it."
    )
    spans = ((answer.index("40"), answer.index("40") + 2, 1),)
    record = LabelledContext(
        "1", "Summary", read_sources([article]), None, (MarkedAnswer(answer, spans),)
    )
    (marked,) = without_unlabelled(record).answers
    assert [answer[start:end] for start, end, _ in marked.doubts] == ["She met Carl Maier."]
    assert {label for _, _, label in marked.doubts} == {DOUBTFUL}
    assert marked.spans == spans
    other = LabelledContext("1", "QA", record.sources, None, record.answers)
    assert without_unlabelled(other) is other


def test_the_values_put_in_depend_on_the_seed_alone(tmp_path: Path) -> None:
    assert found(tmp_path, seed=3) == found(tmp_path, seed=3)
