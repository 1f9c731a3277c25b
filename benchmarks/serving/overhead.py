"""What a proxy adds to a request that it does not check, against asking the upstream itself.

One connection to each server, one request at a time, all servers in turn; a difference is between
two requests of the same round.
"""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import measure

from serving.client import Response
from serving.processes import Server

PATH = "/v1/chat/completions"
PLAIN: Mapping[str, Any] = {
    "model": "scripted-1",
    "messages": [
        {"role": "system", "content": "You answer questions about buildings, in one sentence."},
        {"role": "user", "content": "How tall is the tower, and when was it built?"},
    ],
    "temperature": 0.2,
    "max_tokens": 200,
}
KINDS: Mapping[str, Mapping[str, Any]] = {
    "whole": PLAIN,
    "streamed": {**PLAIN, "stream": True},
}
COLUMNS = ("server", "answer", "n", "p50_ms", "added_p50_ms", "q1", "q3", "added_p99_ms")


def overhead(direct: Server, proxies: Sequence[Server], *, rounds: int) -> list[dict[str, Any]]:
    """Rows of times and differences, in milliseconds."""
    servers, rows = (direct, *proxies), []
    for kind, body in KINDS.items():
        times = _times(servers, body, rounds)
        for server in servers:
            own = times[server.name]
            pairs = zip(own, times[direct.name], strict=True)
            added = [mine - its for mine, its in pairs]
            rows.append(_row(server, kind, own, added if server is not direct else None))
    return rows


def _times(
    servers: Sequence[Server], body: Mapping[str, Any], rounds: int
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {server.name: [] for server in servers}
    with ExitStack() as stack:
        clients = {server.name: stack.enter_context(server.client()) for server in servers}
        requests = {name: client.prepared(PATH, body) for name, client in clients.items()}
        for n in range(-rounds // 10, rounds):
            # Whoever comes after another one finds caches as that one left them.
            turn = n % len(servers)
            for server in (*servers[turn:], *servers[:turn]):
                response = expect_ok(clients[server.name].send(requests[server.name]), server)
                if n >= 0:
                    found[server.name].append(response.took_ms)
    return found


def expect_ok(response: Response, server: Server) -> Response:
    """The response, if it is one.

    Raises:
        SystemExit: If it is not.
    """
    if response.status != 200:
        raise SystemExit(f"{server.name} answered {response.status}: {response.body[:500]!r}")
    return response


def _row(
    server: Server, kind: str, own: Sequence[float], added: Sequence[float] | None
) -> dict[str, Any]:
    row = {"server": server.name, "answer": kind, "n": len(own)}
    row |= {"p50_ms": round(statistics.median(own), 3)}
    if added is None:
        return row
    spread = measure.summary(added, 3)
    p99 = round(measure.percentile(added, 0.99), 3)
    return (
        row
        | {"added_p50_ms": spread["median"], "q1": spread["q1"], "q3": spread["q3"]}
        | {"added_p99_ms": p99}
    )
