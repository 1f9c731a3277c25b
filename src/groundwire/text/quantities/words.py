"""Reads numbers in letters: "twenty-five", "two million three hundred thousand", "two-thirds"."""

import re
from dataclasses import dataclass

from groundwire.text.quantities.amounts import MAGNITUDES, read_amount
from groundwire.text.quantities.reading import SPACE, QuantityReading
from groundwire.text.quantities.times import read_hour_in_words
from groundwire.text.quantities.units import unit_at

_SMALL_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10.0 * value for value, word in enumerate(_TENS_NAMES.split(), start=2)}
_SMALL = {word: float(value) for value, word in enumerate(_SMALL_NAMES.split())} | _TENS
_LARGE = ("hundred", "thousand", "million", "billion", "trillion", "dozen")
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_PARTS |= {f"{word}s": value for word, value in _PARTS.items()} | {"halves": 2}

_WORD = f"(?:{'|'.join(sorted(_SMALL, key=len, reverse=True))}|{'|'.join(_LARGE)})"
#: Pattern of a number in letters, for ``re.VERBOSE``: "twenty-five", "a hundred and five".
NUMBER = (
    rf"(?P<words>(?=[aAbBdDeEfFhHmMnNoOsStTzZ])(?ai:(?:an?{SPACE})?{_WORD}"
    rf"(?:(?:[ -]|{SPACE}and{SPACE}){_WORD}){{0,9}})(?!\w))"
)

_LETTERS = re.compile("[A-Za-z]+")
_PART = re.compile(r"[ -]((?ai:halves|half|thirds?|quarters?|fifths?|tenths?))(?!\w)")
_ORDINAL = re.compile(
    r"(?<=ty)-(?:first|third|fourth|fifth|sixth|seventh|eighth|ninth)(?!\w)", re.IGNORECASE
)
_STAR = re.compile(r"[ -]stars?(?!\w)", re.IGNORECASE)


@dataclass(slots=True)
class _Count:
    """The value of a number in letters while its words are added up.

    Attributes:
        group: The part that the next magnitude multiplies: 300 in "two million three hundred".
        room: Number that the next small number must be below: 100 after "hundred", 10 after
            "twenty".
        total: The sum of the groups before: 2,000,000 in "two million three hundred".
        limit: Factor that the next magnitude must be below: 1,000,000 after "million".
    """

    group: float
    room: float
    total: float = 0.0
    limit: float = 1e15

    def add(self, word: str) -> bool:
        """Add the next word to the number; return false, and add nothing, if it does not fit."""
        if word in _SMALL:
            if not 0 < _SMALL[word] < self.room:
                return False
            self.group += _SMALL[word]
            self.room = 10.0 if word in _TENS else 0.0
        elif word in ("hundred", "dozen"):
            if not 1 <= self.group < 100:
                return False
            self.group *= MAGNITUDES[word]
            self.room = 100.0 if word == "hundred" else 0.0
        else:
            if MAGNITUDES[word] >= self.limit:
                return False
            self.total += self.group * MAGNITUDES[word]
            self.group, self.room, self.limit = 0.0, 1000.0, MAGNITUDES[word]
        return True


def read_words(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a number in letters, with the "thirds", "o'clock" or unit after it."""
    words = list(_LETTERS.finditer(text, match.start(), match.end()))
    has_article = words[0][0].lower() in ("a", "an")
    first = words[1 if has_article else 0]
    if first[0].lower() not in _LARGE:
        return _read_count(text, first.start(), words[1 if has_article else 0 :])
    if not has_article:
        return QuantityReading(first.end())  # "hundred" alone does not say how many hundreds
    return _read_count(text, match.start(), words)


def _read_count(text: str, start: int, words: list[re.Match[str]]) -> QuantityReading:
    number, end = _add_up(words)
    part = _PART.match(text, end) if number in (1.0, 2.0, 3.0, 4.0) else None
    if part is not None and (number > 1.0) == part[1].lower().endswith("s"):
        return read_amount(text, start, part.end(), number / _PARTS[part[1].lower()])
    if ordinal := _ORDINAL.match(text, end):
        return QuantityReading(ordinal.end())
    if hour := read_hour_in_words(text, start, end, number):
        return hour
    if number == 1.0 and _is_pronoun(text, end):
        return QuantityReading(end)
    return read_amount(text, start, end, number, is_spoken=True)


def _add_up(words: list[re.Match[str]]) -> tuple[float, int]:
    """Add up as many of the words as make one number; return the number and the offset after it."""
    names = [word[0].lower() for word in words]
    first = names[0]
    count = _Count(_SMALL.get(first, 1.0), room=10.0 if first in _TENS else 0.0)
    end = words[0].end()
    for word, name, before in zip(words[1:], names[1:], names, strict=False):
        if name == "and":
            if count.room < 100:
                break
            continue
        if (before == "and" and name in _LARGE) or not count.add(name):
            break
        end = word.end()
    return count.total + count.group, end


def _is_pronoun(text: str, end: int) -> bool:
    """Return whether a "one" before ``end`` is not a number: "one" alone, or "one day"."""
    if _STAR.match(text, end):
        return False
    unit, _ = unit_at(text, end)
    return unit is None or text[end + 1 : end + 4].lower() == "day"
