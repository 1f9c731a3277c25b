"""JSON lines that know where they stand, so that each problem names its file and line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from groundwire.detection.example import Example, SourceLike
from groundwire.errors import DatasetError, InputError
from groundwire.evaluation.datasets.lines import json_lines

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DataRow:
    """One line of a file.

    Attributes:
        path: The file.
        line: Number of the line, the first being 1.
        data: What the line holds, or an object in it.
    """

    path: Path
    line: int
    data: Mapping[str, Any]

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The value of a key.

        Raises:
            DatasetError: If it is of another kind, or not there and without default.
        """
        if key not in self.data and default is not None:
            return default
        value = self.data.get(key)
        if isinstance(value, kind) and (kind is not int or not isinstance(value, bool)):
            return value
        if key not in self.data:
            raise self.error(f"there is no key {key!r}; the keys are {', '.join(self.data)}")
        raise self.error(f"{key!r} is a {type(value).__name__} and must be a {kind.__name__}")

    def get_text(self, key: str) -> str | None:
        """A text, or ``None`` if the key is not there or holds nothing."""
        return None if self.data.get(key) is None else self.get(key, str)

    def objects(self, key: str) -> list["DataRow"]:
        """The objects in a list."""
        found = self.get(key, list)
        if not all(isinstance(item, dict) for item in found):
            raise self.error(f"{key!r} must hold objects only")
        return [DataRow(self.path, self.line, item) for item in found]

    def example(self, sources: list[SourceLike], question: str | None, answer: str) -> Example:
        """Build what is to be checked.

        Raises:
            DatasetError: If it is no text, or there is no answer.
        """
        try:
            return Example.of(sources=sources, question=question, answer=answer)
        except InputError as error:
            raise self.error(str(error)) from error

    def error(self, problem: str) -> DatasetError:
        """What to raise about this line."""
        return DatasetError(self.path, self.line, problem)


def read_rows(path: Path) -> Iterator[DataRow]:
    """Read a file of JSON lines, gzipped or not; blank lines are passed over.

    Raises:
        DatasetError: If a line is no JSON object, the file breaks off, or it has no rows.
    """
    for row in each_row(path):
        if isinstance(row, DatasetError):
            raise row
        yield row


def each_row(path: Path) -> Iterator[DataRow | DatasetError]:
    """The same, with what is wrong with a line in its place, and the lines after it.

    Raises:
        DatasetError: If the file has no rows.
    """
    line = 0
    for line, _, values in json_lines(path):
        if isinstance(values, str):
            yield DatasetError(path, line, values.removesuffix("."))
        else:
            yield DataRow(path, line, values)
    if line == 0:
        raise DatasetError(path, None, "it has no rows")
