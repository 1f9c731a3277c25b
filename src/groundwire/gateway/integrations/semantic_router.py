"""vLLM Semantic Router: a detector for ``http_classify`` with the contract ``token_spans.v1``.

Offsets count code points of the answer. If the check was incomplete and found no unsupported words,
the response has ``truncated_at``: the offset of the first unchecked claim, or 0 if this offset is
unknown. The router treats a response with this field as an error, never as a clean answer.
"""

from fastapi import Request, Response

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.native.running import answered

PATH = "/classify"

router = checks.host_router()


class Parameters(checks.HostModel):
    """The evidence of an answer, and the question if it is known."""

    context: list[str] | str
    question: str | None = None


class ClassifyRequest(checks.HostModel):
    """An answer with its evidence."""

    inputs: str
    parameters: Parameters


@router.post(PATH)
async def classify(request: Request, body: ClassifyRequest) -> Response:
    """Return the parts of an answer that its context does not support."""
    context = body.parameters.context
    sources = [context] if isinstance(context, str) else context
    checked = await checks.check_answer(
        request, body.inputs, sources=sources, question=body.parameters.question
    )
    is_checked = checks.is_checked([checked])
    if checked.detection is None and not is_checked:
        raise Problem.named("answer_not_checked", outcome=checked.outcome)
    spans = [
        {
            "start": each.start,
            "end": each.end,
            "text": each.text,
            "label": "HALLUCINATED",
            "score": each.probability,
        }
        for each in (checked.detection.spans if checked.detection else ())
    ]
    if is_checked:
        return answered({"spans": spans})
    unread = checks.unread_claims(checked)
    cut_at = min((each.start for each in unread), default=0)
    return answered({"spans": spans, "truncated_at": cut_at})
