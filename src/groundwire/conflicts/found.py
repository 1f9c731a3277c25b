"""What a rule finds, before it is known how much to make of it."""

from typing import NamedTuple

from groundwire.conflicts.conflict import ConflictKind


class Found(NamedTuple):
    """Words of a claim, ``claim[start:end]``, and what is wrong with them."""

    start: int
    end: int
    kind: ConflictKind
