"""Reads tables of answers or questions, row by row.

A row that cannot be read becomes a :class:`FailedRow`; reading continues with the next row.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from groundwire.detection.rows import RowError
from groundwire.errors import DatasetError, InputError
from groundwire.evaluation.datasets.asked import AskedQuestion
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.lines import Line, files_of, lines_of, suffix_of
from groundwire.evaluation.datasets.mapping import ColumnMapping

#: The values of a row: name of a column → value.
Values: TypeAlias = Mapping[str, Any]


#: A function that converts a record of some dataset to any number of rows with the usual columns.
#: The arguments are the record, its file and its line. If the record is not as expected, the
#: function may raise an error that :func:`turned_rows` catches, such as a KeyError.
Turn: TypeAlias = Callable[[Values, Path, int], Iterable[Values]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """A row that could not be read.

    Attributes:
        row: Number of the row, from 1, counted over all files of the table.
        id: The row's own id; the number of the row if it has no id that can be read.
        place: File and line of the row, or the file alone; may be empty.
        problem: Description of what is wrong.
        sha256: Fingerprint of the row's content.
        task: The task of the row; empty if there is none that can be read.
        columns: Further columns of the row, by name.
    """

    row: int
    id: str
    place: str
    problem: str
    sha256: str
    task: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """The error message: the place, if there is one, and the problem."""
        return f"{self.place}: {self.problem}" if self.place else self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedAnswer:
    """A labelled answer with the number of its row.

    Attributes:
        row: Number of the row, from 1.
        answer: The answer.
        sha256: Fingerprint of the row, by which results are matched with the data.
    """

    row: int
    answer: LabelledAnswer
    sha256: str


AnyRow: TypeAlias = NumberedAnswer | FailedRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedQuestion:
    """A question with the number of its row.

    Attributes:
        row: Number of the row, from 1.
        question: The question.
        sha256: Fingerprint of the row.
    """

    row: int
    question: AskedQuestion
    sha256: str


_Row = TypeVar("_Row", NumberedAnswer, NumberedQuestion)


def read_labelled(path: Path, mapping: ColumnMapping | None = None) -> Iterator[AnyRow]:
    """Yield the rows of a table of labelled answers, one by one.

    Args:
        path: A file, or a folder whose files are read in the order of their names. A file that has
            no rows or an invalid format becomes a failed row, unless this is so for all files.
        mapping: Maps fields to columns; by default columns are found by their usual names.

    Raises:
        DatasetError: If every file is without rows or has an invalid format, the folder has no
            table, or the path is neither a file nor a folder, but for example a pipe.
        OSError: If a file other than Parquet cannot be opened.
        MissingExtraError: If a file is Parquet and pyarrow is not installed.
    """
    return read_files(files_of(path), answer_reader(mapping))


def read_questions(
    path: Path, mapping: ColumnMapping | None = None
) -> Iterator[NumberedQuestion | FailedRow]:
    """Yield the rows of a table of questions with sources, one by one.

    Arguments and errors are those of :func:`read_labelled`.
    """
    columns = mapping or ColumnMapping()
    reader = RowReader(
        columns,
        lambda values, row, digest: NumberedQuestion(
            row=row, question=columns.question(values, row), sha256=digest
        ),
    )
    return read_files(files_of(path), reader)


def read_files(
    files: Sequence[Path],
    reader: "RowReader[_Row]",
    *,
    turn: Turn | None = None,
    lines: Callable[[Path], Iterator[Line]] = lines_of,
) -> Iterator[_Row | FailedRow]:
    """Yield the rows of several files, numbered over all of them.

    Args:
        files: The files, in the order in which they are read.
        reader: Makes a row from the values of its columns.
        turn: Converts a record to the values of rows; by default a record is a row.
        lines: Reads the records of a file.

    Raises:
        DatasetError: If every file is without rows or has an invalid format.
        OSError: If a file other than Parquet cannot be opened.
        MissingExtraError: If a file is Parquet and pyarrow is not installed.
    """
    numbers, row, broken = count(1), 0, list[DatasetError]()
    for file in files:
        before = row
        try:
            records = lines(file) if turn else table_lines(file, reader.columns, lines)
            for line, content, values in records:
                for part, turned in enumerate(turned_rows(values, turn, file, line)):
                    row = next(numbers)
                    yield reader.read(row, f"{file}:{line}", content + b"\0" * part, turned)
            if row == before:
                raise DatasetError(file, None, "it has no rows")
        except DatasetError as error:
            broken.append(error)
            if len(broken) == len(files):
                raise broken[0] from None
            # The error becomes one failed row; the other files are still read.
            row = next(numbers)
            yield reader.read(row, str(file), b"", error.problem)


def turned_rows(
    values: Values | str, turn: Turn | None, file: Path, line: int
) -> Iterable[Values | str]:
    """Convert a record to the values of rows, or to one error message.

    Without ``turn``, the record is returned as the values of one row. An error message in place of
    a record is returned unchanged.
    """
    if turn is None or isinstance(values, str):
        return [values]
    try:
        return list(turn(values, file, line))
    except InputError as error:
        return [str(error)]
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        return [f"it is not as the others are ({type(error).__name__}: {error})"]


def table_lines(
    file: Path, columns: ColumnMapping, lines: Callable[[Path], Iterator[Line]] = lines_of
) -> Iterator[Line]:
    """Yield the rows of a file; in CSV and TSV, parse sources that are a list written as a text.

    If only some rows have an optional column that the mapping names, the column is added to the
    other rows, with the value ``None``.
    """
    lacking = dict.fromkeys(_present(lines(file), columns.optional))
    has_lists = suffix_of(file) not in (".csv", ".tsv")
    for line, content, values in lines(file):
        if isinstance(values, str):
            yield line, content, values
            continue
        row = {**lacking, **values}
        yield line, content, row if has_lists else columns.unpacked(row)


def _present(lines: Iterable[Line], columns: frozenset[str]) -> set[str]:
    """Return those of the given columns that at least one row has."""
    found: set[str] = set()
    for _, _, values in lines if columns else ():
        found |= set() if isinstance(values, str) else columns & values.keys()
        if found == columns:
            break
    return found


class RowReader(Generic[_Row]):
    """Reads the rows of one table, and refuses or renames repeated ids."""

    def __init__(
        self,
        columns: ColumnMapping,
        make: Callable[[Values, int, str], _Row],
        *,
        renames: bool = False,
    ) -> None:
        """Make a reader for one table.

        Args:
            columns: The column of each field.
            make: Makes a row from its values, its number and its fingerprint.
            renames: Whether a repeated id gets the number of its row appended. If not, a row with
                a repeated id is a failed row.
        """
        self.columns, self._renames = columns, renames
        self._make: Callable[[Values, int, str], _Row] = make
        # Hashes are kept, not ids, because there may be millions of ids, and ids may be long.
        self._ids: set[bytes] = set()

    def read(self, row: int, place: str, content: bytes, values: Values | str) -> _Row | FailedRow:
        """Read one row; an error becomes a :class:`FailedRow`.

        Args:
            row: Number of the row, from 1.
            place: File and line of the row, for messages.
            content: Content of the row, for its fingerprint.
            values: Name of a column → value of the row; an error message if there are no values.
        """
        # The fingerprint covers the column mapping too: with another mapping, the same content may
        # give another answer or other labels.
        digest = sha256(self.columns.fingerprint + content).hexdigest()[:16]
        known: Values = {} if isinstance(values, str) else values
        id_ = str(row)
        try:
            if isinstance(values, str):
                raise RowError(values)
            id_ = self.columns.id_of(values) or id_
            if self._renames and _hash(id_) in self._ids:
                id_ = f"{id_}#{row}"
                known = {**values, self.columns.columns.get("id", "id"): id_}
            made = self._make(known, row, digest)
            if _hash(id_) in self._ids:
                raise RowError(f"the id {id_[:80]!r} is there for the second time")
        except InputError as error:
            task = ""
            with suppress(InputError):  # the task may be unreadable too
                task = self.columns.task_of(known)
            return FailedRow(
                row=row,
                id=id_,
                place=place,
                problem=self.columns.reason_of(known) or str(error),
                sha256=digest,
                task=task,
                columns=self.columns.others_of(known),
            )
        self._ids.add(_hash(id_))
        return made


def answer_reader(
    mapping: ColumnMapping | None = None, *, renames: bool = False
) -> RowReader[NumberedAnswer]:
    """Make a reader of labelled answers.

    ``renames`` says whether a repeated id gets the number of its row appended. If not, a row with a
    repeated id is a failed row.
    """
    columns = mapping or ColumnMapping()
    return RowReader(
        columns,
        lambda values, row, digest: NumberedAnswer(
            row=row, answer=columns.answer(values, row), sha256=digest
        ),
        renames=renames,
    )


def _hash(name: str) -> bytes:
    return sha256(name.encode()).digest()[:8]
