"""Reads data sets of short claims in pairs: a right claim, and one that is wrong in a few words.

The folder ``pairs`` has three such sets: TabFact's claims about tables
(https://arxiv.org/abs/1909.02164), image captions with counterfactual edits by people
(https://arxiv.org/abs/1909.12434), and records with sentences in which the values are marked (E2E
https://arxiv.org/abs/1706.09254, DART https://arxiv.org/abs/2007.02871), where one value is
replaced.
"""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from groundwire.detection.example import read_sources
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.claims import judged
from groundwire_training.sets import LabelledContext, read_rows

_CONFLICT, _BASELESS = 2, 1
_LABELS = {"entailment": 0, "neutral": _BASELESS, "contradiction": _CONFLICT}
#: The most characters of a table. A longer table takes too much time to read for its one claim.
_MAX_TABLE_CHARS = 1_600
#: The most claims about one image caption.
_MAX_CLAIMS = 8


def contrasts(folder: Path, *, seed: int) -> dict[str, list[LabelledContext]]:
    """Read the training parts of all three sets, by name of the set.

    Args:
        folder: The folder of ``tabfact.jsonl.gz``, ``cad_nli.jsonl.gz`` and ``records.jsonl.gz``.
        seed: Seed for the choice of replaced values.
    """
    return {
        "tables": list(_tables(read_rows(folder / "tabfact.jsonl.gz"))),
        "captions": list(_captions(read_rows(folder / "cad_nli.jsonl.gz"))),
        "records": list(_records(read_rows(folder / "records.jsonl.gz"), random.Random(seed))),
    }


def held_out(folder: Path, n: int) -> list[LabelledContext]:
    """Draw records from the validation parts, as many tables as captions if there are enough.

    Args:
        folder: The folder of ``tabfact.jsonl.gz`` and ``cad_nli.jsonl.gz``.
        n: The most records. Each call with the same number draws the same records.
    """
    sets = (
        list(_tables(read_rows(folder / "tabfact.jsonl.gz"), "validation")),
        list(_captions(read_rows(folder / "cad_nli.jsonl.gz"), "validation")),
    )
    return [r for found in sets for r in random.Random(0).sample(found, min(n // 2, len(found)))]


def with_stranger(record: LabelledContext, others: Iterable[LabelledContext]) -> LabelledContext:
    """Replace a record's last claim by a claim about something else, all marked unsupported.

    Args:
        record: The record; its sources are kept.
        others: Records to take the claim from; the first one with other sources is used.
    """
    for other in others:
        if other.sources != record.sources:
            text = other.answers[0].text
            stranger = MarkedAnswer(text, ((0, len(text), _BASELESS),))
            return record.with_last(stranger)
    return record


def _tables(rows: Iterable[dict[str, Any]], split: str = "train") -> Iterator[LabelledContext]:
    for row in rows:
        if row["split"] == split and len(row["context"]) <= _MAX_TABLE_CHARS:
            spans = tuple((span["start"], span["end"], _CONFLICT) for span in row["spans"])
            if spans:
                answers = (MarkedAnswer(row["good"], ()), MarkedAnswer(row["bad"], spans))
                yield _record(row["id"], "tables", row["context"], answers)


def _captions(rows: Iterable[dict[str, Any]], split: str = "train") -> Iterator[LabelledContext]:
    groups: dict[str, dict[str, int]] = {}
    for row in rows:
        if row["split"] == split and row["kind"] == "nli":
            known = groups.setdefault(row["premise"].strip(), {})
            known[row["hypothesis"].strip()] = _LABELS[row["label"]]
    for number, (premise, known) in enumerate(groups.items()):
        answers = tuple(judged(list(known.items()))[:_MAX_CLAIMS])
        yield _record(f"caption-{number}", "captions", premise, answers)


def _records(rows: Iterable[dict[str, Any]], rng: random.Random) -> Iterator[LabelledContext]:
    kept = list(rows)
    values: dict[tuple[str, str], list[str]] = {}
    for row in kept:
        for value in row["values"]:
            text = row["good"][value["start"] : value["end"]]
            values.setdefault((row["source"], value["field"]), []).append(text)
    for row in kept:
        wrong = _another_value(row, values, rng)
        if wrong:
            answers = (MarkedAnswer(row["good"], ()), wrong)
            yield _record(row["id"], "records", row["context"], answers)


def _another_value(
    row: dict[str, Any], values: dict[tuple[str, str], list[str]], rng: random.Random
) -> MarkedAnswer | None:
    """Replace one value of a sentence by another record's value of the same field."""
    good = row["good"]
    for value in rng.sample(row["values"], len(row["values"])):
        start, end = value["start"], value["end"]
        other = rng.choice(values[row["source"], value["field"]])
        if other.lower() not in row["context"].lower() and other.lower() != good[start:end].lower():
            span = (start, start + len(other), _CONFLICT)
            return MarkedAnswer(good[:start] + other + good[end:], (span,))
    return None


def _record(
    name: str, kind: str, context: str, answers: tuple[MarkedAnswer, ...]
) -> LabelledContext:
    return LabelledContext(name, f"contrasts-{kind}", read_sources([context]), None, answers)
