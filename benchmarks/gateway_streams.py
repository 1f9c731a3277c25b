"""What a check adds to many streamed answers at once, after the last token of each.

Each stream is an answer that comes token by token at an even pace, from a simulated upstream in a
thread of its own, and is fed and reviewed as a gateway does that withholds what is not judged: what
has arrived is fed in one piece, and reviewed when it completes a claim. As soon as an answer is
done the next one begins in its place, so there are always as many; they start out of step.

*Cold* sources were never seen before, *warm* ones are in the cache; the answer's own sentences
never are. *Together* starts all streams of a round at one moment, so that they end at nearly one.

Run it: ``python benchmarks/gateway_streams.py --out benchmarks/results/gateway_streams.json``
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import measure
from corpus import Sample, samples
from stream import tokens

from groundwire.config import parse
from groundwire.engine.roles import TextRole
from groundwire.pipeline import Pipeline, RequestContext

#: At most so many milliseconds, by case and percentile.
BARS_MS = {
    "warm": {50: 60, 99: 250},
    "one stream, cold": {50: 15, 99: 40},
}
#: Each answer waits for its check; the cache holds all contexts of a round.
CONFIG = "check: {action: block}\ndetector: {cache_mb: 4000}"
PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Prepared:
    """One answer to stream."""

    sample: Sample
    deltas: tuple[str, ...]
    tenant: str

    @property
    def body(self) -> dict[str, Any]:
        """The request; it names its sources."""
        return {
            "messages": [{"role": "user", "content": self.sample.question}],
            "metadata": {"grounding.sources": list(self.sample.sources)},
        }


@dataclass(frozen=True, slots=True)
class Timing:
    """Of one answer."""

    added_ms: float
    n_claims: int


def run_stream(pipeline: Pipeline, prepared: Prepared, per_s: float) -> Timing:
    """Feed one answer at the pace it is written."""
    sent = perf_counter()
    context: RequestContext = pipeline.open(prepared.body, tenant=prepared.tenant)
    deltas, n_taken = prepared.deltas, 0
    with pipeline.stream(context) as flow:
        while n_taken < len(deltas):
            if (wait := sent + (n_taken + 1) / per_s - perf_counter()) > 0:
                time.sleep(wait)
            n_there = min(len(deltas), max(n_taken + 1, int((perf_counter() - sent) * per_s)))
            if flow.feed("".join(deltas[n_taken:n_there])):
                flow.review()
            n_taken = n_there
        checked = flow.finish()
    added_s = perf_counter() - sent - len(deltas) / per_s
    assert checked.detection is not None
    return Timing(1000 * added_s, len(checked.detection.claims))


def run_round(
    pipeline: Pipeline, rows: Sequence[Sequence[Prepared]], *, per_s: float, starts: Sequence[float]
) -> list[Timing]:
    """Stream rows of answers side by side, those of a row one after another."""

    def run_row(row: Sequence[Prepared], start_s: float) -> list[Timing]:
        time.sleep(start_s)
        return [run_stream(pipeline, each, per_s) for each in row]

    with ThreadPoolExecutor(len(rows)) as pool:
        found = pool.map(run_row, rows, starts)
        return [timing for row in found for timing in row]


def warm_up(pipeline: Pipeline, prepared: Prepared) -> None:
    """Have the sources read, and the answer's own sentences forgotten."""
    context = pipeline.open(prepared.body, tenant=prepared.tenant)
    with pipeline.stream(context) as flow:
        flow.feed(prepared.sample.answer)
        flow.finish()
    cache = pipeline.detector._cache
    assert cache is not None
    with cache._lock:
        for key in list(cache._store):
            if key[2] != TextRole.SOURCE:
                del cache._store[key]


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    options = _options()
    machine, quiet = measure.machine(), measure.Quiet(options.patience)
    rng = random.Random(options.seed)
    taken = samples(options.text, options.tokens, seed=options.seed, n_answer=options.answer_tokens)
    tenants = map(str, count())
    lasts_s = options.answer_tokens / options.per_s

    def prepare() -> Iterator[Prepared]:
        for sample in taken:
            yield Prepared(sample, tuple(tokens(sample.answer)), next(tenants))

    prepared = prepare()

    def round_of(n_streams: int, *, is_warm: bool, together: bool = False) -> Callable[[], Any]:
        def call() -> list[Timing]:
            n_each = 1 if together else options.answers
            rows = [[next(prepared) for _ in range(n_each)] for _ in range(n_streams)]
            for each in (each for row in rows for each in row if is_warm):
                warm_up(pipeline, each)
            starts = [0.0 if together else rng.random() * lasts_s for _ in rows]
            return run_round(pipeline, rows, per_s=options.per_s, starts=starts)

        return call

    n = options.streams
    cases = {
        "warm": (options.rounds, round_of(n, is_warm=True)),
        "warm, together": (options.rounds, round_of(n, is_warm=True, together=True)),
        "cold": (options.rounds, round_of(n, is_warm=False)),
        "one stream, cold": (options.alone, round_of(1, is_warm=False)),
    }
    with Pipeline.load(parse(CONFIG, name="benchmark")) as pipeline:
        run_round(pipeline, [[next(prepared)]], per_s=1000, starts=[0])  # the first is no other's
        rows = []
        for name in options.cases or cases:
            n_rounds, call = cases[name]
            timings = [timing for _ in range(n_rounds) for timing in quiet.run(call)]
            rows.append(_row(name, 1 if name.startswith("one") else n, timings))
    print(measure.table(rows, ("what", "streams", "n", "p50", "p90", "p99", "max")))
    bars = [
        measure.bar(f"added, {_named(row)}, P{p}", limit, row[f"p{p}"], "ms")
        for row in rows
        for name, limits in BARS_MS.items()
        for p, limit in limits.items()
        if row["what"] == name
    ]
    measure.print_bars(bars)
    report = {
        "benchmark": "gateway_streams",
        "machine": machine,
        "settings": {name: value for name, value in vars(options).items() if name in _KEPT},
        "rows": rows,
        "bars": bars,
        **quiet.to_dict(),
    }
    measure.write(options.out, report)


def _named(row: measure.Row) -> str:
    n_streams = row["streams"]
    return row["what"] if n_streams == 1 else f"{n_streams} streams, {row['what']}"


def _row(name: str, n_streams: int, timings: Sequence[Timing]) -> dict[str, Any]:
    added = [timing.added_ms for timing in timings]
    shares = {f"p{p}": round(measure.percentile(added, p / 100), 2) for p in PERCENTILES}
    claims = measure.summary([timing.n_claims for timing in timings], 0)
    return {
        "what": name,
        "streams": n_streams,
        "n": len(added),
        **shares,
        "max": round(max(added), 2),
        "claims": claims["median"],
    }


_KEPT = ("tokens", "answer_tokens", "streams", "answers", "rounds", "alone", "per_s", "seed")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--text", type=Path, help="samples as JSON Lines, in place of made-up ones")
    parser.add_argument("--cases", nargs="+", help="only these cases")
    parser.add_argument("--tokens", type=int, default=4000, help="word pieces of context")
    parser.add_argument("--answer-tokens", type=int, default=200)
    parser.add_argument("--streams", type=int, default=16, help="at a time")
    parser.add_argument("--answers", type=int, default=3, help="of each stream in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", type=int, default=20, help="rounds of the case of one stream")
    parser.add_argument("--per-s", type=float, default=50, help="tokens that are written a second")
    parser.add_argument("--patience", type=float, default=300, help=measure.PATIENCE)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
