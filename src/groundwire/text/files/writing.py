"""Writes files of rows that survive a crash: a file that was cut short can be continued."""

import gzip
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from groundwire.errors import InputError
from groundwire.text.files.reading import DAMAGE, open_lines


class WrittenError(InputError):
    """A file that a command wrote cannot be read, or not be continued.

    Attributes:
        path: The file.
        line: Number of the wrong line; ``None`` if the whole file is meant.
        problem: The problem, and what to do about it.
    """

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        super().__init__(path, line, problem)
        self.path, self.line, self.problem = path, line, problem

    def __str__(self) -> str:
        where = f"{self.path}, line {self.line:,}" if self.line else str(self.path)
        return f"{where}: {self.problem}"


def not_results(path: Path, line: int, problem: str) -> WrittenError:
    """The error of an output to continue that holds something else than results."""
    text = (
        f"this is no result ({problem}), so the file cannot be continued. Name another --output, "
        "or replace this one with --force."
    )
    return WrittenError(path, line, text)


class Writer:
    """Writes results; a row is flushed to the system when :meth:`write` returns."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, result: Mapping[str, Any]) -> None:
        """Write one row."""
        self._stream.write(to_json(result).encode() + b"\n")
        self._stream.flush()


def other_data(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Say that the data of two runs differ; empty if they are the same.

    Data are the same if their SHA-256 and the suffixes of their names are, in order: a renamed file
    has the same rows in the same places, unless it comes before another file now.

    Args:
        before: Name and SHA-256 of each file of the earlier run.
        now: Name and SHA-256 of each file of this run.
    """
    was, is_ = ([(_kind(name), sha256) for name, sha256 in each.items()] for each in (before, now))
    if was == is_:
        return ""
    return f"it was made from other data ({_hashes(before)}, and now {_hashes(now)})"


def to_json(data: object, *, indent: int | None = None) -> str:
    """JSON in ASCII: on a terminal it can hide nothing, and as JSON Lines every reader agrees
    where a line ends (some take U+2028 or U+0085 for an end).
    """  # noqa: D205
    return json.dumps(data, ensure_ascii=True, indent=indent, default=_plain)


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a file that replaces another as a whole or not at all, even if the power fails.

    It has the permissions of the file that it replaces.
    """
    path = path.resolve()  # what a link points to, not the link
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

    Args:
        path: The file, gzip or not.
        take: Called with the number of each complete line, and the line.

    Raises:
        WrittenError: If it is gzip and its name does not end in ``.gz``, or the other way round.
    """
    n_bytes, is_whole = 0, True
    with open_lines(path) as stream:
        is_packed = isinstance(stream, gzip.GzipFile)
        if path.stat().st_size and is_packed != (path.suffix == ".gz"):
            raise not_results(path, 1, "the name and the content disagree on gzip")
        try:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    is_whole = False
                    break
                take(number, line)
                n_bytes += len(line)
        except DAMAGE:
            is_whole = False
    if not is_whole and is_packed:
        _repack(path, n_bytes)
    elif not is_whole:
        os.truncate(path, n_bytes)


def keep_lines(path: Path, is_kept: Callable[[int, bytes], bool]) -> None:
    """Rewrite a file of results, which is not packed, without some of its lines.

    However this ends, the file is the old one or the new one.

    Args:
        path: The file; its last line is complete.
        is_kept: Called with the number of each line, and the line.
    """
    with path.open("rb") as lines, replacing(path) as stream:
        for number, line in enumerate(lines, 1):
            if is_kept(number, line):
                stream.write(line.decode())


def _repack(path: Path, n_bytes: int) -> None:
    # A truncated gzip member cannot be appended to, so what can be read of it is packed anew: into
    # the same folder, to be renamed in one step, and under a random name, for a fixed one may be a
    # file of the user's.
    number, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(number, "wb") as raw, gzip.open(path) as old, gzip.open(raw, "wb") as new:
            while n_bytes and (piece := old.read1(min(n_bytes, 2**20))):
                new.write(piece)
                n_bytes -= len(piece)
        shutil.copymode(path, fresh)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _kind(name: str) -> str:
    return Path(name.removesuffix(".gz")).suffix


def _hashes(data: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {sha256[:12]}" for name, sha256 in [*data.items()][:3]) or "none"


def _plain(value: Any) -> object:  # noqa: ANN401  # whatever json cannot write
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON data")
