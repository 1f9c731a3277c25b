"""Reads numbers in digits: "1,234.5", "$2½", "3/4", "4th", "1990s", 5'8"."""

import re

from groundwire.text.quantities.amounts import read_amount
from groundwire.text.quantities.quantity import Quantity, QuantityKind
from groundwire.text.quantities.reading import SPACE, FoundQuantity, QuantityReading
from groundwire.text.quantities.units import UNITS

_MAX_DIGITS = 30
_VULGAR = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125}
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?!\w)", re.IGNORECASE)
_DECADE = re.compile(r"['’]?s(?!\w)")
_GROUPING = re.compile("[,\u00a0\u2009\u202f]")
_DIGITS = re.compile("[0-9]+")
_REST_OF_WORD = re.compile(r"\w*+")

# Parts of the regular expression in ``scan.py``, written for ``re.VERBOSE``.

_CURRENCY = (
    r"(?P<currency>(?<![^\W\d])(?:US|A|CA?|HK)?\$|[€£¥₹₩₽]"
    r"|(?<!\w)(?:USD|EUR|GBP|JPY|CNY|INR|CHF|AUD|CAD|HKD|KRW|RUB|Rs\.?))"
)
_GROUPED = (
    r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,10}+(?![0-9])"
    "|[0-9]{1,3}(?:[\u00a0\u2009\u202f][0-9]{3}){1,10}+(?![0-9])"
    "|[0-9]++)"
)
#: Pattern of a number in digits: "-5", "$1,234.50", "1e6", "2½". The group of the decimals is not
#: possessive, because in early versions of Python 3.11 a possessive group that does not match still
#: consumes its first character, such as the full stop of "1889.".
NUMBER = rf"""
    (?P<number>
        (?P<sign>(?<![\w)\]%.-])[-−](?=[$€£¥₹₩.]?[0-9.]))?
        (?:{_CURRENCY}{SPACE}?-?)?
        (?<![\w])(?<![0-9]\.)(?P<digits>{_GROUPED}(?:\.[0-9]++|(?!\.[0-9]))|(?<!\.)\.[0-9]++)
        (?P<exponent>[eE][+-]?[0-9]{{1,2}}(?!\w))?
        (?(sign)(?!:[0-9]))
        (?P<vulgar>[½¼¾⅓⅔⅛])?
    )"""
#: Pattern of a fraction of one character: "½".
VULGAR = "(?P<bare_vulgar>[½¼¾⅓⅔⅛])"
#: Pattern of a fraction of several characters: "1/2", "1 1/2", "9/4".
FRACTION = (
    rf"(?P<fraction>(?:[0-9]{{1,3}}(?:{SPACE}|-))?[0-9]{{1,2}}"
    r"[/⁄](?:2|3|4|8|16)(?![/\w]|[.,][0-9]))"
)
#: Pattern of a height in feet and inches: 5'8".
HEIGHT = rf"(?P<height>[3-8]['’′]{SPACE}?(?:1[01]|[0-9])(?:[\"”″]|''))"


def read_number(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a number with its sign, currency, magnitude and unit, or an ordinal or a decade.

    A number of more than 30 digits is skipped, and so is a number with letters right after it that
    are not a unit ("4x4").
    """
    start, end = match.span()
    digits, currency = match["digits"], match["currency"]
    if len(digits) > 2 * _MAX_DIGITS or sum(map(str.isdigit, digits)) > _MAX_DIGITS:
        return _pass_word(text, end)
    number = float(_GROUPING.sub("", digits) + (match["exponent"] or ""))
    number += _VULGAR.get(match["vulgar"] or "", 0.0)
    if match["sign"] or (currency and f"{currency}-" in match[0]):
        number = -number
    if currency is None and (numbered := _ordinal_or_decade(text, match, number)):
        return numbered
    reading = read_amount(text, start, end, number, currency=currency)
    end = reading.found[0].quantity.end
    if text[end : end + 1].isalnum() or text[end : end + 1] == "_":
        return _pass_word(text, end)  # digits glued to letters: "5ab", "4x4"
    return reading


def _pass_word(text: str, position: int) -> QuantityReading:
    rest = _REST_OF_WORD.match(text, position)
    return QuantityReading(rest.end() if rest else position)


def _ordinal_or_decade(text: str, match: re.Match[str], number: float) -> QuantityReading | None:
    """Read an ordinal such as "4th" or a decade such as "1990s"; ``None`` for other numbers."""
    digits, ordinal = match["digits"], _ORDINAL.match(text, match.end())
    is_round = digits.isdigit() and 2 <= len(digits) <= 4 and digits[-1] == "0"
    suffix = ordinal or (_DECADE.match(text, match.end()) if is_round else None)
    if suffix is None:
        return None
    start, end, name = match.start(), suffix.end(), "th" if ordinal else None
    quantity = Quantity(start, end, QuantityKind.NUMBER, number, None, number, name)
    return QuantityReading(end, (FoundQuantity(quantity),))


def read_vulgar(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a fraction of one character, such as "½"."""
    return read_amount(text, match.start(), match.end(), _VULGAR[match[0]])


def read_fraction(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a fraction such as "3/4" or "1 1/2".

    If the numerator is not below the denominator, as in "9/4", only the first number is read: in
    prose, such figures are seldom a fraction.
    """
    numbers = [float(found) for found in _DIGITS.findall(match[0])]
    *whole, above, below = numbers
    if above < below:
        return read_amount(text, match.start(), match.end(), sum(whole) + above / below)
    end = match.start() + len(_DIGITS.findall(match[0])[0])
    quantity = Quantity(match.start(), end, QuantityKind.NUMBER, numbers[0], None, numbers[0])
    return QuantityReading(end, (FoundQuantity(quantity, raw=numbers[0], is_plain=True),))


def read_height(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a height in feet and inches."""
    feet, inches = map(int, _DIGITS.findall(match[0]))
    number = feet + inches / 12.0
    value = UNITS["feet"].convert(number)
    start, end = match.span()
    quantity = Quantity(start, end, QuantityKind.NUMBER, value, "m", number, "foot inch")
    return QuantityReading(end, (FoundQuantity(quantity),))
