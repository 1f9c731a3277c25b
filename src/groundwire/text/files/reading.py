"""Reads files of rows, one row a line, with or without gzip; defines the size of blocks of rows."""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from groundwire.errors import InputError

_T = TypeVar("_T")


#: The path that means standard input.
STDIN = Path("-")


#: Exceptions that reading a damaged or truncated gzip stream raises.
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)


#: Number of rows at which a block is full. The rows of a block are processed together.
MAX_BLOCK_ROWS = 256


#: Size of the texts in a block, in characters, at which the block is full even with fewer rows.
MAX_BLOCK_BYTES = 16 * 2**20


#: Byte order mark → encoding. UTF-32 comes first, because one of its marks begins like UTF-16's.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


GZIP_MAGIC = b"\x1f\x8b"

#: First bytes of files that are not text → the kind of file, and how to get its text.
_NO_TEXTS = {
    b"%PDF": "a PDF. Take its text out first, for instance: pdftotext FILE",
    b"PK\x03\x04": "a document or workbook (docx, xlsx...) or an archive. Save it as text or CSV",
    GZIP_MAGIC: "packed with gzip. Unpack it first: gunzip FILE",
}


class NotUtf8Error(InputError):
    """A file is not UTF-8; ``encoding`` is its likely encoding."""

    def __init__(
        self, name: str, offset: int, problem: str, encoding: str = "WINDOWS-1252"
    ) -> None:
        super().__init__(name, offset, problem, encoding)
        self.name, self.offset, self.problem, self.encoding = name, offset, problem, encoding

    def __str__(self) -> str:
        return (
            f"{self.name} is not UTF-8 text: {self.problem} at byte {self.offset:,}. "
            f"{conversion(self.encoding)}"
        )


def other_encoding(data: bytes) -> str:
    """Guess the encoding of a text by its beginning; empty if it may be UTF-8."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding
    # Without a mark, each Latin letter of UTF-16 has a zero byte beside it.
    if data[:4:2] == b"\0\0":
        return "UTF-16BE"
    return "UTF-16LE" if data[1:4:2] == b"\0\0" else ""


def conversion(encoding: str) -> str:
    """Return advice on how to convert a file from ``encoding`` to UTF-8."""
    return f"Convert it first, for instance: iconv -f {encoding} -t UTF-8 FILE"


def no_text(data: bytes) -> str:
    """Return the kind of a file that is not text, and how to get its text; empty if it may be text.

    ``data`` is the beginning of the file.
    """
    return next((what for mark, what in _NO_TEXTS.items() if data.startswith(mark)), "")


def decode(data: bytes, name: str) -> str:
    """Decode bytes as UTF-8; leave out a byte order mark at the start.

    Raises:
        NotUtf8Error: If the beginning shows another encoding (``offset`` is 0), or if a byte is not
            valid UTF-8 (``offset`` is that of the first wrong byte).
        InputError: If the bytes are a file of a known kind that is not text, such as a PDF.
    """
    if what := no_text(data):
        raise InputError(f"{name} is {what}.")
    if encoding := other_encoding(data):
        raise NotUtf8Error(name, 0, f"the beginning of {encoding}", encoding)
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    try:
        return data[start:].decode()
    except UnicodeDecodeError as error:
        problem = f"{error.reason} (0x{error.object[error.start]:02x})"
        raise NotUtf8Error(name, start + error.start, problem) from error


@contextmanager
def open_lines(path: Path) -> Iterator[BinaryIO]:
    """Open a file or standard input; gzip, recognised by its first bytes, is unpacked."""
    with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as stream:
        yield _unpacked(stream)


def count_lines(path: Path) -> int | None:
    """Count the lines of a file; ``None`` for standard input and for a damaged gzip file."""
    if path == STDIN:
        return None
    n_lines, last = 0, b"\n"
    try:
        with open_lines(path) as stream:
            while piece := stream.read(2**20):
                n_lines += piece.count(b"\n")
                last = piece[-1:]
    except DAMAGE:
        return None
    return n_lines + (last != b"\n")


def fingerprint(line: bytes) -> str:
    """Hash a row without its outer white space: the first 16 hexadecimal digits of SHA-256."""
    return sha256(line.strip()).hexdigest()[:16]


def _unpacked(stream: BinaryIO) -> BinaryIO:
    if not isinstance(stream, io.BufferedReader):
        stream = io.BufferedReader(cast("io.RawIOBase", stream))  # it has ``peek``
    if stream.peek(2)[:2] == GZIP_MAGIC:
        return cast("BinaryIO", gzip.GzipFile(fileobj=stream, mode="rb"))
    return stream
