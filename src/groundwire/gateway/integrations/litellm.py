"""LiteLLM: its generic guardrail API, as in 1.110.

LiteLLM calls the guardrail with the messages before the model is asked (``pre_call``), and with the
answers afterwards (``post_call``). So the guardrail has to be configured with both modes. All calls
about one request have the same ``litellm_call_id``.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from fastapi import Request, Response
from pydantic import Field

from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.integrations import kept
from groundwire.gateway.native.running import answered
from groundwire.pipeline import Checked
from groundwire.text.segment import segment

PATH = "/beta/litellm_basic_guardrail_api"

#: LiteLLM's replacement for a long text; messages with it lack a part of the evidence.
_OMITTED = "[omitted: exceeds strip size limit]"
#: Matches a text of JSON data that is only these words: a quote within a text has a backslash.
_A_WHOLE = re.compile(rf'(?<!\\)"{re.escape(_OMITTED)}"')
#: The action in the reply if the answers pass, but at least one was not checked in full.
NOT_CHECKED = "NOT_CHECKED"
#: Pattern of the end of a complete sentence.
_ENDS = re.compile(r"[.!?…][)\]\"'’”*_]*\s*$")

router = checks.host_router()


class Settings(checks.HostModel):
    """The ``additional_provider_specific_params`` of the guardrail.

    Attributes:
        sampled: Whether LiteLLM asks while an answer is still being streamed. A sentence that has
            not ended yet is then neither judged nor released.
    """

    sampled: bool = False


class GuardrailCall(checks.HostModel):
    """A call from LiteLLM.

    Attributes:
        stage: ``request`` for the call before the model is asked, ``response`` for later calls.
        call_id: The id that all calls about one request have in common.
        messages: The messages of a request.
        texts: The answers of a response.
    """

    stage: Literal["request", "response"] = Field(alias="input_type")
    call_id: str | None = Field(default=None, alias="litellm_call_id", max_length=256)
    messages: list[dict[str, Any]] | None = Field(default=None, alias="structured_messages")
    texts: list[str] | None = None
    settings: Settings | None = Field(default=None, alias="additional_provider_specific_params")


@router.post(PATH)
async def guardrail(request: Request, body: GuardrailCall) -> Response:
    """Keep the messages of a request for later calls, or check the answers of its response."""
    if body.stage == "request":
        if body.call_id:
            kept.keep(request, PATH, body.call_id, body.messages or [])
        return answered({"action": "NONE"})
    chat = kept.find(request, PATH, body.call_id)
    if _A_WHOLE.search(json.dumps(chat)) or body.texts == [_OMITTED]:
        chat = None  # a message or the answer is missing
    texts = body.texts or []
    judged = list(map(_complete, texts)) if body.settings and body.settings.sampled else texts
    answers = await checks.check_chat(request, chat, judged)
    held = [len(text) - len(part) for text, part in zip(texts, judged, strict=True)]
    return answered({**_reply(answers, held), "stream_holdback_chars": held})


def _complete(text: str) -> str:
    """Return a text without its last sentence if this sentence has not ended."""
    found = segment(text)
    return text if not found or _ENDS.search(text) else text[: found[-1].start]


def _reply(answers: Sequence[Checked], held: Sequence[int]) -> dict[str, Any]:
    """Return the verdict; ``held`` has the number of unjudged characters at the end of each answer.

    LiteLLM does not know the action ``NOT_CHECKED``, so it lets the answers pass; its debug log
    shows the action.
    """
    if checks.is_withheld(answers):
        return {"action": "BLOCKED", "blocked_reason": checks.refusal(answers)}
    return {"action": "NONE" if checks.is_checked(answers) and not any(held) else NOT_CHECKED}
