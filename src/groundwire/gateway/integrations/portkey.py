"""Portkey: the webhook of its gateway's guardrails.

The call ``afterRequestHook`` has the request and the response. Portkey treats an error as a pass,
unless the check has ``failOnError``.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from fastapi import Request, Response
from pydantic import Field

from groundwire.errors import InvalidConversationError
from groundwire.gateway.dialects import DIALECTS
from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.native.running import answered
from groundwire.pipeline.conversation.response import Answer, answer_of

PATH = "/integrations/portkey"

router = checks.host_router()


class HookedBody(checks.HostModel):
    """A request or a response: its body in the model's API, and the text that Portkey extracts.

    The text may be a list or null, like the content of a message.
    """

    text: Any = ""
    body: dict[str, Any] | None = Field(default=None, alias="json")


class WebhookRequest(checks.HostModel):
    """A call to the webhook.

    Attributes:
        request: The request to the model.
        response: The response of the model; empty in ``beforeRequestHook``.
        event: Whether Portkey calls the webhook before or after its request to the model.
    """

    request: HookedBody = HookedBody()
    response: HookedBody = HookedBody()
    event: Literal["beforeRequestHook", "afterRequestHook"] = Field(alias="eventType")


@router.post(PATH)
async def webhook(request: Request, body: WebhookRequest) -> Response:
    """Return whether a response may pass; before the request, everything may pass."""
    if body.event == "beforeRequestHook":
        return answered({"verdict": True, "data": {"outcome": "not_checked"}})
    asked = body.request.body or {}
    is_chat = isinstance(asked.get("messages"), list)
    chat = asked if is_chat else _as_chat(asked, body.request.text)
    answers = await checks.check_chat(request, chat, _answers(body.response))
    return answered(
        {
            "verdict": not checks.is_withheld(answers),
            "data": {
                "outcome": [str(each.outcome) for each in answers],
                "checked": checks.is_checked(answers),
                "explanation": checks.refusal(answers),
                "spans": [
                    [{"start": span.start, "end": span.end} for span in each.detection.spans]
                    if each.detection
                    else []
                    for each in answers
                ],
            },
        }
    )


def _as_chat(asked: Mapping[str, Any], text: object) -> dict[str, Any]:
    prompt = asked.get("prompt")
    return {"messages": [{"role": "user", "content": prompt if isinstance(prompt, str) else text}]}


def _answers(response: HookedBody) -> Sequence[str | Answer]:
    """Return the answers in the body of a response, else the text that Portkey extracted.

    The text is used if the body has no field ``choices``, ``output`` or ``content``, and the text
    is a string that is not blank. If neither is possible, the result is one answer with an unread
    part.
    """
    body = response.body or {}
    for dialect in DIALECTS:
        with suppress(InvalidConversationError):
            if found := dialect.answers(body):
                return found
    is_plain = {"choices", "output", "content"}.isdisjoint(body) and isinstance(response.text, str)
    if is_plain and response.text.strip():
        return [response.text]
    return [answer_of(0, text="", refusal="", has_calls=False, n_skipped=1)]
