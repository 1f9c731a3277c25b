"""Finds names in claims and in lines of evidence."""

import re

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.comparison.words import Word
from groundwire.detection.rules.basis import MAX_PLACES, Basis, stems_in
from groundwire.text.vocabulary import CALENDAR, words

#: Words that often have a capital letter and are no names.
_OTHERS = words("""
    according approximately roughly based answer note question step passage passages source sources
    therefore however additionally overall furthermore moreover finally also yes no once okay
    confirm click select enter fahrenheit celsius am pm
    tb gb mb kb kg km cm mm ml mg mp mhz ghz usd eur gbp
""")
#: Lengths of abbreviations such as "EU", and the text that may be between the words they stand for.
_INITIALS = range(2, 7)
_JOINS = "[ -](?:(?:of|the|and|for) ){0,2}"


def names_in(claim: ComparedText, basis: Basis) -> list[Word]:
    """Return the names of a claim, in reading order.

    The first word, which has a capital letter anyway, is a name only if the evidence always writes
    it with a capital letter, or if it is the only word of the claim.
    """
    names = [
        name
        for name in claim.names[:MAX_PLACES]
        if not _is_other(name.text.split()[0].lower()) and not _begins(claim.text, name)
    ]
    first = claim.words[0] if claim.words else None
    if first is None or any(name.start == first.start for name in names) or not _may_name(first):
        return names
    is_alone = len(claim.words) == 1
    is_written = basis.writes(first.text) and not basis.writes(first.text.lower())
    return [first, *names] if is_alone or is_written else names


def names_of_line(line: ComparedText) -> list[Word]:
    """Return the names of a line; its first word counts if it may be a name."""
    names = line.names[:MAX_PLACES]
    first = line.words[0] if line.words else None
    if first is None or any(name.start == first.start for name in names):
        return names
    return [first, *names] if _may_name(first) else names


def is_abbreviated(name: Word, basis: Basis) -> bool:
    """Return whether the evidence has the short form of a long name, or the reverse.

    "EU" is the short form of "European Union".
    """
    if name.text.isupper() and name.text.isalpha() and len(name.text) in _INITIALS:
        written = _JOINS.join(rf"{re.escape(letter)}\w*" for letter in name.text)
        return re.search(rf"\b{written}", basis.all_text) is not None
    words = name.text.split()
    capitals = [word[0] for word in words if word[0].isupper()]
    if len(capitals) < 2:
        return False
    forms = {"".join(capitals), "".join(word[0] for word in words)}
    return any(map(basis.writes, forms)) or ".".join(capitals) + "." in basis.all_text


def stems_of(text: ComparedText, name: Word) -> frozenset[str]:
    """Return the stems of the words of a name."""
    return stems_in(text, name.start, name.end)


def is_name(word: Word) -> bool:
    """Return whether a word is written like a name; days and months do not count."""
    return word.text[0].isupper() and word.is_content and not _is_day(word.lower)


def _is_other(lower: str) -> bool:
    return lower in _OTHERS or _is_day(lower)


def _is_day(lower: str) -> bool:
    """Return whether a word names a day or a month, or several: "Tuesdays"."""
    return lower in CALENDAR or lower.removesuffix("s") in CALENDAR


def _begins(text: str, name: Word) -> bool:
    """Return whether a name is one word after a colon, which may begin a text: "Soil: Use ..."."""
    return " " not in name.text and text[: name.start].rstrip().endswith(":")


def _may_name(word: Word) -> bool:
    return is_name(word) and word.lower not in _OTHERS and not re.match(r"\w+ly$", word.lower)
