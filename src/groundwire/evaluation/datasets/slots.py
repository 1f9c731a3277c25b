"""Slot-annotated answers: variants of one answer that differ in one stretch each.

A slot is ``{{supported||hallucinated||kind}}`` in the text of an answer.
"""

from collections.abc import Iterator
from pathlib import Path

from groundwire.detection.values import Label
from groundwire.errors import DatasetError
from groundwire.evaluation.datasets.labelled import GoldSpan, LabelledAnswer
from groundwire.evaluation.datasets.rows import DataRow, each_row
from groundwire.evaluation.datasets.sets import MarkedAnswer, n_slots, render_slots

_LABELS = {1: Label.UNSUPPORTED, 2: Label.CONTRADICTED}


def read_slots(path: Path) -> Iterator[LabelledAnswer]:
    """Read rows with the keys id, domain, context (a text or a list of them) and answer.

    Each gives the faithful answer, named after the row, and for each slot a variant in which that
    slot alone is hallucinated, ``.1``, ``.2``... Where that only leaves something out, nothing can
    be marked, and there is no variant. The domain is the task.

    Raises:
        DatasetError: If a row is not as described, or an id comes twice.
    """
    for answer in each_slot(path):
        if isinstance(answer, DatasetError):
            raise answer
        yield answer


def each_slot(path: Path) -> Iterator[LabelledAnswer | DatasetError]:
    """The same, with what is wrong with a row in its place, and the rows after it.

    Raises:
        DatasetError: If the file has no rows.
    """
    ids: set[str] = set()
    for row in each_row(path):
        try:
            yield from _answers(row, ids)
        except DatasetError as error:
            yield error


def _answers(row: DataRow | DatasetError, ids: set[str]) -> list[LabelledAnswer]:
    if isinstance(row, DatasetError):
        raise row
    id_ = row.get("id", str)
    if id_ in ids:
        raise row.error(f"the id {id_!r} is there for the second time")
    found = list(_variants(row, id_))
    ids.add(id_)
    return found


def _variants(row: DataRow, id_: str) -> Iterator[LabelledAnswer]:
    context = row.data.get("context")
    sources = context if isinstance(context, list) else [row.get("context", str)]
    for name, variant in _render(row, id_).items():
        yield LabelledAnswer(
            id=name,
            task=row.get("domain", str),
            context_id=row.get("context_id", str, id_),
            example=row.example(sources, row.get_text("question"), variant.text),
            spans=tuple(
                GoldSpan(start=start, end=end, label=_LABELS[label])
                for start, end, label in variant.spans
            ),
        )


def _render(row: DataRow, id_: str) -> dict[str, MarkedAnswer]:
    annotated = row.get("answer", str)
    try:
        faithful = render_slots(annotated, frozenset())
        variants = {
            f"{id_}.{i + 1}": render_slots(annotated, frozenset({i}))
            for i in range(n_slots(annotated))
        }
    except ValueError as error:
        problem = "a slot is not of the form {{supported||hallucinated||kind}}"
        raise row.error(problem) from error
    return {id_: faithful} | {name: made for name, made in variants.items() if made.spans}
