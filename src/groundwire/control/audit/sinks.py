"""Where the records of an audit log go: a file, or the standard output; the store has its own."""

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

_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would turn each \n into \r\n

#: Of a file's end, this much is read to learn where other chains stand.
_TAIL_BYTES = 2**20


class Sink(Protocol):
    """Keeps records, in order. It is called by one thread alone, and may take its time."""

    def heads(self) -> Sequence[Head]:
        """Where other chains stand that none has named yet; asked once, before anything is kept.

        Raises:
            Exception: Whatever goes wrong. It is asked again.
        """
        ...

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Keep records of one chain; those that are kept already are not kept twice.

        Raises:
            Exception: Whatever goes wrong. They come again, with others perhaps.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds; nothing comes after that."""
        ...


class FileSink:
    """Appends to a file, which it opens for each batch: one that was moved away is made anew."""

    def __init__(self, path: str | Path, *, is_synced: bool = False) -> None:
        """Make the file, and its folder, if they are not there.

        Args:
            path: Of the file. It is made to be read by its owner alone.
            is_synced: Whether what it takes is on the disk once it is kept, so that it outlives a
                power cut; otherwise it outlives the end of the process alone.

        Raises:
            SettingError: If it cannot be written.
        """
        self.path, self._is_synced = Path(path), is_synced
        self._lines = _Lines()
        try:
            self.append([])
        except OSError as error:
            problem = f"a file that can be written, or '-' ({type(error).__name__})"
            raise SettingError("audit.path", str(path), problem) from error

    def heads(self) -> Sequence[Head]:
        """The last record of each chain near its end. What was moved away is not looked at."""
        if not self.path.is_file():  # what /dev/full has to read never ends
            return ()
        with self.path.open("rb") as file:
            start = max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0)
            file.seek(start)
            lines = file.read().split(b"\n")
        heads = (_head(line) for line in (lines[1:] if start else lines))
        return tuple({head.writer: head for head in heads if head is not None}.values())

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Write records at its end; none of them is on the line that a crash left unfinished."""
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

    def close(self) -> None:
        """Nothing is open."""


class StdoutSink:
    """Writes to the standard output."""

    def __init__(self) -> None:
        self._lines = _Lines()

    def heads(self) -> Sequence[Head]:
        """None: what was written cannot be read again."""
        return ()

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Write records."""
        sys.stdout.flush()
        self._lines.write(sys.stdout.fileno(), records, is_torn=self._lines.is_torn)

    def close(self) -> None:
        """It is not ours to close."""


class _Lines:
    """Writes records as lines, and knows which of them are written.

    Attributes:
        is_torn: Whether the last write ended within a line.
    """

    def __init__(self) -> None:
        self.is_torn = False
        self._seq = 0

    def write(self, file: int, records: Sequence[AuditRecord], *, is_torn: bool) -> None:
        """Write those that are not written yet.

        Args:
            file: A descriptor.
            records: Of the chain that all are of.
            is_torn: Whether what is there ends within a line.

        Raises:
            OSError: If some or all could not be written.
        """
        fresh = [record for record in records if record.seq > self._seq]
        if not fresh:
            return
        before = b"\n" if is_torn else b""
        data = before + b"".join(record.to_line() + b"\n" for record in fresh)
        done = 0
        try:
            with memoryview(data) as view:
                while done < len(data):
                    done += os.write(file, view[done:])
        finally:
            # No line holds a line break, and so each that is there ends one; the last of them may
            # have found no more room: the line is whole all the same.
            n_whole = data.count(b"\n", len(before), done) + data.startswith(b"\n", done)
            is_begun = done > len(before)
            self.is_torn = is_torn if done == 0 else done < len(data) and is_begun
            if is_begun and n_whole:
                self._seq = fresh[n_whole - 1].seq


def _is_torn(file: int) -> bool:
    """Whether a file ends within a line."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        return False
    os.lseek(file, -1, os.SEEK_END)
    return os.read(file, 1) != b"\n"


def _head(line: bytes) -> Head | None:
    """Where a chain stands with a line; ``None`` if it is no record."""
    with suppress(ValueError, RecursionError, KeyError, TypeError):
        return Head.of(json.loads(line)["chain"])
    return None


def _sync_folder(folder: Path) -> None:
    """Put the name of a new file on the disk, where that can be asked for."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
