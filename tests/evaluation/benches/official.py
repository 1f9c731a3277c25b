"""Small files in the official layouts, with sentences of our own."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.evaluation.datasets.tables import json_lines, write

FACTS = "The bridge was opened in 1932. It is 503 metres long."
RIGHT, WRONG = "The bridge was opened in 1932.", "The bridge was opened in 1950."
#: Where the wrong year stands.
YEAR = (WRONG.index("1950"), WRONG.index("1950") + 4)


def marked(answer: str, key: str = "label") -> list[dict[str, Any]]:
    """The wrong year, as RAGTruth marks it."""
    if "1950" not in answer:
        return []
    return [{"start": YEAR[0], "end": YEAR[1], "text": "1950", key: "Evident Conflict"}]


def ragtruth(folder: Path, *, packed: str = "") -> Path:
    """The two files of the release: four answers to two sources, and one of another split."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [
        {
            "source_id": f"s{i}",
            "task_type": task,
            "source": "News",
            "source_info": FACTS,
            "prompt": f"Write about this:\n{FACTS}",
        }
        for i, task in enumerate(("QA", "Summary"))
    ]
    answers = [
        {
            "id": str(i),
            "source_id": f"s{i // 2}",
            "model": "some-llm",
            "temperature": 0.7,
            "split": "train" if i == 4 else "test",
            "quality": "truncated" if i == 3 else "good",
            "labels": marked(text, "label_type"),
            "response": text,
        }
        for i, text in enumerate((RIGHT, WRONG, WRONG, RIGHT, WRONG))
    ]
    answers[4]["source_id"] = "s0"
    write(folder / f"source_info.jsonl{packed}", json_lines(*sources))
    write(folder / f"response.jsonl{packed}", json_lines(*answers))
    return folder


def ragtruth_rows(path: Path, **more: object) -> Path:
    """The same answers, each with all of its own in a row."""
    rows = [
        {
            "id": str(i),
            "task": "QA" if i < 2 else "Summary",
            "model": "some-llm",
            "quality": "good",
            "context_id": f"c{i // 2}",
            "context": FACTS,
            "question": "When?",
            "answer": text,
            "spans": marked(text),
            **more,
        }
        for i, text in enumerate((RIGHT, WRONG, WRONG, RIGHT))
    ]
    return write(path, json_lines(*rows))


def halueval(folder: Path) -> Path:
    """Two questions, a summary and a dialogue, each with a right and a wrong end."""
    folder.mkdir(parents=True, exist_ok=True)
    question = {"knowledge": FACTS, "question": "When was it opened?"}
    pair = {"right_answer": "1932", "hallucinated_answer": "It was opened in 1950"}
    write(folder / "qa_data.json", json_lines({**question, **pair}, {**question, **pair}))
    summary = {"document": FACTS, "right_summary": RIGHT, "hallucinated_summary": WRONG}
    write(folder / "summarization_data.json", json_lines(summary))
    dialogue = {
        "knowledge": FACTS,
        "dialogue_history": "[Human]: Do you know the bridge?",
        "right_response": RIGHT,
        "hallucinated_response": WRONG,
    }
    write(folder / "dialogue_data.json", json_lines(dialogue))
    return folder


def faithbench(folder: Path) -> Path:
    """Two batches: a summary with each kind of mark, and one without."""
    folder.mkdir(parents=True, exist_ok=True)

    def sample(number: int, summary: str, *marks: tuple[str, int | None]) -> dict[str, Any]:
        annotations = [
            {
                "annot_id": i,
                "label": [label.partition(".")[0], label] if "." in label else [label],
                "note": "",
                "summary_span": "1950" if start is not None else None,
                "summary_start": start,
                "summary_end": None if start is None else start + 4,
            }
            for i, (label, start) in enumerate(marks)
        ]
        return {
            "sample_id": number,
            "source": FACTS,
            "summary": summary,
            "annotations": annotations,
            "metadata": {"summarizer": "some/llm", "hhemv1": 0.9},
        }

    first = [
        sample(0, RIGHT),
        sample(1, WRONG, ("Unwanted.Intrinsic", YEAR[0]), ("Benign", YEAR[0])),
        sample(2, WRONG, ("Benign", YEAR[0])),
    ]
    second = [sample(0, WRONG, ("Questionable", YEAR[0])), sample(1, WRONG, ("Unwanted", None))]
    for number, samples in ((2, first), (10, second)):
        write(folder / f"batch_{number}.json", json.dumps({"samples": samples}))
    return folder


def ragbench_rows(subset: str, *adherent: bool | None) -> list[dict[str, Any]]:
    """Rows of a subset."""
    return [
        {
            "id": f"{subset}_{i}",
            "question": "When?",
            "documents": ["Something else.", FACTS],
            "response": RIGHT if is_adherent else WRONG,
            "generation_model_name": "some-llm",
            "dataset_name": f"{subset}_test",
            "adherence_score": is_adherent,
        }
        for i, is_adherent in enumerate(adherent)
    ]


def aggrefact_rows(labels: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    """Claims of some datasets; 1 is supported."""
    return [
        {
            "dataset": dataset,
            "doc": FACTS,
            "claim": RIGHT if label else WRONG,
            "label": label,
            "contamination_identifier": "x" * 64,
        }
        for dataset, of_dataset in labels.items()
        for label in of_dataset
    ]


def wice(folder: Path) -> Path:
    """Claims, and their parts."""
    labels = ("supported", "partially_supported", "not_supported")
    for kind, names in (("claim", labels), ("subclaim", labels[:2])):
        place = folder / "entailment_retrieval" / kind
        place.mkdir(parents=True)
        rows = [
            {
                "label": label,
                "supporting_sentences": [[0]],
                "claim": RIGHT if label == "supported" else WRONG,
                "evidence": ["(meta data) TITLE: A bridge", *FACTS.split(". ")],
                "meta": {"id": f"test{i}", "claim_title": "Bridge", "claim_context": ""},
            }
            for i, label in enumerate(names)
        ]
        write(place / "test.jsonl", json_lines(*rows))
    return folder


def halubench_rows() -> list[dict[str, Any]]:
    """One that passes, one that fails."""
    return [
        {
            "id": f"h{i}",
            "passage": FACTS,
            "question": "When?",
            "answer": answer,
            "label": label,
            "source_ds": "DROP",
        }
        for i, (answer, label) in enumerate(((RIGHT, "PASS"), (WRONG, "FAIL")))
    ]


def psiloqa_rows() -> list[dict[str, Any]]:
    """One with a marked stretch, one without."""
    return [
        {
            "id": f"p{i}",
            "lang": "en",
            "wiki_passage": FACTS,
            "question": "When?",
            "golden_answer": "1932",
            "llm_checkpoint": "some/llm",
            "llm_answer": answer,
            "labels": labels,
        }
        for i, (answer, labels) in enumerate(((RIGHT, []), (WRONG, [list(YEAR)])))
    ]
