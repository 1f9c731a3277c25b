"""Functions that find words, stems, sentences and figures in a text, for all kinds of mistakes."""

import re

from groundwire.text.segment import segment


def listed(text: str) -> list[str]:
    """Split a text into words at white space."""
    return text.split()


def pairs(text: str) -> list[tuple[str, str]]:
    """Parse a text of pairs, written "one/other" with white space between pairs."""
    return [(one, other) for one, _, other in (pair.partition("/") for pair in text.split())]


WORD = re.compile(r"\w+")
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
YEAR = re.compile(r"(?<![\d$€£,.#/–-])(?:1[5-9]|20)\d\d(?![\d%,/–-]|\.\d|\s?(?:km|kg|m|feet)\b)")
#: Numbers in words, from 2 on.
SMALL_NUMBERS = listed("""
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
""")
#: The text between the ends of a range, as in "9-17" or "Monday to Friday".
RANGE = re.compile(r"\s*(?:-|–|—|/|to\b|through\b|thru\b|till\b|until\b)\s*")


def plain(text: str) -> str:
    """Return the words of a text in lower case, joined by spaces, with a space at each end."""
    return f" {' '.join(WORD.findall(text.lower()))} "


def stands(words: str, text: str) -> bool:
    """Return whether a text has these words, one after the other, in upper or lower case."""
    return plain(words) in plain(text)


def stems(text: str) -> frozenset[str]:
    """Return the first five letters of each word of at least four letters, in lower case."""
    return frozenset(word[:5] for word in WORD.findall(text.lower()) if len(word) > 3)


def piece_at(text: str, place: int) -> slice:
    """Return the range of the sentence around a character; without one, that of the character."""
    for piece in segment(text):
        if piece.start <= place < piece.end:
            return slice(piece.start, piece.end)
    return slice(place, place + 1)


def sentence_at(text: str, place: int) -> str:
    """Return the text of the sentence around a character."""
    return text[piece_at(text, place)]
