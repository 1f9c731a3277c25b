"""What checking adds to a streamed answer, as a client sees it.

The upstream writes at an even pace, and notes when it sent each token; the client notes when each
byte came. *Added* counts from the upstream's last token, with which it ends the stream, to the
client's last byte; asked directly, what is left is the time of the loopback interface.
"""

import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any

import measure
from corpus import Sample
from stream import tokens

from serving.client import Response, events_of
from serving.overhead import PATH, expect_ok
from serving.processes import Server

PERCENTILES = (50, 90, 99)
COLUMNS = ("server", "case", "n", "p50", "p90", "p99", "max", "token_p50", "token_p99", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Of one answer.

    Attributes:
        added_ms: From the upstream's last token to the client's last byte.
        token_ms: Of each token: from when it was sent to when it was there. Empty where the answer
            was refused.
        is_refused: Whether the end was withheld.
    """

    added_ms: float
    token_ms: tuple[float, ...]
    is_refused: bool


class Streams:
    """Asks for streams, each with a script of its own."""

    def __init__(self, direct: Server, taken: Iterator[Sample], *, per_s: float) -> None:
        """Begin.

        Args:
            direct: The upstream.
            taken: What is asked about; no two are alike.
            per_s: Tokens a second.
        """
        self._direct, self._taken, self._per_s = direct, taken, per_s
        self._names = map(str, count())

    def sample(self) -> Sample:
        """The next."""
        return next(self._taken)

    def ask(self, server: Server, sample: Sample) -> Timing:
        """Stream one answer."""
        name = next(self._names)
        deltas = list(tokens(sample.answer))
        with server.client() as client:
            request = _request(sample, {"id": name, "deltas": deltas, "per_s": self._per_s})
            response = expect_ok(client.post(PATH, request), server)
        with self._direct.client() as client:
            sent: list[float] = json.loads(client.get(f"/v1/sent/{name}").body)
        return _timing(response, sent, deltas)

    def warm_up(self, server: Server, sample: Sample) -> None:
        """Have the sources of a sample read, by another answer about the same."""
        answer = " ".join(f"Indeed, {part}" for part in sample.answer.split(". "))
        script = {"id": next(self._names), "deltas": [answer], "per_s": 0}
        with server.client() as client:
            body = _request(sample, script) | {"stream": False}
            # One that is blocked has read them too.
            client.post(PATH, body)


def _request(sample: Sample, script: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "scripted-1",
        "stream": True,
        "messages": [{"role": "user", "content": sample.question}],
        "metadata": {"grounding.sources": list(sample.sources)},
        "script": script,
    }


def _timing(response: Response, sent: Sequence[float], deltas: Sequence[str]) -> Timing:
    chars_at = _chars_at(response)
    total, token_ms = 0, list[float]()
    arrivals = iter(chars_at)
    at, there = next(arrivals, (0.0, 0))
    for delta, sent_at in zip(deltas, sent, strict=False):  # one that is refused ends early
        total += len(delta)
        while there < total and (more := next(arrivals, None)) is not None:
            at, there = more
        if there >= total:
            token_ms.append(1000 * (at - sent_at))
    return Timing(
        added_ms=1000 * (response.last_at - sent[-1]),
        token_ms=tuple(token_ms),
        is_refused=b'"content_filter"' in response.body,
    )


def _chars_at(response: Response) -> list[tuple[float, int]]:
    """After each piece: when it came, and how many characters of the answer were there."""
    found, n_chars, start = list[tuple[float, int]](), 0, 0
    for at, n_bytes in response.arrivals:
        end = response.body.rfind(b"\n\n", 0, n_bytes) + 2
        for event in events_of(response.body[start:end]) if end > start else ():
            for choice in event["choices"] if isinstance(event, dict) else ():
                n_chars += len(choice["delta"].get("content") or "")
        start = max(start, end)
        found.append((at, n_chars))
    return found


def one_at_a_time(
    streams: Streams, servers: Sequence[Server], *, rounds: int
) -> list[dict[str, Any]]:
    """One stream at a time, of sources not seen before: all servers in turn."""
    found: dict[str, list[Timing]] = {server.name: [] for server in servers}
    for server in servers:
        streams.warm_up(server, streams.sample())  # the first of a process is no other's
    for _ in range(rounds):
        for server in servers:
            found[server.name].append(streams.ask(server, streams.sample()))
    return [row(server.name, "1 stream, cold", found[server.name]) for server in servers]


def side_by_side(
    streams: Streams,
    server: Server,
    *,
    n_streams: int,
    n_answers: int,
    is_warm: bool,
    rng: random.Random,
) -> list[Timing]:
    """Rows of answers side by side, those of a row one after another; they start out of step."""
    rows = [[streams.sample() for _ in range(n_answers)] for _ in range(n_streams)]
    if is_warm:
        for sample in (sample for each in rows for sample in each):
            streams.warm_up(server, sample)
    starts = [rng.random() * 4.0 for _ in rows]

    def run(samples: Sequence[Sample], start_s: float) -> list[Timing]:
        time.sleep(start_s)
        return [streams.ask(server, sample) for sample in samples]

    with ThreadPoolExecutor(n_streams) as pool:
        return [timing for each in pool.map(run, rows, starts) for timing in each]


def in_rounds(call: Callable[[], list[Timing]], rounds: int) -> list[Timing]:
    """The timings of so many calls."""
    return [timing for _ in range(rounds) for timing in call()]


def row(server: str, case: str, timings: Sequence[Timing]) -> dict[str, Any]:
    """Timings as a row, in milliseconds."""
    added = [timing.added_ms for timing in timings if not timing.is_refused]
    each = [ms for timing in timings for ms in timing.token_ms]
    shares = {f"p{p}": round(measure.percentile(added, p / 100), 2) for p in PERCENTILES}
    return {
        "server": server,
        "case": case,
        "n": len(added),
        **shares,
        "max": round(max(added), 2),
        "token_p50": round(statistics.median(each), 2) if each else None,
        "token_p99": round(measure.percentile(each, 0.99), 2) if each else None,
        "refused": sum(timing.is_refused for timing in timings),
    }
