"""Explanations of marked spans, as frozen values."""

from dataclasses import dataclass
from enum import StrEnum

from groundwire.detection.values import Entailment, EvidenceRef, JsonRecord, Label


class Category(StrEnum):
    """The kind of fault of a marked span."""

    CONTRADICTION = "contradiction"  # the evidence says otherwise
    UNSUPPORTED_ADDITION = "unsupported_addition"  # the evidence does not say so
    FABRICATED_REFERENCE = "fabricated_reference"  # the claim refers to something no source has


class Subtype(StrEnum):
    """The kind of difference between a span and the evidence."""

    ENTITY = "entity"  # a name
    NUMBER = "number"  # a number without a unit
    DATE_TIME = "date_time"  # a date, year, time of day, day of the week or month
    QUANTITY_UNIT = "quantity_unit"  # a number with a unit, or its unit
    RELATION = "relation"  # who does what to whom, more or less, before or after
    NEGATION = "negation"
    CERTAINTY = "certainty"  # a possibility is stated as a fact, or the other way round
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(JsonRecord):
    """The explanation of a marked span: why it was marked, and how severe the fault is.

    Attributes:
        start: Offset of the span in the answer.
        end: Offset after the span in the answer.
        label: The label that the explainer gives the span, which may differ from the detector's;
            ``supported`` for a false positive.
        category: The kind of fault.
        subtype: The kind of difference between the span and the evidence.
        severity: Severity of the fault, from 0 (none) to 4 (contradicted).
        entailment: The verdict on the claim of the span, from the explainer or the detector;
            ``None`` if there is no verdict.
        text: Up to three sentences for people, with quotes and their places.
        evidence: The line that the span was compared with; ``None`` if there is no line.
        counterpart: The words of the evidence that could correct the span; ``None`` if there are
            none.
        is_false_positive: Whether the span should not be marked: ``entailment`` says that its claim
            is supported, and no difference in a quantity or a negation is found.
        reason: The class name of the exception with which the explainer failed; ``None`` if it did
            not fail.
    """

    start: int
    end: int
    label: Label
    category: Category
    subtype: Subtype
    severity: int
    entailment: Entailment | None
    text: str
    evidence: EvidenceRef | None
    counterpart: EvidenceRef | None
    is_false_positive: bool = False
    reason: str | None = None
