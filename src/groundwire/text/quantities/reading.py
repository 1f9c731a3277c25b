"""Types that the readers of numbers, times and dates return, and the pattern of a space."""

from dataclasses import dataclass

from groundwire.text.quantities.quantity import Quantity

#: Pattern of the space within a quantity such as "5 km": ordinary, no-break or narrow.
SPACE = "[ \u00a0\u2009\u202f]"


@dataclass(frozen=True, slots=True)
class FoundQuantity:
    """A quantity, with facts that decide how it is joined with its neighbour in a range.

    Attributes:
        quantity: The quantity.
        raw: The number without its magnitude: 5.0 for "5 million"; the hour of a time such as
            "16:30". 0.0 for dates, ordinals, decades, heights and "noon".
        magnitude: Factor by which ``raw`` was multiplied: 1e6 for "5 million". 1 for a number in
            letters, whose ``raw`` includes its magnitude.
        is_money_first: Whether a currency stands before the number: "$5".
        states_half: Whether a time states its half of the day: "9 PM". ``None`` for other kinds.
        is_plain: Whether the number stands alone: no currency, magnitude, unit or ordinal.
    """

    quantity: Quantity
    raw: float = 0.0
    magnitude: float = 1.0
    is_money_first: bool = False
    states_half: bool | None = None
    is_plain: bool = False


@dataclass(frozen=True, slots=True)
class QuantityReading:
    """The quantities ``found`` at an offset, often none; reading goes on at the offset ``end``."""

    end: int
    found: tuple[FoundQuantity, ...] = ()
