"""Types that the readers of numbers, times and dates return, and the pattern of a space."""

from dataclasses import dataclass

from groundwire.text.quantities.quantity import Quantity

#: Pattern of the space within a quantity such as "5 km": ordinary, no-break or narrow.
SPACE = "[ \u00a0\u2009\u202f]"


@dataclass(frozen=True, slots=True)
class FoundQuantity:
    """A quantity, with facts that decide how it is joined with the quantity beside it.

    Attributes:
        quantity: The quantity.
        raw: The number without its magnitude: 5.0 for "5 million"; the hour of a time such as
            "16:30". Readers of other quantities, such as dates and ordinals, leave 0.0.
        magnitude: Factor by which the reader multiplied ``raw``: 1e6 for "5 million". 1 for "five
            million", whose ``raw`` includes the magnitude.
        is_money_first: Whether a currency stands before the number: "$5".
        states_half: Whether the half of the day of a time is stated: "9 PM". ``None`` for other
            kinds.
        is_plain: Whether the number is written without currency, magnitude, unit and ending such as
            "th". A number in letters, such as "five million", may include a magnitude.
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
