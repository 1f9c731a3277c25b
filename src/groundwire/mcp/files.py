"""Reads lines of files as evidence, from allowed folders only.

A text that an agent has read may make the agent ask for any file, such as one with secrets. So a
path, with symbolic links resolved, must lie in an allowed folder. After a file is opened, its path
is resolved again, because somebody may have replaced the file or a folder by a link since the first
check.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire.mcp.arguments import CallError
from groundwire.mcp.store import FileRange

#: Limit on the lines of one span.
MAX_LINES = 2_000
#: Limit on the bytes of a file from which lines are read.
MAX_FILE_BYTES = 16_000_000
MAX_PATH_CHARS = 4_096

HOW_TO_ALLOW = (
    "No folder is allowed, so no file can be read. Whoever starts the server allows one with "
    "--root DIR, which can be repeated. A text can be added with add_span."
)

#: Flags for opening a file: to read bytes, and without blocking if it is a pipe or a device.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders whose files may be read, as resolved paths."""

    folders: tuple[Path, ...] = ()

    @classmethod
    def of(cls, folders: Sequence[Path]) -> "Roots":
        """Resolve the paths of folders; a folder that does not exist raises an OSError."""
        return cls(tuple(dict.fromkeys(each.resolve(strict=True) for each in folders)))

    def read(self, path: str, start_line: int, end_line: int) -> tuple[str, FileRange]:
        """Read lines of a file; return their text and their range.

        Args:
            path: Path of the file, absolute or relative to an allowed folder.
            start_line: The first line, from 1.
            end_line: The last line, included.

        Raises:
            CallError: If the file is in no allowed folder, or cannot be read as UTF-8 text; if more
                than :data:`MAX_LINES` lines are asked for; if ``end_line`` is before
                ``start_line``; or if the file ends before ``end_line``.
        """
        if not self.folders:
            raise CallError(HOW_TO_ALLOW)
        if end_line < start_line:
            raise CallError(f"end_line {end_line} is before start_line {start_line}.")
        if end_line - start_line >= MAX_LINES:
            raise CallError(
                f"These are {end_line - start_line + 1:,} lines, and a span has at most "
                f"{MAX_LINES:,}. Add the lines that matter."
            )
        found = self._locate(path)
        lines = _lines(_read(found, path), path)
        if end_line > len(lines):
            raise CallError(f"{_shown(path)} has {len(lines):,} lines, and no line {end_line:,}.")
        place = FileRange(path=str(found), start_line=start_line, end_line=end_line)
        return "\n".join(lines[start_line - 1 : end_line]), place

    def _locate(self, path: str) -> Path:
        """Resolve the path of a file in an allowed folder; for other paths, raise a CallError."""
        if "\0" in path:
            raise CallError("A path has no NUL in it.")
        for folder in self.folders:
            # All paths outside the allowed folders get the same error, which must not tell whether
            # a file exists there.
            found = Path(os.path.realpath(folder / path))
            is_inside = any(found.is_relative_to(each) for each in self.folders)
            if is_inside and (Path(path).is_absolute() or os.access(found, os.F_OK)):
                return found
        allowed = ", ".join(map(str, self.folders))
        raise CallError(
            f"{_shown(path)} is no file in an allowed folder. Allowed: {allowed}. Paths are "
            "absolute, or from one of these on."
        )


def _read(found: Path, path: str) -> bytes:
    try:
        if not stat.S_ISREG(os.lstat(found).st_mode):
            raise CallError(f"{_shown(path)} is no regular file.")
        with os.fdopen(os.open(found, _READ), "rb") as stream:
            about = os.fstat(stream.fileno())
            # The file or a folder may have been replaced by a link before the file was opened.
            is_same = os.path.samestat(about, os.lstat(found))
            if not is_same or os.path.realpath(found) != str(found):
                raise CallError(f"{_shown(path)} cannot be read: it has changed meanwhile.")
            if about.st_size > MAX_FILE_BYTES:
                raise CallError(
                    f"{_shown(path)} has {about.st_size:,} bytes, and at most {MAX_FILE_BYTES:,} "
                    "are read."
                )
            return stream.read(MAX_FILE_BYTES)
    except OSError as error:
        raise CallError(f"{_shown(path)} cannot be read: {error.strerror}.") from error


def _lines(data: bytes, path: str) -> list[str]:
    if b"\0" in data:
        raise CallError(f"{_shown(path)} is binary: it has a NUL in it. Evidence is text.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CallError(f"{_shown(path)} is no UTF-8 text (byte {error.start:,}).") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _shown(path: str) -> str:
    return repr(path[:200])
