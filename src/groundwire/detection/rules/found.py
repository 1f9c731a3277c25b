"""What a rule finds, before it is known how much to make of it."""

from typing import NamedTuple

from groundwire.detection.rules.conflict import ConflictKind


class RuleFinding(NamedTuple):
    """Words of a claim, ``claim[start:end]``, and what is wrong with them.

    ``is_enough``: the model need not doubt them as well, though of this kind it mostly has to.
    """

    start: int
    end: int
    kind: ConflictKind
    is_enough: bool = False
