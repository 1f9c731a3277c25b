"""The walk: each scene is asked over HTTP, and what comes back is compared with what must."""

import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from importlib import resources
from time import monotonic, perf_counter, sleep
from typing import Any
from urllib.parse import urlsplit

from groundwire.gateway.demo.model import NAME, ScriptedModel
from groundwire.gateway.demo.serving import Gateways, RunningGateway, fetch

TIMEOUT_S = 60.0
#: How long an event may take to reach the audit log, which is written beside the response.
_RECORD_S = 10.0
_COUNTERS = ("gateway_grounding_check_total{", "groundwire_checks_total{")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One request, what must come back, and why; all are in ``scenes.toml``.

    Attributes:
        name: Its name in commands.
        title: Its name for people.
        why: One line of explanation.
        setting: Name of the configuration of the gateway that is asked.
        path: Path of the request.
        body: Body of the request.
        expects: What must come back, see :func:`compare`.
    """

    name: str
    title: str
    why: str
    setting: str
    path: str
    body: Mapping[str, Any]
    expects: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class DemoReply:
    """A response, as far as it has arrived.

    Attributes:
        status: Status of the response.
        headers: Its headers, names in lower case.
        began_s: When the headers were there, in seconds since the request.
        body: The body as JSON data; ``None`` of a stream.
        events: The events of a stream: when each was there, and its data; ``None`` at the end.
        is_live: Whether text was there before the model was done.
        n_asked: How often the model was asked.
        audit: The events of the audit log about the request.
        metrics: Lines of the gateway's metrics.
    """

    status: int
    headers: Mapping[str, str]
    began_s: float
    body: Any = None
    events: list[tuple[float, Any]] = field(default_factory=list)
    is_live: bool = False
    n_asked: int = 0
    audit: Sequence[Mapping[str, Any]] = ()
    metrics: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The text that a user reads."""
        if self.body is not None:
            choices = self.body.get("choices") or [{"message": {"content": ""}}]
            return str(choices[0]["message"]["content"])
        return "".join(text_of(data) for _, data in self.events)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that expectations are about, by name."""
        said = [data for _, data in self.events if data is not None]
        ends = (c.get("finish_reason") for data in said for c in data.get("choices", ()))
        return {
            "status": self.status,
            "headers": self.headers,
            "text": self.text.strip(),
            "finish_reason": next((end for end in ends if end), None),
            "error": (self.body or {}).get("error", {}),
            "groundwire": next((d["groundwire"] for d in said if "groundwire" in d), {}),
            "is_complete": bool(self.events) and self.events[-1][1] is None,
            "is_live": self.is_live,
            "n_asked": self.n_asked,
            "audit": self.audit,
        }


def text_of(data: Mapping[str, Any] | None) -> str:
    """The text of an event of a stream."""
    choices = (data or {}).get("choices", ())
    return "".join(choice["delta"].get("content") or "" for choice in choices)


@cache
def script() -> dict[str, Any]:
    """The content of ``scenes.toml``."""
    text = resources.files(__package__).joinpath("scenes.toml").read_text("utf-8")
    return tomllib.loads(text)


def scenes() -> list[Scene]:
    """All scenes, in their order."""
    found = []
    for each in script()["scenes"]:
        path = each.get("path", "/v1/chat/completions")
        body = _body(path, **each["asks"])
        rest = {key: each[key] for key in ("name", "title", "why", "setting", "expects")}
        found.append(Scene(path=path, body=body, **rest))
    return found


def _body(
    path: str,
    *,
    question: str,
    with_tool: bool = False,
    with_sources: bool = False,
    stream: bool = False,
) -> dict[str, Any]:
    if path == "/v1/responses":
        return {"model": NAME, "input": question}
    body: dict[str, Any] = {"model": NAME, "messages": [{"role": "user", "content": question}]}
    if with_tool:
        function = {"name": "landmark", "arguments": '{"name": "Eiffel Tower"}'}
        call = {"id": "call_1", "type": "function", "function": function}
        body["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": script()["tool_result"]},
        ]
    if stream:
        body["stream"] = True
    if with_sources:
        body["metadata"] = {"grounding.sources": script()["sources"]}
    return body


def compare(expects: Mapping[str, Any], reply: DemoReply) -> Iterator[tuple[str, bool]]:
    """Yield what must hold, in words, and whether it does.

    A value is equal to what was found; of a mapping, each of its values is, and one that is missing
    is empty. ``shows`` and ``hides`` have texts that are in the response, or nowhere in it;
    ``metrics`` has words that stand in one line of the metrics.
    """
    facts = reply.facts
    data = [facts["error"], *(event for _, event in reply.events)]
    shown = f"{reply.text}\n{json.dumps(data)}"
    for name, wanted in expects.items():
        if name == "shows":
            yield from ((f"the response has {each!r}", each in shown) for each in wanted)
        elif name == "hides":
            yield from ((f"the response never has {each!r}", each not in shown) for each in wanted)
        elif name == "metrics":
            for each in wanted:
                counts = any(all(w in line for w in each.split()) for line in reply.metrics)
                yield f"the metrics count {each}", counts
        else:
            yield from _equal(name, wanted, facts[name])


def _equal(name: str, wanted: Any, found: Any) -> Iterator[tuple[str, bool]]:  # noqa: ANN401 - JSON
    if isinstance(wanted, dict):
        for key, each in wanted.items():
            value = found.get(key, "") if isinstance(found, Mapping) else ""
            yield from _equal(f"{name}.{key}", each, value)
    elif wanted and isinstance(wanted, list) and isinstance(wanted[0], dict):
        yield f"{name} has {len(wanted)} events", len(found) == len(wanted)
        for number, (each, one) in enumerate(zip(wanted, found, strict=False)):
            yield from _equal(f"{name}[{number}]", each, one)
    else:
        yield f"{name} is {wanted!r}", bool(found == wanted)


#: Receives a response: at the headers with empty data, then at each event with its data.
OnArrival = Callable[[DemoReply, float, Any], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A scene that is over.

    Attributes:
        scene: The scene.
        reply: What came back; ``None`` if it could not be read.
        held: What must hold, and whether it does.
    """

    scene: Scene
    reply: DemoReply | None
    held: Sequence[tuple[str, bool]]

    @property
    def is_ok(self) -> bool:
        """Whether all holds."""
        return all(holds for _, holds in self.held)


def play(
    scene: Scene,
    gateway: RunningGateway,
    model: ScriptedModel,
    *,
    key: str,
    on_arrival: OnArrival,
) -> Played:
    """Ask a gateway what a scene asks.

    Args:
        scene: The scene.
        gateway: The gateway that it names.
        model: The model behind it.
        key: Key of the gateway.
        on_arrival: Receives what comes, as it comes.
    """
    if scene.expects.get("is_live"):
        model.heard.clear()
    n_before = model.n_requests
    try:
        reply = _ask(scene, gateway, model, key=key, on_arrival=on_arrival)
        reply.n_asked = model.n_requests - n_before
        if "audit" in scene.expects:
            reply.audit = _recorded(gateway, reply.headers.get("x-trace-id", ""))
        if "metrics" in scene.expects:
            lines = fetch(f"{gateway.url}/metrics")[1].splitlines()
            reply.metrics = [x for x in lines if x.startswith(_COUNTERS) and x[-4:] != " 0.0"]
        return Played(scene=scene, reply=reply, held=tuple(compare(scene.expects, reply)))
    except (HTTPException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # What came back is nothing that a client could read.
        why = f"the response can be read ({type(error).__name__}: {error})"
        return Played(scene=scene, reply=None, held=((why, False),))
    finally:
        model.heard.set()


def _ask(
    scene: Scene,
    gateway: RunningGateway,
    model: ScriptedModel,
    *,
    key: str,
    on_arrival: OnArrival,
) -> DemoReply:
    connection = HTTPConnection(urlsplit(gateway.url).netloc, timeout=TIMEOUT_S)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    start, first_text_at = perf_counter(), math.inf
    try:
        connection.request("POST", scene.path, json.dumps(scene.body).encode(), headers)
        response = connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        began_s = perf_counter() - start
        reply = DemoReply(status=response.status, headers=received, began_s=began_s)
        on_arrival(reply, began_s, {})
        if response.headers.get_content_type() != "text/event-stream":
            reply.body = json.loads(response.read())
            return reply
        for data in _events(response):
            if text_of(data):
                first_text_at = min(first_text_at, perf_counter())
                model.heard.set()
            reply.events.append((perf_counter() - start, data))
            on_arrival(reply, *reply.events[-1])
        reply.is_live = first_text_at < model.done_at
        return reply
    finally:
        connection.close()


def _events(response: HTTPResponse) -> Iterator[Any]:
    while line := response.readline():
        kind, _, said = line.decode().rstrip("\r\n").partition(": ")
        if kind == "data":
            yield None if said == "[DONE]" else json.loads(said)


def _recorded(gateway: RunningGateway, trace_id: str) -> list[Mapping[str, Any]]:
    """The audit events about a request, once there are any."""
    deadline = monotonic() + _RECORD_S
    while True:
        lines = gateway.audit.read_text("ascii").splitlines() if gateway.audit.exists() else []
        found = [each for each in map(json.loads, lines) if each["trace_id"] == trace_id]
        if found or monotonic() > deadline:
            return found
        sleep(0.02)


def report(walked: Sequence[Played], gateways: Gateways, *, seconds: float) -> dict[str, Any]:
    """The requests and responses of a walk, as JSON data."""
    return {
        "ok": all(each.is_ok for each in walked),
        "seconds": round(seconds, 3),
        "upstream": gateways.upstream,
        "key": gateways.key,
        "gateways": [
            {
                "settings": each.name,
                "yaml": each.yaml,
                "url": f"{each.url}/v1",
                "audit": str(each.audit),
            }
            for each in gateways.running.values()
        ],
        "scenes": [
            {
                "name": each.scene.name,
                "title": each.scene.title,
                "why": each.scene.why,
                "settings": each.scene.setting,
                "request": {"method": "POST", "path": each.scene.path, "body": each.scene.body},
                "response": None if each.reply is None else _told(each.reply),
                "expectations": [{"text": text, "holds": holds} for text, holds in each.held],
                "ok": each.is_ok,
            }
            for each in walked
        ],
    }


def _told(reply: DemoReply) -> dict[str, Any]:
    events = [{"at_ms": round(at_s * 1000, 1), "data": data} for at_s, data in reply.events]
    return {
        **reply.facts,
        "body": reply.body,
        "events": events,
        "headers_ms": round(reply.began_s * 1000, 1),
        "metrics": reply.metrics,
    }
