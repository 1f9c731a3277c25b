"""Finds the part of a long text that is worth quoting."""

import re

#: Usual limit on the characters of a quote from a question, an answer or a source, in terminal
#: reports and explanations.
QUOTE_CHARS = 160

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\S+")


def excerpt(text: str, *, around: str, width: int = QUOTE_CHARS) -> str:
    """Quote the part of a text that has the most words in common with ``around``, on one line.

    ``width`` is the greatest length in characters, without the ``…`` for text that was left out.
    """
    flat = " ".join(text.split())
    if len(flat) <= width:
        return flat
    start, end = stretch(flat, around=around, width=width)
    return f"{'…' if start else ''}{flat[start:end]}{'…' if end < len(flat) else ''}"


def stretch(text: str, *, around: str, width: int = QUOTE_CHARS) -> tuple[int, int]:
    """Find the part of a text that has the most words in common with ``around``.

    Returns:
        Start and end of a part that consists of whole words and has at most ``width`` characters.
        If every word is longer, the part is the first ``width`` characters. Words of up to three
        letters are not counted as words in common.
    """
    wanted = {
        word.casefold() for word in _WORD.findall(around) if len(word) > 3 or not word.isalpha()
    }
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    hits = [
        any(word.casefold() in wanted for word in _WORD.findall(text[start:end]))
        for start, end in tokens
    ]
    best, start, first, found = -1, 0, 0, 0
    for last, (_, end) in enumerate(tokens):
        found += hits[last]
        while first <= last and end - tokens[first][0] > width:
            found -= hits[first]
            first += 1
        # Of several parts with equally many hits (words in common), take the earliest, which shows
        # more text before the hits.
        if first <= last and found > best:
            best, start = found, tokens[first][0]
    ends = [end for begin, end in tokens if begin >= start and end - start <= width]
    return (start, ends[-1]) if ends else (0, min(width, len(text)))
