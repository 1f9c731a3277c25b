"""Counts the rooms (top folders), files and lines of code of the package.

``python docs/rooms.py`` prints a table of the rooms. ``--write`` puts the numbers into
docs/architecture.md. ``--check`` exits with status 1 if a size limit is exceeded, or if the numbers
of that page are off by more than 2 %. Limits of imports are in pyproject.toml, under import-linter.
"""

import io
import re
import sys
import textwrap
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PACKAGE = Path(__file__).parents[1] / "src" / "groundwire"
PAGE = Path(__file__).with_name("architecture.md")
MAX_ROOMS, MAX_TOP_FILES, MAX_FILE_LINES = 15, 8, 400
#: A number of the page may be off by this share, and in a small room by this many lines.
TOLERANCE, MIN_DIFFERENCE = 0.02, 20
_PART = re.compile(r"<!-- rooms -->\n(.*?)<!-- end -->", re.DOTALL)
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def code_lines(text: str) -> int:
    """Count the lines of code in a Python file: blank lines, comments and docstrings are none."""
    lines: set[int] = set()
    begins_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.type == tokenize.STRING and begins_statement
        if token.type not in _NO_CODE and not is_docstring:
            lines.update(range(token.start[0], token.end[0] + 1))
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            begins_statement = True
        elif token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.ENCODING):
            begins_statement = False
    return len(lines)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The size of the package.

    Attributes:
        rooms: Lines of code of each room; ``top`` stands for the files beside the rooms.
        n_files: Number of files of each room.
        largest: Path of the largest file, relative to the package.
        largest_lines: Lines of code of the largest file.
    """

    rooms: Counter[str]
    n_files: Counter[str]
    largest: Path
    largest_lines: int

    @classmethod
    def of(cls, package: Path) -> Self:
        """Count the files of a package."""
        files = {
            path: code_lines(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")
        }
        rooms: Counter[str] = Counter()
        n_files: Counter[str] = Counter()
        for path, n in files.items():
            parts = path.relative_to(package).parts
            room = parts[0] if len(parts) > 1 else "top"
            rooms[room] += n
            n_files[room] += 1
        largest = max(files, key=lambda path: files[path])
        return cls(
            rooms=rooms,
            n_files=n_files,
            largest=largest.relative_to(package),
            largest_lines=files[largest],
        )

    def summary(self) -> str:
        """Write the numbers in one paragraph, as the page shows them."""
        by_room = ", ".join(f"`{room}` {n:,}" for room, n in self.rooms.most_common())
        text = (
            f"{len(self.rooms) - 1} rooms, {self.n_files['top']} files beside them, "
            f"{self.rooms.total():,} lines of code; the largest file has {self.largest_lines}. "
            f"By room: {by_room}."
        )
        return textwrap.fill(text, 140)

    def table(self) -> str:
        """Write a table of the rooms."""
        rows = [
            f"| {room} | {self.n_files[room]} | {n:,} |" for room, n in self.rooms.most_common()
        ]
        total = f"| all | {self.n_files.total()} | {self.rooms.total():,} |"
        return "\n".join(["| Room | Files | Lines of code |", "| --- | --- | --- |", *rows, total])

    def problems(self, shown: str) -> Iterator[str]:
        """Yield messages about exceeded limits, and about outdated numbers of the page.

        Args:
            shown: The paragraph of numbers on the page.
        """
        if len(self.rooms) - 1 > MAX_ROOMS:
            yield f"{len(self.rooms) - 1} rooms, at most {MAX_ROOMS} are allowed"
        if self.n_files["top"] > MAX_TOP_FILES:
            yield f"{self.n_files['top']} files at the top, at most {MAX_TOP_FILES} are allowed"
        if self.largest_lines > MAX_FILE_LINES:
            yield f"{self.largest} has {self.largest_lines} lines, {MAX_FILE_LINES} are allowed"
        if not _is_close(_numbers(shown), _numbers(self.summary())):
            yield f"the numbers of {PAGE.name} are old: run python docs/rooms.py --write"


def _numbers(text: str) -> dict[str, int]:
    """Read the numbers of a summary, each by the name that stands before or after it."""
    found = {after: before for before, after in re.findall(r"([\d,]+) (rooms|files|lines)", text)}
    found |= dict(re.findall(r"`(\w+)` ([\d,]+)", text))
    return {name: int(number.replace(",", "")) for name, number in found.items()}


def _is_close(shown: dict[str, int], counted: dict[str, int]) -> bool:
    """Return whether numbers are within the tolerance, so that few commits must change the page."""
    if shown.keys() != counted.keys():
        return False
    is_exact = all(shown[name] == counted[name] for name in ("rooms", "files"))
    return is_exact and all(
        abs(shown[name] - n) <= max(TOLERANCE * n, MIN_DIFFERENCE) for name, n in counted.items()
    )


def main() -> int:
    """Print the table; write or check the numbers of the page."""
    counts, text = Counts.of(PACKAGE), PAGE.read_text(encoding="utf-8")
    part = _PART.search(text)
    if part is None:
        raise SystemExit(f"{PAGE.name} has no part for the numbers of the rooms.")
    if "--write" in sys.argv[1:]:
        written = f"{text[: part.start(1)]}{counts.summary()}\n{text[part.end(1) :]}"
        PAGE.write_text(written, encoding="utf-8")
        return 0
    print(counts.table())
    print(f"\nThe largest file is {counts.largest}, {counts.largest_lines} lines.")
    problems = list(counts.problems(part[1]))
    for each in problems:
        print(f"error: {each}.", file=sys.stderr)
    return 1 if problems and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    raise SystemExit(main())
