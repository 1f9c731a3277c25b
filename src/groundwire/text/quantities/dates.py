"""Reads dates, numeric ("2015-03-31", "3/31/2015") or written ("March 31, 2015", "4th of July")."""

import re

from groundwire.text.quantities.quantity import Date, Quantity, QuantityKind
from groundwire.text.quantities.reading import SPACE, FoundQuantity, QuantityReading

#: The first three letters of each month.
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LETTERS = re.compile("[A-Za-z]+")
_DIGITS = re.compile("[0-9]+")

# Parts of the regular expression in ``scan.py``, written for ``re.VERBOSE``.

_MONTH = (
    r"(?:(?:Jan|JAN)(?:uary|UARY)?|(?:Feb|FEB)(?:ruary|RUARY)?|(?:Mar|MAR)(?:ch|CH)?"
    r"|(?:Apr|APR)(?:il|IL)?|May|MAY|(?:Jun|JUN)[eE]?|(?:Jul|JUL)[yY]?|(?:Aug|AUG)(?:ust|UST)?"
    r"|(?:Sep|SEP)(?:tember|TEMBER|t|T)?|(?:Oct|OCT)(?:ober|OBER)?|(?:Nov|NOV)(?:ember|EMBER)?"
    r"|(?:Dec|DEC)(?:ember|EMBER)?)(?!\w)(?:(?:(?<=\b[A-Za-z]{3})|(?<=\bSept))\.)?"
)
# "29 may" is a date in tables in lower case, but "may" is a verb in prose. So in lower case, "may"
# and "march" are months only before a year, a comma, a quotation mark, a line feed or a "|".
_LOWER_MONTH = (
    r"(?:(?:january|february|april|june|july|august|september|october|november|december"
    r"|jan|feb|apr|aug|sept?|oct|nov|dec)(?!\w)"
    r"|(?:may|march)(?=[\"'|,\n]|[ ][|]|,?[ ][12][0-9]{3}))"
)
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_NTH = rf"{_DAY}(?:st|nd|rd|th)?"
_YEAR = rf"(?:,?{SPACE}{{1,2}}(?:of{SPACE})?|,)[12][0-9]{{3}}(?![0-9\w]|[.,:][0-9]|-[0-9]{{1,2}}-)"
_ENDS = r"(?![0-9\w]|[.,:][0-9])"

#: Pattern of a date such as "2015-03-31" or "2015/03/31".
ISO = (
    r"(?P<iso>[12][0-9]{3}(?P<iso_mark>[-/])[01]?[0-9](?P=iso_mark)[0-3]?[0-9]"
    r"(?=T[0-9]|(?![-/\w]|\.[0-9])))"
)
#: Pattern of a date such as "3/31/2015", "31.03.2015" or "3/31/15".
NUMERIC = (
    r"(?P<numeric>[0-3]?[0-9](?P<numeric_mark>[./-])[0-3]?[0-9](?P=numeric_mark)"
    r"(?:[12][0-9]{3}|[0-9]{2})(?![-/\w]|[.,][0-9]))"
)
#: Pattern of a date such as "31 March 2015" or "4th of July".
DAY_MONTH = (
    rf"(?P<day_month>{_NTH}(?:{SPACE}|-|{SPACE}of{SPACE})(?:{_MONTH}|{_LOWER_MONTH})"
    rf"(?:{_YEAR}|-[12][0-9]{{3}}(?!\w))?)"
)
#: Pattern of a date such as "March 31, 2015", or of a range such as "March 29-31".
MONTH_DAY = (
    rf"(?P<month_day>(?=[JFMASONDjfmasond])(?:{_MONTH}|(?!may|march){_LOWER_MONTH}){SPACE}{{1,2}}"
    rf"(?:the{SPACE})?{_NTH}(?:{SPACE}?[-–]{SPACE}?{_NTH}{_ENDS})?(?:{_YEAR}|{_ENDS}))"
)
#: Pattern of a month such as "March 2015".
MONTH_YEAR = (
    rf"(?P<month_year>(?=[JFMASOND]){_MONTH}(?:,?{SPACE}(?:of{SPACE})?)[12][0-9]{{3}}{_ENDS})"
)


def read_iso(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a date with the year first, and skip the "T" that begins a time after it."""
    year, month, day = map(int, match[0].split(match["iso_mark"]))
    end = match.end()
    after = end + 1 if text[end : end + 1] == "T" else end
    return QuantityReading(after, _numeric_date(match, (year, month, day)))


def read_numeric(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a date with the year last; skip digits that cannot be a date, such as a version.

    With dots the day is first, otherwise the month; they change places if the month would exceed
    12.
    """
    mark = match["numeric_mark"]
    first, second, year = map(int, match[0].split(mark))
    if year < 100:
        if mark != "/":  # "1.2.34" is a version, "12-34-56" an account number or the like
            return QuantityReading(match.end())
        year += 2000 if year < 50 else 1900
    month, day = (second, first) if mark == "." else (first, second)
    if month > 12:
        month, day = day, month
    return QuantityReading(match.end(), _numeric_date(match, (year, month, day)))


def _numeric_date(match: re.Match[str], date: tuple[int, int, int]) -> tuple[FoundQuantity, ...]:
    is_date = 1 <= date[1] <= 12 and 1 <= date[2] <= 31
    return (_dated(match.start(), match.end(), date),) if is_date else ()


def read_written(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a date whose month is in letters, or the two dates of "March 3-5, 2015"."""
    start, end = match.span()
    begun = (word[:3].lower() for word in _LETTERS.findall(match[0]))
    month = next(_MONTHS.index(letters) + 1 for letters in begun if letters in _MONTHS)
    numbers = list(_DIGITS.finditer(text, start, end))
    year = next((int(found[0]) for found in numbers if len(found[0]) == 4), None)
    days = [found for found in numbers if len(found[0]) < 4]
    if len(days) < 2:
        day = int(days[0][0]) if days else None
        return QuantityReading(end, (_dated(start, end, (year, month, day)),))
    first, last = days
    begins = _dated(start, first.end(), (year, month, int(first[0])))
    return QuantityReading(end, (begins, _dated(last.start(), end, (year, month, int(last[0])))))


def _dated(start: int, end: int, date: Date) -> FoundQuantity:
    return FoundQuantity(Quantity(start, end, QuantityKind.DATE, date))
