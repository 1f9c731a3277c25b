"""Findings of rules: words of a claim that plainly disagree with its evidence."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from groundwire.detection.values import Label


class ConflictKind(StrEnum):
    """The kind of mistake that a rule finds."""

    NUMBER = "number"  # the evidence has another number in the same place
    UNIT = "unit"  # the evidence has the same number with another unit
    DATE = "date"  # the evidence has another date, day or month, or lacks the time of day
    NEGATION = "negation"  # a "not" in only one of claim and evidence, or opposite words
    RANK = "rank"  # "the longest", where the evidence says "the second longest"
    ROLES = "roles"  # "Ann sued Bob", where the evidence says "Bob sued Ann"
    FIELD = "field"  # a field or a cell with another value
    REFERENCE = "reference"  # a web or mail address that the evidence does not have
    UNRELATED = "unrelated"  # no content word in common with the evidence


@dataclass(frozen=True, slots=True)
class Conflict:
    """Words of a claim that a rule finds wrong, with label and probability.

    Attributes:
        start: Offset of the first character in the claim; after
            :meth:`.find.RuleFindings.moved`, in the answer.
        end: Offset after the last character.
        kind: The kind of mistake.
        label: ``contradicted`` or ``unsupported``.
        probability: Lowest P(not supported) that the words get if the finding counts, in (0, 1]. A
            higher probability from the model stays.
        floor: Lowest P(not supported) from the model at which the finding counts; 0 if the finding
            always counts.
    """

    start: int
    end: int
    kind: ConflictKind
    label: Label
    probability: float
    floor: float = 0.0

    @property
    def stands_alone(self) -> bool:
        """Whether the finding holds whatever the model says about the words."""
        return self.floor <= 0


class RuleFinding(NamedTuple):
    """The finding of a rule, without label and probability; ``claim[start:end]`` is wrong.

    ``is_enough`` says whether the finding holds even if the model does not doubt the words. This
    matters only for a number, a date or an address: findings of other kinds always hold.
    """

    start: int
    end: int
    kind: ConflictKind
    is_enough: bool = False
