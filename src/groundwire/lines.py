"""Sources as lines: the sentences, data fields and table rows that passages are packed from.

What a source is shows in its text. Data (JSON and its kin) becomes a line a field, a Markdown
table a line a row, the rest a line a sentence, under its headings. Every letter and digit of prose
lies in a line, and so does every value of data together with its key.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundwire.records import Field, decode, fields_of
from groundwire.segment import segment

_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD_CHARACTER = re.compile(r"[^\W_]")
_MARKS = re.compile(r"\*\*|`")
_MAX_HEADING_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A sentence, a data field or a table row: the smallest stretch that a passage is cut at.

    Attributes:
        start: First character, counted in the source text.
        end: One past the last; ``text[start:end]`` is what a reference to it quotes.
        reading: What the model reads, never empty, without lone surrogates. For prose it is
            ``text[start:end]``; for a field ``hours Tuesday: 11:0-21:0``; for a table row
            ``Name: Foo; Price: $49``.
        heading: The headings in force, or the title of the passage: ``Setup > Windows``. At most
            80 characters; empty if there is none. No part of the offsets.
        group: Lines of different groups never share a passage: each passage of a list of
            passages is a group of its own.
    """

    start: int
    end: int
    reading: str
    heading: str = ""
    group: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a line needs 0 <= start < end, got {self.start} and {self.end}")


def lines_of(text: str) -> list[Line]:
    """Cut the text of a source into lines, each read as what it is.

    Args:
        text: Plain text, Markdown with tables, a list of numbered passages; or, as a whole, JSON,
            JSON Lines or the Python form of JSON data (``str(dict)``). Any ``str`` is accepted.

    Returns:
        Lines in reading order, disjoint. Time is linear in the text.
    """
    fields = fields_of(text)
    return _prose_lines(text) if fields is None else _field_lines(text, fields)


# Data.

_TEXT_KEYS = {
    "text",
    "content",
    "contents",
    "page content",
    "passage",
    "passage text",
    "snippet",
    "body",
    "document",
    "chunk",
    "chunk text",
    "excerpt",
    "paragraph",
    "abstract",
}
_TITLE_KEYS = ("title", "name", "source")  # the first of these that there is
_MIN_TEXT_CHARS = 60  # shorter, and the "text" of a record is a field like others
_MAX_WHOLE_CHARS = 200
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*\s+\S|\n\s*\S")
_IDENTIFIER = re.compile(r"[\w.\-]+")
# Between "Take" and "Out", or "HTTP" and "Server"; "iPhone" stays whole, and so does "WiFi", which
# answers write as one word.
_CAMEL = re.compile(r"(?<=[a-z]{2})(?=[A-Z])(?<!Wi(?=Fi))|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[.\-](?=[^\W\d_])")
_ATOMS = {"None": "null", "True": "true", "False": "false"}


def _field_lines(text: str, fields: Sequence[Field]) -> list[Line]:
    titles = _titles(text, fields)
    passages = _passage_listings(fields)
    words: dict[str, str] = {}
    lines: list[Line] = []
    for field in fields:
        for key in field.keys:
            if key not in words:
                words[key] = _words_of_key(key)
        path = [words[key] for key in field.keys if words[key]]
        heading = titles.get(field.owner, "") if _is_text_key(field) else ""
        group = field.item if field.listing in passages else 0
        lines.extend(_lines_of_field(text, field, path, heading, group))
    return lines


def _titles(text: str, fields: Sequence[Field]) -> dict[int, str]:
    """The title of each object that has one, by the number of the object."""
    found: dict[int, tuple[int, str]] = {}
    for field in fields:
        if field.kind != "string" or not field.has_key or field.keys[-1].lower() not in _TITLE_KEYS:
            continue
        rank = _TITLE_KEYS.index(field.keys[-1].lower())
        title = _shortened(decode(text, field.value_start, field.end).text)
        if title and rank < found.get(field.owner, (len(_TITLE_KEYS), ""))[0]:
            found[field.owner] = (rank, title)
    return {owner: title for owner, (_, title) in found.items()}


def _passage_listings(fields: Sequence[Field]) -> set[int]:
    """The lists that are passages: of texts, or of objects that have one."""
    mixed = {f.listing for f in fields if not (f.is_item and f.kind == "string")}
    return {
        f.listing
        for f in fields
        if f.kind == "string"
        and (
            (f.is_item and not f.keys and f.listing not in mixed)
            or ((f.is_item or _is_text_key(f)) and f.end - f.value_start >= _MIN_TEXT_CHARS)
        )
    }


def _is_text_key(field: Field) -> bool:
    return field.has_key and _words_of_key(field.keys[-1]).lower() in _TEXT_KEYS


def _words_of_key(key: str) -> str:
    """Write a key as words: ``RestaurantsTakeOut`` as ``Restaurants Take Out``."""
    if _IDENTIFIER.fullmatch(key):
        key = _CAMEL.sub(" ", _BETWEEN_LETTERS.sub(" ", key))
    return _one_line(key.replace("_", " "))


def _lines_of_field(
    text: str, field: Field, path: Sequence[str], heading: str, group: int
) -> Iterator[Line]:
    if field.kind != "string":
        written = text[field.value_start : field.end]
        value = "empty" if field.kind == "empty" else _ATOMS.get(written, written)
    else:
        decoded = decode(text, field.value_start, field.end)
        value = decoded.text
        parts = _prose_lines(value) if _is_long(value) else []
        if len(parts) > 1:
            # The nearest key is enough: the whole path before each sentence of a long text would
            # take the room of its words.
            label = path[-1:]
            for i, part in enumerate(parts):
                yield Line(
                    start=decoded.origin(part.start) if i else field.start,
                    end=decoded.origin(part.end),
                    reading=_labelled(label, part.reading),
                    heading=part.heading or heading,
                    group=group,
                )
            return
    yield Line(
        start=field.start,
        end=field.end,
        reading=_labelled(path, value),
        heading=heading,
        group=group,
    )


def _is_long(value: str) -> bool:
    return len(value) > _MAX_WHOLE_CHARS or _SENTENCE_END.search(value) is not None


def _labelled(path: Sequence[str], value: str) -> str:
    value = _one_line(value) or "empty"
    return f"{' '.join(path)}: {value}" if path else value


# Prose, with headings, tables and numbered passages.

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_PIPE = re.compile(r"(?<!\\)\|")
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_LABEL = re.compile(
    r"""^[ \t]{0,3}(?:
      (?:[#*=\-–—>]{1,6}[ \t]*)?
      (?P<word>passage|document|doc|source|context|chunk|snippet|(?:search[ ])?result|reference
        |excerpt|evidence|article)
      [ \t]*(?:no\.?|number|nr\.?|\#)?[ \t]*[\[(]?[0-9]{1,4}[\])]?
      [ \t]*(?:[:|)=*]+|[.\-–—](?![0-9])|(?=\(Title)|(?=\r?$))
    | \[(?P<number>[0-9]{1,4})\](?=[ \t:]|\r?$):?
    | <(?P<tag>doc|document|passage|source|context|chunk|snippet|result|search_result)
      (?:[ \t][^<>\n]*)?>
    )""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_TITLE = re.compile(r"\(?title:[ \t]*(?P<title>[^)\n]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Row:
    """A physical line of the text."""

    start: int
    end: int
    text: str


def _prose_lines(text: str) -> list[Line]:
    return _Walk(text).run()


class _Walk:
    """One pass over the physical lines of a text, which knows the headings in force."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.rows = list(_rows(text))
        self.labels = _labels(text)
        self.lines: list[Line] = []
        self.headings: list[tuple[int, str]] = []  # level and title, outermost first
        self.heading = ""
        self.group = 0
        self.fence = ""

    def run(self) -> list[Line]:
        pending = 0  # where the prose begins that is not cut yet
        i = 0
        while i < len(self.rows):
            row = self.rows[i]
            if row.start in self.labels:
                self._sentences(pending, row.start)
                pending = row.start
                self._passage(row, i)
            take = self._block(i)
            if take:
                self._sentences(pending, row.start)
                take()
                i = self._end_of_block
                pending = self.rows[i].start if i < len(self.rows) else len(self.text)
            else:
                i += 1
        self._sentences(pending, len(self.text))
        return self.lines

    def _block(self, i: int) -> Callable[[], None] | None:
        """What reads the block that begins at row ``i``, unless it is prose."""
        row = self.rows[i]
        if fence := _FENCE.match(row.text):
            if not self.fence or self.fence == fence[1]:
                self.fence = "" if self.fence else fence[1]
            return None
        if i + 1 < len(self.rows) and "|" in row.text and _is_separator(self.rows[i + 1].text):
            end = i + 2
            while end < len(self.rows) and self._is_table_row(self.rows[end]):
                end += 1
            self._end_of_block = end
            return lambda: self._table(self.rows[i], self.rows[i + 2 : end])
        if not self.fence and (heading := _HEADING.match(row.text)):
            self._end_of_block = i + 1
            return lambda: self._title(row, heading)
        return None

    def _is_table_row(self, row: _Row) -> bool:
        return _PIPE.search(row.text) is not None and row.start not in self.labels

    def _add(self, start: int, end: int, reading: str = "") -> None:
        quoted = self.text[start:end]
        if _WORD_CHARACTER.search(quoted):
            reading = _SURROGATE.sub("\ufffd", reading or quoted)
            self.lines.append(
                Line(start=start, end=end, reading=reading, heading=self.heading, group=self.group)
            )

    def _sentences(self, start: int, end: int) -> None:
        for part in segment(self.text[start:end]):
            self._add(start + part.start, start + part.end)

    def _title(self, row: _Row, heading: re.Match[str]) -> None:
        level, title = len(heading[1]), heading[2].rstrip().rstrip("#").rstrip() or heading[2]
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self._set_heading()
        start = row.start + heading.start(2)
        self._add(start, start + len(title))
        self.headings.append((level, _MARKS.sub("", title)))
        self._set_heading()

    def _set_heading(self) -> None:
        titles = [title for _, title in self.headings[-2:]]
        joined = " > ".join(titles)
        if len(joined) > _MAX_HEADING_CHARS:
            joined = titles[-1]
        self.heading = _shortened(joined)

    def _passage(self, row: _Row, i: int) -> None:
        self.group += 1
        self.fence = ""
        rest = self.text[self.labels[row.start] : row.end].strip()
        following = self.rows[i + 1] if i + 1 < len(self.rows) else _Row(0, 0, "")
        title = _passage_title(rest, following.text.strip())
        self.headings = [(0, title)] if title else []
        self._set_heading()

    def _table(self, header: _Row, rows: Sequence[_Row]) -> None:
        names = _cells(header.text)
        self._add_row(header, "; ".join(filter(None, names)))
        for row in rows:
            cells = _cells(row.text)
            padded = [*names, *[""] * (len(cells) - len(names))]
            named = [
                f"{name}: {cell}" if name else cell
                for name, cell in zip(padded, cells, strict=False)
                if cell
            ]
            self._add_row(row, "; ".join(named))

    def _add_row(self, row: _Row, reading: str) -> None:
        stripped = row.text.strip()
        start = row.start + len(row.text) - len(row.text.lstrip())
        self._add(start, start + len(stripped), reading)


def _rows(text: str) -> Iterator[_Row]:
    start = 0
    for line in text.split("\n"):
        yield _Row(start, start + len(line), line)
        start += len(line) + 1


def _labels(text: str) -> dict[int, int]:
    """Where numbered passages begin: start of the row, and end of the label.

    Of several kinds of labels the first counts that stands there twice: what is numbered within
    a passage, or a tag within a tag, begins no passage.
    """
    kinds: dict[str, list[re.Match[str]]] = {}
    for found in _LABEL.finditer(text):
        kind = "[" if found["number"] else (found["word"] or f"<{found['tag']}").lower()
        kinds.setdefault(kind, []).append(found)
    for kind, marks in kinds.items():
        numbers = [int(found["number"]) for found in marks] if kind == "[" else []
        # Bracketed numbers are also how notes are cited: only a list counts up.
        if len(marks) > 1 and all(a < b for a, b in pairwise(numbers)):
            return {found.start(): found.end() for found in marks}
    return {}


def _passage_title(rest: str, following: str) -> str:
    """The title of a passage, from what stands beside its label and on the next row."""
    if found := _TITLE.match(rest) or (None if rest else _TITLE.match(following)):
        return found["title"].strip()
    is_title = following and len(rest) <= _MAX_HEADING_CHARS and not rest.endswith(tuple(".!?;,"))
    return rest.strip("*=-# ") if is_title else ""


def _is_separator(row: str) -> bool:
    return set(row) <= set("|:- \t\r") and "|" in row and "-" in row


def _cells(row: str) -> list[str]:
    row = row.strip()
    cells = _PIPE.split(row)
    if row.startswith("|"):
        cells = cells[1:]
    if len(cells) > 1 and not cells[-1].strip():
        cells = cells[:-1]
    return [_one_line(_MARKS.sub("", _BREAK.sub(" ", cell.replace("\\|", "|")))) for cell in cells]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str) -> str:
    """The text on one line, cut after a word if it is too long for a heading."""
    text = _SURROGATE.sub("\ufffd", _one_line(text))
    if len(text) <= _MAX_HEADING_CHARS:
        return text
    cut = text[: _MAX_HEADING_CHARS + 1].rfind(" ")
    return text[: cut if cut > 0 else _MAX_HEADING_CHARS]
