"""Reads data sets that label whole claims: a premise, and sentences about it.

These sets do not mark the wrong words. If a supported sentence about the same premise differs from
a wrong one in a few words, these words become the span of the wrong one. Otherwise only the
sentence has a label, and its words have none.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.sets import LabelledContext, changed_words, read_rows

#: Sets under ``nli/``, each with its parts that are used for training: InfoTabs
#: (https://aclanthology.org/2020.acl-main.210), SNLI (https://aclanthology.org/D15-1075), ConTRoL
#: (https://arxiv.org/abs/2011.04864), symmetric FEVER (https://aclanthology.org/D19-1341), RTE as
#: in BECEL (https://aclanthology.org/2022.coling-1.324), negations of RTE, SNLI and MNLI
#: (https://aclanthology.org/2020.emnlp-main.732), ScoNe (https://aclanthology.org/2023.acl-short.154),
#: MED (https://aclanthology.org/W19-4804).
SETS: Mapping[str, frozenset[str]] = {
    "infotabs": frozenset({"train"}),
    "snli_dev_test": frozenset({"validation"}),
    "control": frozenset({"dev"}),
    "fever_symmetric": frozenset({"dev"}),
    "rte": frozenset({"train"}),
    "negnli": frozenset({"all"}),
    "scone": frozenset({"train"}),
    "med": frozenset({"all"}),
}
_LABELS = {
    "entailment": 0,
    "SUPPORTS": 0,
    "neutral": 1,
    "not_entailment": 1,
    "contradiction": 2,
    "REFUTES": 2,
}
# The words that differ between a right and a wrong sentence are taken to be the wrong ones if at
# least this share of all words is the same and the others are in one place.
_SAME_WORDS = 0.7


def claims(folder: Path) -> list[LabelledContext]:
    """Read the claims of all :data:`SETS`, grouped by premise.

    Args:
        folder: Has a file ``NAME.jsonl.gz`` for each set, whose rows have ``split``, ``context``,
            ``answer`` and ``label``.
    """
    return [
        record
        for name, splits in SETS.items()
        for record in _grouped(name, read_rows(folder / f"{name}.jsonl.gz"), splits)
    ]


def _grouped(
    name: str, rows: Iterable[dict[str, Any]], splits: frozenset[str]
) -> list[LabelledContext]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["split"] in splits:
            groups.setdefault(row["context"], []).append(row)
    records = []
    for context, found in groups.items():
        answers = dict.fromkeys(
            judged([(row["answer"].strip(), _LABELS[row["label"]]) for row in found])
        )
        sources = read_sources([context])
        records.append(
            LabelledContext(found[0]["id"], f"claims-{name}", sources, None, tuple(answers))
        )
    return records


def judged(sentences: Sequence[tuple[str, int]]) -> list[MarkedAnswer]:
    """Label sentences about one premise, and mark the wrong words where they are known.

    Args:
        sentences: Sentences with labels: 0 supported, 1 unsupported, 2 contradicted.
    """
    right = [text for text, label in sentences if not label]
    marked = []
    for text, label in sentences:
        if not label:
            marked.append(MarkedAnswer(text, ()))
            continue
        like = max(right, key=lambda other: _likeness(other, text), default="")
        changed = changed_words(like, text)
        if len(changed) == 1 and _likeness(like, text) >= _SAME_WORDS:
            marked.append(MarkedAnswer(text, ((*changed[0], label),)))
        else:
            marked.append(MarkedAnswer(text, (), ((0, len(text), label),)))
    return marked


def _likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a.lower().split(), b.lower().split(), False).ratio()
