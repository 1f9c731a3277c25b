"""Reads a user's own file of labelled answers: JSON Lines, plain or gzip.

docs/training.md shows the format. A line that cannot be used is never skipped: it raises an error
that names its number.
"""

import gzip
import json
import random
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from groundwire.detection.example import Example
from groundwire.errors import GroundwireError, InputError
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.sets import LabelledContext

#: The number of each label of a span, as in
#: :class:`groundwire.evaluation.datasets.slots.MarkedAnswer`.
LABELS = {"unsupported": 1, "contradicted": 2}
#: Share of the contexts that are held out: at least one, at most :data:`_MAX_HELD`.
_HELD_SHARE = 0.1
_MAX_HELD = 150

_Context = TypeVar("_Context", bound=Hashable)
_GZIP_MAGIC = b"\x1f\x8b"
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)


class RowError(InputError):
    """A line of a file of labelled answers or pairs cannot be used."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(path, line, problem)
        self.path, self.line, self.problem = path, line, problem

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


class TooFewContextsError(InputError):
    """A file has too few contexts to train with some and measure with others."""

    def __init__(self, path: Path, n_contexts: int) -> None:
        super().__init__(path, n_contexts)
        self.path, self.n_contexts = path, n_contexts

    def __str__(self) -> str:
        return (
            f"{self.path} has {self.n_contexts} different contexts, and at least 2 are needed: one "
            "to train with, one to measure with. Start with a few hundred: add answers to other "
            "sources."
        )


def read(path: Path) -> list[LabelledContext]:
    """Read a file of labelled answers; answers with the same sources and question form a record.

    Raises:
        RowError: At the first line that cannot be used.
        OSError: If the file cannot be read.
    """
    groups: dict[tuple[object, ...], LabelledContext] = {}
    for number, line in lines_of_file(path):
        try:
            record = _record(line, number)
        except GroundwireError as error:
            raise RowError(path, number, str(error)) from error
        known = groups.setdefault((record.sources, record.question), record)
        if known is not record:
            groups[record.sources, record.question] = replace(
                known, answers=known.answers + record.answers
            )
    return list(groups.values())


def split(
    path: Path, records: Sequence[LabelledContext]
) -> tuple[list[LabelledContext], list[LabelledContext]]:
    """Hold out a tenth of the contexts; each run holds out the same ones.

    Returns:
        The records to measure with, and the records to train with. Records with the same sources
        but different questions are in the same part.

    Raises:
        TooFewContextsError: If there are fewer than two contexts.
    """
    held = hold_out(path, [_texts(record) for record in records])
    return (
        [record for record in records if _texts(record) in held],
        [record for record in records if _texts(record) not in held],
    )


def hold_out(path: Path, contexts: Iterable[_Context]) -> set[_Context]:
    """Choose a tenth of the contexts to hold out; the same contexts always give the same choice.

    Raises:
        TooFewContextsError: If there are fewer than two contexts.
    """
    distinct = list(dict.fromkeys(contexts))
    if len(distinct) < 2:
        raise TooFewContextsError(path, len(distinct))
    random.Random(0).shuffle(distinct)
    n_held = min(max(1, round(_HELD_SHARE * len(distinct))), _MAX_HELD)
    return set(distinct[:n_held])


def _texts(record: LabelledContext) -> tuple[str, ...]:
    return tuple(source.text for source in record.sources)


def lines_of_file(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, with their numbers; the file may be gzipped.

    Raises:
        RowError: If a gzipped file is damaged.
    """
    number = 0
    with path.open("rb") as stream:
        is_packed = stream.read(2) == _GZIP_MAGIC
    try:
        with gzip.open(path) if is_packed else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line
    except _DAMAGE as error:
        problem = f"The file breaks off after this line ({error}). Fetch or pack it again."
        raise RowError(path, number, problem) from error


def _record(line: bytes, number: int) -> LabelledContext:
    row = object_of(line)
    given = [key for key in ("sources", "context") if key in row]
    if len(given) != 1:
        raise InputError(
            f"The row has {' and '.join(given) or 'neither sources nor context'}. Give one of the "
            'two: "context": "..." for one text, "sources": ["...", "..."] for several.'
        )
    if "answer" not in row:
        raise InputError(f'The row has no answer, only {_keys(row)}. Add "answer": "...".')
    sources = row[given[0]]
    example = Example.of(
        sources=sources if isinstance(sources, list) else [sources],
        question=row.get("question"),
        answer=row["answer"],
    )
    return LabelledContext(
        id=str(number),
        task="own",
        sources=example.sources,
        question=example.question,
        answers=(MarkedAnswer(example.answer, _spans(row, example.answer)),),
    )


def object_of(line: bytes) -> Mapping[str, Any]:
    """Parse a line as a JSON object.

    Raises:
        InputError: If the line is not a JSON object.
    """
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"The row is not UTF-8: {error.reason} at byte {error.start:,}. Convert the file first."
        ) from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"The row is not JSON: {error.msg} at character {error.pos:,}. Write one JSON object a "
            "line, as json.dumps does."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The row cannot be parsed as JSON: {error}. Write it with json.dumps."
        ) from error
    if not isinstance(row, dict):
        raise InputError('The row is not a JSON object. Write {"context": ..., "answer": ...}.')
    return row


def _spans(row: Mapping[str, Any], answer: str) -> tuple[tuple[int, int, int], ...]:
    spans = row.get("spans")
    if not isinstance(spans, list):
        raise InputError(
            "The row has no list of spans. Say which characters of the answer are wrong: "
            '"spans": [{"start": 3, "end": 7}], or "spans": [] if none are.'
        )
    return tuple(_span(span, answer) for span in spans)


def _span(span: object, answer: str) -> tuple[int, int, int]:
    if not isinstance(span, dict):
        raise InputError(f'The span {span!r} is not an object. Write {{"start": 3, "end": 7}}.')
    start, end = span.get("start"), span.get("end")
    # The types are compared exactly, since True is an int in Python.
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(answer):
        raise InputError(
            f"A span has start {start!r} and end {end!r}, and the answer {len(answer):,} "
            "characters. It needs whole numbers with 0 <= start < end <= that; they count Unicode "
            "code points, not bytes, and end is one past the last."
        )
    if not answer[start:end].strip():
        raise InputError(
            f"The span from {start} to {end} marks white space alone. Mark the words that are "
            "wrong; text that is missing cannot be marked."
        )
    label = span.get("label", "unsupported")
    if not isinstance(label, str) or label not in LABELS:
        raise InputError(
            f"A span has the label {label!r}. It must be one of {', '.join(LABELS)}; without one "
            "it is unsupported."
        )
    return start, end, LABELS[label]


def _keys(row: Mapping[str, Any]) -> str:
    return ", ".join(repr(key[:40]) for key in [*row][:10]) or "nothing"
