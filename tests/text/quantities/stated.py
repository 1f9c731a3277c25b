"""What is found in a text, in the forms that tests compare."""

from groundwire.text.quantities import Match, QuantityIndex, quantities


def found(text: str) -> list[tuple[str, object, str | None]]:
    """What stands there, its value and its unit."""
    return [(text[q.start : q.end], q.value, q.unit) for q in quantities(text)]


def values(text: str) -> list[object]:
    """The values alone."""
    return [q.value for q in quantities(text)]


def matches(evidence: str, answer: str) -> list[Match]:
    """How the evidence agrees with each quantity of the answer."""
    index = QuantityIndex.of(quantities(evidence))
    return [index.match(quantity) for quantity in quantities(answer)]
