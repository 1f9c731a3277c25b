"""Writes files of rows in such a way that a run can continue them after a crash."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from groundwire.errors import InputError
from groundwire.text.files.reading import GZIP_MAGIC

#: Possible beginnings of the first line of a file of results.
_BEGINS = (b'{"row": ', b'{"schema": ')


class WrittenError(InputError):
    """A file that a command wrote cannot be read or cannot be continued.

    Attributes:
        path: The file.
        line: Number of the wrong line; ``None`` if the problem is about the whole file.
        problem: The problem, and what to do about it.
    """

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        super().__init__(path, line, problem)
        self.path, self.line, self.problem = path, line, problem

    def __str__(self) -> str:
        where = f"{self.path}, line {self.line:,}" if self.line else str(self.path)
        return f"{where}: {self.problem}"


def not_results(path: Path, line: int, problem: str) -> WrittenError:
    """Make the error for an output file with a line that is not a result."""
    text = (
        f"this is no result ({problem}), so the file cannot be continued. Name another --output, "
        "or replace this one with --force."
    )
    return WrittenError(path, line, text)


class Writer:
    """Writes results as JSON Lines; each is flushed to the system when :meth:`write` returns."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, result: Mapping[str, Any]) -> None:
        """Write one result as a row."""
        self._stream.write(to_json(result).encode() + b"\n")
        self._stream.flush()


def other_data(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Describe how the data of two runs differ; empty if they are the same.

    ``before`` and ``now`` have the name and SHA-256 of each file; the names are not compared.
    """
    if [*before.values()] == [*now.values()]:
        return ""
    return f"it was made from other data ({_hashes(before)}, and now {_hashes(now)})"


def to_json(data: object, *, indent: int | None = None) -> str:
    """Return data as JSON text in ASCII.

    A text in ASCII hides nothing on a terminal, and has no U+2028 or U+0085, which some readers of
    JSON Lines treat as the end of a line.
    """
    return json.dumps(data, ensure_ascii=True, indent=indent, default=_plain)


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a new file for writing, which replaces the file at ``path`` when it is complete.

    If the ``with`` block raises or the process ends before that, the old file stays. The
    new file gets the permissions of the old one. A pipe or a device is written to directly.
    """
    if path.exists() and not path.is_file():  # a pipe or a device
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    path = path.resolve()  # replace the file that a link points to, not the link
    fresh = path.with_name(f".{path.name}.part")
    try:
        with fresh.open("w", encoding="utf-8", newline="\n") as stream:
            if path.exists():
                shutil.copymode(path, fresh)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def drop_cut_line(path: Path, take: Callable[[int, bytes], None]) -> None:
    """Prepare a file of results for appending: drop a last line that was cut short.

    ``take`` is called with the number of each complete line, from 1, and the line.

    Raises:
        WrittenError: If the file is compressed with gzip, or its only line is cut short and does
            not begin as results do.
    """
    n_bytes = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.startswith(GZIP_MAGIC) and number == 1:
                raise not_results(path, 1, "it is packed")
            if not line.endswith(b"\n"):
                if number == 1 and not any(line.startswith(each[: len(line)]) for each in _BEGINS):
                    raise not_results(path, 1, "it does not begin as results do")
                break
            take(number, line)
            n_bytes += len(line)
    os.truncate(path, n_bytes)


def _hashes(data: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {sha256[:12]}" for name, sha256 in [*data.items()][:3]) or "none"


def _plain(value: Any) -> object:  # noqa: ANN401  # whatever json cannot write
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON data")
