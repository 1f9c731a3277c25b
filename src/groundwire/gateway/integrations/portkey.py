"""Portkey: the webhook of its gateway's guardrails.

The call ``afterRequestHook`` has the request and the response. Portkey treats an error as a pass,
unless the check has ``failOnError``.
"""

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import Request, Response
from pydantic import Field

from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.native.running import answered
from groundwire.pipeline.conversation.response import Said

PATH = "/integrations/portkey"

router = checks.host_router()


class HookedBody(checks.HostModel):
    """A request or a response: its text, and its body as the model's API has it."""

    text: str = ""
    body: dict[str, Any] | None = Field(default=None, alias="json")


class WebhookRequest(checks.HostModel):
    """A call of the webhook.

    Attributes:
        request: The request to the model.
        response: The response of the model; empty in ``beforeRequestHook``.
        event: Whether Portkey calls before the request to the model or after it.
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
    answers = await checks.check_chat(request, chat, _texts(body.response))
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


def _as_chat(asked: Mapping[str, Any], text: str) -> dict[str, Any]:
    prompt = asked.get("prompt")
    return {"messages": [{"role": "user", "content": prompt if isinstance(prompt, str) else text}]}


def _texts(response: HookedBody) -> list[str]:
    """Return the texts of a completion's answers, else the text that Portkey extracted."""
    choices = (response.body or {}).get("choices")
    texts = map(_text, choices if isinstance(choices, list) else ())
    return [text for text in texts if text] or [response.text]


def _text(choice: object) -> str:
    match choice:
        case {"message": {"content": content}}:
            return Said.of(content).text
        case {"text": str(text)}:
            return text
    return ""
