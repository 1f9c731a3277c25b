"""Collects the findings in the answers of a response, for headers and audit events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from groundwire.detection.values import Label
from groundwire.pipeline import Checked


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFindings:
    """The findings in some answers together.

    Attributes:
        spans: The texts of the unsupported spans, in the order of the answers.
        n_contradictions: The number of contradicted spans among those whose explanation has an
            ``entailment``; ``None`` if no explanation has one.
        max_severity: The highest severity, 0 to 4; ``None`` if no span is explained.
    """

    spans: tuple[str, ...]
    n_contradictions: int | None
    max_severity: int | None

    @classmethod
    def of(cls, answers: Sequence[Checked]) -> Self:
        """Collect the findings of answers."""
        found = [answer.detection for answer in answers if answer.detection is not None]
        explained = [each for answer in answers for each in answer.explanations]
        # If the explainer failed, the number of contradictions is unknown, not 0.
        judged = [each for each in explained if each.entailment is not None]
        return cls(
            spans=tuple(span.text for detection in found for span in detection.spans),
            n_contradictions=sum(each.label is Label.CONTRADICTED for each in judged)
            if judged
            else None,
            max_severity=max((each.severity for each in explained), default=None),
        )
