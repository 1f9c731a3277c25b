"""Counts what the package consists of: rooms, files, lines of code.

``python docs/rooms.py`` prints a table of the rooms; ``--check`` also compares the numbers
with the bars and ends with 1 where one is missed. What may import what is in pyproject.toml, under
import-linter.
"""

import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "groundwire"
MAX_ROOMS, MAX_TOP_FILES, MAX_FILE_LINES = 15, 8, 400
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
    """Lines with a token that is no comment and no docstring."""
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


def main() -> int:
    """Print the table; say which bars are missed."""
    files = {path: code_lines(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    rooms: Counter[str] = Counter()
    n_files: Counter[str] = Counter()
    for path, n in files.items():
        parts = path.relative_to(PACKAGE).parts
        room = parts[0] if len(parts) > 1 else "(top)"
        rooms[room] += n
        n_files[room] += 1
    print("| Room | Files | Lines of code |\n| --- | --- | --- |")
    for room, n in rooms.most_common():
        print(f"| {room} | {n_files[room]} | {n:,} |")
    print(f"| all | {len(files)} | {sum(rooms.values()):,} |")
    largest = max(files, key=lambda path: files[path])
    print(f"\nThe largest file is {largest.relative_to(PACKAGE)}, {files[largest]} lines.")
    too_many = []
    if len(rooms) - 1 > MAX_ROOMS:
        too_many.append(f"{len(rooms) - 1} rooms, at most {MAX_ROOMS}")
    if n_files["(top)"] > MAX_TOP_FILES:
        too_many.append(f"{n_files['(top)']} files at the top, at most {MAX_TOP_FILES}")
    if files[largest] > MAX_FILE_LINES:
        too_many.append(f"{files[largest]} lines in a file, at most {MAX_FILE_LINES}")
    for each in too_many:
        print(f"Too many: {each}.", file=sys.stderr)
    return 1 if too_many and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    raise SystemExit(main())
