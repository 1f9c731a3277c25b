"""Amazon Bedrock: ApplyGuardrail with contextual grounding, as in botocore 1.44.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html
"""

from typing import Any, Literal

from fastapi import Request, Response
from pydantic import Field

from groundwire.gateway.http.problems import Problem
from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.native.running import answered
from groundwire.pipeline import Checked

PATH = "/guardrail/{identifier:path}/version/{version}/apply"
#: Policies of Amazon that are not checked here: the response counts 0 units for each.
_OTHERS = ("topic", "content", "word", "sensitiveInformation")

router = checks.host_router()


class QualifiedText(checks.HostModel):
    """A text and its use.

    Attributes:
        qualifiers: ``grounding_source``, ``query`` or ``guard_content``; without any, the text is
            content to guard.
    """

    text: str
    qualifiers: list[Literal["grounding_source", "query", "guard_content"]] = Field(
        default_factory=list
    )


class ContentBlock(checks.HostModel):
    """A block of content; only texts are read."""

    text: QualifiedText | None = None


class GuardrailRequest(checks.HostModel):
    """The content to guard, with the question and the sources.

    Attributes:
        source: ``INPUT`` for content that goes to a model (it is not checked); ``OUTPUT`` for
            content from a model.
        content: The texts, each with its use.
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

    The identifier and the version of the guardrail in the path are ignored. The identifier may be
    an ARN, which has a slash.
    """
    answer = "\n".join(body.texts("guard_content"))
    if body.source == "INPUT" or not answer:
        return answered(_reply(answer, None))
    sources = body.texts("grounding_source")
    if not sources:
        raise Problem.named("missing_grounding_source")
    question = "\n".join(body.texts("query")) or None
    checked = await checks.check_answer(request, answer, sources=sources, question=question)
    return answered(_reply(answer, checked))


def _reply(answer: str, checked: Checked | None) -> dict[str, Any]:
    is_intervened = checked is not None and checks.is_withheld([checked])
    coverage = None if checked is None or checked.detection is None else checked.detection.coverage
    unread = coverage.answer_chars - coverage.read_chars if coverage else len(answer)
    read = {"guarded": len(answer) - unread, "total": len(answer)}
    return {
        "usage": {
            **{f"{policy}PolicyUnits": 0 for policy in _OTHERS},
            "sensitiveInformationPolicyFreeUnits": 0,
            "contextualGroundingPolicyUnits": int(checked is not None),
        },
        "action": "GUARDRAIL_INTERVENED" if is_intervened else "NONE",
        "actionReason": _reason(checked),
        "outputs": [{"text": checks.refusal([checked])}] if checked and is_intervened else [],
        "assessments": [] if checked is None else [_assessment(checked)],
        "guardrailCoverage": {"textCharacters": read},
    }


def _reason(checked: Checked | None) -> str:
    reason = "" if checked is None else checks.refusal([checked])
    if reason or (checked is not None and checks.is_checked([checked])):
        return reason
    return f"Not all content was checked: {checked.outcome if checked else 'no text of an answer'}"


def _assessment(checked: Checked) -> dict[str, Any]:
    """Return an assessment with a grounding filter.

    The assessment is empty if no detector has read the content, or if the check was incomplete and
    found no unsupported words.
    """
    found = checked.detection
    if found is None or not checks.is_checked([checked]):
        return {}
    grounding = {
        "type": "GROUNDING",
        "threshold": 1 - found.detector.threshold,
        "score": 1 - checks.doubt(checked),
        "action": "BLOCKED" if checks.is_withheld([checked]) else "NONE",
        "detected": bool(found.spans),
    }
    return {"contextualGroundingPolicy": {"filters": [grounding]}}
