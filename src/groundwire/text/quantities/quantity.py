"""The value that is read from a text: a number, a time of day or a date, with its place."""

from dataclasses import dataclass
from enum import StrEnum


class QuantityKind(StrEnum):
    """The kind of a quantity."""

    NUMBER = "number"
    TIME = "time"
    DATE = "date"


#: Year, month and day; ``None`` for what is not stated.
Date = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, time of day or date, and where it stands.

    Attributes:
        start: First character, counted in Python characters of the text.
        end: One past the last; the sign, the currency sign and the unit are inside.
        kind: Its kind.
        value: A number in base units; a time in minutes of the day, in [0, 1440); a date as
            year, month, day, with ``None`` for what is not stated.
        unit: The base unit of a number ("m", "kg", "s", "usd", "%"), or ``None``.
        number: The number before conversion: 5.0 for "5 km". 0.0 for a date.
        name: The unit before conversion ("km"), or "th" for an ordinal in digits ("4th").
    """

    start: int
    end: int
    kind: QuantityKind
    value: float | Date
    unit: str | None = None
    number: float = 0.0
    name: str | None = None
