"""JSON lines that know where they stand, so that each problem names its file and line."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from groundwire.cli.rows import DAMAGE, open_lines
from groundwire.errors import DatasetError, InputError
from groundwire.example import Example, SourceLike

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
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

    def objects(self, key: str) -> list["Row"]:
        """The objects in a list."""
        found = self.get(key, list)
        if not all(isinstance(item, dict) for item in found):
            raise self.error(f"{key!r} must hold objects only")
        return [Row(self.path, self.line, item) for item in found]

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


def read_rows(path: Path) -> Iterator[Row]:
    """Read a file of JSON lines, gzipped or not; blank lines are passed over.

    Raises:
        DatasetError: If a line is no JSON object, the file breaks off, or it has no rows.
    """
    row, line = None, 0
    with open_lines(path) as lines:
        try:
            for line, content in enumerate(lines, 1):
                if content.strip():
                    row = Row(path, line, _read_object(content, path, line))
                    yield row
        except DAMAGE as error:
            raise DatasetError(path, line + 1, f"the file breaks off here ({error})") from error
    if row is None:
        raise DatasetError(path, None, "it has no rows")


def _read_object(content: bytes, path: Path, line: int) -> dict[str, Any]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DatasetError(path, line, f"this is not JSON in UTF-8 ({error})") from error
    if not isinstance(data, dict):
        raise DatasetError(path, line, "this is JSON, but not an object")
    return data
