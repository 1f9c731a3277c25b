"""How a file of labelled answers is written, by name."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

from groundwire.errors import DatasetError
from groundwire.evaluation.datasets.choosing import Read
from groundwire.evaluation.datasets.files import AnyRow, FailedRow, NumberedAnswer, read_labelled
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.datasets.slots import each_slot

#: ``table`` has an answer a row; ``slots`` one of which each slot gives a variant.
FORMATS = ("table", "slots")


def reader(path: Path, *, format: str, mapping: ColumnMapping) -> Read:
    """What reads a file from its beginning, each time it is called.

    Args:
        path: The file, or a folder of tables.
        format: One of :data:`FORMATS`.
        mapping: Which column of a table holds what.
    """
    if format == "table":
        return partial(read_labelled, path, mapping)
    return lambda: numbered(each_slot(path))


def numbered(answers: Iterable[LabelledAnswer | DatasetError]) -> Iterator[AnyRow]:
    """Answers of any other reader, or what is wrong with one, as the rows of a table."""
    for row, answer in enumerate(answers, 1):
        yield _failed(row, answer) if isinstance(answer, DatasetError) else _numbered(row, answer)


def _failed(row: int, error: DatasetError) -> FailedRow:
    return FailedRow(
        row=row,
        id=str(row),
        place=f"{error.path}:{error.line}",
        problem=error.problem,
        sha256=_digest([error.line, error.problem]),
    )


def _numbered(row: int, answer: LabelledAnswer) -> NumberedAnswer:
    example = answer.example
    content = [
        answer.id,
        [source.text for source in example.sources],
        example.question,
        example.answer,
        [(span.start, span.end, span.kind) for span in answer.spans],
    ]
    return NumberedAnswer(row=row, answer=answer, sha256=_digest(content))


def _digest(content: object) -> str:
    return sha256(json.dumps(content).encode()).hexdigest()[:16]
