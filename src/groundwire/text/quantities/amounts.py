"""Reads amounts: a number with the magnitude and unit after it, such as "5 million km"."""

import re

from groundwire.text.quantities.quantity import Quantity, QuantityKind
from groundwire.text.quantities.reading import SPACE, FoundQuantity, QuantityReading
from groundwire.text.quantities.units import UNITS, Unit, measured, unit_at

#: Word or letters after a number → the factor that they mean.
MAGNITUDES = {
    "dozen": 12.0,
    "hundred": 1e2,
    **dict.fromkeys(("thousand", "k"), 1e3),
    **dict.fromkeys(("million", "mn", "mln", "m"), 1e6),
    **dict.fromkeys(("billion", "bn", "b"), 1e9),
    **dict.fromkeys(("trillion", "t"), 1e12),
}
_MAGNITUDE = re.compile(
    rf"(bn|mn|mln|[kKMB])(?!\w)"
    rf"|(?:{SPACE}|-)?((?ai:hundred|thousand|million|billion|trillion|dozen)|bn|mn|mln)(?!\w)"
)
_MONEY_MAGNITUDE = re.compile(rf"{SPACE}?(bn|mn|mln|[kKmMbBtT])(?!\w)")
_AGE = re.compile(r"[ -]olds?(?!\w)| of age(?!\w)")
_SCALE = re.compile(r"/5(?![\w./])|(?: stars?)? out of (?:5(?:\.0)?|five)(?![\w]|[.,][0-9])")


def read_amount(
    text: str,
    start: int,
    end: int,
    number: float,
    *,
    currency: str | None = None,
    is_spoken: bool = False,
) -> QuantityReading:
    """Read a ``number`` together with its magnitude and unit.

    ``start`` is the offset of the number, or of the ``currency`` before it; ``end`` is the offset
    after the number. A number in words (``is_spoken``) includes its magnitude.
    """
    is_money, magnitude, number_end = currency is not None, 1.0, end
    if not is_spoken:
        magnitude, number_end = _magnitude_at(text, end, is_money=is_money)
    is_large = magnitude >= 1e3 or (is_spoken and number >= 1e6)
    unit, amount_end = _unit_of(text, number_end, currency, is_large=is_large)
    # Rounding makes 8.3 million 8,300,000, and not 8,300,000.000000001.
    total = number if magnitude == 1 else float(f"{number * magnitude:.12g}")
    quantity = Quantity(start, amount_end, QuantityKind.NUMBER, total, None, total)
    if unit is not None:
        quantity = measured(total, unit, start=start, end=amount_end)
    is_plain = amount_end == end and not is_money
    found = FoundQuantity(quantity, number, magnitude, is_money_first=is_money, is_plain=is_plain)
    # Skip "out of 5" after "4.5": evidence seldom states the scale, so the 5 is not checked.
    scale = _SCALE.match(text, amount_end)
    return QuantityReading(scale.end() if scale else amount_end, (found,))


def _magnitude_at(text: str, position: int, *, is_money: bool) -> tuple[float, int]:
    """Read up to two magnitudes ("5 hundred million"); return their product and where they end."""
    magnitude = 1.0
    for _ in range(2):
        found = _MAGNITUDE.match(text, position)
        if found is None and is_money:
            found = _MONEY_MAGNITUDE.match(text, position)
        if found is None:
            break
        magnitude *= MAGNITUDES[(found[1] or found[2]).lower()]
        position = found.end()
    return magnitude, position


def _unit_of(
    text: str, position: int, currency: str | None, *, is_large: bool
) -> tuple[Unit | None, int]:
    """Return the unit of a number that ends at ``position``, and where the amount ends.

    A currency before the number counts, unless a unit with the same base unit follows.
    """
    unit, end = unit_at(text, position)
    if unit is not None and unit.name == "year" and (age := _AGE.match(text, end)):
        unit, end = None, age.end()  # "15 years old" equals "aged 15", which has no unit
    if unit is not None and unit.name == "lb" and is_large:
        unit = UNITS["gbp"]  # "5 million pounds" is money, not a weight
    if currency is None:
        return unit, end
    stated = UNITS[currency.rstrip(".")]
    return (unit, end) if unit is not None and unit.base == stated.base else (stated, position)
