"""Where the lines of an audit log go: a file, or the standard output."""

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from groundwire.errors import SettingError

_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would turn each \n into \r\n


class Sink(Protocol):
    """Takes lines, in order. It is called by one thread alone, and may take its time."""

    def append(self, lines: Sequence[bytes]) -> None:
        """Write lines, each an object of JSON without line break.

        Raises:
            PartlyAppendedError: If only the first of them were written.
            Exception: Whatever else goes wrong: none was written. They come again.
        """
        ...


class PartlyAppendedError(Exception):
    """Only the first ``n_lines`` lines were written."""

    def __init__(self, n_lines: int) -> None:
        super().__init__(n_lines)
        self.n_lines = n_lines


class FileSink:
    """Appends to a file, which it opens for each batch: one that was moved away is made anew."""

    def __init__(self, path: str | Path) -> None:
        """Make the file, and its folder, if they are not there.

        Args:
            path: Of the file. It is made to be read by its owner alone.

        Raises:
            SettingError: If it cannot be written.
        """
        self.path = Path(path)
        try:
            self.append([])
        except OSError as error:
            problem = f"a file that can be written, or '-' ({type(error).__name__})"
            raise SettingError("audit.path", str(path), problem) from error

    def append(self, lines: Sequence[bytes]) -> None:
        """Write lines at its end; none of them is on the line that a crash left unfinished."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _BINARY, 0o600)
        try:
            _write(file, lines, after=b"\n" if _is_torn(file) else b"")
        finally:
            os.close(file)


class StdoutSink:
    """Writes to the standard output."""

    def __init__(self) -> None:
        self._is_torn = False

    def append(self, lines: Sequence[bytes]) -> None:
        """Write lines."""
        sys.stdout.flush()
        try:
            _write(sys.stdout.fileno(), lines, after=b"\n" if self._is_torn else b"")
        except PartlyAppendedError:
            self._is_torn = True
            raise
        self._is_torn = False


def _is_torn(file: int) -> bool:
    """Whether a file ends within a line."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        return False
    os.lseek(file, -1, os.SEEK_END)
    return os.read(file, 1) != b"\n"


def _write(file: int, lines: Sequence[bytes], *, after: bytes) -> None:
    if not lines:
        return
    data, done = after + b"\n".join(lines) + b"\n", 0
    try:
        with memoryview(data) as view:
            while done < len(data):
                done += os.write(file, view[done:])
    except OSError as error:
        if done == 0:
            raise
        # No line holds a line break, and so each that is there ends one.
        raise PartlyAppendedError(data.count(b"\n", len(after), done)) from error
