"""The shape of a part of an answer: its line, its marks, and the text around it."""

import re

#: Marks around the words of a line.
MARKS = " \t*_`>\"“”'"
_DELIMITER = re.compile(
    r"[ \t|]*\n[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\n"
)
_UNDERLINE = re.compile(r"[ \t]*\n[ \t]*(?:=+|-{3,})[ \t]*\n")
_NEXT_LINE, _NEXT_ITEM = (
    re.compile(r"\n([ \t]*)[^\s]*\s*$"),
    re.compile(r"\n[ \t]*(?:[-*+•]|\d+[.)])\s*$"),
)
#: Characters of the text between two segments that are looked at, at each end.
_SEEN_CHARS = 300
BOLD = re.compile(r"[*_]{1,3}[^*]+[*_]{1,3}[:.]?")


class Shape:
    """The form of a segment.

    Attributes:
        text: Its text.
        begins_line: Whether its line begins with it, marks left out.
        is_item: Whether it is an item of a list.
        is_header: Whether it is the first row of a table.
        ends_sentence: Whether it ends with a full stop or the like.
        leads: Whether it may announce the text after it.
        is_title: Whether its marks or its place make it the title of the text after it.
        is_bare: Whether it is a line of its own that may be a title, without any mark.
    """

    def __init__(self, text: str, *, before: str, begins_line: bool, after: str) -> None:
        """Look at a segment.

        Args:
            text: Its text.
            before: The text of its line before it.
            begins_line: Whether that is all of the line so far.
            after: The text up to the next segment; empty if that is not known, or there is none.
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
        # One of several bold items of a list is an answer, not the title of one.
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
