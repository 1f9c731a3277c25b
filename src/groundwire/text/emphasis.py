"""Removes the stars and backticks with which Markdown marks emphasis and code; underscores stay."""

import re

import numpy as np
from numpy.typing import NDArray

# Marks are: two or more stars, but not two between letters or digits (2**8); backticks; and pairs
# of single stars around words. A single star is not a mark in "3 * 4" (a product), "5* hotel" (a
# rating) and "* a" (a bullet).
_PAIR = re.compile(r"(?<![\w*])\*(?=[^\s*])[^*\n]*(?<=[^\s*])\*(?![\w*])")
_MARK = re.compile(r"(?<!\w)\*{2,}|\*{2,}(?!\w)|`+")


def without_emphasis(text: str) -> str:
    """Remove the stars and backticks that mark emphasis and code from a text.

    >>> without_emphasis("It has **999** seats, *not* 3 * 4; see `retry`.")
    'It has 999 seats, not 3 * 4; see retry.'
    """
    return "".join(text[start:end] for start, end in _plain(text))


def places_without_emphasis(text: str) -> NDArray[np.int32]:
    """Return the offset of each character that :func:`without_emphasis` keeps, shape ``(n,)``."""
    ranges = [np.arange(start, end, dtype=np.int32) for start, end in _plain(text)]
    return np.concatenate([np.empty(0, np.int32), *ranges])


def _plain(text: str) -> list[tuple[int, int]]:
    """Return start and end of each part of a text that has no marks of emphasis or code."""
    if "*" not in text and "`" not in text:
        return [(0, len(text))]
    marks = {mark.span() for mark in _MARK.finditer(text)}
    for pair in _PAIR.finditer(text):
        marks |= {(pair.start(), pair.start() + 1), (pair.end() - 1, pair.end())}
    ends = [0, *(end for _, end in sorted(marks))]
    starts = [*(start for start, _ in sorted(marks)), len(text)]
    return [(start, end) for start, end in zip(ends, starts, strict=True) if start < end]
