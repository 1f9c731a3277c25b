"""True, false or unknown: the logic of rules whose signals may fail (Kleene's strong logic)."""

from collections.abc import Iterable
from enum import Enum


class Truth(Enum):
    """The truth of a statement, as far as it is known. Using it as a bool of Python is an error."""

    FALSE = "false"
    UNKNOWN = "unknown"
    TRUE = "true"

    def __bool__(self) -> bool:
        raise TypeError("A Truth may be unknown: compare it with Truth.TRUE or Truth.FALSE.")

    def __str__(self) -> str:
        return self.value

    @classmethod
    def of(cls, fact: bool) -> "Truth":
        """Return the truth of a value; ``None`` is unknown."""
        return cls.TRUE if fact else cls.FALSE


def negate(truth: Truth) -> Truth:
    """NOT: unknown stays unknown."""
    return {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE}.get(truth, truth)


def all_of(truths: Iterable[Truth]) -> Truth:
    """AND: one false is enough, whatever is unknown. It reads no further than it must."""
    result = Truth.TRUE
    for truth in truths:
        if truth is Truth.FALSE:
            return truth
        if truth is Truth.UNKNOWN:
            result = truth
    return result


def any_of(truths: Iterable[Truth]) -> Truth:
    """OR: one true is enough, whatever is unknown. It reads no further than it must."""
    return negate(all_of(negate(truth) for truth in truths))
