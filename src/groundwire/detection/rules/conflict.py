"""Findings of rules: words of a claim that its evidence plainly speaks against."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from groundwire.detection.values import Label


class ConflictKind(StrEnum):
    """The kind of mistake that a rule finds."""

    NUMBER = "number"  # the evidence has another number in its place
    UNIT = "unit"  # the same number, in another unit
    DATE = "date"  # another date, day, month or time
    NAME = "name"  # another name in its place
    ITEM = "item"  # one more in a list
    WORD = "word"  # another word between the same words
    NEGATION = "negation"  # a "not" on one side alone, or opposites
    QUANTIFIER = "quantifier"  # "all", where the evidence says "some"
    RANK = "rank"  # "the longest", where the evidence says "the second longest"
    ROLES = "roles"  # who did it, and to whom
    ENTITY = "entity"  # a statement that the evidence makes about another entity
    FIELD = "field"  # a field or a cell that says otherwise
    REFERENCE = "reference"  # a web or mail address that the evidence does not have
    DIRECTION = "direction"  # "rose", where the evidence says "fell"
    UNRELATED = "unrelated"  # no word in common with the evidence


@dataclass(frozen=True, slots=True)
class Conflict:
    """Words of a claim that a rule finds wrong, with label and probability.

    Attributes:
        start: First character, counted in Python characters of the claim, or of the answer where a
            detector says so.
        end: One past the last.
        kind: The kind of mistake.
        label: ``contradicted`` or ``unsupported``.
        probability: P(not supported) of such words, in (0, 1].
        floor: The finding counts only if the model's P(not supported) of the words reaches it.
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
    """The finding of a rule before it is weighed: words ``claim[start:end]``, and the mistake.

    ``is_enough`` says that the finding counts even if the model does not doubt the words.
    """

    start: int
    end: int
    kind: ConflictKind
    is_enough: bool = False
