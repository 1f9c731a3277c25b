"""Reads the subject of a verification, an answer or a trace, as claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from groundwire.config.tree import Verify
from groundwire.detection.example import Source, require_text
from groundwire.errors import InvalidTextError
from groundwire.verify.brackets import masked
from groundwire.verify.citing import IdMap
from groundwire.verify.claims import (
    ReadAnswer,
    VerifiableClaim,
    find_citations,
    read_answer,
    tidied,
)
from groundwire.verify.errors import NotVerifiedError

NO_CLAIMS = "The answer claims nothing, so nothing was verified. Pass a text with claims."


@dataclass(frozen=True, slots=True)
class AnswerSubject:
    """An answer to verify.

    Attributes:
        answer: The answer as the caller passes it.
        call: Name of the function that verifies an answer, and of a service's endpoint for answers.
        noun: Name of the parts of an answer in a report.
        is_limited: Whether ``max_claims`` limits the claims that are verified.
    """

    answer: object
    call: ClassVar[str] = "detect_hallucination"
    noun: ClassVar[str] = "claims"
    is_limited: ClassVar[bool] = True

    def read(self, spans: Sequence[Source], settings: Verify) -> ReadAnswer:
        """Divide the answer into claims and asides, which are parts that claim nothing.

        Raises:
            NotVerifiedError: If the answer is not valid text or claims nothing, or if
                ``citation_regex`` cannot be used.
        """
        try:
            require_text(self.answer, "answer")
        except InvalidTextError as error:
            raise NotVerifiedError("malformed_answer", str(error)) from error
        found = read_answer(str(self.answer), spans, settings)
        if not found.claims:
            raise NotVerifiedError("no_claims", NO_CLAIMS)
        return found

    def payload(self, claims: Sequence[VerifiableClaim], target: float) -> dict[str, Any]:
        """Return the answer as a field of the request to a service, in JSON."""
        return {"answer": str(self.answer)}


@dataclass(frozen=True, slots=True)
class TraceSubject:
    """A plan or a reasoning trace to verify.

    Attributes:
        steps: The steps as the caller passes them: a list of mappings with the fields of
            :class:`TraceStep`, or a mapping that has such a list as ``steps``. ``confidence`` is
            the probability that the step has to reach, above 0 and below 1.
        call, noun, is_limited: The attributes of :class:`AnswerSubject`, with values for a trace.
    """

    steps: object
    call: ClassVar[str] = "audit_trace_budget"
    noun: ClassVar[str] = "steps"
    is_limited: ClassVar[bool] = False

    def read(self, spans: Sequence[Source], settings: Verify) -> ReadAnswer:
        """Read the steps of the trace as claims, sorted by ``idx``.

        A step without ``idx`` is numbered by its position, from 0. A step cites the spans (passages
        of evidence) in its ``cites``, and those in citations in its text.

        Raises:
            NotVerifiedError: If the steps are not a list, one cannot be read, two have the same
                ``idx``, or ``citation_regex`` cannot be used.
        """
        steps = self.steps.get("steps") if isinstance(self.steps, Mapping) else self.steps
        if isinstance(steps, str | bytes) or not isinstance(steps, Sequence):
            raise _malformed(f"steps is a {type(steps).__name__}, not a list. {_NEXT}")
        known = frozenset(span.id for span in spans)
        read = [_read(step, at, known, settings.citation_regex) for at, step in enumerate(steps)]
        ids = IdMap.of(known, (id_ for claim in read for id_ in claim.raw_cites))
        if len({claim.idx for claim in read}) < len(read):
            raise _malformed("Two steps have the same idx. Number each step once.")
        claims = sorted((claim.resolved(ids) for claim in read), key=lambda claim: claim.idx)
        return ReadAnswer(claims=tuple(claims))

    def payload(self, claims: Sequence[VerifiableClaim], target: float) -> dict[str, Any]:
        """Return the steps and their targets as a field of the request to a service, in JSON."""
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


_NEXT = 'A step is such as {"idx": 0, "claim": "...", "cites": ["S0"], "confidence": 0.95}.'


def _listed(value: Any) -> Any:  # noqa: ANN401 - any value of a caller
    """Return a single id, a tuple of ids or ``None`` as a list; leave other values as they are."""
    if isinstance(value, str | int):
        return [value]
    return list(value or ()) if value is None or isinstance(value, tuple) else value


def _as_id(value: Any) -> Any:  # noqa: ANN401
    """Return an id as a text without brackets; leave a value that is not an id as it is."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        return text
    return text.strip().removeprefix("[").removesuffix("]").strip()


class TraceStep(BaseModel):
    """One step of a trace, as callers pass it."""

    model_config = ConfigDict(strict=True)

    claim: str = Field(pattern=r"\w")
    idx: int | None = None
    cites: Annotated[list[Annotated[str, BeforeValidator(_as_id)]], BeforeValidator(_listed)] = []
    confidence: float | None = Field(None, gt=0, lt=1)


def _read(
    raw: object, at: int, known: frozenset[str], citation_regex: str | None
) -> VerifiableClaim:
    try:
        step = TraceStep.model_validate(dict(raw) if isinstance(raw, Mapping) else raw)
    except ValidationError as error:
        (first, *_) = error.errors()
        name = first["loc"][0] if first["loc"] else "it"
        raise _malformed(f"step {at} cannot be read: {name} is missing or wrong. {_NEXT}") from None
    marks = find_citations(step.claim, known, citation_regex)
    raw_cites = [*filter(None, step.cites), *(id_ for mark in marks for id_ in mark.ids)]
    return VerifiableClaim(
        idx=at if step.idx is None else step.idx,
        text=tidied(masked(step.claim, marks, " ")) or step.claim,
        raw_text=step.claim,
        raw_cites=tuple(dict.fromkeys(raw_cites)),
        target=step.confidence,
    )


def _malformed(message: str) -> NotVerifiedError:
    return NotVerifiedError("malformed_steps", message)
