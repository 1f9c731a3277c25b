"""Rows of ``groundwire check --batch``: lines of JSON in, results out."""

import gzip
import io
import json
import math
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from groundwire.cli.inputs import STDIN, NotUtf8Error, decode
from groundwire.detection import Detection
from groundwire.errors import GroundwireError, InputError
from groundwire.example import Example

#: What reading a damaged or cut gzip stream raises.
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)

#: How many rows, and how many bytes of them, are in memory at a time.
MAX_BLOCK_ROWS = 256
MAX_BLOCK_BYTES = 16 * 2**20

_GZIP_MAGIC = b"\x1f\x8b"
_SOURCE_KEYS = ("sources", "context", "source")

RowId = str | int | float | None


class RowError(InputError):
    """A row of a batch cannot be read."""


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
        data = _read_object(line, number)
        id_ = _read_id(data.get("id"))
        content = Example.of(
            sources=_read_sources(data), question=data.get("question"), answer=_read_answer(data)
        )
    except GroundwireError as error:
        content = error
    return Row(number=number, id=id_, sha256=fingerprint(line), n_bytes=len(line), content=content)


def fingerprint(line: bytes) -> str:
    """What tells a row from another: 16 hexadecimal digits, outer white space left out."""
    return sha256(line.strip()).hexdigest()[:16]


def in_blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Group rows, so that memory stays bounded however long the file is."""
    block: list[Row] = []
    n_bytes = 0
    for row in rows:
        block.append(row)
        n_bytes += row.n_bytes
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


def _read_object(line: bytes, number: int) -> Mapping[str, Any]:
    try:
        data = json.loads(decode(line, f"Row {number}"), parse_constant=_refuse_constant)
    except NotUtf8Error:
        raise
    except json.JSONDecodeError as error:
        raise RowError(f"The row is not JSON: {error.msg} at character {error.pos:,}.") from error
    except (ValueError, RecursionError) as error:
        raise RowError(f"The row is not JSON that can be read: {error}.") from error
    if not isinstance(data, dict):
        raise RowError(f"The row is a JSON {_kind(data)}. It must be an object with an answer.")
    return data


def _read_id(value: object) -> RowId:
    match value:
        case None | str():
            return value
        case int() | float() if not isinstance(value, bool) and math.isfinite(value):
            return value
    raise RowError(f"The id is a JSON {_kind(value)}. It must be a text or a number.")


def _read_answer(data: Mapping[str, Any]) -> Any:  # noqa: ANN401  # Example.of checks its type
    if "answer" not in data:
        raise RowError(f"The row has no key 'answer'. Its keys: {_keys(data)}.")
    return data["answer"]


def _read_sources(data: Mapping[str, Any]) -> list[Any]:
    given = [key for key in _SOURCE_KEYS if key in data]
    if not given:
        raise RowError(
            f"The row has none of the keys {', '.join(_SOURCE_KEYS)}. Its keys: {_keys(data)}. "
            'To check without any source, say "sources": [].'
        )
    if len(given) > 1 and given[0] != "sources":
        raise RowError("The row has both 'context' and 'source'. Name the sources 'sources'.")
    value = data[given[0]]
    if isinstance(value, list) and given[0] != "source":
        return value
    if given[0] == "sources":
        raise RowError(f"'sources' is a JSON {_kind(value)}. It must be an array.")
    return [value]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _keys(data: Mapping[str, Any]) -> str:
    names = [repr(key[:40]) for key in data]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return (", ".join(names[:10]) or "none") + more


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"
