"""Values that the readers of numbers, times and dates return, and their pattern of a blank."""

from dataclasses import dataclass

from groundwire.text.quantities.quantity import Quantity

#: A blank within a quantity: "5 km", also with the narrow spaces of print.
SPACE = "[ \u00a0\u2009\u202f]"


@dataclass(frozen=True, slots=True)
class FoundQuantity:
    """A quantity, with facts that its neighbour in a range may need.

    Attributes:
        quantity: The quantity.
        raw: The number before its magnitude; the hour of a time.
        magnitude: Factor that the number was multiplied with: 1e6 for "5 million".
        is_money_first: Whether a currency stands before it: "$5".
        states_half: Whether a time says which half of the day it is in; ``None`` for other kinds.
        is_plain: Whether it is a number alone: no currency, magnitude, unit or ordinal.
    """

    quantity: Quantity
    raw: float = 0.0
    magnitude: float = 1.0
    is_money_first: bool = False
    states_half: bool | None = None
    is_plain: bool = False


@dataclass(frozen=True, slots=True)
class QuantityReading:
    """The quantities ``found`` at a place, often none, and ``end``, where reading goes on."""

    end: int
    found: tuple[FoundQuantity, ...] = ()
