"""What a claim and its evidence state differently: quantities, and what is negated."""

import re

from groundwire.explain.held import Held, Text
from groundwire.explain.words import content_of, has_negation, scope
from groundwire.quantities import Kind, Match, Quantity, QuantityIndex
from groundwire.vocabulary import NEGATIONS

_EQUAL = frozenset({Match.EQUAL, Match.TIME_EQUAL, Match.DATE_EQUAL, Match.UNIT_MISSING})
_ROUGHLY = re.compile(
    r"(?:(?P<about>about|around|approximately|roughly|circa|some|ca?\.|~)"
    r"|(?P<over>over|more than|above|at least)"
    r"|(?P<under>nearly|almost|under|less than|just below|up to))\s*$",
    re.IGNORECASE,
)
_BEFORE_CHARS = 20


def differing_quantities(held: Held, *, of_claim: bool) -> tuple[Quantity, ...]:
    """What the span, or all of the claim, states and the evidence does not.

    "About 21,000 km" is what a line with "21,196 km" says. What could be computed from two numbers
    of the evidence is not what it says.

    Returns:
        Quantities of the claim's text, in reading order.
    """
    stated = [quantity for line in held.lines for quantity in line.quantities]
    index = QuantityIndex.of(stated)
    return tuple(
        quantity
        for quantity in held.claim.quantities
        if (of_claim or (quantity.start < held.end and quantity.end > held.start))
        and index.match(quantity) not in _EQUAL
        and not any(_is_rounded(held.claim.text, quantity, exact) for exact in stated)
    )


def differs(held: Held) -> bool:
    """Whether numbers, dates, units or negations of the claim differ from the evidence.

    In doubt they do: this keeps a span that a model would acquit.
    """
    return bool(differing_quantities(held, of_claim=True)) or _negations_differ(held)


def is_year(quantity: Quantity, text: str) -> bool:
    """Whether a bare number is written like a year: four digits, from 1000 to 2199; "1990s"."""
    written = text[quantity.start : quantity.end].rstrip("s")
    return (
        quantity.kind is Kind.NUMBER
        and quantity.unit is None
        and quantity.name is None
        and len(written) == 4
        and written.isdecimal()
        and 1000 <= quantity.number < 2200
    )


def negated_otherwise(held: Held) -> frozenset[str]:
    """Stems that are negated on one side, and stand plain on the other."""
    negated, plain = negated_and_plain(held.claim)
    lines = [negated_and_plain(line) for line in held.relevant]
    line_negated = frozenset().union(*(pair[0] for pair in lines))
    line_plain = frozenset().union(*(pair[1] for pair in lines))
    return ((negated & line_plain) - line_negated) | ((line_negated & plain) - line_plain)


def negated_and_plain(text: Text) -> tuple[frozenset[str], frozenset[str]]:
    """The stems that a text negates, and its others."""
    negated = scope(text.text, text.words, NEGATIONS)
    return negated, content_of(text.words) - negated


def is_negated_alone(held: Held) -> bool:
    """Whether the claim has a "not", and no line about it has one."""
    return has_negation(held.claim.words) and not any(
        has_negation(line.words) for line in held.relevant
    )


def _negations_differ(held: Held) -> bool:
    return is_negated_alone(held) or bool(negated_otherwise(held))


def _is_rounded(text: str, stated: Quantity, exact: Quantity) -> bool:
    """Whether one is the other, rounded, and says so: "about 21,000 km" for "21,196 km"."""
    if stated.kind is not Kind.NUMBER or exact.kind is not Kind.NUMBER:
        return False
    if (stated.unit, stated.name) != (exact.unit, exact.name):
        return False
    hedge = _ROUGHLY.search(text[max(0, stated.start - _BEFORE_CHARS) : stated.start])
    step = _last_place(stated.number)
    if hedge is None or not step:
        return False
    more = exact.number - stated.number
    if hedge["about"]:
        return abs(more) <= step / 2
    return 0 <= more < step if hedge["over"] else -step < more <= 0


def _last_place(number: float) -> float:
    """The unit of the last figure that is not 0: 1,000 of 21,000; 0 of what is no whole number."""
    if not number or number != int(number):
        return 0.0
    figures = f"{abs(int(number))}"
    return float(10 ** (len(figures) - len(figures.rstrip("0"))))
