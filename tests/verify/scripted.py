"""Verifiers that say what a test tells them to: one in this process, one at the wire.

:class:`ScriptedEndpoint` speaks chat completions with logprobs over HTTP on loopback. It reads the
prompts it is sent as a model would have to, from their text alone.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from types import TracebackType
from typing import Any, Self

from groundwire.verify.interval import ProbabilityInterval
from groundwire.verify.verifier import ClaimQuestion, Judged, Readout

#: P(yes), P(no), P(unsure).
Belief = tuple[float, float, float]
Believes = Callable[[str, Sequence[str]], Belief]

PLACEHOLDER = "[REDACTED]"


def believed(yes: float, no: float | None = None) -> Belief:
    """Probabilities that add up to 1."""
    no = (1 - yes) / 2 if no is None else no
    return yes, no, max(0.0, 1 - yes - no)


def with_evidence(posterior: float, prior: float) -> Believes:
    """One belief about any claim with its evidence, another without."""

    def believes(claim: str, evidence: Sequence[str]) -> Belief:
        return believed(prior if set(evidence) <= {PLACEHOLDER} else posterior)

    return believes


def readout(yes: float, no: float | None = None, *, generated: str = "") -> Readout:
    """An exact answer."""
    p = dict(zip(("YES", "NO", "UNSURE"), believed(yes, no), strict=True))
    return Readout(
        yes=ProbabilityInterval.exactly(p["YES"]),
        no=ProbabilityInterval.exactly(p["NO"]),
        unsure=ProbabilityInterval.exactly(p["UNSURE"]),
        generated=generated or max(p, key=lambda name: p[name]),
    )


@dataclass
class ScriptedVerifier:
    """Believes what it is told to, and remembers what it was asked."""

    believes: Believes
    name: str = "scripted"
    model: str = "script"
    asked: list[ClaimQuestion] = field(default_factory=list)

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        self.asked += questions
        return [readout(*self._belief(question)[:2]) for question in questions]

    def _belief(self, question: ClaimQuestion) -> Belief:
        return self.believes(question.claim, [each.shown for each in question.evidence])


@dataclass(frozen=True)
class Asked:
    """One request of chat completions, as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def lines(self) -> list[str]:
        return self.user.split("\n")

    @property
    def evidence(self) -> list[dict[str, str]]:
        marks = [i for i, line in enumerate(self.lines) if line in ("CLAIM", "CLAIMS")]
        return [json.loads(line) for line in self.lines[1 : marks[0]]]

    @property
    def claims(self) -> list[str]:
        if "CLAIM" in self.lines:
            return [json.loads(self.lines[self.lines.index("CLAIM") + 1])]
        return [json.loads(line)["claim"] for line in self.lines if line.startswith('{"n": ')]

    @property
    def is_prior(self) -> bool:
        return {each["quote"] for each in self.evidence} <= {PLACEHOLDER}


@dataclass(frozen=True)
class Reply:
    """A response as it is sent."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


def error(status: int, **headers: str) -> Reply:
    """An endpoint's error, which quotes what it was sent."""
    body = json.dumps({"error": {"message": "the key sk-secret said SECRET CLAIM", "code": None}})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, body.encode(), named)


def token(text: str, p: float, top: Mapping[str, float] | None) -> dict[str, Any]:
    """A token with its likeliest alternatives, as the API has it."""
    found: dict[str, Any] = {"token": text, "logprob": log(p), "bytes": None}
    if top is not None:
        found["top_logprobs"] = [{"token": t, "logprob": log(q)} for t, q in top.items()]
    return found


def letters(belief: Belief) -> dict[str, float]:
    """Its three letters, likeliest first; none that is impossible."""
    named = {k: v for k, v in zip("YNU", belief, strict=True) if v > 0}
    return dict(sorted(named.items(), key=lambda item: -item[1]))


def completion(tokens: Sequence[Mapping[str, Any]] | None, text: str | None = None) -> Reply:
    """A chat completion with these tokens."""
    said = "".join(t["token"] for t in tokens or ()) if text is None else text
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "length",
                "message": {"role": "assistant", "content": said},
                "logprobs": None if tokens is None else {"content": list(tokens)},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101},
    }
    return Reply(200, json.dumps(body).encode())


def honest(believes: Believes) -> Callable[[Asked], Reply]:
    """Answers each claim by itself, a letter a line."""

    def respond(asked: Asked) -> Reply:
        quotes = [each["quote"] for each in asked.evidence]
        tokens: list[dict[str, Any]] = []
        for n, claim in enumerate(asked.claims):
            top = letters(believes(claim, quotes))
            first = next(iter(top))
            if n:
                tokens.append(token("\n", 0.999, {"\n": 0.999}))
            tokens.append(token(first, top[first], top))
        return completion(tokens)

    return respond


class ScriptedEndpoint:
    """A server on loopback that answers by a function, and remembers what it was asked."""

    def __init__(self, respond: Callable[[Asked], Reply]) -> None:
        self.asked: list[Asked] = []
        self.respond = respond
        endpoint, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length))
                asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                with lock:
                    endpoint.asked.append(asked)
                self._send(endpoint.respond(asked))

            def do_GET(self) -> None:
                with lock:
                    endpoint.asked.append(
                        Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, {})
                    )
                self._send(Reply())

            def _send(self, reply: Reply) -> None:
                if reply.delay_s:
                    endpoint._over.wait(reply.delay_s)
                try:
                    self.send_response(reply.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(reply.body)))
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply.body)
                except OSError:
                    self.close_connection = True  # the client is gone

            def log_message(self, *_: object) -> None:
                pass

        self._over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def in_turn(*replies: Reply) -> Callable[[Asked], Reply]:
    """These replies, then the last again and again."""
    lock, left = threading.Lock(), list(replies)

    def respond(_: Asked) -> Reply:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return respond
