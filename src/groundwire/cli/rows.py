"""Rows of ``groundwire check --batch``: lines of JSON in, results out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from groundwire.detection.example import Example
from groundwire.detection.rows import RowId, parse_row, row_example, row_id
from groundwire.detection.values import Detection
from groundwire.errors import GroundwireError
from groundwire.text.files.reading import decode, fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRow:
    """A line of the input.

    Attributes:
        number: Number of the line, the first being 1.
        id: Id of the row, if it has one.
        sha256: :func:`fingerprint` of the line.
        n_bytes: Length of the line.
        content: The example to check, or the error of a row that cannot be read.
    """

    number: int
    id: RowId = None
    sha256: str
    n_bytes: int
    content: Example | GroundwireError

    def result(self, verdict: Detection | GroundwireError) -> dict[str, Any]:
        """The row of the output for this row."""
        name: dict[str, Any] = {"row": self.number}
        if self.id is not None:
            name["id"] = self.id
        name["input_sha256"] = self.sha256
        if isinstance(verdict, Detection):
            return {**name, **verdict.to_dict()}
        return {**name, "error": {"type": type(verdict).__name__, "message": str(verdict)}}


def read_rows(lines: Iterable[bytes], *, first: int = 1) -> Iterator[InputRow]:
    """Read rows one by one, ``first`` being the number of the first line; blank ones give none."""
    for number, line in enumerate(lines, first):
        if line.strip():
            yield read_row(line, number)


def read_row(line: bytes, number: int) -> InputRow:
    """Read a row; an error becomes its content."""
    id_: RowId = None
    content: Example | GroundwireError
    try:
        data = parse_row(decode(line, f"Row {number}"))
        id_ = row_id(data)
        content = row_example(data)
    except GroundwireError as error:
        content = error
    return InputRow(
        number=number, id=id_, sha256=fingerprint(line), n_bytes=len(line), content=content
    )
