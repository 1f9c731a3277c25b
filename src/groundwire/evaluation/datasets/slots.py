"""Answers with slots: one text gives a faithful answer and its hallucinated variants.

A slot is a part ``{{supported||hallucinated||kind}}`` of the text: a supported wording, a
hallucinated wording, and the kind of hallucination. In each variant one slot is hallucinated.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from groundwire.detection.rows import RowError
from groundwire.evaluation.datasets.files import AnyRow, Values, answer_reader, read_files
from groundwire.evaluation.datasets.lines import files_of

#: Labels of wrong words in an answer: the sources do not support them, or contradict them.
UNSUPPORTED, CONTRADICTED = 1, 2
#: Label of words that may be wrong, but have not been judged.
DOUBTFUL = -1

_SLOT = re.compile(r"\{\{(.*?)\}\}", re.S)
_NAMES = {UNSUPPORTED: "baseless", CONTRADICTED: "conflict"}


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """An answer with its hallucinated parts.

    Attributes:
        text: The answer.
        spans: ``(start, end, label)`` of wrong words: :data:`UNSUPPORTED` or :data:`CONTRADICTED`.
        doubts: ``(start, end, label)`` of parts in which the wrong words are not known.
            With the label :data:`DOUBTFUL`, perhaps no word is wrong. With any other label, at
            least one word is wrong in the way that the label says.
    """

    text: str
    spans: tuple[tuple[int, int, int], ...]
    doubts: tuple[tuple[int, int, int], ...] = ()


def each_slot(path: Path) -> Iterator[AnyRow]:
    """Read answers with slots from a file or folder; yield faithful and hallucinated answers.

    A record of a file has the keys id, domain (the task), context (a text or a list) and answer
    (a text with slots). The keys question and context_id are optional; by default the context id is
    the record's id.

    From a record come the faithful answer, with the record's id, and a variant for each slot that
    has a hallucinated wording; in the variant, that slot alone is hallucinated. The id of a variant
    is the record's id with the number of the slot, from ``.1``.

    Raises:
        DatasetError: If every file is without rows or has an invalid format, the folder has no
            table, or the path is neither a file nor a folder, but for example a pipe.
        OSError: If a file other than Parquet cannot be opened.
        MissingExtraError: If a file is Parquet and pyarrow is not installed.
    """
    return read_files(files_of(path), answer_reader(), turn=_variants)


def _variants(values: Values, file: Path, line: int) -> Iterable[Values]:
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
        annotated: Text with slots ``{{supported||hallucinated||kind}}``.
        hallucinated: Numbers of the slots that get their hallucinated wording, counted from 0.

    Returns:
        The text, and the ranges of its hallucinated wordings. White space at the ends of a wording
        is not part of its range.

    Raises:
        ValueError: If a slot does not have the form ``{{supported||hallucinated||kind}}``.
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
