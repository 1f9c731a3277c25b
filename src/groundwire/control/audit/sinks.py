"""Sinks, to which the audit log writes: a file and standard output; ``store_sink`` has another."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from groundwire.control.audit.record import AuditRecord, Head
from groundwire.errors import SettingError

_BINARY: int = getattr(os, "O_BINARY", 0)  # without this flag, Windows turns \n into \r\n

#: Number of bytes at the end of a file that are read to find the ends of other chains.
_TAIL_BYTES = 2**20


class Sink(Protocol):
    """The interface of places that keep records, in order. Only one task calls a sink."""

    async def heads(self) -> Sequence[Head]:
        """Return the last record of each earlier chain that the sink can find.

        The audit log calls this method before the first ``append``.

        Raises:
            Exception: If the sink cannot be read; the call is then repeated.
        """
        return ()

    async def append(self, records: Sequence[AuditRecord]) -> None:
        """Write records of one chain, except for those that are written already.

        Raises:
            Exception: If a record cannot be written; the call is then repeated with all records.
        """
        ...

    async def close(self) -> None:
        """Release all resources; no other call follows."""
        ...


class FileSink:
    """Appends records to a file. It opens the file for each batch, so the file can be rotated."""

    def __init__(self, path: str | Path, *, is_synced: bool = False) -> None:
        """Make the file and its folder, if they do not exist.

        Args:
            path: The file. If it is made here, only its owner can read it.
            is_synced: Whether records are on the disk when :meth:`append` returns, so that they
                survive a power cut; otherwise they survive only the end of the process.

        Raises:
            SettingError: If the file cannot be written.
        """
        self.path, self._is_synced = Path(path), is_synced
        self._lines = _Lines()
        try:
            self._append([])
        except OSError as error:
            problem = f"a file that can be written, or '-' ({type(error).__name__})"
            raise SettingError("audit.path", str(path), problem) from error

    async def heads(self) -> Sequence[Head]:
        """Return the last record of each chain that has records near the end of the file."""
        return await asyncio.to_thread(self._heads)

    async def append(self, records: Sequence[AuditRecord]) -> None:
        """Write records at the end of the file, each only once."""
        await asyncio.to_thread(self._append, records)

    async def close(self) -> None:
        """Do nothing: no file is open."""

    def _heads(self) -> Sequence[Head]:
        if not self.path.is_file():  # a device such as /dev/full has no end
            return ()
        with self.path.open("rb") as file:
            start = max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0)
            file.seek(start)
            lines = file.read().split(b"\n")
        heads = (_head(line) for line in (lines[1:] if start else lines))
        return tuple({head.writer: head for head in heads if head is not None}.values())

    def _append(self, records: Sequence[AuditRecord]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _BINARY, 0o600)
        try:
            is_new = os.fstat(file).st_size == 0
            self._lines.write(file, records, is_torn=_is_torn(file))
            if self._is_synced:
                os.fsync(file)
        finally:
            os.close(file)
        if self._is_synced and is_new:
            _sync_folder(self.path.parent)


class StdoutSink(Sink):
    """Writes records to standard output."""

    def __init__(self) -> None:
        self._lines = _Lines()

    async def append(self, records: Sequence[AuditRecord]) -> None:
        """Write records to standard output, each only once."""
        sys.stdout.flush()
        file, is_torn = sys.stdout.fileno(), self._lines.is_torn
        await asyncio.to_thread(self._lines.write, file, records, is_torn=is_torn)

    async def close(self) -> None:
        """Do nothing: the standard output stays open."""


class _Lines:
    """Writes records as lines, each record only once.

    Attributes:
        is_torn: Whether the last write ended within a line.
    """

    def __init__(self) -> None:
        self.is_torn = False
        self._seq = 0

    def write(self, file: int, records: Sequence[AuditRecord], *, is_torn: bool) -> None:
        """Write the records that are not written yet.

        ``is_torn``: whether the file ends within a line, which is then ended first.
        """
        self.is_torn = is_torn
        for record in records:
            if record.seq > self._seq:
                self._write(file, (b"\n" if self.is_torn else b"") + record.to_line())
                # The record must not be written again, even if writing the line break fails.
                self._seq = record.seq
                self._write(file, b"\n")
                self.is_torn = False

    def _write(self, file: int, data: bytes) -> None:
        while data:
            n_written = os.write(file, data)
            self.is_torn = True
            data = data[n_written:]


def _is_torn(file: int) -> bool:
    """Return whether a regular file ends within a line; false for other files, such as pipes."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        return False
    os.lseek(file, -1, os.SEEK_END)
    return os.read(file, 1) != b"\n"


def _head(line: bytes) -> Head | None:
    """Return chain, number and MAC of the record in a line; ``None`` if the line has no record."""
    with suppress(ValueError, RecursionError, KeyError, TypeError):
        return Head.of(json.loads(line)["chain"])
    return None


def _sync_folder(folder: Path) -> None:
    """Write a folder to the disk, with the names of its files, on systems that can do so."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
