"""The walk on a screen: what is asked, what comes back while it comes, and one line why."""

import json
from collections.abc import Mapping
from typing import Any

import click

from groundwire.gateway.demo.model import ScriptedModel
from groundwire.gateway.demo.serving import Gateways, RunningGateway
from groundwire.gateway.demo.walk import DemoReply, Played, Scene, text_of
from groundwire.render import visible

_MARGIN = "    "
_SHOWN = ("x-vsr-", "x-groundwire-", "x-trace-id")


class Screen:
    """Shows a walk. Commands are not wrapped, so that they can be copied."""

    def __init__(self, *, color: bool) -> None:
        self._color, self._is_at_margin = color, True

    def gateway(self, gateway: RunningGateway, gateways: Gateways) -> None:
        """Show the configuration of the gateway that the next scenes ask."""
        self._line(f"\n── {gateway.name} {'─' * 60}", fg="cyan")
        for line in gateway.yaml.splitlines():
            self._line(f"{_MARGIN}{line}", fg="cyan")
        serve = f"groundwire serve --config {gateway.name} --upstream {gateways.upstream} --port 0"
        self._line(f"$ {serve}\n$ URL={gateway.url} KEY={gateways.key}", dim=True)

    def scene(self, scene: Scene, model: ScriptedModel, *, number: int, of: int) -> None:
        """Show the request of a scene."""
        self._line(f"\n{number}/{of}  {scene.title}  ({scene.name})", bold=True)
        for line in f"$ {curl(scene, url='$URL', key='$KEY')}".splitlines():
            self._line(f"{_MARGIN}{line}")
        if "messages" in scene.body:
            said = " ".join(model.answer(scene.body["messages"][0]["content"]).split())
            self._line(f"{_MARGIN}the model writes: {said}", dim=True)

    def arrival(self, reply: DemoReply, at_s: float, data: Any) -> None:  # noqa: ANN401 - JSON
        """Show headers as they arrive, without an event, or an event."""
        time = f"{_MARGIN}{at_s:6.2f} s  "
        if not reply.events:
            self._line(f"{time}HTTP {reply.status}, {reply.headers.get('content-type', '')}")
            shown = {n: v for n, v in reply.headers.items() if n.startswith(_SHOWN)}
            self._details(shown)
        elif data is None:
            self._line(f"{time}[DONE]")
        elif text := text_of(data):
            self._text(text, time)
        for choice in (data or {}).get("choices", ()):
            if choice.get("finish_reason"):
                self._line(f"{time}finish_reason: {choice['finish_reason']}")
        self._details((data or {}).get("groundwire", {}), "groundwire.")

    def ended(self, played: Played) -> None:
        """Show the rest of what came back, and whether it is as it must be."""
        reply, held = played.reply, played.held
        if reply is not None and reply.body is not None:
            error = reply.body.get("error")
            shown = json.dumps({"error": error}) if error else reply.text
            for line in filter(None, shown.splitlines()):
                self._line(f"{_MARGIN}          {line}", fg="green")
        for event in reply.audit if reply else ():
            self._line(f"{_MARGIN}audit     {_event(event)}", fg="yellow")
        for metric in reply.metrics if reply else ():
            self._line(f"{_MARGIN}metric    {metric}", fg="yellow")
        self._line(f"{_MARGIN}why       {played.scene.why}")
        failed = [text for text, holds in held if not holds]
        for text in failed:
            self._line(f"{_MARGIN}NOT SO    {text}", fg="red", bold=True)
        if not failed:
            self._line(f"{_MARGIN}checked   {len(held)} of {len(held)} hold", dim=True)

    def summary(self, *, n_ok: int, of: int, seconds: float) -> None:
        """Say how many scenes are as they must be."""
        text = f"\n{n_ok} of {of} scenes are as they must be, in {seconds:.1f} s."
        self._line(text, fg="green" if n_ok == of else "red", bold=True)

    def kept(self, gateways: Gateways, scene: Scene) -> None:
        """Say what still runs, and show a request to try."""
        self._line("\nStill serving, until Ctrl-C:", bold=True)
        for each in gateways.running.values():
            self._line(f"{_MARGIN}{each.url}/v1  {each.name}, audit log {each.audit}")
        self._line(f"{_MARGIN}{gateways.upstream}  the scripted model")
        url = list(gateways.running.values())[-1].url
        self._line("\nTry it, or give an OpenAI client this base URL and key:\n")
        self._line(f"export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={gateways.key}")
        self._line(curl(scene, url=url, key="$OPENAI_API_KEY"))

    def _text(self, text: str, time: str) -> None:
        """Write text where the text before it ended; a sentence ends its line."""
        lead, text = (time, text.lstrip()) if self._is_at_margin else ("", text)
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

    def _end_line(self) -> None:
        if not self._is_at_margin:
            click.echo()
        self._is_at_margin = True

    def _line(self, text: str = "", **style: Any) -> None:  # noqa: ANN401 - of click
        self._end_line()
        click.secho(visible(text), color=self._color, **style)


def curl(scene: Scene, *, url: str, key: str) -> str:
    """The request of a scene as a command that can be copied."""
    flag = "-N " if scene.body.get("stream") else ""
    body = json.dumps(scene.body, indent=2).replace("'", "'\\''")
    return f"""curl {flag}{url}{scene.path} -H "Authorization: Bearer {key}" -d '{body}'"""


def _event(event: Mapping[str, Any]) -> str:
    """An audit event without what differs from run to run."""
    names = ("action", "ungrounded_claim_count", "unsupported_spans", "max_severity", "detector")
    payload = {name: event["payload"].get(name) for name in names}
    return f"{event['type']} {json.dumps(payload)}"
