"""What is verified: an answer or a trace, as claims, and as a service is told of it."""

from dataclasses import dataclass
from typing import Any, Protocol

from groundwire.config.tree import Verify
from groundwire.detection.example import require_text
from groundwire.errors import InvalidTextError
from groundwire.verify.claims import VerifiableClaim, read_claims
from groundwire.verify.report import CLAIMS, STEPS, ReportWords
from groundwire.verify.steps import StepError, read_steps


class SubjectError(ValueError):
    """There is nothing that could be verified; ``error_type`` says why."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(error_type, message)
        self.error_type, self.message = error_type, message

    def __str__(self) -> str:
        return self.message


class Subject(Protocol):
    """An answer or a trace."""

    @property
    def call(self) -> str:
        """The call that it is the subject of, by its name at a service."""
        ...

    @property
    def words(self) -> ReportWords:
        """What a report calls its parts."""
        ...

    @property
    def is_limited(self) -> bool:
        """Whether ``max_claims`` is about it."""
        ...

    def claims(self, span_ids: tuple[str, ...], settings: Verify) -> tuple[VerifiableClaim, ...]:
        """Its claims.

        Raises:
            SubjectError: If it cannot be read, or claims nothing.
            CitationPatternError: If the pattern of citations cannot be used.
        """
        ...

    def payload(self, claims: tuple[VerifiableClaim, ...], target: float) -> dict[str, Any]:
        """What a service is sent of it."""
        ...


@dataclass(frozen=True, slots=True)
class AnswerSubject:
    """An answer."""

    answer: object
    call: str = "detect_hallucination"
    words: ReportWords = CLAIMS
    is_limited: bool = True

    def claims(self, span_ids: tuple[str, ...], settings: Verify) -> tuple[VerifiableClaim, ...]:
        """Its sentences or lines."""
        try:
            require_text(self.answer, "answer")
        except InvalidTextError as error:
            raise SubjectError("malformed_answer", str(error)) from error
        found = read_claims(
            str(self.answer),
            span_ids=span_ids,
            claim_split=settings.claim_split,
            citation_regex=settings.citation_regex,
        )
        if not found:
            message = "The answer claims nothing, so nothing was verified. Pass a text with claims."
            raise SubjectError("no_claims", message)
        return found

    def payload(self, claims: tuple[VerifiableClaim, ...], target: float) -> dict[str, Any]:
        """The answer as it is."""
        return {"answer": str(self.answer)}


@dataclass(frozen=True, slots=True)
class TraceSubject:
    """A plan or a reasoning trace; one without steps claims nothing, and nothing is wrong."""

    steps: object
    call: str = "audit_trace_budget"
    words: ReportWords = STEPS
    is_limited: bool = False

    def claims(self, span_ids: tuple[str, ...], settings: Verify) -> tuple[VerifiableClaim, ...]:
        """Its steps."""
        try:
            return read_steps(self.steps, span_ids=span_ids, citation_regex=settings.citation_regex)
        except StepError as error:
            raise SubjectError("malformed_steps", str(error)) from error

    def payload(self, claims: tuple[VerifiableClaim, ...], target: float) -> dict[str, Any]:
        """The steps, each with its target."""
        return {
            "steps": [
                {
                    "idx": each.idx,
                    "claim": each.raw_text,
                    "cites": list(each.raw_cites),
                    "confidence": target if each.target is None else each.target,
                }
                for each in claims
            ]
        }
