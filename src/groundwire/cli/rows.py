"""Rows of ``groundwire check --batch``: lines of JSON in, results out."""

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from groundwire.cli.inputs import STDIN, decode
from groundwire.detection import Detection
from groundwire.errors import GroundwireError
from groundwire.example import Example
from groundwire.rows import RowId, parse_row, row_example, row_id

_T = TypeVar("_T")

#: What reading a damaged or cut gzip stream raises.
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)

#: How many rows, and how many bytes of them, are in memory at a time.
MAX_BLOCK_ROWS = 256
MAX_BLOCK_BYTES = 16 * 2**20

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the input.

    Attributes:
        number: Line of the file, the first being 1.
        id: What the row calls itself, if it does.
        sha256: :func:`fingerprint` of the line.
        n_bytes: Length of the line.
        content: What to check, or why that cannot be said.
    """

    number: int
    id: RowId = None
    sha256: str
    n_bytes: int
    content: Example | GroundwireError

    def result(self, verdict: Detection | GroundwireError) -> dict[str, Any]:
        """The row of the output that belongs to it."""
        name: dict[str, Any] = {"row": self.number}
        if self.id is not None:
            name["id"] = self.id
        name["input_sha256"] = self.sha256
        if isinstance(verdict, Detection):
            return {**name, **verdict.to_dict()}
        return {**name, "error": {"type": type(verdict).__name__, "message": str(verdict)}}


@contextmanager
def open_lines(path: Path) -> Iterator[BinaryIO]:
    """Open a file or standard input, unpacking gzip, which its first bytes tell."""
    if path == STDIN:
        yield _unpacked(sys.stdin.buffer)
        return
    with path.open("rb") as stream:
        yield _unpacked(stream)


def read_rows(lines: Iterable[bytes], *, first: int = 1) -> Iterator[Row]:
    """Read rows one by one, ``first`` being the number of the first line; blank ones give none."""
    for number, line in enumerate(lines, first):
        if line.strip():
            yield read_row(line, number)


def read_row(line: bytes, number: int) -> Row:
    """Read one row; what is wrong with it becomes its content."""
    id_: RowId = None
    content: Example | GroundwireError
    try:
        data = parse_row(decode(line, f"Row {number}"))
        id_ = row_id(data)
        content = row_example(data)
    except GroundwireError as error:
        content = error
    return Row(number=number, id=id_, sha256=fingerprint(line), n_bytes=len(line), content=content)


def fingerprint(line: bytes) -> str:
    """What tells a row from another: 16 hexadecimal digits, outer white space left out."""
    return sha256(line.strip()).hexdigest()[:16]


def in_blocks(rows: Iterable[_T], size: Callable[[_T], int]) -> Iterator[list[_T]]:
    """Group rows, so that memory stays bounded however long the file is.

    Args:
        rows: Of whatever kind.
        size: About how many bytes one holds.
    """
    block: list[_T] = []
    n_bytes = 0
    for row in rows:
        block.append(row)
        n_bytes += size(row)
        if len(block) == MAX_BLOCK_ROWS or n_bytes >= MAX_BLOCK_BYTES:
            yield block
            block, n_bytes = [], 0
    if block:
        yield block


def _unpacked(stream: BinaryIO) -> BinaryIO:
    if not isinstance(stream, io.BufferedReader):
        stream = io.BufferedReader(cast("io.RawIOBase", stream))  # one that can look ahead
    if stream.peek(2)[:2] == _GZIP_MAGIC:
        return cast("BinaryIO", gzip.GzipFile(fileobj=stream, mode="rb"))
    return stream
