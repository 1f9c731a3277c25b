"""Three-valued logic (Kleene's strong logic), for rules whose signals may be unknown."""

from collections.abc import Iterable
from enum import Enum


class Truth(Enum):
    """The truth of a statement: true, false or unknown. Using it as a ``bool`` is an error."""

    FALSE = "false"
    UNKNOWN = "unknown"
    TRUE = "true"

    def __bool__(self) -> bool:
        raise TypeError("A Truth may be unknown: compare it with Truth.TRUE or Truth.FALSE.")

    @classmethod
    def of(cls, fact: bool) -> "Truth":
        """Return ``TRUE`` or ``FALSE`` for a bool."""
        return cls.TRUE if fact else cls.FALSE


def negate(truth: Truth) -> Truth:
    """Return the negation of a truth; unknown stays unknown."""
    return {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE}.get(truth, truth)


def all_of(truths: Iterable[Truth]) -> Truth:
    """Return the AND of truths: false if any is false, else unknown if any is unknown, else true.

    The truths after the first false one are not read.
    """
    result = Truth.TRUE
    for truth in truths:
        if truth is Truth.FALSE:
            return truth
        if truth is Truth.UNKNOWN:
            result = truth
    return result


def any_of(truths: Iterable[Truth]) -> Truth:
    """Return the OR of truths: true if any is true, else unknown if any is unknown, else false.

    The truths after the first true one are not read.
    """
    return negate(all_of(negate(truth) for truth in truths))
