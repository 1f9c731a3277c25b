"""Reads the form of a segment of an answer: its line, its marks, and the text around it."""

import re

#: Characters around the words of a line that do not belong to them: spaces, Markdown marks, quotes.
MARKS = " \t*_`>\"“”'"
_DELIMITER = re.compile(
    r"[ \t|]*\n[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\n"
)
_UNDERLINE = re.compile(r"[ \t]*\n[ \t]*(?:=+|-{3,})[ \t]*\n")
_NEXT_LINE = re.compile(r"\n([ \t]*)[^\s]*\s*$")
_NEXT_ITEM = re.compile(r"\n[ \t]*(?:[-*+•]|\d+[.)])\s*$")
#: Tables, underlines and next items are looked for only in this many characters at each end of the
#: text between two segments.
_SEEN_CHARS = 300
BOLD = re.compile(r"[*_]{1,3}[^*]+[*_]{1,3}[:.]?")


class Shape:
    """The form of a segment: whether it looks like a title, an intro, a list item or a table row.

    Attributes:
        text: Text of the segment.
        begins_line: Whether the segment is the first on its line. Marks such as a bullet or a
            number may stand before it.
        is_item: Whether the segment is an item of a list.
        is_header: Whether the segment is the first row of a table.
        ends_sentence: Whether the segment ends with a full stop, a question mark or an exclamation
            mark; characters of :data:`MARKS` may follow.
        leads: Whether the segment may announce the text after it, as an intro does.
        is_title: Whether hashes, an underline, bold print or a colon at the end of a line make the
            segment the title of the text after it.
        is_bare: Whether the segment may be a title without marks of a title, on its own line.
    """

    def __init__(self, text: str, *, before: str, begins_line: bool, after: str) -> None:
        """Read the form of a segment.

        ``before`` is the text right before the segment: from the start of the line if
        ``begins_line``, else from the end of the previous segment. ``after`` is the text up to the
        next segment; empty if the next segment is not known.
        """
        self.text = text
        start, end = after[:_SEEN_CHARS], after[-_SEEN_CHARS:]
        marks = before.strip()
        self.begins_line = begins_line
        self.is_item = begins_line and bool(marks.strip(">#| ").strip()) and "#" not in marks
        ends_line = "\n" in after and not any(map(str.isalnum, after.partition("\n")[0]))
        self.is_header = bool(_DELIMITER.match(start)) and "|" in f"{before}{text}"
        self.ends_sentence = text.rstrip(MARKS).endswith((".", "?", "!"))
        bare = text.strip(" ")
        is_bold = bool(BOLD.fullmatch(bare))
        indent, deeper = len(before) - len(before.lstrip()), _NEXT_LINE.search(end)
        # A bold list item that does not end with a colon is a title only if a deeper list follows,
        # or an empty line with no list item after it. Any other such item is one of several that
        # make up the answer.
        is_next_item = bool(_NEXT_ITEM.search(end))
        opens = not self.is_item or (
            len(deeper[1]) > indent if deeper and is_next_item else "\n\n" in after
        )
        self.leads = self.ends_sentence or (bool(after) and bare.rstrip(MARKS).endswith(":"))
        self.is_title = bool(after) and (
            "#" in marks
            or bool(_UNDERLINE.match(start))
            or (is_bold and begins_line and opens)
            or (ends_line and begins_line and bare.rstrip(MARKS).endswith(":"))
        )
        self.is_bare = (
            ends_line
            and begins_line
            and not self.ends_sentence
            and (not marks or (marks[0].isalnum() and "\n\n" in after and not is_next_item))
        )
