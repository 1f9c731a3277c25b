"""Plays the scenes of the demo: sends each question over HTTP, and shows the response."""

import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from http.client import HTTPConnection, HTTPResponse
from importlib import resources
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any
from urllib.parse import urlsplit

import click

from groundwire.detection.example import read_sources
from groundwire.detector import Detector
from groundwire.gateway.demo.model import NAME
from groundwire.gateway.demo.serving import Gateways, RunningGateway
from groundwire.render import to_html, visible

#: Limit on the seconds to wait for the next bytes from a gateway.
_TIMEOUT_S = 60.0
#: Limit on the seconds to wait for an audit event, which may be written after the response is sent.
_RECORD_S = 10.0
_MARGIN = "    "
_SHOWN_HEADERS = ("x-vsr-", "x-groundwire-", "x-trace-id")
_SHOWN_FACTS = ("action", "ungrounded_claim_count", "unsupported_spans", "max_severity", "detector")


@cache
def script() -> dict[str, Any]:
    """Return the content of ``scenes.toml``, such as ``answers``, ``settings`` and ``scenes``."""
    return tomllib.loads(resources.files(__package__).joinpath("scenes.toml").read_text("utf-8"))


def request_of(scene: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path and the body of the request of a scene."""
    question = scene["question"]
    if (path := scene.get("path")) is not None:
        return path, {"model": NAME, "input": question}
    body: dict[str, Any] = {"model": NAME, "messages": [{"role": "user", "content": question}]}
    if scene.get("with_tool"):
        function = {"name": "landmark", "arguments": '{"name": "Eiffel Tower"}'}
        call = {"id": "call_1", "type": "function", "function": function}
        body["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": script()["tool_result"]},
        ]
    if scene.get("stream"):
        body["stream"] = True
    if scene.get("with_sources"):
        body["metadata"] = {"grounding.sources": script()["sources"]}
    return "/v1/chat/completions", body


@contextmanager
def asked(url: str, scene: Mapping[str, Any], *, key: str) -> Iterator[HTTPResponse]:
    """Send a scene's request to the gateway at ``url`` (without ``/v1``); yield the response."""
    path, body = request_of(scene)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=_TIMEOUT_S)) as connection:
        connection.request("POST", path, json.dumps(body).encode(), headers)
        yield connection.getresponse()


def curl(scene: Mapping[str, Any], *, url: str, key: str) -> str:
    """Return the request of a scene as a ``curl`` command for a shell."""
    path, body = request_of(scene)
    flag = "-N " if scene.get("stream") else ""
    data = json.dumps(body, indent=2).replace("'", "'\\''")
    return f"""curl {flag}{url}{path} -H "Authorization: Bearer {key}" -d '{data}'"""


def write_page() -> Path:
    """Check an answer of the script, write the result as an HTML page, and return the file."""
    question = "Tell me about the Eiffel Tower."
    sources, answer = read_sources(script()["sources"]), script()["answers"][question]
    with Detector.load() as detector:
        detection = detector.detect(sources=sources, question=question, answer=answer)
    page = Path(tempfile.mkdtemp(prefix="groundwire-demo-")) / "answer.html"
    page.write_text(to_html(detection, question=question, sources=sources), "utf-8")
    return page


def _given(scene: Mapping[str, Any]) -> str:
    """Return a note on the evidence in a scene's request; empty if there is no evidence."""
    if scene.get("with_tool"):
        return "  (a tool has told the facts)"
    return "  (with sources)" if scene.get("with_sources") else ""


class Screen:
    """Sends the requests of scenes, and prints requests and responses on the terminal.

    Long lines are not wrapped, so that users can copy commands.
    """

    def __init__(self, gateways: Gateways, *, color: bool, shows_curl: bool = False) -> None:
        self._gateways, self._color, self._shows_curl = gateways, color, shows_curl
        self._is_at_margin = True
        self._shown = ""

    def play(self, scene: Mapping[str, Any], *, number: int, of: int) -> None:
        """Send a scene's request to its gateway, and show the request and the response."""
        gateway = self._gateways.get(scene["setting"])
        if gateway.name != self._shown:
            self._show_gateway(gateway)
        self._line(f"\n{number}/{of}  {scene['title']}  ({scene['name']})", bold=True)
        if self._shows_curl:
            self._lines(f"$ {curl(scene, url='$URL', key='$KEY')}")
        else:
            self._line(f"{_MARGIN}a user asks: {scene['question']}{_given(scene)}")
        if "path" not in scene:
            said = script()["answers"][scene["question"]]
            self._line(f"{_MARGIN}the model writes: {' '.join(said.split())}", dim=True)
        trace_id = self._ask(scene, gateway)
        if scene.get("shows_record"):
            for event in _recorded(gateway, trace_id):
                facts = {name: event["payload"].get(name) for name in _SHOWN_FACTS}
                self._line(f"{_MARGIN}audit     {event['type']} {json.dumps(facts)}", fg="yellow")
        self._line(f"{_MARGIN}why       {scene['why']}")

    def show_running(self, scene: Mapping[str, Any]) -> None:
        """Print the gateways of the scenes, which still run, and a request to try."""
        own = self._gateways
        self._line("\nStill serving, until Ctrl-C:", bold=True)
        for each in own.running.values():
            self._line(f"{_MARGIN}{each.url}/v1  {each.name}, audit log {each.audit}")
        url = own.get(scene["setting"]).url
        self._line("\nTry it, or give an OpenAI client this base URL and key:\n")
        self._line(f"export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={own.key}")
        self._line(curl(scene, url=url, key="$OPENAI_API_KEY"))

    def _show_gateway(self, gateway: RunningGateway) -> None:
        self._shown, upstream = gateway.name, self._gateways.upstream
        self._line(f"\n── {gateway.name} {'─' * 60}", fg="cyan")
        self._lines(gateway.yaml, fg="cyan")
        if not self._shows_curl:
            return
        self._line(f"$ groundwire serve --config {gateway.name} --upstream {upstream} --port 0")
        self._line(f"$ URL={gateway.url} KEY={self._gateways.key}")

    def _ask(self, scene: Mapping[str, Any], gateway: RunningGateway) -> str:
        """Send the request of a scene, show the response, and return its trace id."""
        start = perf_counter()
        with asked(gateway.url, scene, key=self._gateways.key) as response:
            kind = response.headers.get_content_type()
            self._line(f"{_time(start)}HTTP {response.status}, {kind}")
            received = {name.lower(): value for name, value in response.getheaders()}
            self._details({n: v for n, v in received.items() if n.startswith(_SHOWN_HEADERS)})
            if kind == "text/event-stream":
                for data in _events(response):
                    self._show_event(data, start)
            else:
                data = json.loads(response.read())
                choices = data.get("choices")
                answer = choices[0]["message"]["content"] if choices else json.dumps(data)
                self._lines(answer, margin=f"{_MARGIN}          ", fg="green")
            return received.get("x-trace-id", "")

    def _show_event(self, data: Mapping[str, Any] | None, start: float) -> None:
        """Print an event of a stream; ``None`` is the last event, ``[DONE]``."""
        if data is None:
            self._line(f"{_time(start)}[DONE]")
            return
        for choice in data.get("choices", ()):
            self._text(choice["delta"].get("content") or "", start)
            if choice.get("finish_reason"):
                self._line(f"{_time(start)}finish_reason: {choice['finish_reason']}")
        self._details(data.get("groundwire", {}), "groundwire.")

    def _text(self, text: str, start: float) -> None:
        """Print the next piece of text on the same line; end the line if a sentence ends."""
        if not text:
            return
        lead, text = (_time(start), text.lstrip()) if self._is_at_margin else ("", text)
        click.echo(f"{lead}{visible(text)}".replace("\n", " "), nl=False, color=self._color)
        self._is_at_margin = False
        if text.rstrip().endswith((".", "!", "?", ":")):
            self._end_line()

    def _details(self, details: Mapping[str, Any], prefix: str = "") -> None:
        for name, value in details.items():
            if isinstance(value, Mapping):
                self._details(value, f"{prefix}{name}.")
            else:
                self._line(f"{_MARGIN}          {prefix}{name}: {value}", fg="yellow")

    def _lines(self, text: str, *, margin: str = _MARGIN, **style: Any) -> None:  # noqa: ANN401
        for line in text.splitlines():
            self._line(f"{margin}{line}", **style)

    def _line(self, text: str, **style: Any) -> None:  # noqa: ANN401 - arguments of click
        self._end_line()
        click.secho(visible(text), color=self._color, **style)

    def _end_line(self) -> None:
        if not self._is_at_margin:
            click.echo()
        self._is_at_margin = True


def _time(start: float) -> str:
    return f"{_MARGIN}{perf_counter() - start:6.2f} s  "


def _events(response: HTTPResponse) -> Iterator[Any]:
    while line := response.readline():
        kind, _, data = line.decode().rstrip("\r\n").partition(": ")
        if kind == "data":
            yield None if data == "[DONE]" else json.loads(data)


def _recorded(gateway: RunningGateway, trace_id: str) -> list[Mapping[str, Any]]:
    """Wait for the audit events about a request; return ``[]`` if they are not written in time."""
    deadline = monotonic() + _RECORD_S
    while True:
        lines = gateway.audit.read_text("ascii").splitlines() if gateway.audit.exists() else []
        found = [each for each in map(json.loads, lines) if each["trace_id"] == trace_id]
        if found or monotonic() > deadline:
            return found
        sleep(0.02)
