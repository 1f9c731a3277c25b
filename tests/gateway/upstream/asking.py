"""What tests of upstreams share: upstreams at the wire, and a client of them."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from groundwire.config.tree import UpstreamDefaults
from groundwire.config.upstreams import Upstream
from groundwire.gateway.upstream import UpstreamReply, Upstreams
from groundwire.gateway.upstream.asking import UpstreamRequest
from tests.gateway.wire import ScriptedUpstream, eventually

MAX_BYTES = 50_000_000


class Observed:
    """What was told of upstreams."""

    def __init__(self) -> None:
        self.answered: list[str] = []
        self.failed: list[tuple[str, str]] = []

    def upstream_answered(self, upstream: str, *, seconds: float) -> None:
        assert seconds >= 0
        self.answered.append(upstream)

    def upstream_failed(self, upstream: str, kind: str) -> None:
        self.failed.append((upstream, kind))


class First(Random):
    """Chooses them in the order they are given."""

    def __init__(self) -> None:
        super().__init__(0)
        self._next = 1.0

    def random(self) -> float:
        self._next *= 0.999
        return self._next


def asking(*servers: ScriptedUpstream | str, **options: Any) -> Upstreams:  # noqa: ANN401
    """Upstreams ``a``, ``b``, ... asked in this order; options are settings, or the client's."""
    own = {name: options.pop(name) for name in ("clock", "observer") if name in options}
    urls = [each if isinstance(each, str) else each.url for each in servers]
    upstreams = [Upstream(name=name, url=url) for name, url in zip("abcdef", urls, strict=False)]
    return Upstreams(upstreams, UpstreamDefaults(**options), random=First(), **own)


async def ask(upstreams: Upstreams, **changes: Any) -> UpstreamReply:  # noqa: ANN401
    """Ask for a chat completion, with changes."""
    request: dict[str, Any] = {
        "method": "POST",
        "path": "chat/completions",
        "query": "",
        "headers": (("Content-Type", "application/json"),),
        "body": b'{"model": "m"}',
        "model": "m",
        "passes_authorization": False,
    }
    return await upstreams.send(UpstreamRequest(**(request | changes)))


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, while the event loop runs on."""
    await asyncio.to_thread(eventually, holds)
