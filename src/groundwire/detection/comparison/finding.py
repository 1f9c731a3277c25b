"""Explanations of marked spans, as frozen values."""

from dataclasses import dataclass
from enum import StrEnum

from groundwire.detection.values import Entailment, EvidenceRef, JsonRecord, Label


class Category(StrEnum):
    """The kind of fault of a span."""

    CONTRADICTION = "contradiction"  # the evidence says otherwise
    UNSUPPORTED_ADDITION = "unsupported_addition"  # the evidence does not say so
    FABRICATED_REFERENCE = "fabricated_reference"  # it names a source that does not exist


class Subtype(StrEnum):
    """The kind of difference between a span and the evidence."""

    ENTITY = "entity"  # a name
    NUMBER = "number"  # without a unit
    DATE_TIME = "date_time"  # a date, year, time of day, day of the week or month
    QUANTITY_UNIT = "quantity_unit"  # a number with a unit, or the unit
    RELATION = "relation"  # who does what to whom, more or less, before or after
    NEGATION = "negation"
    CERTAINTY = "certainty"  # a possibility is stated as a fact, or the other way round
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(JsonRecord):
    """The explanation of a marked span: why it was marked, and how bad it is.

    Attributes:
        start: First character of the span in the answer.
        end: One past the last.
        label: The explainer's label; the detector's where the explainer gave none.
        category: The kind of fault.
        subtype: The kind of difference.
        severity: 0 to 4.
        entailment: The explainer's verdict on the claim of the span; ``None`` if the explainer was
            not run or failed.
        text: One or two sentences for people; quotes have their places.
        evidence: The line it was compared with, or ``None`` if there was none.
        counterpart: The words there that correct the span, or ``None`` if none clearly do.
        is_false_positive: Whether the span should not be marked, since the evidence says the same.
        reason: Why there is no entailment: the class name of an exception, or ``None``.
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
