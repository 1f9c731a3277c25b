"""Rows and files of results for tests."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.values import DetectorInfo
from groundwire.evaluation.confusion import ComparedAnswer, detection_in
from groundwire.evaluation.datasets.files import AnyRow, FailedRow, NumberedAnswer
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import Header, JudgedRow
from groundwire.evaluation.judging import judge_block
from tests.evaluation.labelled import labelled
from tests.fakes import FIXED, FixedDetector

DETECTOR = FixedDetector(unsupported=["wrong"], fails_on="bad")


def header(info: DetectorInfo = FIXED, **data: str) -> Header:
    """The header of a run over a file ``rows``."""
    return Header(detector=info, data=data or {"rows": "0" * 64}, command="groundwire evaluate")


def rows_of(answers: Iterable[LabelledAnswer]) -> list[AnyRow]:
    """Answers as the rows of a table."""
    return [
        NumberedAnswer(
            row=row, answer=answer, sha256=sha256(repr(answer).encode()).hexdigest()[:16]
        )
        for row, answer in enumerate(answers, 1)
    ]


def unchecked(answer: str, *marked: str, id_: str = "u") -> LabelledAnswer:
    """A labelled answer without a source, so that nothing of it can be checked."""
    found = labelled(answer, *marked, context=id_, id_=id_)
    return replace(found, example=replace(found.example, sources=()))


def failed(row: int, problem: str = "bad") -> FailedRow:
    """A row that could not be read."""
    return FailedRow(row=row, id=str(row), place=f"t.jsonl:{row}", problem=problem, sha256="f" * 16)


def some_answers(n: int, n_contexts: int = 7) -> list[LabelledAnswer]:
    """Answers right and wrong to some contexts, in an order in which contexts mix."""
    return [
        labelled(
            f"It is {'wrong' if i % 3 else 'fine'}, {i}.",
            *(["wrong"] if i % 3 == 1 else []),
            task="QA" if i % 2 else "Summary",
            context=f"c{i % n_contexts}",
            id_=f"a{i}",
        )
        for i in range(n)
    ]


def judged(
    answers: Sequence[LabelledAnswer], detector: FixedDetector = DETECTOR
) -> list[JudgedRow]:
    """Answers that were judged."""
    return list(judge_block(detector, rows_of(answers)))


def compared(detector: AnyDetector, answers: Sequence[LabelledAnswer]) -> list[ComparedAnswer]:
    """Judged answers in their order, compared with their labels."""
    rows = sorted(judge_block(detector, rows_of(answers)), key=lambda row: row.row)
    return [ComparedAnswer.of(row, detection_in(row)) for row in rows]


def evaluated(
    answers: Sequence[LabelledAnswer], detector: FixedDetector = DETECTOR
) -> dict[str, Any]:
    """What a detector is worth on answers."""
    return Evaluation.of(header(), judged(answers, detector)).to_dict()


def without_times(data: dict[str, Any]) -> bytes:
    """Scores as JSON without what a clock said."""
    times = ("seconds", "examples_per_s", "latency_ms")
    return json.dumps({key: data[key] for key in data if key not in times}).encode()


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of results."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]
