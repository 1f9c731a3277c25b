"""Azure AI Content Safety: ``text:detectGroundedness``, 2024-09-15-preview.

https://learn.microsoft.com/en-us/azure/ai-services/content-safety/quickstart-groundedness
"""

from typing import Any, Literal

from fastapi import Request, Response
from pydantic import Field

from groundwire.detection.values import Outcome
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.native.running import answered
from groundwire.pipeline import Checked

PATH = "/contentsafety/text:detectGroundedness"

_UNSUPPORTED = "The sources do not support it."

router = checks.host_router()


class Question(checks.HostModel):
    """The question that a text answers; in Azure's API, only the task ``QnA`` has a question."""

    query: str | None = None


class GroundednessRequest(checks.HostModel):
    """A text and its sources.

    Attributes:
        sources: The texts that should support ``text``.
        qna: The question, if there is one.
        task: The kind of the text; it changes nothing here.
        reasoning: Whether the response gives a reason for each finding.
    """

    text: str = Field(min_length=1)
    sources: list[str] = Field(alias="groundingSources", min_length=1)
    qna: Question | None = None
    task: Literal["QnA", "Summarization"] = "Summarization"
    reasoning: bool = False


@router.post(PATH)
async def detect_groundedness(request: Request, body: GroundednessRequest) -> Response:
    """Return the parts of a text that its sources do not support, or that were not checked."""
    question = body.qna.query if body.qna else None
    checked = await checks.check_answer(request, body.text, sources=body.sources, question=question)
    if checked.outcome is Outcome.UNAVAILABLE:
        raise Problem.named("text_not_checked")
    found = _stretches(checked)
    n_chars = sum(end - start for start, end, _ in found)
    return answered(
        {
            "ungroundedDetected": bool(found),
            "ungroundedPercentage": min(n_chars / len(body.text), 1.0),
            "ungroundedDetails": [
                _detail(body.text, *each, has_reason=body.reasoning) for each in found
            ],
        }
    )


def _stretches(checked: Checked) -> list[tuple[int, int, str]]:
    """Return start, end and reason of each unsupported or unchecked part of a text.

    In Azure's API, a response without any part means that the text passes; no response can say that
    the text was not checked. So if the outcome is partial or unverified, and no part is found, the
    whole text is returned as one part.
    """
    spans = () if checked.detection is None else checked.detection.spans
    reasons = [each.text for each in checked.explanations] or [_UNSUPPORTED] * len(spans)
    found = [(span.start, span.end, reason) for span, reason in zip(spans, reasons, strict=True)]
    found += [
        (each.start, each.end, f"It was not checked ({each.reason or 'not read'}).")
        for each in checks.unread_claims(checked)
    ]
    if not found and checked.outcome in (Outcome.PARTIAL, Outcome.UNVERIFIED):
        found = [(0, len(checked.answer.text), f"Not all of it was checked ({checked.outcome}).")]
    return sorted(found)


def _detail(text: str, start: int, end: int, reason: str, *, has_reason: bool) -> dict[str, Any]:
    detail = {
        "text": text[start:end],
        "offset": _lengths(text[:start]),
        "length": _lengths(text[start:end]),
    }
    return {**detail, "reason": reason} if has_reason else detail


def _lengths(text: str) -> dict[str, int]:
    return {
        "utf8": len(text.encode()),
        "utf16": len(text.encode("utf-16-le")) // 2,
        "codePoint": len(text),
    }
