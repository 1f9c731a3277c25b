"""The playground as an ASGI app: one page, and the endpoints that it calls."""

import asyncio
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from cachetools import LRUCache
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from groundwire.config.kinds import is_loopback_host
from groundwire.detection.example import Example
from groundwire.detection.rows import RowError, parse_row, row_example
from groundwire.detection.values import Outcome, read_operating_point
from groundwire.detector import Detector
from groundwire.errors import GroundwireError, InputError
from groundwire.gateway.http.pages import asset, with_page_policy
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.auth import host_of, values
from groundwire.gateway.middleware.guard import Guard
from groundwire.gateway.middleware.trace import Tracing
from groundwire.gateway.playground.kept_scores import LOWEST_THRESHOLD, KeptScores
from groundwire.gateway.playground.snippets import WRITERS
from groundwire.pipeline.conversation.request import read_request
from groundwire.pipeline.conversation.response import read_response
from groundwire.pipeline.conversation.transcript import divide_transcript
from groundwire.render.answer import AnswerView
from groundwire.render.html import render

#: Limit on the bytes of a request's body.
MAX_BODY_BYTES = 4_000_000
#: Limit on the examples whose scores are kept for other thresholds.
_KEPT_EXAMPLES = 16


@cache
def examples() -> Mapping[str, Mapping[str, Any]]:
    """Return the examples that the page offers, from ``examples.toml``, by name.

    An example's ``field`` is its subject, such as medicine.
    """
    text = resources.files(__package__).joinpath("examples.toml").read_text("utf-8")
    return {each["name"]: each for each in tomllib.loads(text)["examples"]}


class Playground:
    """The request handlers of the page. Only one answer is checked at a time."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._kept: LRUCache[Example, KeptScores] = LRUCache(_KEPT_EXAMPLES)
        self._turn = asyncio.Lock()

    def app(self, *, is_local: bool) -> ASGIApp:
        """Make the app; with ``is_local``, it refuses requests whose Host is another machine."""
        routes = [
            Route("/", self._page),
            Route("/assets/{name}", asset),
            Route("/check", self._check, methods=["POST"]),
            Route("/chat", _chat, methods=["POST"]),
            Route("/copy/{kind}", _copy, methods=["POST"]),
        ]
        app = Starlette(routes=routes, exception_handlers={GroundwireError: _refused})
        return with_page_policy(Tracing(_LocalOnly(app)) if is_local else app)

    async def _page(self, request: Request) -> Response:
        known = examples()
        example = known.get(request.query_params.get("example", ""), next(iter(known.values())))
        shown, info = row_example(example), self._detector.info
        async with self._turn:
            result = await run_in_threadpool(self._judge, shown, info.operating_point)
        html = render(
            "playground.html",
            title="playground",
            examples=known.values(),
            example=example,
            result=Markup(result),
            points=self._detector.backend.operating_points,
            point=info.operating_point,
            threshold=info.threshold,
            lowest=LOWEST_THRESHOLD,
            kinds=WRITERS,
        )
        return HTMLResponse(html)

    async def _check(self, request: Request) -> Response:
        example, point = await _asked(request)
        async with self._turn:
            if await request.is_disconnected():
                return Response(status_code=499)  # the page is closed, or has sent a new request
            return HTMLResponse(await run_in_threadpool(self._judge, example, point))

    def _judge(self, example: Example, point: str | float) -> str:
        kept, read = self._kept.get(example), self._detector.work
        scores = KeptScores(self._detector.backend, example) if kept is None else kept
        detection = scores.detect(point)
        if detection.outcome is not Outcome.UNAVAILABLE:
            self._kept[example] = scores
        is_kept = kept is not None and self._detector.work == read
        view = AnswerView.of(detection, example.sources)
        return render("playground_result.html", view=view, is_kept=is_kept)


async def _chat(request: Request) -> Response:
    """Return the question, sources and answer of a chat, as the gateway would find them."""
    text = str((await _body(request)).get("chat", ""))
    messages = f'{{"messages": {text}}}' if text.lstrip().startswith("[") else text
    try:
        chat = parse_row(messages)
    except RowError as error:
        raise InputError(
            'The chat is no JSON. Paste a list such as [{"role": "user", "content": "..."}, '
            '{"role": "assistant", "content": "..."}], or a request with its response.'
        ) from error
    sent, answered = divide_transcript(chat)
    conversation = read_request(sent)
    answer = next((each.text for each in read_response(answered) if each.text), "")
    if not answer:
        raise InputError("The chat has no answer: its last message has to be the assistant's.")
    sources = [
        {"id": each.source.id, "title": each.source.title, "text": each.source.text}
        for each in conversation.offered
    ]
    found = {"sources": sources, "question": conversation.question or "", "answer": answer}
    return JSONResponse(found)


async def _copy(request: Request) -> Response:
    kind = request.path_params["kind"]
    if kind not in WRITERS:
        return PlainTextResponse("There is no such kind of code.", status_code=404)
    return PlainTextResponse(WRITERS[kind](*await _asked(request)))


async def _asked(request: Request) -> tuple[Example, str | float]:
    """Return the example and the operating point (default: balanced) in the body of a request."""
    data = await _body(request)
    example, point = row_example(data), str(data.get("operating_point", "balanced"))
    try:
        return example, read_operating_point(point)
    except ValueError as error:
        raise InputError(str(error)) from error


async def _body(request: Request) -> Mapping[str, Any]:
    # Before a page of another website sends this content type, the browser asks the playground for
    # permission (CORS), which the playground does not give.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InputError("The body has to be application/json.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise InputError(f"The texts have more than {MAX_BODY_BYTES:,} bytes. Shorten them.")
    return parse_row(body.decode("utf-8", errors="replace"))


def _refused(request: Request, error: Exception) -> Response:
    del request
    return JSONResponse({"error": str(error)}, status_code=422)


class _LocalOnly(Guard):
    """Middleware that refuses requests whose Host header does not name this machine."""

    async def check(self, scope: Scope) -> None:
        """Check that every Host header names this machine.

        Raises:
            Problem: 403, if a Host header names another machine.
        """
        hosts = [host.decode("latin-1") for host in values(scope, b"host")]
        if not all(is_loopback_host(host_of(host)) for host in hosts):
            raise Problem.named("playground_not_local")
