"""``instructor``, in its default mode in each dialect."""

from collections.abc import Callable
from typing import Any

import anthropic
import instructor
import openai

from tests.gateway.clients.asked import CHAT, MESSAGES, PATHS, RESPONSES, Asking, Client, Got, Tower


def _client(path: str, asking: Asking) -> tuple[Any, dict[str, Any]]:
    """The client for a dialect, and what its requests need."""
    if path == MESSAGES:
        claude = anthropic.Anthropic(base_url=asking.url, api_key=asking.key)
        return instructor.from_anthropic(claude), {"max_tokens": 99}
    plain = openai.OpenAI(base_url=f"{asking.url}/v1", api_key=asking.key)
    if path == RESPONSES:
        return instructor.from_openai(plain, mode=instructor.Mode.RESPONSES_TOOLS), {}
    return instructor.from_openai(plain), {}


def instructor_ask(path: str) -> Callable[[Asking, Got], None]:
    def ask(asking: Asking, got: Got) -> None:
        client, more = _client(path, asking)
        found = client.create(model=asking.model, messages=CHAT, response_model=Tower, **more)
        got.value, got.ended = found.model_dump(), "returned"

    return ask


def instructor_stream(path: str) -> Callable[[Asking, Got], None]:
    def ask(asking: Asking, got: Got) -> None:
        client, more = _client(path, asking)
        for found in client.create_partial(
            model=asking.model, messages=CHAT, response_model=Tower, **more
        ):
            got.value = found.model_dump()
            got.seen.append(repr(found))
        got.ended = "returned"

    return ask


CLIENTS = tuple(
    Client("instructor", path, "object", streams, way(path))
    for path in PATHS
    for streams, way in ((False, instructor_ask), (True, instructor_stream))
)
