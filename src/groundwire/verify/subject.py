"""The subject of a verification: an answer or a trace, read as claims."""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from groundwire.config.tree import Verify
from groundwire.detection.example import require_text
from groundwire.errors import InvalidTextError
from groundwire.verify.claims import VerifiableClaim, read_claims
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.steps import read_steps


@dataclass(frozen=True, slots=True)
class AnswerSubject:
    """An answer.

    Attributes:
        call: Name of the function, and of the call of a service, that verifies it.
        noun: Name of its parts in a report.
        is_limited: Whether ``max_claims`` limits it.
    """

    answer: object
    call: ClassVar[str] = "detect_hallucination"
    noun: ClassVar[str] = "claims"
    is_limited: ClassVar[bool] = True

    def claims(self, span_ids: tuple[str, ...], settings: Verify) -> tuple[VerifiableClaim, ...]:
        """Read its sentences or lines.

        Raises:
            NotVerifiedError: If it is not a text, or claims nothing.
        """
        try:
            require_text(self.answer, "answer")
        except InvalidTextError as error:
            raise NotVerifiedError("malformed_answer", str(error)) from error
        found = read_claims(
            str(self.answer),
            span_ids=span_ids,
            claim_split=settings.claim_split,
            citation_regex=settings.citation_regex,
        )
        if not found:
            message = "The answer claims nothing, so nothing was verified. Pass a text with claims."
            raise NotVerifiedError("no_claims", message)
        return found

    def payload(self, claims: tuple[VerifiableClaim, ...], target: float) -> dict[str, Any]:
        """The answer as a service is sent it."""
        return {"answer": str(self.answer)}


@dataclass(frozen=True, slots=True)
class TraceSubject:
    """A plan or a reasoning trace. One without steps claims nothing, and passes.

    Attributes are those of :class:`AnswerSubject`.
    """

    steps: object
    call: ClassVar[str] = "audit_trace_budget"
    noun: ClassVar[str] = "steps"
    is_limited: ClassVar[bool] = False

    def claims(self, span_ids: tuple[str, ...], settings: Verify) -> tuple[VerifiableClaim, ...]:
        """Read its steps.

        Raises:
            NotVerifiedError: If they cannot be read.
        """
        return read_steps(self.steps, span_ids=span_ids, citation_regex=settings.citation_regex)

    def payload(self, claims: tuple[VerifiableClaim, ...], target: float) -> dict[str, Any]:
        """The steps as a service is sent them, each with its target."""
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


Subject: TypeAlias = AnswerSubject | TraceSubject
