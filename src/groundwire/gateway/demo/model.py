"""A fake model with OpenAI's chat completions API, which answers questions from a script.

The gateway does not know the script, and checks the answers like those of any other model.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

NAME = "scripted"

_TOKEN = re.compile(r"\s*\S{1,6}")


def scripted_model(answers: Mapping[str, str], *, tokens_per_s: float) -> Starlette:
    """Make the fake model as an ASGI app. ``answers`` maps each question to its answer.

    The model answers an unknown question with the questions that it knows.
    """

    async def chat(request: Request) -> Response:
        body = await request.json()
        asked = [each.get("content") for each in body["messages"] if each.get("role") == "user"]
        known = f"This model is scripted. It answers: {' '.join(answers)}"
        text = answers.get(str(asked[-1]), known) if asked else known
        if body.get("stream") is True:
            return StreamingResponse(_write(text, 1 / tokens_per_s), media_type="text/event-stream")
        message = {"role": "assistant", "content": text, "refusal": None}
        return JSONResponse(_completion(message=message, finish_reason="stop"))

    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])


async def _write(text: str, pause_s: float) -> AsyncIterator[str]:
    yield _event({"role": "assistant", "content": ""})
    for token in _TOKEN.findall(text):
        await asyncio.sleep(pause_s)
        yield _event({"content": token})
    yield _event({}, finish="stop")
    yield "data: [DONE]\n\n"


def _event(delta: Mapping[str, Any], *, finish: str | None = None) -> str:
    data = _completion(delta=delta, finish_reason=finish)
    return f"data: {json.dumps(data | {'object': 'chat.completion.chunk'})}\n\n"


def _completion(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON data
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": NAME,
        "choices": [{"index": 0, "logprobs": None, **fields}],
    }
