"""agentgateway and kgateway: the webhook of their prompt guards, as in agentgateway 1.4.

https://agentgateway.dev/docs/standalone/latest/llm/prompt-guards/webhooks/

The webhook is called twice: with the messages before the model is asked, and with the answers
afterwards. The bodies do not show which calls belong together, so both calls need the same header
``x-request-id``.
"""

from collections.abc import Sequence
from typing import Any

from fastapi import Request, Response
from pydantic import model_validator

from groundwire.gateway.http.refusals import STATUS
from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.integrations import kept
from groundwire.gateway.native.running import answered
from groundwire.pipeline import Checked

PATH = "/integrations/agentgateway"
CALL_ID = "x-request-id"

router = checks.host_router()


class Message(checks.HostModel):
    """A message of a request, or an answer: its role and its text."""

    role: str = ""
    content: str = ""


class Choice(checks.HostModel):
    """One of the answers of a response."""

    message: Message


class GuardedBody(checks.HostModel):
    """Either the messages of a request, or the answers of a response."""

    messages: list[Message] | None = None
    choices: list[Choice] | None = None

    @model_validator(mode="after")
    def _one(self) -> "GuardedBody":
        if (self.messages is None) is (self.choices is None):
            raise ValueError("it needs either messages or choices")
        return self


class GuardCall(checks.HostModel):
    """A call to the webhook."""

    body: GuardedBody


@router.post(PATH)
async def webhook(request: Request, body: GuardCall) -> Response:
    """Keep the messages of a request for the second call, or check the answers of its response."""
    call_id = request.headers.get(CALL_ID)
    if body.body.choices is None:
        messages = [each.model_dump() for each in body.body.messages or ()]
        if call_id:
            kept.keep(request, PATH, call_id, messages)
        return answered({"action": {"reason": "not checked: a request"}})
    texts = [each.message.content for each in body.body.choices]
    answers = await checks.check_chat(request, kept.find(request, PATH, call_id), texts)
    return answered({"action": _action(body.body.choices, answers)})


def _action(choices: Sequence[Choice], answers: Sequence[Checked]) -> dict[str, Any]:
    """Return the action, whose fields tell agentgateway to reject, mask or pass the response.

    If only some answers are withheld, these are masked; if all are, the response is rejected.
    """
    withheld = [checks.is_withheld([each]) for each in answers]
    if not any(withheld):
        outcomes = ", ".join(str(each.outcome) for each in answers) or "no answer"
        done = "checked" if answers and checks.is_checked(answers) else "not checked"
        return {"reason": f"{done}: {outcomes}"}
    reason = checks.refusal(answers)
    if all(withheld):
        return {"body": reason, "status_code": STATUS, "reason": reason}
    masked = [
        {"role": each.message.role, "content": reason if is_bad else each.message.content}
        for each, is_bad in zip(choices, withheld, strict=True)
    ]
    return {"body": {"choices": [{"message": each} for each in masked]}, "reason": reason}
