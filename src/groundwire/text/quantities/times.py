"""Reads times of day: "16:30", "4:30 PM", "noon", "nine o'clock"."""

import re

from groundwire.text.quantities.quantity import Quantity, QuantityKind
from groundwire.text.quantities.reading import SPACE, FoundQuantity, QuantityReading

DAY_MINUTES = 1440.0

#: Pattern of a time in digits: "16:30", "05:07:26", "9" before "PM" or "o'clock".
CLOCK = (
    r"(?P<clock>[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?Z?(?![:\w]|\.[0-9])"
    rf"|[0-9]{{1,2}}(?::[0-9]{{2}})?(?={SPACE}?(?i:[ap]\.?m)(?!\w)|{SPACE}o['’]clock))"
)
#: Pattern of a time with a name: "noon", "midday" or "midnight".
NAMED = r"(?P<named>(?ai:noon|midnight|midday)(?!\w))"

_MERIDIEM = re.compile(rf"{SPACE}?(?:([ap])(?:\.m\.?|m)(?!\w)|o['’]clock)", re.IGNORECASE)


def minutes_of_day(hour: float, minute: float, meridiem: str | None) -> float:
    """Convert a time of day to minutes since midnight.

    ``meridiem`` is the first letter of "AM" or "PM", or ``None`` if neither is stated.
    """
    if meridiem is not None and hour <= 12:
        hour = hour % 12 + (12 if meridiem in "pP" else 0)
    return (hour * 60.0 + minute) % DAY_MINUTES


def read_named(text: str, match: re.Match[str]) -> QuantityReading:
    """Read "noon", "midday" or "midnight"."""
    value = 0.0 if match[0].lower() == "midnight" else 720.0
    quantity = Quantity(match.start(), match.end(), QuantityKind.TIME, value)
    return QuantityReading(match.end(), (FoundQuantity(quantity, states_half=True),))


def read_clock(text: str, match: re.Match[str]) -> QuantityReading:
    """Read a time in digits, with the "AM", "PM" or "o'clock" after it; skip "25:00" or "9:75"."""
    start, end = match.span()
    hour, minute, second, *_ = [*map(float, match[0].rstrip("Z").split(":")), 0.0, 0.0]
    meridiem = None
    if half := _MERIDIEM.match(text, end):
        end, meridiem = half.end(), half[1]
    if hour > 24 or minute > 59 or second >= 61 or (meridiem and 12 < hour < 13):
        return QuantityReading(end)
    value = minutes_of_day(hour, minute + second / 60.0, meridiem)
    quantity = Quantity(start, end, QuantityKind.TIME, value)
    found = FoundQuantity(quantity, raw=hour, states_half=meridiem is not None)
    return QuantityReading(end, (found,))


def read_hour_in_words(text: str, start: int, end: int, hour: float) -> QuantityReading | None:
    """Read an hour in letters: "nine o'clock", "nine p.m." or "nine PM".

    The result is ``None`` if the number in letters is not such an hour. ``hour`` is the value of
    the number in ``text[start:end]``.
    """
    match = _MERIDIEM.match(text, end)
    if match is None or not 1 <= hour <= 12:
        return None
    if match[1] is not None and "." not in match[0] and not match[0].isupper():
        return None  # "am" may be a verb, and "pm" is treated alike
    quantity = Quantity(start, match.end(), QuantityKind.TIME, minutes_of_day(hour, 0.0, match[1]))
    found = FoundQuantity(quantity, raw=hour, states_half=match[1] is not None)
    return QuantityReading(match.end(), (found,))
