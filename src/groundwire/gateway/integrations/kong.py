"""Kong: a guardrail service for its plugin ``ai-custom-guardrail``, as in Gateway 3.15.

https://developer.konghq.com/plugins/ai-custom-guardrail/

The plugin has no fixed format: its configuration says what is sent, and which fields of the
response are read. This endpoint suits the configuration ``docs/examples/kong.yaml``, which
remembers the request in Kong and sends it again with the answer.
"""

from typing import Any, Literal

from fastapi import Request, Response

from groundwire.gateway.integrations import host_checks as checks
from groundwire.gateway.middleware.limits import parse_json
from groundwire.gateway.native.running import answered

PATH = "/integrations/kong"

router = checks.host_router()


class GuardrailRequest(checks.HostModel):
    """A text that Kong wants to pass on.

    Attributes:
        source: Whether the text comes from a request (``INPUT``) or an answer (``OUTPUT``).
        content: The text; Kong sends ``false`` in place of an empty text.
        request: The body of the client's request, as text or parsed; ``None``, ``false`` or empty
            if Kong does not have it.
    """

    source: Literal["INPUT", "OUTPUT"]
    content: str | Literal[False] | None = None
    request: dict[str, Any] | str | Literal[False] | None = None


@router.post(PATH)
async def guardrail(request: Request, body: GuardrailRequest) -> Response:
    """Return whether to block an answer; requests pass."""
    if body.source == "INPUT":
        return answered({"block": False, "message": "", "outcome": "not_checked", "checked": False})
    asked = body.request or None
    if isinstance(asked, str):
        asked = parse_json(asked.encode(errors="surrogatepass"))
    answers = await checks.check_chat(request, asked, [body.content or ""])
    return answered(
        {
            "block": checks.is_withheld(answers),
            "message": checks.refusal(answers),
            "outcome": str(answers[0].outcome),
            "checked": checks.is_checked(answers),
        }
    )
