"""What was found in the answers of a response, as headers and audit events tell it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from groundwire.detection.values import Label
from groundwire.pipeline import Checked


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFindings:
    """The findings of some answers, in their order.

    Attributes:
        spans: The words without support.
        n_contradictions: How many of them contradict the evidence, as the explainer says; ``None``
            if it judged none.
        max_severity: Of the gravest, 0 to 4; ``None`` if none is explained.
    """

    spans: tuple[str, ...]
    n_contradictions: int | None
    max_severity: int | None

    @classmethod
    def of(cls, answers: Sequence[Checked]) -> Self:
        """Read answers, of any number of choices."""
        found = [answer.detection for answer in answers if answer.detection is not None]
        explained = [each for answer in answers for each in answer.explanations]
        # An explainer that failed did not find zero contradictions.
        judged = [each for each in explained if each.entailment is not None]
        return cls(
            spans=tuple(span.text for detection in found for span in detection.spans),
            n_contradictions=sum(each.label is Label.CONTRADICTED for each in judged)
            if judged
            else None,
            max_severity=max((each.severity for each in explained), default=None),
        )
