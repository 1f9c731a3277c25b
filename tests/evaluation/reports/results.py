"""Files of results for tests."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire.evaluation.datasets.files import read_labelled
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.judged_row import Header
from groundwire.evaluation.reports.summary import Summary, summarize
from groundwire.evaluation.run import run
from tests.fakes import FixedDetector

SOURCE = "The tower was built in 1889 and is 330 meters tall."

#: Text that would act in each of the formats that reports have.
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> </details>]]> & \" ' `x` **b** [a](http:"
    "//x.y) @octocat #12 | \x1b[31m \u202e \x00 \ufffe -->"
)

DETECTOR = FixedDetector(unsupported=["500 meters"], contradicted=["1950"], fails_on="BOOM")


def row(answer: str, *marked: str, **columns: Any) -> dict[str, Any]:  # noqa: ANN401
    """A labelled answer in which words are marked."""
    spans = [
        {"start": answer.index(words), "end": answer.index(words) + len(words)} for words in marked
    ]
    given = {"sources": [SOURCE], "answer": answer, "spans": spans, "task": "QA"}
    return {**given, **columns}


#: One row of each kind; the detector marks "1950" and "500 meters".
ROWS = (
    row("Built in 1950, 500 meters tall.", "1950", id="found", question="How tall?"),
    row("Built by Eve.", "by Eve", id="missed", model="llm-a"),
    row("It is not from 1950.", id="alarm", task="Summary"),
    row("Built in 1889.", id="passed", task="Summary"),
    row("BOOM", "BOOM", id="failed"),
    row("It is 330 meters tall.", id="unchecked", sources=[]),
    {"id": "unlabelled", "sources": [SOURCE], "answer": "Built in 1889.", "task": "QA"},
)


def results_of(
    rows: Sequence[Mapping[str, Any]], path: Path, detector: FixedDetector = DETECTOR
) -> Path:
    """Judge rows into a file of results."""
    data = path.with_suffix(".data.jsonl")
    data.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    mapping = ColumnMapping.of((), label_means="hallucinated")
    header = Header(
        detector=detector.info, data={data.name: "0" * 64}, command="groundwire evaluate"
    )
    run(detector, read_labelled(data, mapping), output=path, header=header)
    return path


def summary_of(rows: Sequence[Mapping[str, Any]], folder: Path, *, n_examples: int = 9) -> Summary:
    """Judge rows, and what reports say of them."""
    return summarize(results_of(rows, folder / "results.jsonl"), n_examples=n_examples)
