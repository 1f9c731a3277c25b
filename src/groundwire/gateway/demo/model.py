"""A scripted model behind OpenAI's chat completions: it needs no key and no network.

It says what its script has for a question, word for word, so that what the gateway does about an
answer can be seen again and again. What the gateway finds in it, it finds by itself.
"""

import asyncio
import json
import math
import re
import threading
from collections.abc import AsyncIterator, Mapping
from time import perf_counter
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

NAME = "scripted"
#: The model waits at most this long to be heard, in seconds.
PATIENCE_S = 20.0
_TOKEN = re.compile(r"\s*\S{1,6}")


class ScriptedModel:
    """The model as an ASGI app, and what became of its last answer.

    Attributes:
        app: The app that is served.
        n_requests: Number of requests so far.
        done_at: When its last token was written, or the gateway hung up, on the clock of
            ``perf_counter``; infinite before that.
        heard: Set by a client that has read something. The model keeps the last token of a stream
            until then, or for :data:`PATIENCE_S` seconds at most, so that it does not depend on
            the machine's speed whether a client reads text before the model is done.
    """

    def __init__(self, answers: Mapping[str, str], *, tokens_per_s: float) -> None:
        self._answers, self._pause_s = answers, 1 / tokens_per_s
        self.n_requests = 0
        self.done_at = math.inf
        self.heard = threading.Event()
        self.heard.set()
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/responses", self._respond, methods=["POST"]),
            ]
        )

    def answer(self, question: object) -> str:
        """Its answer to a question."""
        known = self._answers
        return known.get(str(question), f"This model is scripted. It answers: {' '.join(known)}")

    async def _chat(self, request: Request) -> Response:
        self.n_requests += 1
        body = await request.json()
        asked = [each.get("content") for each in body["messages"] if each.get("role") == "user"]
        answer = self.answer(asked[-1] if asked else "")
        if body.get("stream") is True:
            return StreamingResponse(self._write(answer), media_type="text/event-stream")
        message = {"role": "assistant", "content": answer, "refusal": None}
        n = len(_TOKEN.findall(answer))
        usage = {"prompt_tokens": 20, "completion_tokens": n, "total_tokens": 20 + n}
        return JSONResponse({**_choice("", message=message, finish_reason="stop"), "usage": usage})

    async def _write(self, answer: str) -> AsyncIterator[str]:
        tokens, self.done_at = _TOKEN.findall(answer), math.inf
        try:
            yield _event({"role": "assistant", "content": ""})
            for number, token in enumerate(tokens, 1):
                await asyncio.sleep(self._pause_s)
                if number == len(tokens):
                    await asyncio.to_thread(self.heard.wait, PATIENCE_S)
                    self.done_at = perf_counter()
                yield _event({"content": token})
            yield _event({}, finish="stop")
            yield "data: [DONE]\n\n"
        finally:
            self.done_at = min(self.done_at, perf_counter())

    async def _respond(self, request: Request) -> Response:
        """Answer ``/v1/responses``, which the gateway does not check."""
        self.n_requests += 1
        text = self.answer((await request.json()).get("input"))
        content = [{"type": "output_text", "text": text, "annotations": []}]
        message = {"id": "msg_demo", "type": "message", "role": "assistant", "content": content}
        return JSONResponse(
            {"id": "resp_demo", "object": "response", "model": NAME, "output": [message]}
        )


def _event(delta: Mapping[str, Any], *, finish: str | None = None) -> str:
    return f"data: {json.dumps(_choice('.chunk', delta=delta, finish_reason=finish))}\n\n"


def _choice(suffix: str, **said: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of JSON
    return {
        "id": "chatcmpl-demo",
        "object": f"chat.completion{suffix}",
        "created": 1_700_000_000,
        "model": NAME,
        "choices": [{"index": 0, "logprobs": None, **said}],
    }
