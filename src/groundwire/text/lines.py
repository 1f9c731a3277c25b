"""Cuts sources into lines: the sentences, data fields and table rows that make up passages.

The kind of a source is recognised from its text. Data (JSON, JSON Lines, Python literals) gives one
line for each field, or for each sentence of a long value; a Markdown table one for each row; other
text one for each sentence. Every letter and digit of prose lies in a line.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from groundwire.text import layout, records
from groundwire.text.emphasis import without_emphasis
from groundwire.text.segment import segment
from groundwire.text.segment.characters import ALNUM
from groundwire.text.vocabulary import words

# Finds the first letter or digit in text that no segment covers, with the bracket before it if
# there is one.
_LEFT_OUT = re.compile(r"[(\[]?[^\W_]")
# Finds an object or list at the beginning of a row, or after a name as in "weather.get -> {".
_DATA = re.compile(r"(?P<before>[ \t]*+|.{0,120}?[:>)\]][ \t]*+)[\[{]\s*(?:[\"'{\[]|$)")
_ROW_END = re.compile(r"[ \t]*+[,;]?[ \t\r]*+(?:\n|\Z)")
# Parsing as data stops once the characters parsed in vain exceed this many times the length of the
# text, so that the time is linear.
_MAX_WASTE = 2
# Levels of nesting that are parsed: data in prose may have a value that is prose with data in it.
_MAX_DEPTH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A sentence, data field or table row of a source. Passages are made of lines.

    Attributes:
        start: Offset of the first character in the source text.
        end: Offset after the last character; a reference to the line quotes ``text[start:end]``.
        reading: The text that the model reads, never empty, without lone surrogates. For prose it
            is ``text[start:end]`` without marks of emphasis; for a field ``hours Tuesday:
            11:0-21:0``; for a table row ``Name: Foo; Price: $49``.
        heading: One or two innermost headings above the line (``Setup > Windows``), or the title of
            its passage or record; at most 80 characters. Empty if there is none.
        group: Number of the group of the line. Lines of different groups never share a passage. In
            a source that is a list of passages, each passage is a group.
    """

    start: int
    end: int
    reading: str
    heading: str = ""
    group: int = 0


def lines_of(text: str) -> list[Line]:
    """Cut the text of a source into lines.

    Args:
        text: Any text: prose, Markdown with tables, a list of numbered passages, JSON, JSON Lines
            or the Python form of JSON data (``str(dict)``). Data may also stand within prose.

    Returns:
        Lines in reading order, disjoint. Data that has no keys, and only empty or null values,
        has no lines.
    """
    fields = records.fields_of(text)
    if fields is None:
        return _Walk(text).run()
    lines = _field_lines(text, fields)
    return lines if any(line.reading not in _NOTHING for line in lines) else []


# Lines of data: JSON, JSON Lines and Python literals.

_TEXT_KEYS = words("""
    text content contents page_content passage passage_text snippet body document chunk chunk_text
    excerpt paragraph abstract
""")
_LIST_KEYS = words("""
    articles chunks citations context contexts docs documents hits matches nodes passages references
    results search_results snippets sources texts
""")
# Keys of the title of a record, in order of preference.
_TITLE_KEYS = ("title", "name", "source")
# A value of fewer characters, quotes included, is not a long text (``_is_text``), whatever its key.
_MIN_TEXT_CHARS = 60
# A value of fewer characters is not cut into sentences: "Available. Released 2023".
_MIN_CUT_CHARS = 60
# A value of more characters is always cut into sentences.
_MAX_WHOLE_CHARS = 200
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*\s+\S|\n\s*\S")
_NOTHING = ("empty", "null")
_ATOMS = {"None": "null", "True": "true", "False": "false"}


def _field_lines(text: str, fields: Sequence[records.DataField], depth: int = 0) -> list[Line]:
    """Return a line for each field, or several lines for a field whose value is a long text.

    The groups of the lines are numbered from 0 without a gap.
    """
    titles = _titles(text, fields)
    listings = _passage_listings(fields)
    in_words = cache(records.words_of_key)
    by_document = any(f.document for f in fields) and 0 in listings
    groups: dict[tuple[int, int, int], int] = {}
    lines: list[Line] = []
    for field in fields:
        path = [*filter(None, map(in_words, field.keys))]
        document = field.document if by_document else 0
        item = field.item if field.listing and field.listing in listings else 0
        title = titles.get(field.owner, "")
        for line in _lines_of_field(text, field, path, title, depth):
            group = groups.setdefault((document, item, line.group), len(groups))
            lines.append(line if line.group == group else replace(line, group=group))
    return lines


def _titles(text: str, fields: Sequence[records.DataField]) -> dict[int, str]:
    """Map the number of each object with a title and a long text (``_is_text``) to the title."""
    texts = {field.owner for field in fields if _is_text(field)}
    found: dict[int, tuple[int, str]] = {}
    for field in fields:
        key = field.keys[-1].lower() if field.has_key else ""
        if field.owner in texts and field.kind == "string" and key in _TITLE_KEYS:
            title = layout.shortened(records.decode(text, field.value_start, field.end).text)
            if title:
                ranked = (_TITLE_KEYS.index(key), title)
                found[field.owner] = min(found.get(field.owner, ranked), ranked)
    return {owner: title for owner, (_, title) in found.items()}


def _passage_listings(fields: Sequence[records.DataField]) -> set[int]:
    """Return the :attr:`.DataField.listing` of each list whose items are passages.

    These are lists without a key whose items are all strings, and lists with a long text
    (:func:`_is_text`) for which :func:`_is_in_passage_list` is true. The set contains 0, the value
    for no list, if there is such a long text outside of numbered lists.
    """
    mixed = {f.listing for f in fields if not (f.is_item and f.kind == "string")}
    return {
        f.listing
        for f in fields
        if (f.is_item and f.kind == "string" and not f.keys and f.listing not in mixed)
        or (_is_text(f) and _is_in_passage_list(f))
    }


def _is_text(field: records.DataField) -> bool:
    """Return whether a field is a long text that is an element of a list or has a text key.

    Only numbered lists count (:attr:`.DataField.listing`). ``_TEXT_KEYS`` has the text keys.
    """
    return (
        field.kind == "string"
        and field.end - field.value_start >= _MIN_TEXT_CHARS
        and (field.is_item or (field.has_key and _plain(field.keys[-1]) in _TEXT_KEYS))
    )


def _is_in_passage_list(field: records.DataField) -> bool:
    # The items of a list within a record, such as the comments on a ticket, are no passages of
    # their own: they stay with the record.
    outer = field.keys[:-1] if field.has_key else field.keys
    return not outer or _plain(outer[0]) in _LIST_KEYS


def _plain(key: str) -> str:
    return records.words_of_key(key).lower().replace(" ", "_")


def _lines_of_field(
    text: str, field: records.DataField, path: Sequence[str], title: str, depth: int
) -> Iterator[Line]:
    if field.kind == "string":
        decoded = records.decode(text, field.value_start, field.end)
        parts = _Walk(decoded.text, depth).run() if _is_long(decoded.text) else []
        if len(parts) > 1:
            # The label is only the last key: the whole path would leave less room for the words
            # of the sentences.
            label = [layout.shortened(key) for key in path[-1:]]
            for i, part in enumerate(parts):
                yield Line(
                    start=decoded.origin(part.start) if i else field.start,
                    end=decoded.origin(part.end),
                    reading=_labelled(label, part.reading),
                    heading=part.heading or title,
                    group=part.group,
                )
            return
        value = decoded.text
    else:
        written = text[field.value_start : field.end]
        value = "empty" if field.kind == "empty" else _ATOMS.get(written, written)
    yield Line(start=field.start, end=field.end, reading=_labelled(path, value), heading=title)


def _is_long(value: str) -> bool:
    if not _MIN_CUT_CHARS <= len(value) <= _MAX_WHOLE_CHARS:
        return len(value) > _MAX_WHOLE_CHARS
    return _SENTENCE_END.search(value.strip()) is not None


def _labelled(path: Sequence[str], value: str) -> str:
    value = without_emphasis(records.one_line(value)) or "empty"
    return f"{' '.join(path)}: {value}" if path else value


# The code below cuts prose into lines. Prose may contain headings, tables, numbered passages and
# data.


class _Walk:
    """Cuts a text into lines, row by row, and keeps track of its headings and code blocks.

    The text may be a value in a block of data within other prose; ``depth`` is the number of such
    blocks around the text.
    """

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text, self.depth = text, depth
        self.rows = layout.rows_of(text)
        self.labels = layout.labels_of(text)
        self.lines: list[Line] = []
        self.pending = 0  # offset of the prose that is not cut into lines yet
        self.headings: list[tuple[int, str]] = []  # level and title, outermost first
        self.heading = ""
        self.group = 0
        self.fence = ""
        self.fence_start = 0  # offset after the row of the opening fence
        self.n_wasted = 0  # number of characters that were parsed as data in vain

    def run(self) -> list[Line]:
        i = 0
        while i < len(self.rows):
            if self.rows[i].start in self.labels:
                self._passage(i)
            self._fence(i)
            i = self._data(i) or self._table(i) or self._title(i) or i + 1
        self._prose(len(self.text))
        return self.lines

    def _prose(self, end: int, *, resume: int | None = None) -> None:
        """Cut the pending prose before ``end`` into lines; go on at ``resume``, or else ``end``."""
        prose = self.text[self.pending : end]
        last = 0
        for part in segment(prose):
            # Keep the text that the segmenter leaves out, such as enumerators.
            left_out = _LEFT_OUT.search(prose, last, part.start)
            start = left_out.start() if left_out else part.start
            self._add(self.pending + start, self.pending + part.end)
            last = part.end
        if left_out := _LEFT_OUT.search(prose, last):
            self._add(self.pending + left_out.start(), self.pending + len(prose.rstrip()))
        self.pending = end if resume is None else resume

    def _add(self, start: int, end: int, reading: str = "") -> None:
        quoted = self.text[start:end]
        if ALNUM.search(quoted):
            reading = without_emphasis(records.without_surrogates(reading or quoted))
            self.lines.append(
                Line(start=start, end=end, reading=reading, heading=self.heading, group=self.group)
            )

    def _passage(self, i: int) -> None:
        row = self.rows[i]
        self._prose(row.start)
        self.group += 1
        self.fence = ""
        rest = self.text[self.labels[row.start] : row.end].strip()
        following = self.rows[i + 1].text.strip() if i + 1 < len(self.rows) else ""
        title = layout.shortened(layout.passage_title(rest, following))
        self._set_headings([(0, title)] if title else [])

    def _fence(self, i: int) -> None:
        row, before = self.rows[i], self.fence
        self.fence = layout.fence_after(row.text, before)
        if before and not self.fence and self.fence_start < self.pending:
            # The opening fence was already cut off, because data or a table followed in the code
            # block. So the segmenter would read this closing fence as an opening one: skip it.
            self._prose(row.start, resume=row.end)
        elif self.fence and not before:
            self.fence_start = row.end

    # ``_data``, ``_table`` and ``_title`` each read a block that begins at row ``i``, and return
    # the number of the row after the block, or 0 if there is no such block.

    def _data(self, i: int) -> int:
        row = self.rows[i]
        found = _DATA.match(row.text) if self.depth < _MAX_DEPTH else None
        if found is None or self.n_wasted > _MAX_WASTE * len(self.text):
            return 0
        start = row.start + found.end("before")
        fields, end = records.fields_at(self.text, start)
        if not fields or not _ROW_END.match(self.text, end):
            self.n_wasted += end - start
            return 0
        # Data without keys, such as a list of numbers, stays prose.
        if any(field.has_key for field in fields):
            self._prose(start, resume=end)
            self._add_fields(fields)
        while i < len(self.rows) and self.rows[i].start < end:
            i += 1
        return i

    def _add_fields(self, fields: Sequence[records.DataField]) -> None:
        lines = _field_lines(self.text, fields, self.depth + 1)
        for line in lines:
            heading = line.heading or self.heading
            self.lines.append(replace(line, heading=heading, group=self.group + line.group))
        if n_more := max(line.group for line in lines):
            self.group += n_more + 1

    def _table(self, i: int) -> int:
        rows, header = self.rows, self.rows[i]
        below = rows[i + 1].text if i + 1 < len(rows) else ""
        if not layout.has_cells(header.text) or not layout.is_separator(below):
            return 0
        names = [records.words_of_key(name) for name in layout.cells_of(header.text)]
        self._prose(header.start)
        self._add_row(header, "; ".join(filter(None, names)))
        names = [layout.shortened(name) for name in names]
        i += 2
        while i < len(rows) and layout.has_cells(rows[i].text) and rows[i].start not in self.labels:
            self._add_row(rows[i], layout.read_row(names, layout.cells_of(rows[i].text)))
            i += 1
        self.pending = rows[i].start if i < len(rows) else len(self.text)
        return i

    def _add_row(self, row: layout.LayoutRow, reading: str) -> None:
        start = row.start + len(row.text) - len(row.text.lstrip())
        self._add(start, row.start + len(row.text.rstrip()), reading)

    def _title(self, i: int) -> int:
        row = self.rows[i]
        found = None if self.fence else layout.heading_of(row.text)
        if found is None:
            return 0
        self._prose(row.start, resume=min(row.end + 1, len(self.text)))
        outer = [(level, title) for level, title in self.headings if level < found.level]
        self._set_headings([*outer, (found.level, layout.shortened(found.title))])
        # The line of a title has that title as its heading, so that the line shares a passage with
        # the text below.
        start = row.start + found.start
        self._add(start, start + len(found.title))
        return i + 1

    def _set_headings(self, headings: list[tuple[int, str]]) -> None:
        self.headings = headings
        self.heading = layout.breadcrumb([title for _, title in headings]) if headings else ""
