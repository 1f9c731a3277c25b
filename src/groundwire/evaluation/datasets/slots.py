"""Slot-annotated answers: variants of one answer that differ in one stretch each.

A slot is ``{{supported||hallucinated||kind}}`` in the text of an answer.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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

#: Labels of stretches.
UNSUPPORTED, CONTRADICTED = 1, 2
#: Label of a stretch that has not been judged.
DOUBTFUL = -1

_SLOT = re.compile(r"\{\{(.*?)\}\}", re.S)
_NAMES = {UNSUPPORTED: "baseless", CONTRADICTED: "conflict"}


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """An answer with its hallucinated stretches.

    Attributes:
        text: The answer.
        spans: ``(start, end, label)`` of wrong words; 1 is unsupported, 2 contradicted.
        doubts: ``(start, end, label)``: somewhere in these words is a mistake with label 1 or 2,
            or there may be one (:data:`DOUBTFUL`).
    """

    text: str
    spans: tuple[tuple[int, int, int], ...]
    doubts: tuple[tuple[int, int, int], ...] = ()


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
                    {"start": start, "end": end, "label": _NAMES[label]}
                    for start, end, label in variant.spans
                ],
            }


def render_slots(annotated: str, hallucinated: frozenset[int]) -> MarkedAnswer:
    """Fill in the slots of an answer.

    Args:
        annotated: Text with ``{{supported||hallucinated||kind}}``.
        hallucinated: Which slots take their second text, counted from 0.

    Returns:
        The text, with the exact ranges of what was put in, trimmed of white space.
    """
    text = ""
    spans = []
    for i, part in enumerate(_SLOT.split(annotated)):
        if i % 2 == 0:
            text += part
            continue
        good, bad, kind = part.split("||")
        if i // 2 not in hallucinated:
            text += good
            continue
        start = len(text) + len(bad) - len(bad.lstrip())
        if bad.strip():
            label = CONTRADICTED if kind == "conflict" else UNSUPPORTED
            spans.append((start, len(text) + len(bad.rstrip()), label))
        text += bad
    return MarkedAnswer(text, tuple(spans))


def n_slots(annotated: str) -> int:
    """Count the slots of an annotated answer."""
    return len(_SLOT.findall(annotated))
