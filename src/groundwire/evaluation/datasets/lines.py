"""Reads the raw rows of tables: files of JSON, CSV, TSV or Parquet, or folders of such files."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import file_digest
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from groundwire.detection.rows import RowError, as_row, parse_row, refuse_constant
from groundwire.errors import DatasetError, GroundwireError, InputError, needs_extra
from groundwire.text.files import reading

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")


_DELIMITERS = {".csv": ",", ".tsv": "\t"}

#: Number of rows of a Parquet file that are decoded at a time.
_BATCH_ROWS = 256


#: Limit on the characters of a field in CSV. Python's default is too low for contexts.
_MAX_FIELD_CHARS = 50_000_000

#: Matches a lone surrogate, which replaces a byte that is not UTF-8: see :func:`_csv_text`.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


#: A raw row: number of its line, its content for the fingerprint, and its values by column or an
#: error message. In a JSON array or Parquet, the number is the row's position, from 1. Where a
#: damaged file breaks off, the last raw row has empty content and an error message.
Line: TypeAlias = tuple[int, bytes, Mapping[str, Any] | str]


def files_of(path: Path) -> tuple[Path, ...]:
    """List the files of a table: the path itself or, if it is a folder, the tables in it.

    Raises:
        DatasetError: If a folder has no table, or the path is neither a file nor a folder, but for
            example a pipe.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        problem = "it is no file that can be read more than once"
        raise DatasetError(path, None, problem, "Write what it gives to a file, and name that.")
    if not path.is_dir():
        return (path,)
    found = tuple(sorted(each for each in path.iterdir() if suffix_of(each) in SUFFIXES))
    if not found:
        raise DatasetError(path, None, f"it has no file that ends in {', '.join(SUFFIXES)}")
    return found


def fingerprints(path: Path) -> dict[str, str]:
    """Compute the SHA-256 of each file of a table: name of the file → digest."""
    return {file.name: sha256_of(file) for file in files_of(path)}


def sha256_of(file: Path) -> str:
    """Compute the SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def suffix_of(path: Path) -> str:
    """Return the suffix of a file in lower case; a ``.gz`` at the end is ignored."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def lines_of(path: Path) -> Iterator[Line]:
    """Yield the raw rows of a file: CSV, TSV or Parquet by its suffix, else JSON.

    Raises:
        DatasetError: If the file as a whole is invalid. An invalid row is no error: the row is
            yielded with an error message.
        OSError: If the file cannot be opened and is not Parquet.
        MissingExtraError: If the file is Parquet and pyarrow is not installed.
    """
    suffix = suffix_of(path)
    if suffix in _DELIMITERS:
        return _csv_lines(path, _DELIMITERS[suffix])
    if suffix == ".parquet":
        return _parquet(path)
    return json_lines(path)


def count_rows(path: Path) -> int | None:
    """Count the rows of a table, for a progress bar; ``None`` if they cannot be counted.

    In a JSON file, lines are counted instead of rows, including blank lines and the lines of an
    array.

    Raises:
        OSError: If a file other than Parquet cannot be opened.
    """
    try:
        counts = [_count(file) for file in files_of(path)]
    except (*reading.DAMAGE, GroundwireError):
        return None
    return None if None in counts else sum(filter(None, counts))


def _count(path: Path) -> int | None:
    suffix = suffix_of(path)
    if suffix in _DELIMITERS:
        return max(0, sum(1 for _ in _csv_records(path, _DELIMITERS[suffix])) - 1)
    if suffix == ".parquet":
        with _parquet_file(path) as table:
            return int(table.metadata.num_rows)
    return reading.count_lines(path)


def content_of(values: Mapping[str, Any] | str) -> bytes:
    """Serialize the values of a row, for its fingerprint."""
    return json.dumps(values, sort_keys=True, default=str).encode()


# Functions that read JSON Lines and JSON arrays.


def json_lines(path: Path) -> Iterator[Line]:
    """Yield the raw rows of a file of JSON Lines or of one JSON array, gzipped or not.

    Blank lines are skipped. The number of a row is that of its line or, in an array, its position,
    counted from 1.

    Raises:
        DatasetError: If the file is of a known kind that is not text (such as a PDF), has an
            encoding such as UTF-16, is a broken array, or is one JSON object over several lines,
            the first of which is ``{`` alone.
        OSError: If the file cannot be opened.
    """
    number, has_begun = 0, False
    with reading.open_lines(path) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if number == 1:
                    _refuse_encoding(path, line)
                begins = b"" if has_begun else line.strip(b"\xef\xbb\xbf \t\r\n")
                has_begun |= begins != b""
                if begins == b"{" and lines.read().strip():
                    problem = "it is one JSON object, and read is an object a line"
                    raise DatasetError(path, None, problem, "Make them with: jq -c '.' FILE")
                if begins[:1] == b"[":
                    yield from _array_rows(path, line + lines.read())
                elif line.strip():
                    yield number, line.strip(), _json_object(line)
        except reading.DAMAGE as error:
            yield number + 1, b"", f"the file breaks off here ({error})"


def _refuse_encoding(path: Path, line: bytes) -> None:
    if what := reading.no_text(line):
        problem, _, step = what.partition(". ")
        raise DatasetError(path, None, f"it is {problem}", f"{step}.")
    # Text in UTF-16 or UTF-32 cannot be split into lines at each byte that is a line end in UTF-8.
    if encoding := reading.other_encoding(line):
        problem = f"it is {encoding} and must be UTF-8"
        raise DatasetError(path, None, problem, f"{reading.conversion(encoding)}.")


def _array_rows(path: Path, content: bytes) -> Iterator[Line]:
    """Yield the rows of a file that is one JSON array."""
    try:
        rows = json.loads(reading.decode(content, "the array"), parse_constant=refuse_constant)
    except (ValueError, RecursionError, InputError) as error:
        problem = f"it begins as a JSON array and is none ({error})"
        raise DatasetError(path, None, problem, "Mend it, or write an object a line.") from error
    for number, row in enumerate(rows, 1):
        try:
            yield number, content_of(row), as_row(row)
        except RowError as error:
            yield number, content_of(row), str(error)


def _json_object(line: bytes) -> Mapping[str, Any] | str:
    try:
        return parse_row(reading.decode(line, "The row"))
    except InputError as error:
        return str(error)


# Functions that read CSV and TSV.


def _csv_lines(path: Path, delimiter: str) -> Iterator[Line]:
    # The whole file is parsed once before the first row is yielded, so that an open quote or a
    # wrong encoding anywhere is an error before any row is judged.
    with suppress(*reading.DAMAGE):
        for number, (first, _, fields) in enumerate(_csv_records(path, delimiter)):
            if _NOT_UTF8.search("".join(fields)):
                problem = f"{f'row {number:,}' if number else 'its header'} is not UTF-8"
                step = f"Save it as CSV UTF-8. {reading.conversion('WINDOWS-1252')}."
                raise DatasetError(path, first, problem, step)
    header: Sequence[str] | None = None
    last = 0
    try:
        for first, last, fields in _csv_records(path, delimiter):  # `last` is for the error below
            if header is None:
                header = fields
                if twice := {name for name in header if name and header.count(name) > 1}:
                    problem = f"two columns have the name {sorted(twice)[0][:80]!r}"
                    raise DatasetError(path, 1, problem)
            else:
                yield first, json.dumps(fields).encode(), _csv_row(header, fields, first, last)
    except reading.DAMAGE as error:
        yield last + 1, b"", f"the file breaks off here ({error})"


def _csv_records(path: Path, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield for each record the number of its first line, that of its last line, and its fields.

    Blank lines are left out.
    """
    with reading.open_lines(path) as stream:
        header = next(iter(stream), b"")
    _refuse_encoding(path, header)
    if b";" in header and delimiter.encode() not in header:
        delimiter = ";"  # as Excel writes it where a comma is the decimal sign
    with reading.open_lines(path) as stream, _csv_text(stream) as text:
        rows = csv.reader(text, delimiter=delimiter, strict=True)
        first = 1
        try:
            for fields in rows:
                if fields:
                    yield first, rows.line_num, fields
                first = rows.line_num + 1
        except csv.Error as error:
            raise DatasetError(
                path,
                first,
                f"the row that begins here is no CSV ({error} in line {rows.line_num:,})",
                "Close its quotes, and write a quote within a field twice.",
            ) from error


@contextmanager
def _csv_text(stream: BinaryIO) -> Iterator[io.TextIOWrapper]:
    csv.field_size_limit(_MAX_FIELD_CHARS)
    # Bytes that are not UTF-8 become lone surrogates, so that the error can name their row.
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield text
    finally:
        text.detach()  # the caller closes the stream, so the wrapper must not


def _csv_row(
    header: Sequence[str], fields: Sequence[str], first: int, last: int
) -> Mapping[str, Any] | str:
    if len(fields) != len(header):
        lines = f"; by its quotes it takes the lines {first:,} to {last:,}" if last > first else ""
        return (
            f"it has {len(fields):,} fields, and the first row names {len(header):,} columns{lines}"
        )
    return dict(zip(header, fields, strict=True))


# Functions that read Parquet.


def _parquet(path: Path) -> Iterator[Line]:
    number = 0
    with _parquet_file(path) as table:
        try:
            for batch in table.iter_batches(batch_size=_BATCH_ROWS):
                for values in _batch_rows(batch):
                    number += 1
                    yield number, content_of(values), values
        except (OSError, ValueError) as error:  # if data are damaged; ArrowInvalid is a ValueError
            yield number + 1, b"", f"the file breaks off here ({error})"


def _parquet_file(path: Path) -> Any:  # noqa: ANN401 - pyarrow has no types
    if path.suffix == ".gz":
        problem = "Parquet is packed within, and never with gzip"
        raise DatasetError(path, None, problem, "Unpack it first: gunzip FILE")
    with needs_extra("Reading Parquet", "eval"):
        from pyarrow import parquet
    try:
        return parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise DatasetError(path, None, f"it is no Parquet file ({error})") from error


def _batch_rows(batch: Any) -> Iterator[Mapping[str, Any] | str]:  # noqa: ANN401
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for i in range(batch.num_rows):
            try:
                (values,) = batch.slice(i, 1).to_pylist()
            except UnicodeDecodeError as error:
                yield f"it is not UTF-8 ({error.reason} at byte {error.start:,})"
            else:
                yield values
