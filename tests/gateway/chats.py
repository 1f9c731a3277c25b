"""A gateway between a client and a scripted upstream, for tests of what passes through it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, AnyStr

import httpx2 as httpx

from groundwire import Detector, Pipeline
from groundwire.config import Config, parse
from groundwire.gateway.app import create_app
from groundwire.pipeline.conversation.response import Said
from groundwire.policy.policy import Overrides
from tests.fixed_judge import FixedJudge
from tests.gateway.audited import events_in
from tests.gateway.serving import serving
from tests.gateway.wire import ScriptedUpstream, eventually

KEY = "gw_" + "k" * 43
SOURCES = ["The Eiffel Tower was built from 1887 to 1889. It is 330 metres tall."]
#: The judge doubts this word, wherever it stands.
WRONG = "1950"


def request(**more: object) -> dict[str, Any]:
    """A chat request that names its sources."""
    return {
        "model": "scripted-1",
        "messages": [{"role": "user", "content": "When was the Eiffel Tower built?"}],
        "metadata": {"grounding.sources": SOURCES},
        **more,
    }


@dataclass(frozen=True)
class Gateway:
    """A gateway that runs.

    Attributes:
        url: Its base URL, with ``/v1``.
        upstream: Where it gets its answers.
        audit: Its audit log.
    """

    url: str
    upstream: ScriptedUpstream
    audit: Path
    headers: Mapping[str, str] = field(default_factory=lambda: {"Authorization": f"Bearer {KEY}"})

    def post(
        self, body: Mapping[str, Any] | bytes, *, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Ask for a chat completion."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {**self.headers, "Content-Type": "application/json", **(headers or {})}
        return httpx.post(
            f"{self.url}/chat/completions", content=content, headers=sent, timeout=20, verify=False
        )

    def post_to(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        """Ask another endpoint under ``/v1``."""
        return httpx.post(
            f"{self.url}/{path}", json=body, headers=self.headers, timeout=20, verify=False
        )

    @contextmanager
    def asking(
        self, body: Mapping[str, Any], *, path: str = "chat/completions"
    ) -> Iterator[httpx.Response]:
        """The same; the block reads the response."""
        with httpx.stream(
            "POST", f"{self.url}/{path}", json=body, headers=self.headers, timeout=20, verify=False
        ) as response:
            yield response

    def stream(self, **more: object) -> list[Any]:
        """All events of a stream, as data; the last is ``[DONE]`` if it is there."""
        with self.asking(request(stream=True, **more)) as response:
            assert response.status_code == 200, response.read()
            return events_of(response.read())

    def events(self) -> list[dict[str, Any]]:
        """The audit log so far."""
        return events_in(self.audit)

    def wait_for_events(self, n: int) -> list[dict[str, Any]]:
        """The audit log once it has so many events."""
        eventually(lambda: len(self.events()) >= n)
        return self.events()

    def metric(self, name: str, **labels: str) -> float:
        """The value of a metric, summed over the labels that are not given."""
        text = httpx.get(self.url.removesuffix("/v1") + "/metrics", timeout=20, verify=False).text
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        lines = (line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{")))
        found = (line for line in lines if all(each in line for each in wanted))
        return sum(float(line.rpartition(" ")[2]) for line in found)


def events_of(raw: bytes) -> list[Any]:
    """The events in the bytes of a stream."""
    said = (block.removeprefix("data: ") for block in raw.decode().split("\n\n") if block)
    return [block if block == "[DONE]" else json.loads(block) for block in said if block[0] != ":"]


def unmarked(events: list[Any]) -> list[Any]:
    """The events without what the gateway says at the end of an answer."""
    return [
        {key: value for key, value in each.items() if key != "groundwire"}
        if isinstance(each, dict)
        else each
        for each in events
    ]


def without_ids(said: AnyStr) -> AnyStr:
    """What was said, but for ids, whose digits may be those of :data:`WRONG` by chance."""
    if isinstance(said, bytes):
        return re.sub(rb"[0-9a-f]{32}", b"", said)
    return re.sub(r"[0-9a-f]{32}", "", said)


def text_of(events: list[Any], index: int = 0) -> str:
    """What a user reads of an answer."""
    return "".join(
        Said.of(choice["delta"].get("content")).text
        for event in events
        if isinstance(event, dict)
        for choice in event.get("choices", ())
        if choice["index"] == index
    )


def finish_of(events: list[Any], index: int = 0) -> str | None:
    """Why an answer ended."""
    reasons = [
        choice.get("finish_reason")
        for event in events
        if isinstance(event, dict)
        for choice in event.get("choices", ())
        if choice["index"] == index
    ]
    return reasons[-1] if reasons else None


Judged = Callable[[], Detector]


def fixed() -> Detector:
    """A detector that doubts one word."""
    return Detector(FixedJudge(doubtful={WRONG: 0.9}))


@contextmanager
def gateway(
    folder: Path,
    yaml: str = "",
    *,
    detector: Detector | None = None,
    environ: Mapping[str, str] | None = None,
    tenants: Mapping[str, Overrides] | None = None,
    pipeline_of: Callable[[Config], Pipeline] | None = None,
) -> Iterator[Gateway]:
    """A gateway with a configuration of its own, and an upstream behind it.

    Args:
        folder: For its files.
        yaml: Its configuration; upstream, key and audit log are added.
        detector: What judges; by default one that doubts :data:`WRONG`.
        environ: Further variables.
        tenants: What tenants have of their own, in place of what the configuration says.
        pipeline_of: Makes the pipeline; by default one around the detector alone, without gate and
            explainer. Whoever gives another closes it.
    """
    audit = folder / "audit.jsonl"
    with ScriptedUpstream() as upstream:
        config = parse(
            yaml,
            name="groundwire.yaml",
            environ={
                "GROUNDWIRE_UPSTREAM_URL": upstream.url,
                "GROUNDWIRE_GATEWAY_API_KEY": KEY,
                "GROUNDWIRE_AUDIT_PATH": str(audit),
                "GROUNDWIRE_GATEWAY_DATA_DIR": str(folder),
                **(environ or {}),
            },
        )
        if tenants is not None:
            config = replace(config, tenants=tenants)
        make = pipeline_of or partial(pipeline_around, detector or fixed())
        pipeline = make(config)
        app = create_app(config, pipeline=pipeline)
        with serving(app) as url:
            yield Gateway(url=f"{url}/v1", upstream=upstream, audit=audit)
        if pipeline_of is None:
            pipeline.close()


def pipeline_around(detector: Detector, config: Config) -> Pipeline:
    """The pipeline of a configuration, without gate and explainer, around a detector."""
    return Pipeline(
        detector,
        decisions=config.decisions,
        policy=config.policy,
        limits=config.limits,
        tenants=config.tenants,
        ignores_short=config.similarity.all_short == "grounded",
    )
