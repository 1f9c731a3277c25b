"""Decides whether a claim ends at a line break, or continues on the next line."""

import re

from groundwire.text.segment.characters import ALNUM, BACKTICKS, BLANKS, BREAKS
from groundwire.text.segment.citations import citations_end
from groundwire.text.segment.markers import enumerator_end
from groundwire.text.segment.view import BoundaryDecision, View

_KEY = re.compile(r"[\w.\-]{0,40}")
_ITEM = re.compile(r"[a-z]\)|[ivx]{2,5}[.)]|[a-h]\.")
# Words at the end of a line after which the statement continues on the next line.
_CONNECTIVES = (
    "a an and are as at because been between by can could from has have his if into is its may nor "
    "of or our should than that the their this to was were when where which while whose will with "
    "would your"
)
_NEVER_AT_END = frozenset(_CONNECTIVES.split())


def decide_at_break(view: View, start: int, position: int) -> BoundaryDecision:
    """Decide whether the claim that begins at ``start`` ends at the line break at ``position``."""
    before = view.text[start:position].rstrip()
    if not ALNUM.search(before):
        return BoundaryDecision(ends=True, position=position)
    if cited := after_cited_line(view, position):
        return BoundaryDecision(ends=False, position=cited)
    line = _next_line(view, position)
    if before[-1] not in ":：" and _goes_on(view, before, line):
        return BoundaryDecision(ends=False, position=line)
    return BoundaryDecision(ends=True, position=position)


def after_cited_line(view: View, line_break: int) -> int | None:
    """Return the end of the next line's citations; ``None`` unless the line has only citations."""
    line = _next_line(view, line_break)
    if view.at(line) not in ("[", "("):
        return None
    stop = citations_end(view, line)
    if stop == line:
        return None
    after = view.at(view.run(BLANKS, stop))
    return stop if not after or after in BREAKS else None


def _goes_on(view: View, before: str, line: int) -> bool:
    """Return whether the line at offset ``line`` clearly continues the text ``before`` it."""
    char = view.at(line)
    if char.islower():
        return not _is_item(view, line)
    if not _is_unfinished(before):
        return False
    is_code = char == "`" and view.run(BACKTICKS, line) - line < 3
    return (
        (is_code or char.isalnum() or (char != "" and char in "([“"))
        and not _is_item(view, line)
        and enumerator_end(view, line) == line
    )


def _next_line(view: View, position: int) -> int:
    """Return the offset after the line break and up to 40 blanks of the next line."""
    if view.text[position] == "\r" and view.at(position + 1) == "\n":
        position += 1
    return view.run(BLANKS, position + 1)


def _is_item(view: View, position: int) -> bool:
    """Return whether a line looks like a list item or a record: ``a) b``, ``name: b``."""
    stop = view.run(_KEY, position)
    char = view.at(stop)
    divider = view.at(view.run(BLANKS, stop))
    if char in (":", "#", "\t") or divider in ("|", "="):
        return True
    if char == ",":
        return not view.at(stop + 1).isspace()
    if char == ")":
        stop += 1
        char = view.at(stop)
    return bool(_ITEM.fullmatch(view.text, position, stop)) and char.isspace()


def _is_unfinished(line: str) -> bool:
    word = line.rsplit(None, 1)[-1]
    return word in _NEVER_AT_END or (word[-1] == "," and word[-2:-1].isalpha())
