"""Tables of labelled answers for tests."""

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire.evaluation.datasets.files import AnyRow, FailedRow, NumberedAnswer

ROW: Mapping[str, Any] = {
    "id": "a",
    "task": "QA",
    "context": "The tower opened in 1889.",
    "question": "When?",
    "answer": "It opened in 1950.",
    "spans": [{"start": 13, "end": 17, "label": "Evident Conflict"}],
}


def json_lines(*rows: object) -> bytes:
    """Lines; bytes are taken as they are."""
    return b"".join(
        (row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows
    )


def csv_text(rows: Sequence[Mapping[str, Any]], delimiter: str = ",") -> str:
    """A CSV as other programs write it: lists as JSON."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = {k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()}
        writer.writerow(cells)
    return stream.getvalue()


def write(path: Path, content: bytes | str) -> Path:
    """Write a file, packed if its name says so."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def answers(rows: Iterator[AnyRow]) -> list[NumberedAnswer]:
    """Rows that could all be read."""
    found = list(rows)
    assert not [row for row in found if isinstance(row, FailedRow)]
    return [row for row in found if isinstance(row, NumberedAnswer)]


def problems(rows: Iterator[AnyRow]) -> dict[int, str]:
    """What is wrong, by the number of the row."""
    return {row.row: row.problem for row in rows if isinstance(row, FailedRow)}
