"""Finds inline code between backticks, where no full stop ends a sentence."""

import re

from groundwire.text.segment.characters import BACKTICKS, BREAKS, LINE_BREAK
from groundwire.text.segment.view import UndecidedError, View

# Limit on the characters of inline code; backticks that are not closed within this limit are text.
_MAX_CHARS = 200
_MARK_OR_BREAK = re.compile(f"`+|[{BREAKS}]")


def code_end(view: View, position: int) -> int:
    """Return the offset after the inline code that begins at ``position``.

    If the backticks there do not begin inline code, return the offset after the backticks.

    Raises:
        UndecidedError: If the end of the code depends on text that has not arrived.
    """
    stop = view.run(BACKTICKS, position)
    span = code_span_end(view.text, position, stop, view.end)
    if span is not None and (span < view.end or not view.may_grow):
        return span
    text_end = min(view.end, stop + _MAX_CHARS)
    has_break = LINE_BREAK.search(view.text, stop, text_end)
    if view.may_grow and view.end < stop + _MAX_CHARS and not has_break:
        raise UndecidedError
    return stop if span is None else span


def code_span_end(text: str, start: int, stop: int, end: int) -> int | None:
    """Return the end of the inline code that the backticks at ``[start, stop)`` open.

    Return ``None`` if the code is not closed by as many backticks on the same line, before ``end``
    and within 200 characters.
    """
    ticks = stop - start
    for match in _MARK_OR_BREAK.finditer(text, stop, min(end, stop + _MAX_CHARS)):
        if match.group()[0] != "`":
            return None
        if match.end() - match.start() == ticks:
            return match.end()
    return None
