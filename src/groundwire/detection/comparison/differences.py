"""Finds quantities and negations that a claim and its evidence state differently."""

import re

from groundwire.detection.comparison.aligned_span import Held, Lines
from groundwire.text.quantities import Match, Quantity, QuantityKind

#: Results of a comparison that mean that the evidence states a quantity of the claim.
STATED = frozenset({Match.EQUAL, Match.TIME_EQUAL, Match.DATE_EQUAL, Match.UNIT_MISSING})
_ROUGHLY = re.compile(
    r"(?:(?P<about>about|around|approximately|roughly|circa|some|ca?\.|~)"
    r"|(?P<over>over|more than|above|at least)"
    r"|(?P<under>nearly|almost|under|less than|just below|up to))\s*$",
    re.IGNORECASE,
)
_BEFORE_CHARS = 20
#: Kind of hedge → least and greatest difference of the evidence's exact number from the claim's
#: rounded number. The unit is the :func:`_last_place` of the rounded number: 1,000 for 21,000.
_BOUNDS = {"about": (-0.5, 0.5), "over": (0.0, 1.0), "under": (-1.0, 0.0)}


def differing_quantities(held: Held, *, of_claim: bool) -> tuple[Quantity, ...]:
    """Find quantities of the span, or with ``of_claim`` of the whole claim, that no line states.

    "About 21,000 km" is stated by a line with "21,196 km". A number that could only be computed
    from two numbers of the evidence counts as not stated.

    Returns:
        Quantities of the claim's text, in reading order.
    """
    index = held.index
    return tuple(
        quantity
        for quantity in held.claim.quantities
        if (of_claim or (quantity.start < held.end and quantity.end > held.start))
        and index.match(quantity) not in STATED
        and not is_rounded(held.claim.text, quantity, held.lines)
    )


def differs(held: Held) -> bool:
    """Return whether a quantity or a negation of the claim differs from the evidence.

    If the result is true, a span stays marked even if a model finds that the claim is supported.
    """
    quantities = differing_quantities(held, of_claim=True)
    return bool(quantities or held.is_negated_alone or held.negated_otherwise)


def is_year(quantity: Quantity, text: str) -> bool:
    """Return whether a number is written like a year from 1000 to 2199, or a decade ("1990s")."""
    written = text[quantity.start : quantity.end].rstrip("s")
    is_plain = (quantity.kind, quantity.unit, quantity.name) == (QuantityKind.NUMBER, None, None)
    return is_plain and len(written) == 4 and written.isdecimal() and 1000 <= quantity.number < 2200


def is_rounded(claim: str, stated: Quantity, lines: Lines) -> bool:
    """Return whether a claim marks a number as rounded, and a line has a number that fits.

    "About 21,000", "more than 21,000" and "nearly 22,000" fit 21,196. Units must be the same.
    """
    hedge = _ROUGHLY.search(claim[max(0, stated.start - _BEFORE_CHARS) : stated.start])
    step = _last_place(stated.number)
    if stated.kind is not QuantityKind.NUMBER or hedge is None or not step:
        return False
    low, high = (stated.number + bound * step for bound in _BOUNDS[hedge.lastgroup or ""])
    numbers = (q for line in lines for q in line.quantities if q.kind is QuantityKind.NUMBER)
    return any(
        low <= exact.number <= high and (exact.unit, exact.name) == (stated.unit, stated.name)
        for exact in numbers
    )


def _last_place(number: float) -> float:
    """Return the place value of a number's last digit that is not 0, such as 1,000 for 21,000.

    The result is 0 for 0, and for a number that is not whole.
    """
    if not number or number != int(number):
        return 0.0
    figures = f"{abs(int(number))}"
    return float(10 ** (len(figures) - len(figures.rstrip("0"))))
