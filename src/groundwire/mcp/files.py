"""Reads lines of files as evidence, from allowed folders only, whatever a path looks like.

A text may have talked the agent into asking for any file. A path is resolved first, symbolic links
included, and must then lie in an allowed folder; the opened file is compared with it, so that
nothing can be swapped in between.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire.mcp.arguments import CallError
from groundwire.mcp.store import FileRange

#: Lines of one span at most.
MAX_LINES = 2_000
#: Bytes of a file at most: lines are counted from its beginning.
MAX_FILE_BYTES = 16_000_000
MAX_PATH_CHARS = 4_096

HOW_TO_ALLOW = (
    "No folder is allowed, so no file can be read. Whoever starts the server allows one with "
    "--root DIR, which can be repeated. A text can be added with add_span."
)

#: Flags to open a file with: opening a pipe or a device must not block.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FileLines:
    """Lines that were read, and their place."""

    text: str
    place: FileRange


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders whose files may be read, with their links resolved."""

    folders: tuple[Path, ...] = ()

    @classmethod
    def of(cls, folders: Sequence[Path]) -> "Roots":
        """Resolve folders, which must be there."""
        return cls(tuple(dict.fromkeys(each.resolve(strict=True) for each in folders)))

    def read(self, path: str, start_line: int, end_line: int) -> FileLines:
        """Read lines of a file.

        Args:
            path: Absolute, or relative to an allowed folder.
            start_line: The first line, from 1.
            end_line: The last line, included.

        Raises:
            CallError: If the file cannot be read, or may not be.
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
        return FileLines(
            text="\n".join(lines[start_line - 1 : end_line]),
            place=FileRange(path=str(found), start_line=start_line, end_line=end_line),
        )

    def _locate(self, path: str) -> Path:
        """The resolved path of a file in an allowed folder."""
        if "\0" in path:
            raise CallError("A path has no NUL in it.")
        for folder in self.folders:
            # The answer about a path outside is the same whether it exists or not.
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
            # A link may have been put in place of the file, or of a folder, and taken away again.
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
