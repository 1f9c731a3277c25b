"""Lines of files as evidence: from allowed folders only, whatever a path looks like.

An agent may have been talked into asking for anything. A path is resolved first, symbolic links
included, and must then lie in an allowed folder; it is opened folder by folder without following
links, so that nothing can be swapped in between.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

_HAS_DIR_FD = os.open in os.supports_dir_fd
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
#: So that opening a pipe or a device waits for nobody.
_READ = os.O_RDONLY | _NO_LINKS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FileLines:
    """Lines that were read, and where."""

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
            path: Absolute, or from an allowed folder on.
            start_line: The first line, from 1.
            end_line: The last line, included.

        Raises:
            CallError: If it cannot be had, or may not.
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
        root, inner = self._locate(path)
        lines = _lines(_read(root, inner, path), path)
        if end_line > len(lines):
            raise CallError(f"{_shown(path)} has {len(lines):,} lines, and no line {end_line:,}.")
        return FileLines(
            text="\n".join(lines[start_line - 1 : end_line]),
            place=FileRange(path=str(root / inner), start_line=start_line, end_line=end_line),
        )

    def _locate(self, path: str) -> tuple[Path, Path]:
        """The allowed folder that a path leads into, and the way from there."""
        if "\0" in path:
            raise CallError("A path has no NUL in it.")
        for folder in self.folders:
            # realpath says the same of what is not there: nothing is learnt of other folders.
            found = Path(os.path.realpath(folder / path))
            root = next((each for each in self.folders if found.is_relative_to(each)), None)
            if root is not None and (Path(path).is_absolute() or _exists(found)):
                return root, found.relative_to(root)
        allowed = ", ".join(map(str, self.folders))
        raise CallError(
            f"{_shown(path)} is no file in an allowed folder. Allowed: {allowed}. Paths are "
            "absolute, or from one of these on."
        )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long a name, a folder that may not be entered
        return False


def _read(root: Path, inner: Path, path: str) -> bytes:
    try:
        with _opened(root, inner) as file:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise CallError(f"{_shown(path)} is no regular file.")
            if about.st_size > MAX_FILE_BYTES:
                raise CallError(
                    f"{_shown(path)} has {about.st_size:,} bytes, and at most {MAX_FILE_BYTES:,} "
                    "are read."
                )
            # It may have grown meanwhile.
            with os.fdopen(os.dup(file), "rb") as stream:
                data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CallError(f"{_shown(path)} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_FILE_BYTES:
        raise CallError(f"{_shown(path)} has more than {MAX_FILE_BYTES:,} bytes.")
    return data


@contextmanager
def _opened(root: Path, inner: Path) -> Iterator[int]:
    """A descriptor of a file, which no link can have led astray since it was looked up."""
    if not _HAS_DIR_FD:
        descriptor = os.open(root / inner, _READ)
    else:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in inner.parts[:-1]:
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _NO_LINKS, dir_fd=folder)
                os.close(folder)
                folder = below
            descriptor = os.open(inner.name or ".", _READ, dir_fd=folder)
        finally:
            os.close(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


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
