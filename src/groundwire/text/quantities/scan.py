"""Finds the quantities of a text: its numbers, times and dates."""

import re
from collections.abc import Callable
from functools import cache

from groundwire.text.quantities import dates, names, numerals, times, words
from groundwire.text.quantities.quantity import Quantity
from groundwire.text.quantities.ranges import joined
from groundwire.text.quantities.reading import FoundQuantity, QuantityReading

_READERS: dict[str, Callable[[str, re.Match[str]], QuantityReading]] = {
    "number": numerals.read_number,
    "bare_vulgar": numerals.read_vulgar,
    "fraction": numerals.read_fraction,
    "height": numerals.read_height,
    "words": words.read_words,
    "clock": times.read_clock,
    "named": times.read_named,
    "iso": dates.read_iso,
    "numeric": dates.read_numeric,
    **dict.fromkeys(("day_month", "month_day", "month_year"), dates.read_written),
}


@cache
def _expression() -> re.Pattern[str]:
    """Return the expression that matches the beginning of a quantity, or text to skip.

    The first alternative that matches counts. Repetitions are bounded or possessive, so that time
    is linear. The expression is compiled on first use, because compiling is slow.
    """
    return re.compile(
        rf"""
        (?:(?<!\w)|(?<=[0-9]T)|(?=\[))(?:
            {names.ENUMERATOR}|{names.CITATION}|{names.PHONE}
            |(?=[0-9])(?:
                {dates.ISO}|{dates.NUMERIC}|{dates.DAY_MONTH}|{numerals.HEIGHT}
                |{names.ALWAYS}|{times.CLOCK}|{names.CHAIN}|{numerals.FRACTION}
            )
            |(?=[^\W\d])(?:
                {names.LINK}|{names.LABEL}|{names.ALWAYS_IN_WORDS}
                |{dates.MONTH_DAY}|{dates.MONTH_YEAR}|{times.NAMED}|{words.NUMBER}
                |{names.IDENTIFIER}
            )
            |{numerals.NUMBER}|{numerals.VULGAR}
        )""",
        re.VERBOSE | re.MULTILINE,
    )


def quantities(text: str) -> tuple[Quantity, ...]:
    """Find the numbers, times and dates of a text, in reading order; they never overlap."""
    found: list[FoundQuantity] = []
    position = 0
    while match := _expression().search(text, position):
        read = _READERS.get(match.lastgroup or "")
        reading = read(text, match) if read else QuantityReading(match.end())
        for new in reading.found:
            found[-1:] = joined(text, found[-1], new) if found else (new,)
        position = max(reading.end, match.start() + 1)
    return tuple(new.quantity for new in found)
