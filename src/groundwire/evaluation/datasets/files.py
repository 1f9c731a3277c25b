"""Tables of answers or questions, row by row.

What is wrong with a row is told of that row, and the rows after it are read all the same.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from groundwire.detection.rows import RowError
from groundwire.errors import DatasetError, InputError
from groundwire.evaluation.datasets.asked import AskedQuestion
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.lines import Line, content_of, files_of, lines_of, suffix_of
from groundwire.evaluation.datasets.mapping import ColumnMapping

_T = TypeVar("_T")


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
    question: AskedQuestion
    sha256: str


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


def numbered_question(row: tuple[int, AskedQuestion, str]) -> NumberedQuestion:
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
    return numbered_answer(reader.read(row, f"row {row:,}", content_of(values), values))


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
        self.columns, self._make, self._ids = columns, make, SeenNames()

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
            known: Mapping[str, Any] = {} if isinstance(values, str) else values
            return FailedRow(
                row=row,
                id=id_,
                place=place,
                problem=self.columns.reason_of(known) or str(error),
                sha256=digest,
                task=self._task_of(known),
                columns=self.columns.others_of(known),
            )
        return row, made, digest

    def _task_of(self, values: Mapping[str, Any]) -> str:
        """Read the task of a row that failed; empty if that cannot be read either."""
        try:
            return self.columns.task_of(values)
        except InputError:
            return ""


class SeenNames:
    """Names that were there, by their hashes: there may be millions, and long ones."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def add(self, name: str) -> bool:
        """Remember a name; whether it is a new one."""
        key = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
        is_new = key not in self._hashes
        self._hashes.add(key)
        return is_new
