"""Rows on their way to a worker and back, as lines of JSON: what comes out is what went in."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from groundwire.detection.example import Example, Source
from groundwire.detection.values import Label
from groundwire.evaluation.datasets.files import AnyRow, FailedRow, NumberedAnswer
from groundwire.evaluation.datasets.labelled import GoldSpan, Known, LabelledAnswer
from groundwire.evaluation.judged_row import JudgedRow
from groundwire.text.files.writing import to_json


def pack(row: AnyRow) -> str:
    """A row that is to be judged."""
    if isinstance(row, FailedRow):
        return to_json({"failed": _fields(row)})
    answer = row.answer
    plain = _fields(answer)
    more = {"example": asdict(answer.example), "spans": [asdict(span) for span in answer.spans]}
    return to_json({"row": row.row, "sha256": row.sha256, "answer": {**plain, **more}})


def unpack(line: str) -> AnyRow:
    """Read it back."""
    data = json.loads(line)
    if "failed" in data:
        return FailedRow(**data["failed"])
    return NumberedAnswer(row=data["row"], sha256=data["sha256"], answer=_answer(data["answer"]))


def pack_judged(row: JudgedRow) -> str:
    """A row that was judged, as a file of results has it."""
    return to_json(row.to_dict())


def unpack_judged(line: str) -> JudgedRow:
    """Read it back."""
    return JudgedRow.from_dict(json.loads(line))


def _fields(row: FailedRow | LabelledAnswer) -> dict[str, Any]:
    # asdict would copy what is in them, and columns that cannot be changed cannot be copied.
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def _answer(data: Mapping[str, Any]) -> LabelledAnswer:
    example = data["example"]
    sources = tuple(Source(**source) for source in example["sources"])
    more = {
        "example": Example(sources=sources, answer=example["answer"], question=example["question"]),
        "spans": tuple(
            GoldSpan(**{**span, "label": Label(span["label"])}) for span in data["spans"]
        ),
        "known": Known(data["known"]),
    }
    return LabelledAnswer(**{**data, **more})
