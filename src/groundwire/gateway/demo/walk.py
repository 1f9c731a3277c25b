"""The walk: each scene is asked for real, and what comes back is held against what must."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from time import monotonic, perf_counter, sleep
from typing import Any

from groundwire.gateway.demo.asking import Arrival, ArrivalListener, ask, fetch_text
from groundwire.gateway.demo.model import ScriptedModel
from groundwire.gateway.demo.scenes import Scene, SceneOutcome
from groundwire.gateway.demo.serving import Gateways, RunningGateway

#: Until an event stands in the audit log, which is written beside the response.
_RECORD_S = 10.0
_COUNTERS = ("gateway_grounding_check_total{", "groundwire_checks_total{")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """A scene that is over.

    Attributes:
        scene: Which.
        gateway: Who was asked.
        seen: What was seen; ``None`` if nothing came back that can be read.
        held: What must hold, and whether it does.
    """

    scene: Scene
    gateway: RunningGateway
    seen: SceneOutcome | None
    held: Sequence[tuple[str, bool]]

    @property
    def is_ok(self) -> bool:
        """Whether all holds."""
        return all(holds for _, holds in self.held)


class Show(ArrivalListener):
    """Is told how the walk goes; this one shows nothing."""

    def gateway(self, gateway: RunningGateway, gateways: Gateways) -> None:
        """The scenes that follow ask this gateway."""

    def scene(self, scene: Scene, *, number: int, of: int) -> None:
        """A scene begins."""

    def walked(self, walked: Walked) -> None:
        """A scene is over."""


def walk(
    scenes: Sequence[Scene], *, gateways: Gateways, model: ScriptedModel, show: Show
) -> Iterator[Walked]:
    """Go through scenes, one after the other.

    Args:
        scenes: In their order.
        gateways: Who is asked.
        model: Whom they ask.
        show: Is told how it goes.

    Raises:
        GroundwireError: If a gateway cannot be started.
    """
    before: RunningGateway | None = None
    for number, scene in enumerate(scenes, 1):
        gateway = gateways.get(scene.setting)
        if gateway is not before:
            show.gateway(gateway, gateways)
        before = gateway
        show.scene(scene, number=number, of=len(scenes))
        walked = _through(scene, gateway, key=gateways.key, ear=_Ear(show, model))
        show.walked(walked)
        yield walked


def _through(scene: Scene, gateway: RunningGateway, *, key: str, ear: "_Ear") -> Walked:
    try:
        seen = _see(scene, gateway, key=key, ear=ear)
        held = tuple(scene.expects(seen))
    except (HTTPException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # What came back is nothing that a client could read.
        held = ((f"the response can be read ({type(error).__name__}: {error})", False),)
        return Walked(scene=scene, gateway=gateway, seen=None, held=held)
    return Walked(scene=scene, gateway=gateway, seen=seen, held=held)


def _see(scene: Scene, gateway: RunningGateway, *, key: str, ear: "_Ear") -> SceneOutcome:
    model, n_before = ear.model, ear.model.n_requests
    if scene.waits:
        model.heard.clear()
    try:
        reply = ask(gateway.url, scene.ask, key=key, listener=ear)
    finally:
        model.heard.set()
    trace_id = reply.headers.get("x-trace-id", "")
    return SceneOutcome(
        reply=reply,
        n_asked=model.n_requests - n_before,
        is_live=ear.first_text_at < model.done_at,
        record=tuple(_record(gateway, trace_id)) if scene.records else (),
        metrics=tuple(_metrics(gateway)) if scene.records else (),
    )


class _Ear(ArrivalListener):
    """Lets the model know that it was heard, and notes when."""

    def __init__(self, listener: ArrivalListener, model: ScriptedModel) -> None:
        self._listener, self.model = listener, model
        self.first_text_at = math.inf

    def began(self, status: int, headers: Mapping[str, str], at_s: float) -> None:
        self._listener.began(status, headers, at_s)

    def arrived(self, arrival: Arrival) -> None:
        if arrival.text:
            self.first_text_at = min(self.first_text_at, perf_counter())
            self.model.heard.set()
        self._listener.arrived(arrival)


def _record(gateway: RunningGateway, trace_id: str) -> Iterator[Mapping[str, Any]]:
    """The events about a request, once there are any."""
    deadline = monotonic() + _RECORD_S
    while True:
        lines = gateway.audit.read_text("ascii").splitlines() if gateway.audit.exists() else []
        events = [json.loads(line) for line in lines]
        found = [each for each in events if each["trace_id"] == trace_id]
        if found or monotonic() > deadline:
            yield from found
            return
        sleep(0.02)


def _metrics(gateway: RunningGateway) -> Iterator[str]:
    """The counters of checks that have counted something."""
    for line in fetch_text(f"{gateway.url}/metrics").splitlines():
        if line.startswith(_COUNTERS) and not line.endswith(" 0.0"):
            yield line
