"""Clients that leave before they have their answers: what of them is left in the gateway?"""

import json
import random
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from serving.client import Client
from serving.load import CHECKED
from serving.overhead import PATH, PLAIN, expect_ok
from serving.processes import Server
from serving.upstream import DELTAS

_AT_A_TIME = 16
_PATIENCE_S = 45.0
#: Metrics that are to be as before.
WATCHED = ("groundwire_in_flight", "groundwire_audit_queue_depth")


def leaving(server: Server, direct: Server, *, n_clients: int, seed: int) -> dict[str, Any]:
    """Have clients leave at any moment, and tell what is there before, and once all is quiet.

    Args:
        server: A gateway.
        direct: The upstream, which tells what became of its streams.
        n_clients: How many leave.
        seed: Of when they do.
    """
    rng = random.Random(seed)
    with server.client() as client:  # threads and connections are made when they are needed
        for body in (_paced(0), {**PLAIN, **CHECKED}):
            expect_ok(client.post(PATH, body), server)
    before = _state(server)
    moments = [
        (rng.choice((0.0, 0.5, 0.5)) * rng.random(), rng.random() < 0.7) for _ in range(n_clients)
    ]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        list(pool.map(lambda each: _leave(server, *each), moments))
    after, took_s = _quiet(server, direct, before)
    with server.client() as client:
        expect_ok(client.post(PATH, _paced(0)), server)
        counts = client_counts(direct)
    return {
        "clients": n_clients,
        "before": before,
        "after": after,
        "quiet_after_s": round(took_s, 1),
        "upstream": counts,
    }


def _paced(per_s: float) -> Mapping[str, Any]:
    script = {"id": "leaving", "deltas": DELTAS, "per_s": per_s}
    return {**PLAIN, **CHECKED, "stream": True, "script": script}


def _leave(server: Server, after_s: float, is_paced: bool) -> None:
    with suppress(OSError), server.client() as client:
        body = _paced(100) if is_paced else {**PLAIN, **CHECKED}
        client.start(client.prepared(PATH, body))
        time.sleep(after_s)


def client_counts(direct: Server) -> dict[str, int]:
    """What the upstream has seen of its streams."""
    with direct.client() as client:
        found: dict[str, int] = json.loads(client.get("/v1/counts").body)
    return found


def _quiet(server: Server, direct: Server, before: Mapping[str, float]) -> tuple[Any, float]:
    """The state once it is that of before, or patience is out; and how long it took."""
    began = time.monotonic()
    while True:
        now, counts = _state(server), client_counts(direct)
        is_open = counts["begun"] > counts["ended"] + counts["left"]
        is_more = any(now[name] > before[name] for name in (*WATCHED, "files"))
        took_s = time.monotonic() - began
        if not (is_open or is_more) or took_s > _PATIENCE_S:
            return now | {"upstream_open": int(is_open)}, took_s
        time.sleep(0.5)


def _state(server: Server) -> dict[str, float]:
    with Client(server.port) as client:
        text = client.get("/metrics").body.decode()
    return {
        "files": server.n_files(),
        "threads": server.n_threads(),
        "rss_mb": server.rss_mb(),
        **dict(_metrics(text)),
    }


def _metrics(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in WATCHED:
            yield name, float(value)
