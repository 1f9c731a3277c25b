"""Reads the marks before the text of a line: bullets, enumerators, headings, fences of code."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from groundwire.text.segment.characters import BACKTICKS, BREAKS
from groundwire.text.segment.view import View

_BULLETS = "-*+•‣◦▪●○·–—"
_HASHES = re.compile("#{0,7}")
_TILDES = re.compile("~{0,41}")
_INFO = re.compile(f"[^`{BREAKS}]{{0,81}}")
_ENUMERATOR = re.compile(
    r"(?:\((?:[0-9]{1,3}|[a-z]|[ivx]{2,5})\)|[0-9]{1,3}[.)]|[a-z]\)|[ivx]{2,5}[.)]|[a-h]\.(?!\s+[0-9]))"
    f"[^\\S{BREAKS}]{{1,16}}(?=\\S)"
)
_ENUMERATOR_BEGUN = re.compile(f"\\(?[0-9a-z]{{0,5}}[.)]?[^\\S{BREAKS}]{{0,16}}")


class LineKind(Enum):
    """The kind of a line, which decides how the line is divided into claims."""

    TEXT = auto()
    HEADING = auto()  # a Markdown heading, divided into sentences
    ROW = auto()  # a row of a table, not divided into sentences
    CODE = auto()  # a line in a fenced code block, not divided into sentences


@dataclass(slots=True)
class OpenLine:
    """State of the line that is being read.

    Attributes:
        kind: Kind of the line.
        has_begun: Whether the text of the line has begun; marks stand only before the text.
        fence: The mark that opened the code block around the line; empty outside of code.
    """

    kind: LineKind = LineKind.TEXT
    has_begun: bool = False
    fence: str = ""

    def end(self) -> None:
        """Begin the next line; a code block that is open stays open."""
        self.kind, self.has_begun = LineKind.TEXT, False

    def pass_marker(self, view: View, position: int) -> int:
        """Skip one mark, or note that the line's text begins; return the next offset to read."""
        char = view.at(position)
        if char == ">":
            return position + 1
        if self.fence:
            return self._pass_closing_fence(view, position)
        if char in "`~" and (stop := self._pass_opening_fence(view, position)):
            return stop
        if char == "#" and (stop := _heading_end(view, position)):
            self.kind = LineKind.HEADING
            return stop
        if char == "|":
            return self._begin(LineKind.ROW, position)
        if char in _BULLETS and view.at(position + 1).isspace():
            return position + 1
        return self._begin(self.kind, enumerator_end(view, position))

    def _begin(self, kind: LineKind, position: int) -> int:
        self.kind, self.has_begun = kind, True
        return position

    def _pass_opening_fence(self, view: View, position: int) -> int | None:
        mark_end = _fence_end(view, position)
        if not 3 <= mark_end - position <= 40:
            return None
        info_end = view.run(_INFO, mark_end)
        after = view.at(info_end)
        if info_end - mark_end > 80 or (after and after not in BREAKS):
            return None  # inline code, such as ```code``` in a sentence
        self.fence = view.text[position:mark_end]
        if len(view.text[mark_end:info_end].split()) > 1:
            # Several words after the fence do not name a language: they may be a statement.
            return self._begin(LineKind.CODE, mark_end)
        return info_end

    def _pass_closing_fence(self, view: View, position: int) -> int:
        if view.at(position) == self.fence[0]:
            stop = _fence_end(view, position)
            after = view.at(stop)
            if len(self.fence) <= stop - position <= 40 and (not after or after.isspace()):
                self.fence = ""
                return stop
        return self._begin(LineKind.CODE, position)


def _fence_end(view: View, position: int) -> int:
    return view.run(BACKTICKS if view.at(position) == "`" else _TILDES, position)


def _heading_end(view: View, position: int) -> int | None:
    stop = view.run(_HASHES, position)
    return stop if stop - position <= 6 and view.at(stop).isspace() else None


def enumerator_end(view: View, position: int) -> int:
    """Return the offset after the enumerator of a list item, or ``position`` if there is none."""
    # Text must follow on the line: "42." alone is an answer, not the number of an item.
    if match := _ENUMERATOR.match(view.text, position, view.end):
        return match.end()
    view.wait_if_begun(_ENUMERATOR_BEGUN, position)
    return position
