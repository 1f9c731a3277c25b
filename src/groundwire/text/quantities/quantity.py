"""The quantity: a number, time of day or date that was read from a text, with its offsets."""

from dataclasses import dataclass
from enum import StrEnum


class QuantityKind(StrEnum):
    """The kind of a quantity: a number with or without a unit, a time of day, or a date."""

    NUMBER = "number"
    TIME = "time"
    DATE = "date"


#: Year, month and day of a date; ``None`` for each part that is not stated.
Date = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, time of day or date, and where it stands in the text.

    Attributes:
        start: Offset of the first character in the text, in Python characters.
        end: Offset after the last character. The sign, currency and unit lie within the range.
        kind: Kind of the quantity.
        value: Value of the quantity: a number in base units, a time in minutes since midnight, in
            [0, 1440), or a date.
        unit: The base unit of a number ("m", "kg", "s", "usd", "%"); ``None`` if it has none.
        number: The number before conversion: 5.0 for "5 km". 0.0 for times and dates.
        name: The unit before conversion: "km", or "h min" for "4 h 23 min"; "th" for an ordinal in
            digits ("4th"); otherwise ``None``.
    """

    start: int
    end: int
    kind: QuantityKind
    value: float | Date
    unit: str | None = None
    number: float = 0.0
    name: str | None = None
