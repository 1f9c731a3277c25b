"""Joins two quantities side by side: the ends of a range, or the parts of one amount.

In a range, the unit ("10-12 km"), the magnitude ("$2-3 million"), the half of the day ("9-11 PM")
or the month ("29-31 March") may be stated once and hold for both ends. Two parts make up one amount
in "4 h 23 min" and "5 feet 8 inches".
"""

import re
from dataclasses import replace

from groundwire.text.quantities.quantity import Quantity, QuantityKind
from groundwire.text.quantities.reading import SPACE, FoundQuantity
from groundwire.text.quantities.times import DAY_MINUTES, minutes_of_day
from groundwire.text.quantities.units import UNITS, measured

_BETWEEN_PARTS = re.compile(f"{SPACE}(?:and{SPACE})?")
_BETWEEN_ENDS = re.compile(
    rf"{SPACE}?(?:[-–—−]|(?:to|and|or|until|till|through)(?={SPACE})){SPACE}?", re.IGNORECASE
)


def joined(text: str, first: FoundQuantity, second: FoundQuantity) -> tuple[FoundQuantity, ...]:
    """Join two neighbouring quantities if the text between them shows that they belong together.

    Returns:
        One quantity if the two are parts of one amount, otherwise both. If they are the ends of a
        range, an end without a unit, magnitude, half of the day or month may get that of the other.
    """
    start, end = first.quantity.end, second.quantity.start
    glue = _BETWEEN_PARTS.fullmatch(text, start, end)
    if glue is not None and (whole := _whole(first, second, glue[0])):
        return (whole,)
    is_range = _BETWEEN_ENDS.fullmatch(text, start, end) is not None
    return _ends(first, second) if is_range else (first, second)


def _ends(first: FoundQuantity, second: FoundQuantity) -> tuple[FoundQuantity, FoundQuantity]:
    left, right = first.quantity.kind, second.quantity.kind
    if right is QuantityKind.TIME and second.states_half:
        return _with_half_of_day(first, second), second
    if right is QuantityKind.DATE and first.is_plain:
        return _with_month(first, second), second
    if left is right is QuantityKind.NUMBER:
        return _with_unit(first, second), _with_currency(first, second)
    return first, second


def _with_half_of_day(first: FoundQuantity, second: FoundQuantity) -> FoundQuantity:
    """Return the first end of a range such as "9-11 PM" as a time of day.

    The first end is unchanged if it cannot be a time. Otherwise it gets the same half of the day as
    the second end if the first end is then earlier ("9-11 PM"), or else the other half ("9-5 PM").
    Midnight as the second end is the end of the day.
    """
    left, ending = first.quantity, second.quantity.value
    is_clock = left.kind is QuantityKind.TIME and first.states_half is False
    if not (first.is_plain or is_clock) or first.raw not in range(1, 13):
        return first
    if isinstance(left.value, tuple) or isinstance(ending, tuple):
        return first
    minute = left.value % 60 if is_clock else 0.0
    same = minutes_of_day(first.raw, minute, "p" if ending >= 720 else "a")
    value = same if same < (ending or DAY_MINUTES) else (same + 720.0) % DAY_MINUTES
    time = Quantity(left.start, left.end, QuantityKind.TIME, value)
    return replace(first, quantity=time, states_half=True)


def _with_month(first: FoundQuantity, second: FoundQuantity) -> FoundQuantity:
    """Return the first end of "29-31 March 2015" as a date; unchanged if it cannot be a date."""
    left, date = first.quantity, second.quantity.value
    if not isinstance(date, tuple) or date[2] is None or first.raw not in range(1, 32):
        return first
    begins = (*date[:2], int(first.raw))
    return replace(first, quantity=Quantity(left.start, left.end, QuantityKind.DATE, begins))


def _with_unit(first: FoundQuantity, second: FoundQuantity) -> FoundQuantity:
    """Return the first end of "10-12 km" or "$2-3 million" with the second's unit or magnitude.

    The first end is unchanged if it can have neither.
    """
    left, right = first.quantity, second.quantity
    may_share_magnitude = second.magnitude > 1.0 and first.raw < second.raw
    shares_unit = right.unit is not None and left.unit in (None, right.unit)
    if not (first.is_plain or first.is_money_first) or not (shares_unit or may_share_magnitude):
        return first
    number = left.number
    if first.magnitude == 1.0 and first.raw < second.raw:
        number = first.raw * second.magnitude
    unit = UNITS.get(right.name or "") if right.unit and left.unit is None else None
    if unit is None:
        quantity = replace(left, value=number, number=number)
    else:
        quantity = measured(number, unit, start=left.start, end=left.end)
    return replace(first, quantity=quantity)


def _with_currency(first: FoundQuantity, second: FoundQuantity) -> FoundQuantity:
    """Return the second end of "$10-15" with the currency of the first.

    The second end is unchanged if it has a unit or is an ordinal, or if no currency stands before
    the first end.
    """
    left, right = first.quantity, second.quantity
    if not first.is_money_first or right.unit is not None or right.name is not None:
        return second
    return replace(second, quantity=replace(right, unit=left.unit, name=left.name))


def _whole(first: FoundQuantity, second: FoundQuantity, glue: str) -> FoundQuantity | None:
    """Make one amount of two parts, as in "4 h 23 min"; ``None`` if they do not belong together."""
    left, right = first.quantity, second.quantity
    names = (left.name or "").split(" ")
    unit = UNITS.get(names[-1])
    if unit is None or unit.base not in ("s", "m", "kg") or left.unit != unit.base:
        return None
    if isinstance(left.value, tuple) or isinstance(right.value, tuple):
        return None
    part, name = right.value, right.name
    if unit.name == "h" and second.is_plain and len(glue) == 1 and part in range(60):
        part, name = part * 60.0, "min"  # the 23 of "4 h 23" is minutes
    elif right.kind is not QuantityKind.NUMBER or right.unit != unit.base or part >= unit.factor:
        return None
    value, both = left.value + part, f"{left.name} {name}"
    number, kind = value / UNITS[names[0]].factor, QuantityKind.NUMBER
    whole = Quantity(left.start, right.end, kind, value, unit.base, number, both)
    return FoundQuantity(whole, raw=number)
