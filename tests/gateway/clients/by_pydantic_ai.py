"""``pydantic-ai``: an agent with a text as its output, and with a model."""

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.gateway.clients.asked import (
    MESSAGES,
    PATHS,
    PROMPT,
    RESPONSES,
    Asking,
    Client,
    Got,
    Tower,
)


def _pydantic_model(path: str, asking: Asking) -> Model:
    if path == MESSAGES:
        claude = AnthropicProvider(base_url=asking.url, api_key=asking.key)
        return AnthropicModel(asking.model, provider=claude)
    provider = OpenAIProvider(base_url=f"{asking.url}/v1", api_key=asking.key)
    if path == RESPONSES:
        return OpenAIResponsesModel(asking.model, provider=provider)
    return OpenAIChatModel(asking.model, provider=provider)


def pydantic_ask(path: str, wanted: Any) -> Callable[[Asking, Got], None]:  # noqa: ANN401
    def ask(asking: Asking, got: Got) -> None:
        agent = Agent(_pydantic_model(path, asking), output_type=wanted)
        found = agent.run_sync(PROMPT)
        got.seen.append(repr(found.all_messages()))
        _keep_output(got, found.output)
        got.ended = str(found.response.finish_reason)

    return ask


def pydantic_stream(path: str, wanted: Any) -> Callable[[Asking, Got], None]:  # noqa: ANN401
    async def run(asking: Asking, got: Got) -> None:
        agent = Agent(_pydantic_model(path, asking), output_type=wanted)
        async with agent.run_stream(PROMPT) as found:
            async for output in found.stream_output(debounce_by=None):
                _keep_output(got, output)
            got.seen.append(repr(found.all_messages()))
            got.ended = str(found.response.finish_reason)

    return lambda asking, got: asyncio.run(run(asking, got))


def _keep_output(got: Got, output: Any) -> None:  # noqa: ANN401
    if isinstance(output, str):
        got.text = output
    else:
        got.value = output.model_dump()


CLIENTS = tuple(
    Client("pydantic-ai-slim", path, wants, streams, way(path, kind))
    for path in PATHS
    for wants, kind in (("text", str), ("object", Tower))
    for streams, way in ((False, pydantic_ask), (True, pydantic_stream))
)
