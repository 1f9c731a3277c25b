"""Slot-annotated answers: variants of one answer that differ in one stretch each.

A slot is ``{{supported||hallucinated||kind}}`` in the text of an answer.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from groundwire.detection.rows import RowError
from groundwire.evaluation.datasets.files import (
    AnyRow,
    Values,
    all_answers,
    answer_reader,
    read_files,
)
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.lines import json_lines
from groundwire.evaluation.datasets.sets import n_slots, render_slots

_LABELS = {1: "baseless", 2: "conflict"}


def read_slots(path: Path) -> Iterator[LabelledAnswer]:
    """Read rows with the keys id, domain, context (a text or a list of them) and answer.

    Each gives the faithful answer, named after the row, and for each slot a variant in which that
    slot alone is hallucinated, ``.1``, ``.2``... Where that only leaves something out, nothing can
    be marked, and there is no variant. The domain is the task.

    Raises:
        DatasetError: If a row is not as described, or an id comes twice.
    """
    return all_answers(each_slot(path))


def each_slot(path: Path) -> Iterator[AnyRow]:
    """Read the same rows; one that is not as described is a failed row.

    Raises:
        DatasetError: If the file has no rows.
    """
    return read_files((path,), answer_reader(), turn=_variants, lines=json_lines)


def _variants(values: Values, file: Path, line: int) -> Iterable[Values]:
    del file, line
    id_, annotated = values["id"], values["answer"]
    try:
        made = {id_: render_slots(annotated, frozenset())} | {
            f"{id_}.{i + 1}": render_slots(annotated, frozenset({i}))
            for i in range(n_slots(annotated))
        }
    except ValueError as error:
        raise RowError("a slot is not of the form {{supported||hallucinated||kind}}") from error
    for name, variant in made.items():
        if name == id_ or variant.spans:
            yield {
                "id": name,
                "task": values["domain"],
                "context_id": values.get("context_id", id_),
                "sources": values["context"],
                "question": values.get("question"),
                "answer": variant.text,
                "spans": [
                    {"start": start, "end": end, "label": _LABELS[label]}
                    for start, end, label in variant.spans
                ],
            }
