"""Memory of a gateway over thousands of requests: it must not grow with their number.

Requests are mixed: streamed or not, with sources that were seen before or were not, and a cache
that is full early on. Growth is measured once that and the allocator's arenas have settled.
"""

import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import corpus

from serving.overhead import PATH, expect_ok
from serving.processes import Server

#: Sections of the configuration: a cache that these requests fill.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "check": {"action": "header"},
    "detector": {"cache_mb": 16},
}
COLUMNS = ("after", "rss_mb", "files", "threads")
_N_TEXTS, _N_CONTEXT, _N_ANSWER = 40, 100, 20
_AT_A_TIME = 4


def requests(*, seed: int) -> Iterator[dict[str, Any]]:
    """Endless requests; about half of them have sources that none had before."""
    rng, serial = random.Random(seed), count()
    samples = [
        corpus.synthesize(_N_CONTEXT, seed=seed + n, n_answer=_N_ANSWER) for n in range(_N_TEXTS)
    ]
    while True:
        sample = rng.choice(samples)
        sources = list(sample.sources)
        if rng.random() < 0.5:
            sources[0] = f"Report {next(serial)} says: {sources[0]}"
        words = [f"{word} " for word in sample.answer.split()]
        yield {
            "model": "scripted-1",
            "stream": rng.random() < 0.5,
            "messages": [{"role": "user", "content": sample.question}],
            "metadata": {"grounding.sources": sources},
            "script": {"id": "memory", "deltas": words, "per_s": 0},
        }


def memory(server: Server, *, n_requests: int, n_samples: int, seed: int) -> list[dict[str, Any]]:
    """What the gateway takes, after so many requests each time."""
    step, taken = n_requests // n_samples, requests(seed=seed)
    rows = [_row(server, 0)]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        for n in range(1, n_samples + 1):
            parts = [[next(taken) for _ in range(step // _AT_A_TIME)] for _ in range(_AT_A_TIME)]
            list(pool.map(lambda part: _ask(server, part), parts))
            rows.append(_row(server, n * step))
            print(".", end="", flush=True)
    print()
    return rows


def _ask(server: Server, bodies: Sequence[Mapping[str, Any]]) -> None:
    with server.client() as client:
        for body in bodies:
            expect_ok(client.post(PATH, body), server)


def _row(server: Server, after: int) -> dict[str, Any]:
    return {
        "after": after,
        "rss_mb": server.rss_mb(),
        "files": server.n_files(),
        "threads": server.n_threads(),
    }


def growth(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How memory went on after the first quarter of the requests.

    Returns:
        ``settled_mb`` and ``last_mb``, medians of the second and the last quarter; ``share``, how
        much more the last is; and ``mb_per_1000``, the slope of a line through all after the first
        quarter.
    """
    quarter = len(rows) // 4
    second, last, rest = rows[quarter : 2 * quarter], rows[-quarter:], rows[quarter:]
    before, after = (statistics.median(row["rss_mb"] for row in part) for part in (second, last))
    line = statistics.linear_regression(
        [row["after"] / 1000 for row in rest], [row["rss_mb"] for row in rest]
    )
    return {
        "settled_mb": round(before, 1),
        "last_mb": round(after, 1),
        "share": round(after / before - 1, 4),
        "mb_per_1000": round(line.slope, 3),
    }
