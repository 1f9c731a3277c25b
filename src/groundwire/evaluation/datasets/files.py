"""Tables of answers or questions: JSON Lines, CSV, Parquet; packed or not; a file or a folder.

What is wrong with a row is told of that row, and the rows after it are read all the same.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Generic, TypeAlias, TypeVar

import numpy as np

from groundwire.errors import DatasetError, GroundwireError, InputError, MissingExtraError
from groundwire.evaluation.datasets.asked import Question
from groundwire.evaluation.datasets.csv_lines import MAX_FIELD_CHARS, Rereadable
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.files.reading import (
    DAMAGE,
    conversion,
    count_lines,
    decode,
    open_lines,
    other_encoding,
)
from groundwire.rows import RowError, parse_row

_T = TypeVar("_T")

#: Rows of a Parquet file that are in memory at a time.
_BATCH_ROWS = 256

#: What stands for a byte that is no UTF-8.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """A row that could not be read.

    Attributes:
        row: Its number, the first being 1; of a table with several files over all of them.
        id: What it calls itself, or its number.
        place: Its file and line; empty if the problem tells.
        problem: What is wrong.
        sha256: Of what it holds.
        kind: The type of the error.
        task: What was asked for, if that is known all the same.
        columns: What else is known of it.
    """

    row: int
    id: str
    place: str
    problem: str
    sha256: str
    kind: str = "RowError"
    task: str = ""
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def message(self) -> str:
        """Where it is, and what is wrong."""
        return f"{self.place}: {self.problem}" if self.place else self.problem


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedQuestion:
    """A row with a question that could be read.

    Attributes:
        row: Its number, the first being 1.
        question: What it holds.
        sha256: Of what it holds.
    """

    row: int
    question: Question
    sha256: str


#: A line of a file, what tells it from another, and its values by column or what is wrong with it.
Line: TypeAlias = tuple[int, bytes, Mapping[str, Any] | str]


def read_labelled(path: Path, mapping: ColumnMapping | None = None) -> Iterator[AnyRow]:
    """Read all rows of a table, one after the other.

    Args:
        path: A file, or a folder whose files are read in the order of their names. One among
            several that cannot be read at all, or is empty, is a failed row.
        mapping: Which column holds what.

    Raises:
        DatasetError: If there is no row in it, or no file can be read at all.
        MissingExtraError: If it is Parquet, and what reads that is not installed.
    """
    columns = mapping or ColumnMapping()
    yield from map(numbered_answer, _read_table(path, RowReader(columns, columns.answer)))


def numbered_answer(row: tuple[int, LabelledAnswer, str] | FailedRow) -> AnyRow:
    """An answer as :class:`RowReader` reads it."""
    if isinstance(row, FailedRow):
        return row
    number, answer, digest = row
    return NumberedAnswer(row=number, answer=answer, sha256=digest)


def read_questions(
    path: Path, mapping: ColumnMapping | None = None
) -> Iterator[NumberedQuestion | FailedRow]:
    """The same of questions with their sources, that nobody has answered yet."""
    columns = mapping or ColumnMapping()
    for row in _read_table(path, RowReader(columns, columns.question)):
        yield row if isinstance(row, FailedRow) else numbered_question(row)


def numbered_question(row: tuple[int, Question, str]) -> NumberedQuestion:
    """A question as :class:`RowReader` reads it."""
    number, question, digest = row
    return NumberedQuestion(row=number, question=question, sha256=digest)


def _read_table(path: Path, reader: "RowReader[_T]") -> Iterator[tuple[int, _T, str] | FailedRow]:
    numbers, row, broken = count(1), 0, list[DatasetError]()
    files = files_of(path)
    for file in files:
        before = row
        try:
            for line, content, values in _lines_with(file, reader.columns):
                row = next(numbers)
                yield reader.read(row, f"{file}:{line}", content, values)
            if row == before:
                raise DatasetError(file, None, "it has no rows")
        except DatasetError as error:
            broken.append(error)
            if len(broken) == len(files):
                raise broken[0] from None
            # One of several: what is in the others counts.
            row = next(numbers)
            yield reader.read(row, str(file), b"", error.problem)


def _lines_with(file: Path, columns: ColumnMapping) -> Iterator[Line]:
    """The rows of a file, with nothing in the columns that were named and a row is without."""
    lacking = _there(file, columns.optional)
    has_lists = suffix_of(file) not in (".csv", ".tsv")
    for line, content, values in lines_of(file):
        if isinstance(values, str):
            yield line, content, values
            continue
        row = {**lacking, **values}
        yield line, content, row if has_lists else columns.unpacked(row)


def _there(file: Path, columns: Collection[str]) -> Mapping[str, None]:
    """Those among columns that any row of a file has, each with nothing in it.

    An object of JSON may be without a key where others have it: it has nothing there, as an empty
    field of a CSV. What no row has is a wrong name.
    """
    missing = set(columns)
    if missing:
        for _, _, values in lines_of(file):
            missing -= set() if isinstance(values, str) else values.keys()
            if not missing:
                break
    return dict.fromkeys(set(columns) - missing)


def table_row(values: Mapping[str, Any], columns: ColumnMapping, *, row: int) -> AnyRow:
    """One row of a table that is at hand, as :func:`read_labelled` reads it from a Parquet file.

    Whether its id is there twice, only who has the whole table can know.
    """
    reader = RowReader(columns, columns.answer)
    return numbered_answer(reader.read(row, f"row {row:,}", _content(values), values))


def count_rows(path: Path) -> int | None:
    """How many rows a table has, without reading them; ``None`` if that cannot be said.

    Blank lines of JSON count as well: it is for those who wait.
    """
    try:
        counts = [_count(file) for file in files_of(path)]
    except (*DAMAGE, csv.Error, GroundwireError):
        return None
    return None if None in counts else sum(filter(None, counts))


def files_of(path: Path) -> tuple[Path, ...]:
    """The files of a table.

    Raises:
        DatasetError: If a folder has none, or it is a pipe.
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
    """The SHA-256 of each file of a table, by its name."""
    found = {}
    for file in files_of(path):
        with file.open("rb") as stream:
            found[file.name] = file_digest(stream, "sha256").hexdigest()
    return found


class RowReader(Generic[_T]):
    """Reads the rows of one table; an id that was there before is refused."""

    def __init__(
        self, columns: ColumnMapping, make: Callable[[Mapping[str, Any], int], _T]
    ) -> None:
        """Begin.

        Args:
            columns: Which column holds what.
            make: From the values of a row, and its number, to what it holds.
        """
        self.columns, self._make, self._ids = columns, make, Seen()

    def read(
        self, row: int, place: str, content: bytes, values: Mapping[str, Any] | str
    ) -> tuple[int, _T, str] | FailedRow:
        """Read one.

        Args:
            row: Its number.
            place: Where it is, for people.
            content: What tells it from other rows.
            values: By column, or what is wrong with it.

        Returns:
            Number, what it holds, and fingerprint; or what is wrong.
        """
        # What a row says depends on how its columns are read.
        digest = sha256(self.columns.fingerprint + content).hexdigest()[:16]
        id_ = str(row)
        try:
            if isinstance(values, str):
                raise RowError(values)
            id_ = self.columns.id_of(values) or id_
            made = self._make(values, row)
            if not self._ids.add(id_):
                raise RowError(f"the id {id_[:80]!r} is there for the second time")
        except InputError as error:
            task = self._task_of(values)
            return FailedRow(
                row=row, id=id_, place=place, problem=str(error), sha256=digest, task=task
            )
        return row, made, digest

    def _task_of(self, values: Mapping[str, Any] | str) -> str:
        """The task of a row that cannot be read; empty if that cannot be read either."""
        try:
            return "" if isinstance(values, str) else self.columns.task_of(values)
        except InputError:
            return ""


def _content(values: Mapping[str, Any] | str) -> bytes:
    return json.dumps(values, sort_keys=True, default=str).encode()


class Seen:
    """Names that were there: eight bytes each, for there may be millions, and long ones."""

    _MAX_RECENT = 4096

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted = np.empty(0, np.uint64)

    def add(self, name: str) -> bool:
        """Remember a name; whether it is a new one."""
        key = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
        place = int(np.searchsorted(self._sorted, np.uint64(key)))
        is_old = place < len(self._sorted) and int(self._sorted[place]) == key
        if is_old or key in self._recent:
            return False
        self._recent.add(key)
        if len(self._recent) == self._MAX_RECENT:
            recent = np.fromiter(self._recent, np.uint64)
            self._sorted = np.union1d(self._sorted, recent)
            self._recent.clear()
        return True


def suffix_of(path: Path) -> str:
    """How the name of a file ends, packed or not, in lower case."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def lines_of(path: Path) -> Iterator[Line]:
    """The rows of a file as they stand, whatever its format.

    Raises:
        DatasetError: If it cannot be read at all.
        MissingExtraError: If it is Parquet, and what reads that is not installed.
    """
    match suffix_of(path):
        case ".csv":
            return _csv_lines(path, ",")
        case ".tsv":
            return _csv_lines(path, "\t")
        case ".parquet":
            return _parquet(path)
    return json_lines(path)


def _count(path: Path) -> int | None:
    match suffix_of(path):
        case ".csv" | ".tsv" as suffix:
            with open_lines(path) as stream:
                delimiter = "," if suffix == ".csv" else "\t"
                with _csv_text(stream) as text:
                    rows = csv.reader(text, delimiter=delimiter, strict=True)
                    return max(0, sum(1 for row in rows if row) - 1)
        case ".parquet":
            with _parquet_file(path) as table:
                return int(table.metadata.num_rows)
    return count_lines(path)


# JSON Lines.


def json_lines(path: Path) -> Iterator[Line]:
    """The rows of a file of JSON Lines as they stand, packed or not; blank lines are none.

    Raises:
        DatasetError: If it is one JSON array, one object over several lines, or no UTF-8.
    """
    number = 0
    with open_lines(path) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if number == 1:
                    _refuse_encoding(path, line)
                if number == 1:
                    _refuse_whole(path, line.strip(b"\xef\xbb\xbf \t\r\n"))
                if line.strip():
                    yield number, line.strip(), _json_object(line)
        except DAMAGE as error:
            yield number + 1, b"", f"the file breaks off here ({error})"


def _refuse_encoding(path: Path, line: bytes) -> None:
    # What a line is in it cannot be told: its line ends are several bytes.
    if encoding := other_encoding(line):
        problem = f"it is {encoding} and must be UTF-8"
        raise DatasetError(path, None, problem, f"{conversion(encoding)}.")


def _refuse_whole(path: Path, line: bytes) -> None:
    """Read is an object a line: what is spread over several would fail line by line."""
    for begins, what, how in ((line[:1] == b"[", "array", ".[]"), (line == b"{", "object", ".")):
        if begins:
            raise DatasetError(
                path,
                None,
                f"it is one JSON {what}, and read is an object a line",
                f"Make them with: jq -c '{how}' FILE",
            )


def _json_object(line: bytes) -> Mapping[str, Any] | str:
    try:
        return parse_row(decode(line, "The row"))
    except InputError as error:
        return str(error)


# CSV.


def _csv_lines(path: Path, delimiter: str) -> Iterator[Line]:
    with open_lines(path) as stream, _csv_text(stream) as text:
        lines = Rereadable(text)
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        header: list[str] | None = None
        while True:
            lines.begin()
            try:
                fields = next(rows)
                if header is None:
                    header = _header(path, fields, lines.record[0]) or None
                    continue
            except StopIteration:
                return
            except csv.Error as error:
                if header is None:
                    _refuse_encoding(path, _bytes(lines.record[0]))
                    problem = f"the names of its columns are no CSV ({error})"
                    raise DatasetError(path, 1, problem) from error
                yield lines.first, _bytes(lines.record[0]), _no_csv(lines, error)
                for line, lost in lines.rewind():
                    if lost.strip():
                        yield line, _bytes(lost), _lost_in(lines.first)
            except DAMAGE as error:
                yield lines.first, b"", f"the file breaks off here ({error})"
                return
            else:
                if fields:
                    content = json.dumps(fields).encode()
                    yield lines.first, content, _csv_values(lines, header, fields)


def _csv_values(
    lines: Rereadable, header: Sequence[str], fields: Sequence[str]
) -> Mapping[str, Any] | str:
    if lines.is_doubtful:
        return _lost_in(lines.broken)
    row = _csv_row(header, fields)
    if isinstance(row, str) and len(lines.record) > 1:
        return f"{row}; by its quotes it takes the lines {lines.first:,} to {lines.last:,}"
    return row


def _no_csv(lines: Rereadable, error: csv.Error) -> str:
    where = f" in line {lines.last:,}" if len(lines.record) > 1 else ""
    return f"it is no CSV ({error}{where})"


def _lost_in(line: int) -> str:
    return f"it cannot be told from the row of line {line:,}, whose quotes are not those of a CSV"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@contextmanager
def _csv_text(stream: BinaryIO) -> Iterator[io.TextIOWrapper]:
    csv.field_size_limit(MAX_FIELD_CHARS)
    # Bytes that are no UTF-8 become halves of surrogates, so that the row is known that has them.
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield text
    finally:
        text.detach()  # the stream is closed by who opened it


def _header(path: Path, names: list[str], line: str) -> list[str]:
    _refuse_encoding(path, _bytes(line))
    if any(_NOT_UTF8.search(name) for name in names):
        problem = "the names of its columns are not UTF-8"
        raise DatasetError(path, 1, problem, f"{conversion()}.")
    if len(names) == 1 and ";" in names[0]:
        problem = f"its columns stand between semicolons: {names[0][:80]!r}"
        raise DatasetError(path, 1, problem, "Write it with commas, or with tabs as a .tsv.")
    named = [name for name in names if name]
    if twice := {name for name in named if named.count(name) > 1}:
        raise DatasetError(path, 1, f"two columns have the name {sorted(twice)[0][:80]!r}")
    return names


def _csv_row(header: Sequence[str], fields: Sequence[str]) -> Mapping[str, Any] | str:
    if len(fields) != len(header):
        return f"it has {len(fields):,} fields, and the first row names {len(header):,} columns"
    if any(_NOT_UTF8.search(field) for field in fields):
        return f"the row is not UTF-8, so its file is not. {conversion()}"
    return dict(zip(header, fields, strict=True))


# Parquet.


def _parquet(path: Path) -> Iterator[Line]:
    number = 0
    with _parquet_file(path) as table:
        batches = table.iter_batches(batch_size=_BATCH_ROWS)
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except (OSError, ValueError) as error:  # as what pyarrow raises is
                yield number + 1, b"", f"the file breaks off here ({error})"
                return
            for values in _batch_rows(batch):
                number += 1
                yield number, _content(values), values


def _parquet_file(path: Path) -> Any:  # noqa: ANN401 - pyarrow has no types
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("Reading Parquet", "eval") from error
    if path.suffix == ".gz":
        problem = "Parquet is packed within, and never with gzip"
        raise DatasetError(path, None, problem, "Unpack it first: gunzip FILE")
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
