"""Tables of labelled answers: JSON Lines, CSV, Parquet; packed or not; a file or a folder of them.

What is wrong with a row is told of that row, and the rows after it are read all the same.
"""

import csv
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import file_digest, sha256
from itertools import count
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from groundwire.cli.rows import DAMAGE, open_lines
from groundwire.errors import DatasetError, InputError, MissingExtraError
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.rows import RowError

#: A field of a CSV may have so many characters: contexts are long.
_MAX_FIELD_CHARS = 50_000_000
#: Rows of a Parquet file that are in memory at a time.
_BATCH_ROWS = 256

#: What stands for a byte that is no UTF-8.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")

_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """A row that could not be read.

    Attributes:
        row: Its number, the first being 1; of a table with several files over all of them.
        id: What it calls itself, or its number.
        place: Its file and line.
        problem: What is wrong.
        sha256: Of what it holds.
    """

    row: int
    id: str
    place: str
    problem: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedAnswer:
    """A row that could be read.

    Attributes:
        row: Its number, the first being 1.
        answer: What it holds.
        sha256: Of what it holds: tells whether results belong to it.
    """

    row: int
    answer: LabelledAnswer
    sha256: str


AnyRow: TypeAlias = NumberedAnswer | FailedRow

#: A line of a file, and its values by column, or what is wrong with it.
_Line: TypeAlias = tuple[int, Mapping[str, Any] | str]


def read_labelled(path: Path, mapping: ColumnMapping | None = None) -> Iterator[AnyRow]:
    """Read all rows of a table, one after the other.

    Args:
        path: A file, or a folder whose files are read in the order of their names.
        mapping: Which column holds what.

    Raises:
        DatasetError: If there is no row in it, or a file cannot be read at all.
        MissingExtraError: If it is Parquet, and what reads that is not installed.
    """
    columns, ids, numbers = mapping or ColumnMapping(), set[bytes](), count(1)
    row = 0
    for file in files_of(path):
        for line, values in _lines(file):
            row = next(numbers)
            yield _read(row, f"{file}:{line}", values, columns, ids)
    if row == 0:
        raise DatasetError(path, None, "it has no rows")


def files_of(path: Path) -> tuple[Path, ...]:
    """The files of a table.

    Raises:
        DatasetError: If a folder has none.
    """
    if not path.is_dir():
        return (path,)
    found = tuple(sorted(each for each in path.iterdir() if _suffix(each) in _SUFFIXES))
    if not found:
        raise DatasetError(path, None, f"it has no file that ends in {', '.join(_SUFFIXES)}")
    return found


def fingerprints(path: Path) -> dict[str, str]:
    """The SHA-256 of each file of a table, by its name."""
    found = {}
    for file in files_of(path):
        with file.open("rb") as stream:
            found[file.name] = file_digest(stream, "sha256").hexdigest()
    return found


def _read(
    row: int, place: str, values: Mapping[str, Any] | str, columns: ColumnMapping, ids: set[bytes]
) -> AnyRow:
    data = values if isinstance(values, str) else _canonical(values)
    digest = sha256(data.encode("utf-8", "surrogatepass")).digest()
    fingerprint, id_ = digest.hex()[:16], str(row)
    try:
        if isinstance(values, str):
            raise RowError(values)
        answer = columns.answer(values, number=row)
        id_ = answer.id
        # Of ids the hashes are kept: there may be millions, and long ones.
        known = sha256(id_.encode()).digest()[:8]
        if known in ids:
            raise RowError(f"the id {id_[:80]!r} is there for the second time")
        ids.add(known)
    except InputError as error:
        return FailedRow(row=row, id=id_, place=place, problem=str(error), sha256=fingerprint)
    return NumberedAnswer(row=row, answer=answer, sha256=fingerprint)


def _canonical(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=True, sort_keys=True, default=str)


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _lines(path: Path) -> Iterator[_Line]:
    match _suffix(path):
        case ".csv":
            return _csv(path, ",")
        case ".tsv":
            return _csv(path, "\t")
        case ".parquet":
            return _parquet(path)
    return _json_lines(path)


def _json_lines(path: Path) -> Iterator[_Line]:
    number = 0
    with open_lines(path) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, _json_object(line.removeprefix(b"\xef\xbb\xbf"))
        except DAMAGE as error:
            yield number + 1, f"the file breaks off here ({error})"


def _json_object(line: bytes) -> Mapping[str, Any] | str:
    try:
        data = json.loads(line.decode())
    except UnicodeDecodeError as error:
        return f"it is not UTF-8: {error.reason} at byte {error.start:,} of the line"
    except (ValueError, RecursionError) as error:
        return f"it is no JSON ({error})"
    return data if isinstance(data, dict) else "it is JSON, but no object"


def _csv(path: Path, delimiter: str) -> Iterator[_Line]:
    csv.field_size_limit(_MAX_FIELD_CHARS)
    # Bytes that are no UTF-8 become halves of surrogates, so that the row is known that has them.
    with _opened(path) as text:
        rows = csv.DictReader(text, delimiter=delimiter, restkey="", strict=False)
        try:
            for values in rows:
                yield rows.line_num, _csv_row(values)
        except (csv.Error, *DAMAGE) as error:
            yield rows.line_num + 1, f"the table cannot be read from here on ({error})"


def _opened(path: Path) -> IO[str]:
    open_text = gzip.open if path.suffix == ".gz" else open
    return cast(
        "IO[str]",
        open_text(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""),
    )


def _csv_row(values: Mapping[str, Any]) -> Mapping[str, Any] | str:
    if "" in values and isinstance(values[""], list):
        return "it has more fields than the first row has columns"
    if any(value is None for value in values.values()):
        return "it has fewer fields than the first row has columns"
    if any(_NOT_UTF8.search(value) for value in values.values()):
        return "it is not UTF-8"
    return values


def _parquet(path: Path) -> Iterator[_Line]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise MissingExtraError("Reading Parquet", "eval") from error
    try:
        table = parquet.ParquetFile(path)
    except (ArrowInvalid, OSError) as error:
        raise DatasetError(path, None, f"it is no Parquet file ({error})") from error
    number = 0
    with table:
        for batch in table.iter_batches(batch_size=_BATCH_ROWS):
            for values in batch.to_pylist():
                number += 1
                yield number, values
