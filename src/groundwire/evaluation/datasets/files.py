"""Tables of answers or questions, row by row.

A row that cannot be read becomes a :class:`FailedRow`, and the rows after it are read all the same.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from groundwire.detection.rows import RowError
from groundwire.errors import DatasetError, InputError
from groundwire.evaluation.datasets.asked import AskedQuestion
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.lines import Line, content_of, files_of, lines_of, suffix_of
from groundwire.evaluation.datasets.mapping import ColumnMapping

#: The values of a row by column.
Values: TypeAlias = Mapping[str, Any]


class Turn(Protocol):
    """Turns a record of somebody's dataset into rows that have our columns.

    It may raise KeyError, TypeError or ValueError where the record is not as expected.
    """

    def __call__(self, values: Values, file: Path, line: int, /) -> Iterable[Values]:
        """Give the rows of a record: one, several, or none if it is to be left out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """A row that could not be read.

    Attributes:
        row: Its number, from 1, counted over all files of the table.
        id: The row's own id, or its number.
        place: Its file and line; empty if the problem tells.
        problem: What is wrong.
        sha256: Fingerprint of its content.
        kind: The type of the error.
        task: The task that it names, if that can be read.
        columns: Its other columns.
    """

    row: int
    id: str
    place: str
    problem: str
    sha256: str
    kind: str = "RowError"
    task: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """The place and the problem."""
        return f"{self.place}: {self.problem}" if self.place else self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedAnswer:
    """A labelled answer with the number of its row.

    Attributes:
        row: Its number, the first being 1.
        answer: The answer.
        sha256: Fingerprint of the row: tells whether results belong to it.
    """

    row: int
    answer: LabelledAnswer
    sha256: str


AnyRow: TypeAlias = NumberedAnswer | FailedRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedQuestion:
    """A question with the number of its row.

    Attributes:
        row: Its number, the first being 1.
        question: The question.
        sha256: Fingerprint of the row.
    """

    row: int
    question: AskedQuestion
    sha256: str


_Row = TypeVar("_Row", NumberedAnswer, NumberedQuestion)


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
    return read_files(files_of(path), answer_reader(mapping))


def read_questions(
    path: Path, mapping: ColumnMapping | None = None
) -> Iterator[NumberedQuestion | FailedRow]:
    """Read questions with their sources, as :func:`read_labelled` reads answers."""
    return read_files(files_of(path), question_reader(mapping))


def read_files(
    files: Sequence[Path],
    reader: "RowReader[_Row]",
    *,
    turn: Turn | None = None,
    lines: Callable[[Path], Iterator[Line]] = lines_of,
) -> Iterator[_Row | FailedRow]:
    """Read the rows of several files, numbered over all of them.

    Args:
        files: In the order in which they are read.
        reader: Makes the rows.
        turn: Turns a record into rows; by default a record is a row.
        lines: Reads the records of a file.

    Raises:
        DatasetError: If there is no row, or no file can be read at all.
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
            # The rows of the other files still count.
            row = next(numbers)
            yield reader.read(row, str(file), b"", error.problem)


def all_answers(rows: Iterable[AnyRow]) -> Iterator[LabelledAnswer]:
    """Give the answers of rows.

    Raises:
        DatasetError: At the first row that could not be read.
    """
    for row in rows:
        if isinstance(row, FailedRow):
            path, _, line = row.place.rpartition(":")
            raise DatasetError(Path(path), int(line), row.problem.removesuffix("."))
        yield row.answer


def turned_rows(
    values: Values | str, turn: Turn | None, file: Path, line: int
) -> Iterable[Values | str]:
    """Turn a record into rows; a record that cannot be turned gives its problem."""
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
    """Read the raw rows of a file; a named column that a row lacks is null there."""
    lacking = dict.fromkeys(_present(lines(file), columns.optional))
    has_lists = suffix_of(file) not in (".csv", ".tsv")
    for line, content, values in lines(file):
        if isinstance(values, str):
            yield line, content, values
            continue
        row = {**lacking, **values}
        yield line, content, row if has_lists else columns.unpacked(row)


def _present(lines: Iterable[Line], columns: Collection[str]) -> set[str]:
    """Find the columns that any row of a file has; one that no row has is a wrong name."""
    missing = set(columns)
    if missing:
        for _, _, values in lines:
            missing -= set() if isinstance(values, str) else values.keys()
            if not missing:
                break
    return set(columns) - missing


def table_row(values: Values, columns: ColumnMapping, *, row: int) -> AnyRow:
    """Read one row of a table that is at hand, as :func:`read_labelled` reads a Parquet file.

    An id that comes twice in the table is not noticed.
    """
    return answer_reader(columns).read(row, f"row {row:,}", content_of(values), values)


class RowReader(Generic[_Row]):
    """Reads the rows of one table, each of which has an id of its own."""

    def __init__(
        self,
        columns: ColumnMapping,
        make: Callable[[Values, int, str], _Row],
        *,
        renames: bool = False,
    ) -> None:
        """Begin.

        Args:
            columns: Which column holds what.
            make: Makes a row of its values, its number and its fingerprint.
            renames: Whether an id that was there before gets the number of its row appended;
                otherwise its row fails.
        """
        self.columns, self._renames = columns, renames
        self._make: Callable[[Values, int, str], _Row] = make
        # Hashes of the ids: there may be millions, and long ones.
        self._ids: set[bytes] = set()

    def read(self, row: int, place: str, content: bytes, values: Values | str) -> _Row | FailedRow:
        """Read one row.

        Args:
            row: Its number.
            place: Its file and line, for messages.
            content: Its content, to be hashed.
            values: By column, or what is wrong with it.
        """
        # The same row read with another column mapping is another row.
        digest = sha256(self.columns.fingerprint + content).hexdigest()[:16]
        known: Values = {} if isinstance(values, str) else values
        id_ = str(row)
        try:
            if isinstance(values, str):
                raise RowError(values)
            id_ = self.columns.id_of(values) or id_
            if self._renames and self._is_known(id_):
                id_ = f"{id_}#{row}"
                known = {**values, self.columns.columns.get("id", "id"): id_}
            made = self._make(known, row, digest)
            if self._is_known(id_):
                raise RowError(f"the id {id_[:80]!r} is there for the second time")
        except InputError as error:
            return FailedRow(
                row=row,
                id=id_,
                place=place,
                problem=self.columns.reason_of(known) or str(error),
                sha256=digest,
                task=self._task_of(known),
                columns=self.columns.others_of(known),
            )
        self._ids.add(_hash(id_))
        return made

    def _is_known(self, id_: str) -> bool:
        return _hash(id_) in self._ids

    def _task_of(self, values: Values) -> str:
        """Read the task of a row that failed; empty if that cannot be read either."""
        try:
            return self.columns.task_of(values)
        except InputError:
            return ""


def answer_reader(
    mapping: ColumnMapping | None = None, *, renames: bool = False
) -> RowReader[NumberedAnswer]:
    """Make a reader of labelled answers; arguments are those of :class:`RowReader`."""
    columns = mapping or ColumnMapping()
    return RowReader(columns, partial(_answer, columns), renames=renames)


def question_reader(mapping: ColumnMapping | None = None) -> RowReader[NumberedQuestion]:
    """Make a reader of questions."""
    columns = mapping or ColumnMapping()
    return RowReader(columns, partial(_question, columns))


def _answer(columns: ColumnMapping, values: Values, row: int, digest: str) -> NumberedAnswer:
    return NumberedAnswer(row=row, answer=columns.answer(values, row), sha256=digest)


def _question(columns: ColumnMapping, values: Values, row: int, digest: str) -> NumberedQuestion:
    return NumberedQuestion(row=row, question=columns.question(values, row), sha256=digest)


def _hash(name: str) -> bytes:
    return sha256(name.encode()).digest()[:8]
