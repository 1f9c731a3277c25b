"""Reads the layout of prose: rows, headings, tables, and the labels and titles of passages.

No Markdown parser is used: sources are seldom Markdown throughout, and offsets must be exact.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundwire.text.records import one_line

#: Greatest length of a heading in characters; a longer one is shortened.
MAX_HEADING_CHARS = 80

_ROW = re.compile(r"^.*$", re.MULTILINE)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_MARKS = re.compile(r"\*\*|`")
_PIPE = re.compile(r"(?<!\\)\|")
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_LABEL = re.compile(
    r"""^[ \t]{0,3}(?:
      (?:[#*=\-–—>]{1,6}[ \t]*)?
      (?P<word>passage|document|doc|source|context|chunk|snippet|(?:search[ ])?result|reference
        |excerpt|evidence|article)
      [ \t]{0,3}(?:no\.?|number|nr\.?|\#)?[ \t]{0,3}[\[(]?[0-9]{1,4}[\])]?
      [ \t]{0,3}(?:[:|)=*]|[.\-–—](?![0-9])|(?=\(Title)|(?=\r?$))
    | \[(?P<number>[0-9]{1,4})\](?=[ \t:]|\r?$):?
    | <(?P<tag>doc|document|passage|source|context|chunk|snippet|result|search_result)
      (?:[ \t][^<>\n]*)?>
    )""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_TITLE = re.compile(r"\(?title:[ \t]*(?P<title>[^)\n]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """A line of a text, without its line feed; ``start`` is its offset in the text."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """Offset after the last character of the row."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Heading:
    """A Markdown heading. ``start`` is the offset of its title in its row."""

    level: int
    start: int
    title: str


def rows_of(text: str) -> list[LayoutRow]:
    """Cut a text at its line feeds."""
    return [LayoutRow(row.start(), row[0]) for row in _ROW.finditer(text)]


def heading_of(row: str) -> Heading | None:
    """Read a heading such as ``## Setup ##``; ``None`` if the row is not a heading."""
    found = _HEADING.match(row)
    if found is None:
        return None
    title = found[2].rstrip()
    return Heading(len(found[1]), found.start(2), title.rstrip("#").rstrip() or title)


def fence_after(row: str, fence: str) -> str:
    """Return the fence, such as three backticks, of the code block that is open after a row.

    ``fence`` is the fence of the block that is open before the row. An empty text means that no
    block is open.
    """
    found = _FENCE.match(row)
    if found is None or not fence:
        return found[1] if found else fence
    return "" if found[1].startswith(fence) and not row[found.end() :].strip() else fence


def breadcrumb(titles: Sequence[str]) -> str:
    """Join the two innermost headings; if they are too long together, return the innermost."""
    joined = " > ".join(titles[-2:])
    return joined if len(joined) <= MAX_HEADING_CHARS else titles[-1]


def shortened(text: str) -> str:
    """Return a text as a heading: on one line, without ``**`` and backticks, cut if too long."""
    text = one_line(_MARKS.sub("", text))
    if len(text) <= MAX_HEADING_CHARS:
        return text
    cut = text.rfind(" ", 0, MAX_HEADING_CHARS + 1)
    return text[: cut if cut > 0 else MAX_HEADING_CHARS]


def has_cells(row: str) -> bool:
    """Return whether a row may belong to a table: it has an unescaped ``|``."""
    return _PIPE.search(row) is not None


def is_separator(row: str) -> bool:
    """Return whether a row separates the header of a table from its body: ``|---|:-:|``."""
    marks = set(row)
    return marks <= set("|+:-= \t\r") and not marks.isdisjoint("|+") and not marks.isdisjoint("-=")


def cells_of(row: str) -> list[str]:
    """Return the cells of a table row, each on one line and without ``**`` and backticks."""
    cells = _PIPE.split(row.strip().removeprefix("|"))
    if len(cells) > 1 and not cells[-1].strip():
        cells = cells[:-1]
    return [one_line(_MARKS.sub("", _BREAK.sub(" ", cell.replace("\\|", "|")))) for cell in cells]


def read_row(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return a table row as text with column names: ``Name: Foo; Price: $49``; skip empty cells."""
    return "; ".join(
        f"{names[i]}: {cell}" if i < len(names) and names[i] else cell
        for i, cell in enumerate(cells)
        if cell
    )


def labels_of(text: str) -> dict[int, int]:
    """Find the labels of passages, such as ``Passage 2:``, ``[2]`` or ``<document>``.

    Only the first kind of label that occurs more than once counts, since labels of another kind may
    stand within a passage. Bracketed numbers must also be in ascending order.

    Returns:
        Map from the offset of each labelled row to the offset after the label.
    """
    kinds: dict[str, list[re.Match[str]]] = {}
    for found in _LABEL.finditer(text):
        kind = "[" if found["number"] else (found["word"] or f"<{found['tag']}").lower()
        kinds.setdefault(kind, []).append(found)
    for kind, marks in kinds.items():
        numbers = [int(found["number"]) for found in marks] if kind == "[" else []
        # Bracketed numbers also cite notes: passages are meant only if the numbers count up.
        if len(marks) > 1 and all(a < b for a, b in pairwise(numbers)):
            return {found.start(): found.end() for found in marks}
    return {}


def passage_title(rest: str, following: str) -> str:
    """Find the title of a passage that begins with a label; empty if the passage has no title.

    ``rest`` is the text after the label on its row, ``following`` the next row. If ``rest``, or
    ``following`` where ``rest`` is empty, begins with "Title:" or "(Title:", the title is the text
    after the colon, up to a ")". Otherwise the title is ``rest`` without marks such as ``*`` at the
    ends, if ``rest`` has at most 80 characters and does not end with ``.``, ``!``, ``?``, ``;`` or
    ``,``, and ``following`` is not empty.
    """
    if found := _TITLE.match(rest) or (None if rest else _TITLE.match(following)):
        return found["title"].strip()
    is_title = following and len(rest) <= MAX_HEADING_CHARS and not rest.endswith(tuple(".!?;,"))
    return rest.strip("*=-# ") if is_title else ""
