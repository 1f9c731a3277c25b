"""Reads JSON Lines files of claims with evidence and a label, to train the explainer.

Rows have Groundwire's keys, or the keys of SNLI and similar sets; docs/training.md lists them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import GroundwireError, InputError
from groundwire_training.rows import RowError, hold_out, lines_of_file, object_of

#: Names of the classes, in SNLI's order; a row may give the index in place of the name.
LABELS = ("entailment", "neutral", "contradiction")
_EVIDENCE = ("evidence", "premise", "context", "sentence1")
_CLAIM = ("claim", "hypothesis", "answer", "sentence2")
_LABEL = ("label", "gold_label")
_NAMES: Mapping[object, int] = {
    **{name: number for number, name in enumerate(LABELS)},
    **{name: number for number, name in enumerate(("supported", "unsupported", "contradicted"))},
    "entailed": 0,
    "supports": 0,
    "not enough info": 1,
    "refutes": 2,
}
#: SNLI's labels for rows whose annotators did not agree.
_WITHOUT = ("-", -1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim with its evidence and its label; the label is an index of :data:`LABELS`."""

    evidence: str
    claim: str
    label: int


def read_pairs(path: Path) -> list[Pair]:
    """Read the pairs of a JSON Lines file, or of all such files of a folder.

    Rows whose annotators did not agree on a label are left out.

    Raises:
        RowError: At the first line that cannot be used.
        InputError: If no row has a label.
        OSError: If a file cannot be read.
    """
    files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    pairs = [pair for file in files for pair in _pairs(file)]
    if not pairs:
        raise InputError(
            f"{path} has no row with a label. Give a file of JSON lines, or a folder of files that "
            'end in .jsonl or .jsonl.gz: {"evidence": "...", "claim": "...", "label": "neutral"}.'
        )
    return pairs


def split_pairs(path: Path, pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Hold out the pairs of a tenth of the evidence texts; each run holds out the same ones.

    Returns:
        The pairs to measure with, and the pairs to train with.

    Raises:
        TooFewContextsError: If all pairs have the same evidence.
    """
    held = hold_out(path, [pair.evidence for pair in pairs])
    return (
        [pair for pair in pairs if pair.evidence in held],
        [pair for pair in pairs if pair.evidence not in held],
    )


def _pairs(file: Path) -> Iterator[Pair]:
    for number, line in lines_of_file(file):
        try:
            pair = _pair(object_of(line))
        except GroundwireError as error:
            raise RowError(file, number, str(error)) from error
        if pair is not None:
            yield pair


def _pair(row: Mapping[str, Any]) -> Pair | None:
    label = row[_key(row, _LABEL)]
    if label in _WITHOUT:
        return None
    known = _NAMES.get(label.strip().lower()) if isinstance(label, str) else label
    # The type is compared exactly, since True is an int in Python.
    if type(known) is not int or not 0 <= known < len(LABELS):
        raise InputError(
            f"The label is {label!r}. It must be one of {', '.join(LABELS)}, or their numbers "
            "0, 1 and 2; two classes are too few."
        )
    return Pair(_text(row, _EVIDENCE), _text(row, _CLAIM), known)


def _text(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    key = _key(row, keys)
    value = row[key]
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(value)
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"The {key} of the row is not a text, or is empty. Give a text, or a list of texts."
        )
    return value


def _key(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    found = next((key for key in keys if key in row), None)
    if found is None:
        raise InputError(f"The row has none of {', '.join(keys)}. Add {keys[0]!r}.")
    return found
