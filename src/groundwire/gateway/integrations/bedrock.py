"""Amazon Bedrock: ApplyGuardrail with contextual grounding, as in botocore 1.44.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html
"""

from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.integrations.host_checks import (
    HostModel,
    check_answer,
    doubt,
    is_checked,
    is_withheld,
    refusal,
)
from groundwire.gateway.native.route import NativeRoute
from groundwire.gateway.native.running import answered
from groundwire.pipeline import Checked

PATH = "/guardrail/{identifier}/version/{version}/apply"

router = APIRouter(route_class=NativeRoute, include_in_schema=False)


class QualifiedText(HostModel):
    """A text and its use.

    Attributes:
        text: The text.
        qualifiers: ``grounding_source``, ``query`` or ``guard_content``; without any, the text is
            content to guard.
    """

    text: str
    qualifiers: list[Literal["grounding_source", "query", "guard_content"]] = Field(
        default_factory=list
    )


class ContentBlock(HostModel):
    """A block of content; only texts are read."""

    text: QualifiedText | None = None


class GuardrailRequest(HostModel):
    """The content to guard, with the question and the sources.

    Attributes:
        source: ``INPUT`` for content that goes to a model, ``OUTPUT`` for content from a model;
            only the latter is checked.
        content: Texts by use.
    """

    source: Literal["INPUT", "OUTPUT"]
    content: list[ContentBlock]

    def texts(self, use: str) -> list[str]:
        """Return the texts with this use, which is one of the qualifiers."""
        texts = [each.text for each in self.content if each.text is not None]
        return [each.text for each in texts if use in (each.qualifiers or ["guard_content"])]


@router.post(PATH)
async def apply_guardrail(request: Request, body: GuardrailRequest) -> Response:
    """Check content against its grounding sources.

    The identifier and the version of the guardrail in the path are ignored.
    """
    answer = "\n".join(body.texts("guard_content"))
    if body.source == "INPUT" or not answer:
        return answered(_reply(answer, None))
    sources = body.texts("grounding_source")
    if not sources:
        raise Problem(
            400,
            "missing_grounding_source",
            message="No content has the qualifier grounding_source, so nothing can be checked.",
            next_step="Send the sources of the answer with that qualifier.",
        )
    question = "\n".join(body.texts("query")) or None
    checked = await check_answer(request, answer, sources=sources, question=question)
    return answered(_reply(answer, checked))


def _reply(answer: str, checked: Checked | None) -> dict[str, Any]:
    is_intervened = checked is not None and is_withheld([checked])
    coverage = None if checked is None or checked.detection is None else checked.detection.coverage
    return {
        "usage": {
            "topicPolicyUnits": 0,
            "contentPolicyUnits": 0,
            "wordPolicyUnits": 0,
            "sensitiveInformationPolicyUnits": 0,
            "sensitiveInformationPolicyFreeUnits": 0,
            "contextualGroundingPolicyUnits": int(checked is not None),
        },
        "action": "GUARDRAIL_INTERVENED" if is_intervened else "NONE",
        "actionReason": "" if checked is None else refusal([checked]) or _unchecked(checked),
        "outputs": [{"text": refusal([checked])}] if checked and is_intervened else [],
        "assessments": [] if checked is None else [_assessment(checked)],
        "guardrailCoverage": {
            "textCharacters": {
                "guarded": 0 if coverage is None else coverage.read_chars,
                "total": len(answer),
            }
        },
    }


def _unchecked(checked: Checked) -> str:
    return "" if is_checked([checked]) else f"Not all of the content was checked: {checked.outcome}"


def _assessment(checked: Checked) -> dict[str, Any]:
    """Return an assessment with a grounding filter, or an empty one for unchecked content."""
    threshold = None if checked.detection is None else checked.detection.detector.threshold
    if threshold is None or not is_checked([checked]):
        return {}
    is_blocked = is_withheld([checked])
    grounding = {
        "type": "GROUNDING",
        "threshold": 1 - threshold,
        "score": 1 - doubt(checked),
        "action": "BLOCKED" if is_blocked else "NONE",
        "detected": is_blocked,
    }
    return {"contextualGroundingPolicy": {"filters": [grounding]}}
