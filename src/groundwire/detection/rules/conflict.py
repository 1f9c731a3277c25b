"""What a rule finds in a claim: words that its evidence plainly speaks against, or for."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from groundwire.detection.values import Label


class ConflictKind(StrEnum):
    """What is plainly wrong with some words of a claim."""

    NUMBER = "number"  # the evidence has another number in its place
    UNIT = "unit"  # the same number, in another unit
    DATE = "date"  # another date, day, month or time
    NAME = "name"  # another name in its place
    ITEM = "item"  # one more in a list
    WORD = "word"  # another word between the same words
    NEGATION = "negation"  # a "not" on one side alone, or opposites
    QUANTIFIER = "quantifier"  # "all" of what the evidence says of some
    RANK = "rank"  # "the longest" of what is the second longest
    ROLES = "roles"  # who did it, and to whom
    ENTITY = "entity"  # what the evidence says of another
    FIELD = "field"  # a field or a cell that says otherwise
    REFERENCE = "reference"  # a web or mail address that stands nowhere
    DIRECTION = "direction"  # "rose" of what fell
    UNRELATED = "unrelated"  # no word in common with the evidence


@dataclass(frozen=True, slots=True)
class Conflict:
    """Words of a claim that a rule finds wrong.

    Attributes:
        start: First character, counted in Python characters of the claim, or of the answer where a
            detector says so.
        end: One past the last.
        kind: What is wrong.
        label: ``contradicted`` or ``unsupported``.
        probability: P(not supported) of such words, in (0, 1].
        floor: The model has to have at least this P(not supported) of them for the rule to count.
    """

    start: int
    end: int
    kind: ConflictKind
    label: Label
    probability: float
    floor: float = 0.0

    @property
    def stands_alone(self) -> bool:
        """Whether it counts whatever the model says."""
        return self.floor <= 0


class RuleFinding(NamedTuple):
    """Words of a claim, ``claim[start:end]``, and what is wrong with them.

    ``is_enough``: the model need not doubt them as well, though of this kind it mostly has to.
    """

    start: int
    end: int
    kind: ConflictKind
    is_enough: bool = False
