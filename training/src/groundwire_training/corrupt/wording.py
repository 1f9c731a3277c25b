"""Words, stems, sentences and figures: what the kinds of mistakes read texts by."""

import re

from groundwire.text.segment import segment


def listed(text: str) -> list[str]:
    """Words between white space."""
    return text.split()


def pairs(text: str) -> list[tuple[str, str]]:
    """Pairs written "one/other", between white space."""
    return [(one, other) for one, _, other in (pair.partition("/") for pair in text.split())]


WORD = re.compile(r"\w+")
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
YEAR = re.compile(r"(?<![\d$€£,.#/–-])(?:1[5-9]|20)\d\d(?![\d%,/–-]|\.\d|\s?(?:km|kg|m|feet)\b)")
#: In words, from 2 on.
SMALL_NUMBERS = listed("""
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
""")
#: What stands between the ends of a range: "9-17", "Monday to Friday".
RANGE = re.compile(r"\s*(?:-|–|—|/|to\b|through\b|thru\b|till\b|until\b)\s*")


def plain(text: str) -> str:
    """The words of a text in lower case, each with one space around it."""
    return f" {' '.join(WORD.findall(text.lower()))} "


def stands(words: str, text: str) -> bool:
    """Whether some words stand in a text one after the other, in either case."""
    return plain(words) in plain(text)


def stems(text: str) -> frozenset[str]:
    """The beginnings of words long enough to mean something."""
    return frozenset(word[:5] for word in WORD.findall(text.lower()) if len(word) > 3)


def piece_at(text: str, place: int) -> slice:
    """The sentence that holds a character, or that character alone."""
    for piece in segment(text):
        if piece.start <= place < piece.end:
            return slice(piece.start, piece.end)
    return slice(place, place + 1)


def sentence_at(text: str, place: int) -> str:
    """The text of the sentence that holds a character."""
    return text[piece_at(text, place)]
