"""LiteLLM: its generic guardrail API, as in 1.110.

LiteLLM calls the guardrail before the model with the messages, and after it with the answers; the
two calls have the same ``litellm_call_id``. So the guardrail needs both modes, ``pre_call`` and
``post_call``. The messages are kept in memory, so both calls must reach the same process.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from cachetools import TTLCache
from fastapi import APIRouter, Request, Response
from pydantic import Field

from groundwire.gateway.integrations.host_checks import (
    HostModel,
    check_chat,
    is_checked,
    is_withheld,
    refusal,
)
from groundwire.gateway.middleware.state import caller
from groundwire.gateway.native.route import NativeRoute
from groundwire.gateway.native.running import answered, to_json
from groundwire.pipeline import Checked
from groundwire.text.segment import segment

PATH = "/beta/litellm_basic_guardrail_api"

#: The most seconds that messages are kept to wait for their answers, and the most bytes of all kept
#: messages.
_KEPT_S, _KEPT_BYTES = 600.0, 64 * 2**20
#: LiteLLM's replacement for a long text; messages with it lack a part of the evidence.
_OMITTED = "[omitted: exceeds strip size limit]"
#: The action in the reply if answers pass that were not checked in full.
NOT_CHECKED = "NOT_CHECKED"
#: Pattern of the end of a complete sentence.
_ENDS = re.compile(r"[.!?…][)\]\"'’”*_]*\s*$")

router = APIRouter(route_class=NativeRoute, include_in_schema=False)


class Settings(HostModel):
    """The ``additional_provider_specific_params`` of the guardrail.

    Attributes:
        sampled: Whether LiteLLM asks while an answer is still being streamed. A sentence that has
            not ended yet is then neither judged nor released.
    """

    sampled: bool = False


class GuardrailCall(HostModel):
    """A call of LiteLLM.

    Attributes:
        stage: Whether the call comes before the model (``request``) or after it (``response``).
        call_id: The id that the calls before and after the model have in common.
        messages: The messages of a request.
        texts: The texts of a response.
        settings: Settings of the guardrail.
    """

    stage: Literal["request", "response"] = Field(alias="input_type")
    call_id: str | None = Field(default=None, alias="litellm_call_id", max_length=256)
    messages: list[dict[str, Any]] | None = Field(default=None, alias="structured_messages")
    texts: list[str] | None = None
    settings: Settings | None = Field(default=None, alias="additional_provider_specific_params")


class KeptRequests:
    """The messages of requests whose answers have not come yet, by tenant and call id."""

    def __init__(self) -> None:
        self._kept: TTLCache[tuple[str, str], bytes] = TTLCache(_KEPT_BYTES, _KEPT_S, getsizeof=len)

    def keep(self, tenant: str, call_id: str, messages: list[dict[str, Any]]) -> None:
        """Keep the messages of a call, unless they alone exceed the limit of bytes."""
        written = to_json(messages)
        if len(written) <= _KEPT_BYTES:
            self._kept[tenant, call_id] = written

    def find(self, tenant: str, call_id: str) -> list[dict[str, Any]] | None:
        """Return the messages of a call; ``None`` if they are not known."""
        written = self._kept.get((tenant, call_id))
        return None if written is None else json.loads(written)


@router.post(PATH)
async def guardrail(request: Request, body: GuardrailCall) -> Response:
    """Keep the messages of a request, or check the texts of its response."""
    tenant, kept = caller(request).tenant, _kept(request)
    if body.stage == "request":
        if body.call_id and body.messages:
            kept.keep(tenant, body.call_id, body.messages)
        return answered({"action": "NONE"})
    messages = kept.find(tenant, body.call_id) if body.call_id else None
    if messages is not None and _OMITTED in json.dumps(messages):
        messages = None  # part of the evidence is missing
    texts = body.texts or []
    judged = list(map(_complete, texts)) if body.settings and body.settings.sampled else texts
    chat = None if messages is None else {"messages": messages}
    answers = await check_chat(request, chat, judged)
    held = [len(text) - len(part) for text, part in zip(texts, judged, strict=True)]
    return answered({**_reply(answers, held), "stream_holdback_chars": held})


def _kept(request: Request) -> KeptRequests:
    state = request.app.state
    if not hasattr(state, "litellm_requests"):
        state.litellm_requests = KeptRequests()
    found: KeptRequests = state.litellm_requests
    return found


def _complete(text: str) -> str:
    """Return a text without its last sentence if this sentence has not ended."""
    found = segment(text)
    return text if not found or _ENDS.search(text) else text[: found[-1].start]


def _reply(answers: Sequence[Checked], held: Sequence[int]) -> dict[str, Any]:
    """Return the verdict. LiteLLM treats an unknown action as a pass, and logs it."""
    if is_withheld(answers):
        return {"action": "BLOCKED", "blocked_reason": refusal(answers)}
    return {"action": "NONE" if is_checked(answers) and not any(held) else NOT_CHECKED}
