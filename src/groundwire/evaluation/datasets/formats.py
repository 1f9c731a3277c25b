"""How a file of labelled answers is written, by name."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

from groundwire.evaluation.datasets.choosing import Read
from groundwire.evaluation.datasets.files import NumberedAnswer, read_labelled
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.datasets.slots import read_slots

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
    return lambda: numbered(read_slots(path))


def numbered(answers: Iterable[LabelledAnswer]) -> Iterator[NumberedAnswer]:
    """Answers of any other reader, as the rows of a table."""
    for row, answer in enumerate(answers, 1):
        example = answer.example
        content = [
            answer.id,
            [source.text for source in example.sources],
            example.question,
            example.answer,
            [(span.start, span.end, span.kind) for span in answer.spans],
        ]
        digest = sha256(json.dumps(content).encode()).hexdigest()[:16]
        yield NumberedAnswer(row=row, answer=answer, sha256=digest)
