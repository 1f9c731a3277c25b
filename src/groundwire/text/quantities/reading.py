"""What the readers of numbers, times and dates hand to the scan, and the space they all know."""

from dataclasses import dataclass

from groundwire.text.quantities.quantity import Quantity

#: A blank within a quantity: "5 km", also with the narrow spaces of print.
SPACE = "[ \u00a0\u2009\u202f]"


@dataclass(frozen=True, slots=True)
class FoundQuantity:
    """A quantity, and what its neighbour in a range may need to know of it.

    Attributes:
        quantity: The quantity.
        raw: The number before its magnitude; the hour of a time.
        magnitude: What the number was multiplied with: 1e6 for "5 million".
        is_money_first: Whether a currency stands before it: "$5".
        states_half: Of a time, whether it says which half of the day; ``None`` for other kinds.
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
    """What was read at a place, and ``end``, where to go on; ``found`` is often empty."""

    end: int
    found: tuple[FoundQuantity, ...] = ()
