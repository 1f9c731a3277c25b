"""The walk on a screen: what is asked, what comes back while it comes, and one line why."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from groundwire.gateway.demo.asking import Arrival, DemoRequest
from groundwire.gateway.demo.model import ANSWERS, question_of
from groundwire.gateway.demo.scenes import Scene
from groundwire.gateway.demo.serving import Gateways, RunningGateway
from groundwire.gateway.demo.settings import SETTINGS
from groundwire.gateway.demo.walk import Show, Walked
from groundwire.render import visible

_MARGIN = "    "
#: JSON of so many characters stands on one line.
_SHORT = 120
_ENDS = (".", "!", "?", ":")


class _Console(Console):
    """Leaves it to the command what a reader means who stops reading."""

    def on_broken_pipe(self) -> None:
        """Raise it again; the class would end the process with 1, "not as it must be"."""
        raise BrokenPipeError


class Screen(Show):
    """Shows a walk. Commands are not wrapped, so that they can be copied."""

    def __init__(self, stream: TextIO, *, color: bool) -> None:
        self._console = _Console(
            file=stream,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            highlight=False,
            soft_wrap=True,
        )
        self._shows: tuple[str, ...] = ()
        self._is_at_margin = True

    def gateway(self, gateway: RunningGateway, gateways: Gateways) -> None:
        """A gateway begins to be asked."""
        self._line()
        self._line(f"── {gateway.name} {'─' * 60}", "cyan")
        for line in SETTINGS[gateway.name].splitlines():
            self._line(f"{_MARGIN}{line}", "cyan")
        url = gateways.upstream
        self._line(f"$ groundwire serve --config {gateway.name} --upstream {url} --port 0", "dim")
        self._line(f"$ URL={gateway.url} KEY={gateways.key}", "dim")

    def scene(self, scene: Scene, *, number: int, of: int) -> None:
        """A scene begins."""
        self._shows = tuple(scene.shows)
        self._line()
        self._line(f"{number}/{of}  {scene.title}  ({scene.name})", "bold")
        for line in f"$ {curl(scene.ask, url='$URL', key='$KEY')}".splitlines():
            self._line(f"{_MARGIN}{line}")
        if "messages" in scene.ask.body:
            said = " ".join(ANSWERS[question_of(scene.ask.body)].split())
            self._line(f"{_MARGIN}the model writes: {said}", "dim")

    def began(self, status: int, headers: Mapping[str, str], at_s: float) -> None:
        """A response begins."""
        self._timed(at_s, f"HTTP {status}, {headers.get('content-type', '')}", "bold")
        for name, value in headers.items():
            if name.startswith(self._shows):
                self._line(f"{_MARGIN}          {name}: {value}", "yellow")

    def arrived(self, arrival: Arrival) -> None:
        """An event of a stream is there: its text goes to where the text before it ended."""
        if arrival.text:
            self._write(arrival)
        if arrival.finish:
            self._end_line()
            self._timed(arrival.at_s, f"finish_reason: {arrival.finish}")
        for line in _told((arrival.data or {}).get("groundwire", {})):
            self._line(f"{_MARGIN}          {line}", "yellow")
        if arrival.data is None:
            self._timed(arrival.at_s, "[DONE]")

    def walked(self, walked: Walked) -> None:
        """A scene is over."""
        if walked.seen is not None:
            for line in _body(walked.seen.reply.data, walked.seen.reply.text):
                self._line(f"{_MARGIN}          {line}", "green" if walked.is_ok else "")
            for event in walked.seen.record:
                self._line(f"{_MARGIN}audit     {_event(event)}", "yellow")
            for metric in walked.seen.metrics:
                self._line(f"{_MARGIN}metric    {metric}", "yellow")
        self._line(f"{_MARGIN}why       {walked.scene.why}")
        failed = [text for text, holds in walked.held if not holds]
        for text in failed:
            self._line(f"{_MARGIN}NOT SO    {text}", "bold red")
        if not failed:
            self._line(f"{_MARGIN}checked   {len(walked.held)} of {len(walked.held)} hold", "dim")

    def ended(self, *, n_ok: int, of: int, seconds: float) -> None:
        """The walk is over."""
        self._line()
        text = f"{n_ok} of {of} scenes are as they must be, in {seconds:.1f} s."
        self._line(text, "bold green" if n_ok == of else "bold red")

    def kept(self, gateways: Gateways, ask: DemoRequest) -> None:
        """The servers go on."""
        self._line()
        self._line("Still serving, until Ctrl-C:", "bold")
        for each in gateways.running:
            self._line(f"{_MARGIN}{each.url}/v1  {each.name}, audit log {each.audit}")
        self._line(f"{_MARGIN}{gateways.upstream}  the scripted model")
        url = gateways.running[-1].url
        self._line()
        self._line("Try it, or give an OpenAI client this base URL and key:")
        self._line()
        self._line(f"export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={gateways.key}")
        self._line(curl(ask, url=url, key="$OPENAI_API_KEY"))

    def _write(self, arrival: Arrival) -> None:
        text = visible(arrival.text)
        if self._is_at_margin:
            self._console.print(Text(f"{_MARGIN}{arrival.at_s:6.2f} s  ", "dim"), end="")
            text = text.lstrip()
        self._console.print(Text(text.replace("\n", " ")), end="")
        self._is_at_margin = False
        if text.rstrip().endswith(_ENDS):
            self._end_line()

    def _end_line(self) -> None:
        if not self._is_at_margin:
            self._console.print()
        self._is_at_margin = True

    def _timed(self, at_s: float, text: str, style: str = "") -> None:
        self._end_line()
        self._console.print(
            Text.assemble((f"{_MARGIN}{at_s:6.2f} s  ", "dim"), (visible(text), style))
        )

    def _line(self, text: str = "", style: str = "") -> None:
        self._end_line()
        self._console.print(Text(visible(text), style))


def curl(ask: DemoRequest, *, url: str, key: str) -> str:
    """A request as a command that can be copied."""
    flag = "-N " if ask.streams else ""
    body = _laid_out(ask.body).replace("'", "'\\''")
    return f"""curl {flag}{url}{ask.path} -H "Authorization: Bearer {key}" -d '{body}'"""


def _laid_out(value: object, indent: str = "") -> str:
    """JSON on one line if that is short, else with a line for each of its parts."""
    flat = json.dumps(value)
    if len(flat) <= _SHORT or not isinstance(value, Mapping | list):
        return flat
    deeper = f"{indent}  "
    if isinstance(value, list):
        parts = [_laid_out(each, deeper) for each in value]
        return f"[\n{deeper}" + f",\n{deeper}".join(parts) + "]"
    named = [f"{json.dumps(name)}: {_laid_out(each, deeper)}" for name, each in value.items()]
    return f"{{\n{deeper}" + f",\n{deeper}".join(named) + "}"


def _body(data: Any, text: str) -> Iterator[str]:  # noqa: ANN401 - JSON data
    """What a user reads of a body that is not streamed."""
    if isinstance(data, dict) and "error" in data:
        yield json.dumps(data)
    elif data is not None:
        yield from (line for line in text.splitlines() if line)


def _told(extension: Mapping[str, Any]) -> Iterator[str]:
    """What stands under ``groundwire``, a line each."""
    for name, value in extension.items():
        if isinstance(value, Mapping):
            yield from (f"groundwire.{name}.{key}: {each}" for key, each in value.items())
        else:
            yield f"groundwire.{name}: {value}"


def _event(event: Mapping[str, Any]) -> str:
    """An event without what differs from run to run."""
    payload = event["payload"]
    names = ("action", "ungrounded_claim_count", "unsupported_spans", "max_severity", "detector")
    return f"{event['type']} {json.dumps({name: payload.get(name) for name in names})}"
