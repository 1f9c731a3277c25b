"""What a client of the gateway gets, byte for byte but for what no two runs share."""

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.gateway.chats import SOURCES, WRONG, Gateway, gateway, request
from tests.gateway.wire import Script, completion, stream_events

ACTIONS = ("none", "log", "flag", "header", "body", "block")
#: What the upstream says.
ANSWERS = {
    "right": "The Eiffel Tower was built from 1887 to 1889. It is 330 metres tall.",
    "wrong": f"The Eiffel Tower is 330 metres tall. It was built in {WRONG}. It is in Paris.",
}
#: Events that the chats of :func:`chats_under` leave, where they are not two.
_N_RECORDED = {"none": 0, "block": 4}
#: What differs from run to run, wherever it stands, and what stands there in a golden file.
_VOLATILE = (
    (re.compile(r"[0-9a-f]{32}"), "<trace>"),
    (re.compile(r'("\w*(?:_ms|_s)": ?)[\d.]+'), r"\1<time>"),
    (re.compile(r'("timings_ms": ?)\{[^}]*\}'), r"\1<times>"),
)
#: What depends on how much of a stream had arrived when it was blocked.
_OF_A_BLOCKED_STREAM = ("overall_similarity", "withheld_chars")
#: Headers that differ, or that the server adds.
_VOLATILE_HEADERS = ("date", "server", "connection", "keep-alive")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request to an endpoint of the gateway's own, or one that is refused."""

    path: str
    body: dict[str, Any] | bytes = field(default_factory=dict)
    method: str = "POST"
    has_key: bool = True


_CHECK: dict[str, Any] = {"sources": SOURCES, "question": "When was it built?"}
ASKS = {
    "check a wrong answer": Ask(path="/v1/check", body=_CHECK | {"answer": ANSWERS["wrong"]}),
    "check a right answer": Ask(path="/v1/check", body=_CHECK | {"answer": ANSWERS["right"]}),
    "check without sources": Ask(path="/v1/check", body={"sources": [], "answer": "It is tall."}),
    "check a chat": Ask(
        path="/v1/check",
        body={
            "request": {key: value for key, value in request().items() if key != "model"},
            "response": completion(ANSWERS["wrong"]),
        },
    ),
    "check nothing": Ask(path="/v1/check", body={}),
    "check an unknown field": Ask(path="/v1/check", body={"sources": [], "answer": "x", "y": 1}),
    "check what is no JSON": Ask(path="/v1/check", body=b"{"),
    "check many": Ask(
        path="/v1/check/batch",
        body={"examples": [{"sources": SOURCES, "answer": answer} for answer in ANSWERS.values()]},
    ),
    "classify a prompt": Ask(
        path="/api/v1/classify/fact-check", body={"text": "When was the Eiffel Tower built?"}
    ),
    "no key": Ask(path="/v1/check", has_key=False),
    "another method": Ask(path="/v1/check", method="DELETE"),
    "unknown path": Ask(path="/elsewhere", method="GET"),
    "alive": Ask(path="/livez", method="GET", has_key=False),
    "ready": Ask(path="/readyz", method="GET", has_key=False),
}


def build() -> Iterator[tuple[str, object]]:
    """The golden files, anew."""
    for action in ACTIONS:
        yield f"transcripts/action-{action}", chats_under(action)
    yield "transcripts/own-endpoints", own_endpoints()


def chats_under(action: str) -> dict[str, Any]:
    """Each answer, whole and streamed, under an action; and what is on record then."""
    found: dict[str, Any] = {}
    with _running(f"check: {{action: {action}}}") as own:
        for name, text in ANSWERS.items():
            own.upstream.script(
                Script.json(completion(text)),
                Script.sse(stream_events(re.findall(r"(?:\S+\s*){1,4}", text))),
            )
            found[f"{name}, whole"] = _told(own.post(request()))
            streamed = _told(own.post(request(stream=True)))
            if action == "block":
                streamed["body"] = _joined(streamed["body"])
            found[f"{name}, streamed"] = streamed
        events = own.wait_for_events(_N_RECORDED.get(action, 2))
    left_out = _OF_A_BLOCKED_STREAM if action == "block" else ()
    found["recorded"] = [_masked_data(_of_event(each, left_out)) for each in events]
    return found


def own_endpoints() -> dict[str, Any]:
    """The endpoints that no upstream answers."""
    with _running("") as own:
        return {name: _told(_send(own, ask)) for name, ask in ASKS.items()}


class _running:  # noqa: N801 - a context manager, read as a verb
    """A gateway with a folder of its own."""

    def __init__(self, yaml: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._gateway = gateway(Path(self._folder.name), yaml)

    def __enter__(self) -> Gateway:
        return self._gateway.__enter__()

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401
        self._gateway.__exit__(*error)
        self._folder.cleanup()


def _send(own: Gateway, ask: Ask) -> httpx.Response:
    content = ask.body if isinstance(ask.body, bytes) else json.dumps(ask.body).encode()
    headers = {"Content-Type": "application/json", **(own.headers if ask.has_key else {})}
    url = own.url.removesuffix("/v1") + ask.path
    if ask.method == "GET":
        return httpx.get(url, headers=headers, timeout=20, verify=False)
    return httpx.request(
        ask.method, url, content=content, headers=headers, timeout=20, verify=False
    )


def _told(response: httpx.Response) -> dict[str, Any]:
    """A response: status, headers in order of their names, lines of the body."""
    text = response.content.decode()
    pairs = sorted((name.lower(), value) for name, value in response.headers.multi_items())
    masked = [[n, _masked(v)] for n, v in pairs if n not in _VOLATILE_HEADERS]
    is_varying = _masked(text) != text
    return {
        "status": response.status_code,
        "headers": [pair for pair in masked if not (is_varying and pair[0] == "content-length")],
        "body": _masked(text).splitlines(),
    }


def _joined(lines: list[str]) -> list[str]:
    """Join neighbouring pieces of text: how they are divided depends on how fast they came."""
    found: list[str] = []
    piece: dict[str, Any] | None = None
    for line in filter(None, lines):
        data = json.loads(line[6:]) if line.startswith("data: {") else {}
        (choice,) = data.get("choices") or [{}]
        text = choice.get("delta", {}).get("content")
        if not text:
            piece = None
            found.append(line)
        elif piece is None:
            piece = data
            found.append(f"data: {json.dumps(piece)}")
        else:
            piece["choices"][0]["delta"]["content"] += text
            found[-1] = f"data: {json.dumps(piece)}"
    return found


def _of_event(event: dict[str, Any], left_out: tuple[str, ...]) -> dict[str, Any]:
    """What an event says, without its place in the trail."""
    payload = {key: each for key, each in event["payload"].items() if key not in left_out}
    return {"type": event["type"], "payload": payload}


def _masked_data(data: object) -> Any:  # noqa: ANN401 - JSON
    return json.loads(re.sub(r": (<\w+>)", r': "\1"', _masked(json.dumps(data))))


def _masked(text: str) -> str:
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return text
