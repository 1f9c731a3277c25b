"""The modes of a gateway, and what tests of what is hostile say to it."""

from contextlib import suppress

import httpx2 as httpx
import pytest

from tests.gateway.chats import WRONG, Gateway, request
from tests.gateway.wire import Script, chunk, event

BLOCK = "check: {action: block}"
MODES = {
    "sentence": BLOCK,
    "deferred": f"{BLOCK}\ngateway: {{release: deferred}}",
    "settled": f"{BLOCK}\naudit: {{durability: before_response}}",
    "header": "check: {action: header}",
    "body": "check: {action: body}",
    "log": "check: {action: log}",
}
HELD = pytest.mark.parametrize("mode", ["sentence", "deferred", "settled"])
EVERY = pytest.mark.parametrize("mode", MODES)
BAD = f"It is in Paris. It was built in {WRONG}. It is tall."
#: Stands where nobody judges it; whoever sees it was told what was withheld.
SMUGGLED = "SMUGGLED"


def told(own: Gateway, script: Script, **more: object) -> bytes:
    """All bytes that a client gets of a stream; one that breaks off is what it was until then."""
    own.upstream.script(script)
    pieces: list[bytes] = []
    with own.asking(request(stream=True, **more)) as answer, suppress(httpx.RemoteProtocolError):
        pieces.extend(answer.iter_raw())
    return b"".join(pieces)


def said(text: str, **more: object) -> bytes:
    return event(chunk({"content": text}, **more))  # type: ignore[arg-type]


def end(reason: str = "stop", index: int = 0) -> bytes:
    return event(chunk({}, finish=reason, index=index))


def is_idle(own: Gateway) -> bool:
    """Whether no request is being answered, but for the one that asks."""
    return own.metric("groundwire_in_flight") == 1
