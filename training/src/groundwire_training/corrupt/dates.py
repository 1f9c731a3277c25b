"""Mistakes in dates: a year, month, day, weekday or time of day becomes another."""

import random
import re

from groundwire.text.quantities import Match, QuantityKind, quantities
from groundwire_training.corrupt.edits import Edit, Mistakes, shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.wording import RANGE, YEAR, listed, sentence_at

_MONTHS = listed(
    "January February March April May June July August September October November December"
)
_DAYS = listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_A_MONTH, _A_DAY = f"(?:{'|'.join(_MONTHS)})", f"(?:{'|'.join(_DAYS)})"
# A month needs a preposition or a number beside it: "May" and "March" are also other words.
_MONTH = re.compile(rf"(?:(?<=[IiOo]n )|(?<=since )|(?<=until )){_A_MONTH}\b|\b{_A_MONTH}(?=\s\d)")
_DAY_OF_MONTH = re.compile(rf"\b{_A_MONTH}\s(\d\d?)(?=[\s,.])(?!\s?(?:-|–|to\b|and\b|or\b))")
_WEEKDAY = re.compile(rf"\b{_A_DAY}(?=s?\b)")
_LISTED_BEFORE = re.compile(rf"(?:{RANGE.pattern}|(?:\band|,|&)\s*)$")
_LISTED_AFTER = re.compile(rf"s?(?:{RANGE.pattern}|,|\s?(?:and\b|or\b|&))")
_CLOCK = re.compile(r"\b(\d{1,2})((?::\d\d)?)\s?([AaPp])(?:[Mm]\b|\.[Mm]\.)")
_EQUAL = (Match.EQUAL, Match.DATE_EQUAL, Match.TIME_EQUAL)


def date(text: str, grounds: Grounds, rng: random.Random) -> Mistakes:
    """Propose edits that replace a year, month, day, weekday or hour, or AM by PM or PM by AM."""
    options = [
        (match, other) for pattern, other in _OTHERS.items() for match in pattern.finditer(text)
    ]
    for match, other in shuffled(options, rng):
        edit = other(match, grounds, rng)
        if edit and _is_absent(text, edit, grounds):
            yield (edit,)


def _is_absent(text: str, edit: Edit, grounds: Grounds) -> bool:
    """Return whether the sources do not state the date or time that an edit results in."""
    low = max(0, edit.start - 60)
    near = text[low : edit.start] + edit.text + text[edit.end : edit.end + 60]
    at = edit.start - low
    return not any(
        q.start < at + len(edit.text) and at < q.end and grounds.index.match(q) in _EQUAL
        for q in quantities(near)
    )


def _other_year(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    if match[0] not in grounds.words:
        return None
    for shift in shuffled((-20, -10, -9, -3, -2, -1, 1, 2, 3, 4, 10, 100), rng):
        year = int(match[0]) + shift
        if str(year) not in grounds.text and year < 2100:
            return Edit(*match.span(), str(year))
    return None


def _other_month(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    if match[0].lower() not in grounds.words:
        return None
    for month in shuffled(_MONTHS, rng):
        if not _is_mentioned(month, grounds):
            return Edit(*match.span(), month)
    return None


def _other_day(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    if not grounds.says(match[0]):
        return None
    for day in shuffled(range(1, 29), rng):
        if abs(day - int(match[1])) < 12 and str(day) not in grounds.words:
            return Edit(*match.span(1), str(day))
    return None


def _other_weekday(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    before, after = match.string[: match.start()][-12:], match.string[match.end() :][:12]
    # In "Monday to Friday" or "Monday and Friday", the other day makes the result partly true.
    is_listed = _LISTED_BEFORE.search(before) or _LISTED_AFTER.match(after)
    if is_listed or match[0].lower() not in grounds.words:
        return None
    sentence = sentence_at(match.string, match.start())
    for day in shuffled(_DAYS, rng):
        if day not in sentence and not _is_mentioned(day, grounds):
            return Edit(*match.span(), day)
    return None


def _is_mentioned(name: str, grounds: Grounds) -> bool:
    """Return whether the sources have the name of a month or weekday, in full or three letters."""
    return not grounds.words.isdisjoint({name.lower(), name[:3].lower()})


def _other_hour(match: re.Match[str], grounds: Grounds, rng: random.Random) -> Edit | None:
    stated = [q for q in quantities(match[0]) if q.kind is QuantityKind.TIME]
    if not stated or grounds.index.match(stated[0]) is not Match.TIME_EQUAL:
        return None
    if rng.random() < 0.25:
        half = match[3].translate(str.maketrans("aApP", "pPaA"))
        return Edit(match.start(3), match.end(), half + match.string[match.end(3) : match.end()])
    hour = rng.choice([h for h in range(1, 13) if h != int(match[1])])
    new = f"{hour}{match[2]}"
    return None if new in match.string else Edit(match.start(), match.end(2), new)


_OTHERS = {
    YEAR: _other_year,
    _MONTH: _other_month,
    _DAY_OF_MONTH: _other_day,
    _WEEKDAY: _other_weekday,
    _CLOCK: _other_hour,
}
