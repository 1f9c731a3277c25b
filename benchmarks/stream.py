"""What a check adds to a streamed answer, once its last token is there.

A context that was not seen before is opened as the request is sent; then the answer comes token by
token at an even pace, and is fed as it comes. A token that arrives while the one before is still
being taken waits. *Last feed* is the time from the beginning of the last ``feed()`` to the result;
*added* counts from when the last token was there, waiting included.

Run it: ``python benchmarks/stream.py --out benchmarks/results/stream.json``
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter

import measure
from corpus import Sample, samples, word_pieces

from groundwire.detector import Detector

#: Reader → percentile → most milliseconds.
BARS_MS = {"reader": {50: 15, 99: 40}, "reader-base": {50: 80, 99: 250}}


@dataclass(frozen=True, slots=True)
class Timing:
    """Of one stream, in milliseconds."""

    open_ms: float
    feed_ms: float
    added_ms: float
    last_feed_ms: float
    n_tokens: int
    n_claims: int


def tokens(text: str) -> Iterator[str]:
    """The text in pieces as a language model writes them: a word piece and the space before it."""
    starts = [int(start) for start in word_pieces().encode(text).offsets[:, 0]]
    for start, end in zip([0, *starts[1:]], [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def time_stream(detector: Detector, sample: Sample, *, tenant: str, per_s: float) -> Timing:
    """Feed one answer at the pace it is written."""
    deltas = list(tokens(sample.answer))
    sent = perf_counter()
    stream = detector.stream(sources=sample.sources, question=sample.question, tenant=tenant)
    opened = perf_counter()
    busy = 0.0
    for n, delta in enumerate(deltas, 1):
        arrives = sent + n / per_s
        if (wait := arrives - perf_counter()) > 0:
            time.sleep(wait)
        began = perf_counter()
        stream.feed(delta)
        busy += perf_counter() - began
    detection = stream.finish()
    done = perf_counter()
    return Timing(
        open_ms=(opened - sent) * 1000,
        feed_ms=busy * 1000,
        added_ms=(done - arrives) * 1000,
        last_feed_ms=(done - began) * 1000,
        n_tokens=len(deltas),
        n_claims=len(detection.claims),
    )


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    options = _options()
    machine = measure.machine()
    taken = samples(options.text, options.tokens, seed=options.seed, n_answer=options.answer_tokens)
    per_s = options.per_s * options.speed
    quiet = measure.Quiet(options.patience)
    with Detector.load(options.detector) as detector:
        tenants, judge = map(str, count()), detector.info.name

        def run() -> Timing:
            return time_stream(detector, next(taken), tenant=next(tenants), per_s=per_s)

        run()  # the first of a process is no other's
        timings = [quiet.run(run) for _ in range(options.streams)]
        work = detector.work
    rows = []
    for name in ("open_ms", "feed_ms", "added_ms", "last_feed_ms"):
        values = [getattr(timing, name) for timing in timings]
        shares = {f"p{p}": round(measure.percentile(values, p / 100), 2) for p in (90, 99)}
        rows.append(
            {"what": name} | measure.summary(values) | shares | {"max": round(max(values), 2)}
        )
    print(measure.table(rows, ("what", "n", "median", "q1", "q3", "p90", "p99", "max")))
    added = rows[2]
    bars = [
        measure.bar(f"added after the last token, P{p}", limit, added[key], "ms")
        for (p, limit), key in zip(BARS_MS[judge].items(), ("median", "p99"), strict=True)
    ]
    measure.print_bars(bars)
    looks = work.get("second_looks", 0)
    report = {
        "benchmark": "stream",
        "machine": machine,
        "settings": {name: value for name, value in vars(options).items() if name in _KEPT},
        "answer_tokens": measure.summary([timing.n_tokens for timing in timings], 0),
        "claims": measure.summary([timing.n_claims for timing in timings], 0),
        "second_looks": round(looks / (work["sentences_read"] - looks), 3),
        "rows": rows,
        "bars": bars,
        **quiet.to_dict(),
    }
    measure.write(options.out, report)


_KEPT = ("detector", "tokens", "answer_tokens", "streams", "per_s", "speed", "seed")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--detector", default="reader", help="reader-small or reader-base")
    parser.add_argument("--text", type=Path, help="samples as JSON Lines, in place of made-up ones")
    parser.add_argument("--tokens", type=int, default=4000, help="word pieces of context")
    parser.add_argument("--answer-tokens", type=int, default=200)
    parser.add_argument("--streams", type=int, default=60)
    parser.add_argument("--per-s", type=float, default=50, help="tokens that are written a second")
    parser.add_argument("--speed", type=float, default=1, help="times faster, to try it out")
    parser.add_argument("--patience", type=float, default=300, help=measure.PATIENCE)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
