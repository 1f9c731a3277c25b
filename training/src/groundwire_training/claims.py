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

#: Sets by their paths, each with its parts that are used for training. Sentence pairs: InfoTabs
#: (https://aclanthology.org/2020.acl-main.210), SNLI (https://aclanthology.org/D15-1075), ConTRoL
#: (https://arxiv.org/abs/2011.04864), symmetric FEVER (https://aclanthology.org/D19-1341), RTE as
#: in BECEL (https://aclanthology.org/2022.coling-1.324), negations of RTE, SNLI and MNLI
#: (https://aclanthology.org/2020.emnlp-main.732), ScoNe (https://aclanthology.org/2023.acl-short.154),
#: MED (https://aclanthology.org/W19-4804). Claims of people and of models beside evidence:
#: AttributionBench (https://aclanthology.org/2024.findings-acl.886), citations of biomedical papers
#: (https://doi.org/10.1093/bioinformatics/btae420), Climate-FEVER
#: (https://arxiv.org/abs/2012.00614), multi-hop claims (https://arxiv.org/abs/2410.20783),
#: Factcheck-GPT (https://arxiv.org/abs/2311.09000), Q² (https://aclanthology.org/2021.emnlp-main.619)
#: and SciTab (https://aclanthology.org/2023.emnlp-main.483).
SETS: Mapping[str, frozenset[str]] = {
    "nli/infotabs": frozenset({"train"}),
    "nli/snli_dev_test": frozenset({"validation"}),
    "nli/control": frozenset({"dev"}),
    "nli/fever_symmetric": frozenset({"dev"}),
    "nli/rte": frozenset({"train"}),
    "nli/negnli": frozenset({"all"}),
    "nli/scone": frozenset({"train"}),
    "nli/med": frozenset({"all"}),
    "claims/attributionbench": frozenset({"dev"}),
    "claims/citation_integrity": frozenset({"train"}),
    "claims/climate_fever": frozenset({"all"}),
    "claims/cg2c": frozenset({"all"}),
    "claims/factcheckgpt_stance": frozenset({"all"}),
    "claims/q2": frozenset({"all"}),
    "claims/scitab": frozenset({"all"}),
}
#: Labels of the sets in lower case, by their number: 0 supported, 1 unsupported, 2 contradicted.
_LABELS = {
    label: number
    for number, labels in enumerate(
        (
            "attributable, completely-support, consistent, entailment, support, supported, "
            "supports",
            "inconsistent, irrelevant, nei, neutral, not attributable, not enough info, "
            "not_enough_info, not_entailment, partially-support, unsupported",
            "contradiction, refute, refutes",
        )
    )
    for label in labels.split(", ")
}
# The words that differ between a right and a wrong sentence are taken to be the wrong ones if at
# least this share of all words is the same and the others are in one place.
_SAME_WORDS = 0.7


def claims(folder: Path) -> list[LabelledContext]:
    """Read the claims of all :data:`SETS`, grouped by premise.

    Args:
        folder: Has a file ``SET.jsonl.gz`` for each set, whose rows have ``split``, ``context``,
            ``answer`` and ``label``.
    """
    return [
        record
        for path, splits in SETS.items()
        for record in _grouped(Path(path).name, read_rows(folder / f"{path}.jsonl.gz"), splits)
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
            judged([(row["answer"].strip(), _LABELS[row["label"].lower()]) for row in found])
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
