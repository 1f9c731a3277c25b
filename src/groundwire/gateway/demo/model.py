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

HAIKU_QUESTION = "Write a haiku about autumn."
BUILT_QUESTION = "When was the Eiffel Tower built?"
HEIGHT_QUESTION = "How tall is the Eiffel Tower?"
ABOUT_QUESTION = "Tell me about the Eiffel Tower."
WHAT_QUESTION = "What is the Eiffel Tower?"

HAIKU = "A leaf lets go.\nThe pond takes in the red of it,\nand then the evening."
#: The example of HaluGate's documentation; both figures are wrong.
BUILT = "The Eiffel Tower was built in 1950 and stands at 500 meters tall in Paris, France."
HEIGHT = "The Eiffel Tower is 330 meters tall."
#: Two sentences that the sources say, then one that they do not, then one that they do.
ABOUT_TRUE = (
    "The Eiffel Tower stands in Paris, France. "
    "It was built from 1887 to 1889 by the company of Gustave Eiffel."
)
ABOUT_FALSE = "It is 500 meters tall."
ABOUT = f"{ABOUT_TRUE} {ABOUT_FALSE} About seven million people visit it every year."
WHAT = (
    "The Eiffel Tower stands in Paris, France. It was built from 1887 to 1889. "
    "It has three levels for visitors."
)

ANSWERS: Mapping[str, str] = {
    HAIKU_QUESTION: HAIKU,
    BUILT_QUESTION: BUILT,
    HEIGHT_QUESTION: HEIGHT,
    ABOUT_QUESTION: ABOUT,
    WHAT_QUESTION: WHAT,
}
OTHERWISE = f"This model is scripted. It knows what to say to: {' '.join(ANSWERS)}"

#: As long as the model waits to be heard, in seconds.
PATIENCE_S = 20.0
_CHUNK = "chat.completion.chunk"
_TOKEN = re.compile(r"\s*\S{1,6}")


def tokens_of(text: str) -> list[str]:
    """A text in pieces about as long as a model's; joined they are the text."""
    return _TOKEN.findall(text)


class ScriptedModel:
    """The model as an ASGI app, and what became of its last answer.

    Attributes:
        app: What it is served as.
        n_requests: Requests that asked it for text.
        n_sent: Tokens of the last stream that were sent.
        done_at: When its last token was written, or the gateway hung up, on the clock of
            ``perf_counter``; infinite before that.
        heard: Set by a client that has read something. The model keeps the last token of a stream
            until then, or for :data:`PATIENCE_S` seconds at most; that the client had read
            something before the model was done is then no question of who is faster.
    """

    def __init__(self, *, tokens_per_s: float) -> None:
        self._pause_s = 1 / tokens_per_s
        self.n_requests = self.n_sent = 0
        self.done_at = math.inf
        self.heard = threading.Event()
        self.heard.set()
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/responses", self._respond, methods=["POST"]),
                Route("/v1/models", _models),
            ]
        )

    async def _chat(self, request: Request) -> Response:
        self.n_requests += 1
        body = await request.json()
        answer = ANSWERS.get(question_of(body), OTHERWISE)
        if body.get("stream") is not True:
            return JSONResponse(completion(answer))
        asks = body.get("stream_options")
        usage = isinstance(asks, dict) and asks.get("include_usage") is True
        return StreamingResponse(
            self._write(answer, with_usage=usage), media_type="text/event-stream"
        )

    async def _write(self, answer: str, *, with_usage: bool) -> AsyncIterator[str]:
        tokens, self.n_sent, self.done_at = tokens_of(answer), 0, math.inf
        try:
            yield event({"role": "assistant", "content": ""})
            for number, token in enumerate(tokens, 1):
                await asyncio.sleep(self._pause_s)
                if number == len(tokens):
                    await self._wait_until_heard()
                    self.done_at = perf_counter()
                self.n_sent = number
                yield event({"content": token})
            yield event({}, finish="stop")
            if with_usage:
                yield _said(
                    {**_head("chat.completion.chunk"), "choices": [], "usage": _usage(answer)}
                )
            yield "data: [DONE]\n\n"
        finally:
            self.done_at = min(self.done_at, perf_counter())

    async def _wait_until_heard(self) -> None:
        deadline = perf_counter() + PATIENCE_S
        while not self.heard.is_set() and perf_counter() < deadline:
            await asyncio.sleep(0.005)

    async def _respond(self, request: Request) -> Response:
        """``/v1/responses``, which the gateway does not check."""
        self.n_requests += 1
        text = ANSWERS.get(str((await request.json()).get("input")), OTHERWISE)
        content = [{"type": "output_text", "text": text, "annotations": []}]
        message = {"id": "msg_demo", "type": "message", "role": "assistant", "content": content}
        return JSONResponse(
            {"id": "resp_demo", "object": "response", "model": NAME, "output": [message]}
        )


def question_of(body: Mapping[str, Any]) -> str:
    """The last thing that a user says in a chat request; empty if that is no text."""
    said = [each.get("content") for each in body.get("messages", ()) if each.get("role") == "user"]
    return said[-1] if said and isinstance(said[-1], str) else ""


def completion(answer: str) -> dict[str, Any]:
    """A chat completion as OpenAI's."""
    message = {"role": "assistant", "content": answer, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {**_head("chat.completion"), "choices": [choice], "usage": _usage(answer)}


def event(delta: Mapping[str, Any], *, finish: str | None = None) -> str:
    """One event of a streamed chat completion."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _said({**_head(_CHUNK), "choices": [choice]})


def _said(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-demo", "object": kind, "created": 1_700_000_000, "model": NAME}


def _usage(answer: str) -> dict[str, int]:
    n = len(tokens_of(answer))
    return {"prompt_tokens": 20, "completion_tokens": n, "total_tokens": 20 + n}


async def _models(request: Request) -> Response:
    del request
    model = {"id": NAME, "object": "model", "created": 1_700_000_000, "owned_by": "groundwire"}
    return JSONResponse({"object": "list", "data": [model]})
